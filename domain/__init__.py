"""What may happen in a story, and what it means. Pure: no I/O, no clock, no randomness."""
