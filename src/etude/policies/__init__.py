"""Networks that turn observations into action chunks."""
