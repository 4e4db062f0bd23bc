"""A corpus of what a real narrator replied: stories of several genres, played from a script, every raw reply kept."""
