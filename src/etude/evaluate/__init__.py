"""Closed-loop episodes and what they say."""
