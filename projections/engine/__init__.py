"""The engine that keeps views up to date, builds them anew, checks them and swaps them, wherever they are kept."""
