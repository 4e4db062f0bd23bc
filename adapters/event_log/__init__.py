"""The append-only log on SQLAlchemy Core, and the decision tables that are kept in its transactions."""
