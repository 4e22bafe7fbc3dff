"""The one format in which a policy lies on disk."""
