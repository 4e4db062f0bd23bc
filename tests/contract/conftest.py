"""Every implementation of a port, so that each promise is asked of all of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.event_log.log import SqlEventLog
from domain.event import EventCatalogue
from domain.log import EventLog
from tests.fakes.event_log import MemoryEventLog
from tests.fakes.time_and_names import NumberedNames, TickingClock

OpenLog = Callable[[EventCatalogue | None], EventLog]


@pytest.fixture(params=["sql", "memory"])
def open_log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenLog]:
    """Makes a log, empty and with a clock and names of its own, that knows the events of a catalogue."""
    made: list[SqlEventLog | MemoryEventLog] = []

    def opened(events: EventCatalogue | None = None) -> EventLog:
        clock, names = TickingClock(), NumberedNames()
        if request.param == "sql":
            made.append(SqlEventLog(tmp_path / f"log{len(made)}.db", clock, names, events))
        else:
            made.append(MemoryEventLog(clock, names, events))
        return made[-1]

    yield opened
    for log in made:
        log.close()


@pytest.fixture
def log(open_log: OpenLog) -> EventLog:
    """An empty log."""
    return open_log(None)
