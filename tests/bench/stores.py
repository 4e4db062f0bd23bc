"""Stores whose views are rebuilt."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import structlog

from adapters.event_log import tables
from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from adapters.postgresql import PostgresqlDatabase
from adapters.time_and_names import RandomNames, SystemClock
from projections.all import open_views
from projections.engine.database_storage import DatabaseStorage
from projections.engine.engine import Engine


@dataclass(frozen=True)
class Store:
    """A log in a directory, with a directory for its views; or both in the PostgreSQL database that a URL names."""

    address: str
    views: Path

    @contextmanager
    def opened(self) -> Iterator[Engine]:
        """The views of it, without a thread that follows."""
        with closing(SqlEventLog(self._place, SystemClock(), RandomNames())) as log:
            views = open_views(self._storage, log)
            try:
                yield views
            finally:
                views.stop()

    @property
    def _place(self) -> Path | PostgresqlStore:
        return PostgresqlStore(self.address) if _is_url(self.address) else Path(self.address) / "log.db"

    @property
    def _storage(self) -> Path | DatabaseStorage:
        return DatabaseStorage(PostgresqlDatabase(self.address)) if _is_url(self.address) else self.views


def copied(store: Path, url: str) -> None:
    """Copies the events of a log in a directory to a database that is empty: as much as views are made of."""
    SqlEventLog(PostgresqlStore(url), SystemClock(), RandomNames()).close()
    names = ", ".join(tables.event.c.keys())
    rows = f"SELECT {names} FROM event ORDER BY position"  # noqa: S608
    with closing(sqlite3.connect(store / "log.db")) as source, psycopg.connect(url) as target:
        with target.cursor().copy(f"COPY event ({names}) FROM STDIN") as copy:
            for row in source.execute(rows):
                copy.write_row(row)
        target.execute("UPDATE position_given SET newest = (SELECT max(position) FROM event)")
    with psycopg.connect(url, autocommit=True) as target:
        target.execute("VACUUM ANALYZE event")  # as the server does by itself, a while after


def _is_url(address: str) -> bool:
    return "://" in address


def quiet() -> None:
    """No warnings among what is measured."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
