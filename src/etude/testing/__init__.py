"""Fakes and conformance functions, for our tests and for authors of plug-ins."""
