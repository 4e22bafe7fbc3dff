"""Views of a run that only read it."""
