"""A log out of a seed, of any length: many stories played side by side, to try at scale what reads a log.

Nobody was asked for any of it: the player is a pair of dice, the narrator a list of words. All else is real. Every
command is decided by the domain and appended by the log, and every prompt record holds the request that Fabula would
have sent.
"""
