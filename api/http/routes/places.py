"""Moving about in a story, naming places, and the difference of two."""
