"""Recorded demonstrations: reading, writing, cutting into windows."""
