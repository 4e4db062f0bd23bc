"""The difference of two places in one story: where they parted, and how their words differ."""
