"""SQLite as the log wants it: write-ahead log, nothing acknowledged before it is on the disk, writers in a queue."""

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import stamina
from sqlalchemy import URL, Connection, Engine, create_engine, event, func, select, text
from sqlalchemy.pool import QueuePool

from adapters.event_log import tables
from adapters.event_log.failures import explained
from adapters.event_log.opened_file import OpenedFile
from adapters.event_log.prepared import Parameters, Prepared, inserting

_PRIMARY = 0xFF
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

BUSY_SECONDS = 30
"""How long a writer waits for another process's transaction. Each lasts milliseconds."""

# A turn's events hold two to five kilobytes each: of those, pages of 4 KB, SQLite's own choice, would be half empty. A
# store that was made with other pages keeps them. A checkpoint comes after as many bytes as ever.
_PAGES = ("page_size=16384", "wal_autocheckpoint=250")

_INSERT = inserting(tables.event)
_LAST = Prepared(select(func.max(tables.event.c.position)))


class SqliteFile:
    """A store in a file. While the file is not where it was opened, it does not stand."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: OpenedFile

    def __str__(self) -> str:
        """The file's path."""
        return str(self._path)

    def writing_engine(self) -> Engine:
        """See Database."""
        return writing_engine(self._path)

    def reading_engine(self) -> Engine:
        """See Database."""
        return reading_engine(self._path)

    def explained(self) -> AbstractContextManager[None]:
        """See Database."""
        return explained(str(self))

    def holds_a_store(self) -> bool:
        """See Database."""
        return self._path.exists() and self._path.stat().st_size > 0

    def prepare(self, connection: Connection) -> None:  # noqa: ARG002  # by now its first transaction has made the file
        """See Database."""
        self._opened = OpenedFile(self._path)

    def must_stand(self) -> None:
        """See Database."""
        self._opened.must_stand()

    def insert(self, connection: Connection, rows: Sequence[Parameters]) -> list[int]:
        """See Database."""
        _INSERT.run_all(connection, [{**row, "position": None} for row in rows])  # SQLite counts
        last = _LAST.value(connection, {})
        return list(range(last - len(rows) + 1, last + 1))

    def positions_given(self, connection: Connection) -> int:
        """See Database."""
        given: int | None = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = 'event'")).scalar()
        return given or 0

    def ears(self, announce: object) -> None:
        """SQLite tells nobody: what other processes append is found by looking."""


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


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & _PRIMARY in _BUSY


def _prepare(engine: Engine, pragmas: tuple[str, ...], *, begin: str) -> None:
    @event.listens_for(engine, "connect")
    def _(dbapi_connection: Any, _record: object) -> None:
        # The driver would begin transactions on its own, deferred and only before writes.
        dbapi_connection.isolation_level = None
        cursor = dbapi_connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
        for pragma in pragmas:
            _set(cursor, pragma)
        cursor.close()

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        connection.connection.cursor().execute(begin)


@stamina.retry(on=_is_busy, attempts=None, timeout=BUSY_SECONDS, wait_initial=0.01, wait_max=0.5)
def _set(cursor: Any, pragma: str) -> None:
    """Sets a pragma. Changing the journal does not wait for a lock by itself, as everything else does."""
    cursor.execute(f"PRAGMA {pragma}")
