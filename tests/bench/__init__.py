"""Speed and size, as ratios from one run: `python -m tests.bench`."""
