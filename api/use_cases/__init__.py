"""The use cases: commands and queries, each independent of the way in which it was asked."""
