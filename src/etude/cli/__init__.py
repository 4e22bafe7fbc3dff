"""The `etude` program."""
