"""One story: its settings, its tree of nodes, its turns."""
