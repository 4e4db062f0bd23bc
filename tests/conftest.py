"""What many tests begin with: a place for a store, and a log in it."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from adapters.event_log.log import SqlEventLog
from tests.fakes.postgresql import database_url, postgresql_server
from tests.fakes.time_and_names import NumberedNames, TickingClock

__all__ = ["database_url", "log", "postgresql_server", "store"]


@pytest.fixture(autouse=True)
def log_of_the_program() -> Iterator[None]:
    """Commands that a test runs in this process set up the program's log as they like it: it is not the next test's."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store may be made; there is none yet."""
    return tmp_path / "log.db"


@pytest.fixture
def log(store: Path) -> Iterator[SqlEventLog]:
    """An empty log on SQLite, whose clock and names can be foretold."""
    opened = SqlEventLog(store, TickingClock(), NumberedNames())
    yield opened
    opened.close()
