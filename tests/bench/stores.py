"""Stores whose views are rebuilt."""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from projections.all import open_views
from projections.engine import Engine


@dataclass(frozen=True)
class Store:
    """A log, at this address, and a place for its views."""

    address: str
    views: Path

    @contextmanager
    def opened(self) -> Iterator[Engine]:
        """The views of it, without a thread that follows."""
        with closing(SqlEventLog(Path(self.address) / "log.db", SystemClock(), RandomNames())) as log:
            views = open_views(self.views, log)
            try:
                yield views
            finally:
                views.stop()


def quiet() -> None:
    """No warnings among what is measured."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
