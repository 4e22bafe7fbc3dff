"""Environments in which a policy can be tried, and their scripted experts."""
