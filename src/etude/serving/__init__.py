"""Policies behind sockets: a client of three dialects, and a server that speaks them."""
