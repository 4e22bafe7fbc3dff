"""The only place that knows all the parts."""
