"""Read models: each a view of the log that can be thrown away and built again, and the engine that keeps them up to date.

`open_views` in `projections.all` opens them; a view's own module holds its tables, its fold over events and its queries.
"""
