"""Stores whose views are rebuilt."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
import structlog

from adapters.event_log import tables
from adapters.event_log.log import Execute, SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from adapters.postgresql import PostgresqlDatabase
from adapters.time_and_names import RandomNames, SystemClock
from domain.campaign.commands import ReviseCampaign, StartCampaign
from domain.campaign.settings import CampaignRevision, CampaignSettings
from projections.all import open_views
from projections.engine.database_storage import DatabaseStorage
from projections.engine.engine import Engine

_TOGETHER = 1_000


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


def begin_stories(store: Path, events: int) -> None:
    """Writes a log of so many events to a directory: stories begun, each tenth revised, none played."""
    store.mkdir()
    with closing(SqlEventLog(store / "log.db", SystemClock(), RandomNames())) as log:
        for first in range(0, events, _TOGETHER):
            log.execute_together(partial(_begun, first, min(_TOGETHER, events - first)))


def _begun(first: int, events: int, execute: Execute) -> None:
    for number in range(first, first + events):
        if number % 11 < 10:
            settings = CampaignSettings(title=f"Story {number}", instructions="Be brief.")
            execute(StartCampaign(_name(number), settings, opening="It begins."))
        else:  # one of an earlier page of the log
            execute(ReviseCampaign(_name(number // 2 - number // 2 % 11), CampaignRevision(title=f"Revised {number}")))


def _name(number: int) -> str:
    return f"c_{number:010}"


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
