"""Which task is practised next. Pure: no files, no clock, no torch."""
