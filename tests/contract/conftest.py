"""Every implementation of the event log, so that each promise is asked of all of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from domain.event import EventCatalogue
from tests.fakes.event_log import MemoryEventLog, MemoryStore
from tests.fakes.time_and_names import NumberedNames, TickingClock

Log = SqlEventLog | MemoryEventLog
OpenLog = Callable[..., Log]


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
def open_log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenLog]:
    """Opens the log of one store, as often as it is asked to, to know the events of a catalogue (today's by default)."""
    clock, names, store = TickingClock(), NumberedNames(), MemoryStore()
    url = request.getfixturevalue("database_url") if request.param == "postgresql" else ""
    opened: list[Any] = []

    def opening(events: EventCatalogue | None = None) -> Log:
        match request.param:
            case "sqlite":
                opened.append(SqlEventLog(tmp_path / "log.db", clock, names, events))
            case "postgresql":
                opened.append(SqlEventLog(PostgresqlStore(url), clock, names, events))
            case _:
                opened.append(MemoryEventLog(clock, names, events, store))
        log: Log = opened[-1]
        return log

    yield opening
    for log in opened:
        log.close()


@pytest.fixture
def log(open_log: OpenLog) -> Log:
    """An empty log."""
    return open_log()
