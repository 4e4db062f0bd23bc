"""Long runs of fuzzers that look at which code an input reaches: run by hand, outside the suite."""
