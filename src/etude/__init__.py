"""Etude: train one robot policy on many tasks when compute and time are short."""

__version__ = "0.1.0"
