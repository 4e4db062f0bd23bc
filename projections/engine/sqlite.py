"""Connections to a view's SQLite file."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

BUSY_SECONDS = 1
"""How long a page waits for another process's transaction. Who waits for a view tries again until its own time is up."""

# The text of a node takes two to five kilobytes: of those, pages of 4 KB would be half empty.
# The cache holds the upper pages of the indexes while a view is rebuilt; fewer, larger checkpoints write each page less often.
_WRITING = ("page_size=16384", "journal_mode=WAL", "synchronous=NORMAL", "cache_size=-16384", "wal_autocheckpoint=1000")
_READING = ("query_only=ON",)


def writing_engine(path: Path) -> Engine:
    """One connection, which makes the file; its transactions take the write lock as they begin."""
    return _engine(path, "rwc", _WRITING, begin="BEGIN IMMEDIATE", connections=(1, 0))


def reading_engine(path: Path) -> Engine:
    """Connections that cannot write to the file or make one; each transaction sees one state of it."""
    return _engine(path, "ro", _READING, begin="BEGIN", connections=(4, 12))


def _connect(path: Path, mode: str, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    """A connection that begins transactions when it is told to, not by itself."""
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _engine(path: Path, mode: str, pragmas: tuple[str, ...], *, begin: str, connections: tuple[int, int]) -> Engine:
    standing, more = connections
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path, mode, pragmas),
        poolclass=QueuePool,
        pool_size=standing,
        max_overflow=more,
        hide_parameters=True,  # they hold the text of a story, and errors are logged
    )

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
