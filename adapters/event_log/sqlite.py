"""SQLite as the log wants it: write-ahead log, nothing acknowledged before it is on the disk, writers in a queue."""

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

BUSY_SECONDS = 30
"""How long a writer waits for another process's transaction. Each lasts milliseconds."""

# A turn's events hold two to five kilobytes each: of those, pages of 4 KB, SQLite's own choice, would be half empty. A
# store that was made with other pages keeps them. A checkpoint comes after as many bytes as ever.
_PAGES = ("page_size=16384", "wal_autocheckpoint=250")


def writing_engine(path: Path, *, synchronous: str = "FULL") -> Engine:
    """An engine with one connection whose transactions take the write lock as they begin.

    A transaction that began as a reader and then wants to write fails at once when another has written meanwhile;
    one that begins IMMEDIATE waits its turn.
    """
    engine = create_engine(_url(path), poolclass=QueuePool, pool_size=1, max_overflow=0)
    pragmas = (*_PAGES, "journal_mode=WAL", f"synchronous={synchronous}", "foreign_keys=OFF")
    _prepare(engine, pragmas, begin="BEGIN IMMEDIATE")
    return engine


def reading_engine(path: Path) -> Engine:
    """An engine whose connections cannot write; each transaction sees one state of the store."""
    engine = create_engine(_url(path), poolclass=QueuePool, pool_size=4, max_overflow=12)
    _prepare(engine, ("query_only=ON",), begin="BEGIN")
    return engine


def _url(path: Path) -> URL:
    # Made of parts: in the text of a URL, a `?` or a `%` in the name of a directory would mean something else.
    return URL.create("sqlite", database=str(path))


def _prepare(engine: Engine, pragmas: tuple[str, ...], *, begin: str) -> None:
    @event.listens_for(engine, "connect")
    def _(dbapi_connection: Any, _record: object) -> None:
        # The driver would begin transactions on its own, deferred and only before writes.
        dbapi_connection.isolation_level = None
        cursor = dbapi_connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        connection.connection.cursor().execute(begin)
