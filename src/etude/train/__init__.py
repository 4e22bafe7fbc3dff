"""Optimising a policy: batches, steps, the loop around them."""
