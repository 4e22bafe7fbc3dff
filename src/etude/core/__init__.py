"""Values, contracts and errors shared by every package."""
