"""What the state of a long story costs: a handful of events, wherever it is read and however it came about."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from adapters.event_log import states
from adapters.event_log.database import Database
from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from adapters.event_log.tables import node, state_version
from domain.narrative.course import after
from tests.fakes.postgresql import Server
from tests.fakes.sample_story import CAMPAIGN, accept, adopt, be, correct_state, create, reread, retry, start, take_turn
from tests.fakes.time_and_names import NumberedNames, TickingClock

TURNS = 200
RAW = "Fog."


@dataclass(frozen=True)
class Long:
    """A long story, and by node the status of its lamp and how much oil is in it. Nodes that were corrected have both."""

    log: SqlEventLog
    statuses: dict[int, str] = field(default_factory=dict)
    oil: dict[int, int] = field(default_factory=dict)

    def accept(self, turn: str, status: str) -> None:
        self.log.execute(accept(turn, RAW, proposed=(be("lamp", status),)))
        self.statuses[self.log.campaign(CAMPAIGN).head] = status

    def correct(self, oil: int) -> None:
        event = {"type": "set_entity_attribute", "entity": "lamp", "attribute": "oil", "value": oil}
        self.log.execute(correct_state(event))
        self.oil[self.log.campaign(CAMPAIGN).head] = oil


@contextmanager
def opened(place: Path | Database) -> Iterator[SqlEventLog]:
    with closing(SqlEventLog(place, TickingClock(), NumberedNames())) as log:
        yield log


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def long(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgresql_server: Server
) -> Iterator[Long]:
    """A story of three hundred versions: two hundred turns, every twentieth told twice, every other one corrected.

    The story goes on from each second take. No test changes what anything in it is.
    """
    with postgresql_server.database() as url:
        sqlite = request.param == "sqlite"
        with opened(tmp_path_factory.mktemp("long") / "log.db" if sqlite else PostgresqlStore(url)) as log:
            yield told(Long(log))


def told(story: Long) -> Long:
    story.log.execute(start())
    story.log.execute(correct_state(create("lamp")))
    for number in range(TURNS):
        story.log.execute(take_turn(f"t_{number}", "continue"))
        story.accept(f"t_{number}", f"{number}")
        if number % 20 == 19:
            story.log.execute(retry(f"r_{number}"))
            story.accept(f"r_{number}", f"{number} again")
        if number % 2:
            story.correct(number)
    return story


@dataclass
class Cost:
    """What reading took: the most rows that were read for one document, and the most events that were applied to one."""

    rows: int = 0
    events: int = 0


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Cost:
    """Counts from here on."""
    cost, read, document_of = Cost(), states._NEAREST.rows, states.document_of
    applied = [0]

    def reading(*asked: Any) -> Sequence[Any]:
        found = read(*asked)
        cost.rows = max(cost.rows, len(found))
        return found

    def applying(*asked: Any) -> Any:
        applied[0] += 1
        return after(*asked)

    def one_document(*asked: Any) -> Any:
        applied[0] = 0
        found = document_of(*asked)
        cost.events = max(cost.events, applied[0])
        return found

    monkeypatch.setattr(states._NEAREST, "rows", reading)
    monkeypatch.setattr(states, "after", applying)
    monkeypatch.setattr(states, "document_of", one_document)
    return cost


def assert_as_told(story: Long, cost: Cost) -> None:
    """That every node has its state, each read from no more than so many events and some from just about that many."""
    lamps = {at: story.log.state(CAMPAIGN, at).entities["lamp"] for at in story.statuses}
    assert {at: lamp.status for at, lamp in lamps.items()} == story.statuses
    assert {at: lamps[at].attributes for at in story.oil} == {at: {"oil": oil} for at, oil in story.oil.items()}
    assert states.STEPS - 3 < cost.events <= states.STEPS
    assert cost.rows <= states.STEPS


def versions(story: Long) -> list[Any]:
    with story.log._reads.connect() as connection:
        return list(connection.execute(select(state_version).order_by(state_version.c.version)))


def nodes(story: Long) -> list[Any]:
    with story.log._reads.connect() as connection:
        return list(connection.execute(select(node.c.node, node.c.state).order_by(node.c.node)))


def test_a_state_is_read_from_a_handful_of_events(long: Long, cost: Cost) -> None:
    assert len(versions(long)) > 300
    assert_as_told(long, cost)


def test_so_is_one_whose_versions_were_folded_anew(long: Long, cost: Cost) -> None:
    before = versions(long), nodes(long)
    long.log.rebuild_decision_tables()
    assert (versions(long), nodes(long)) == before
    assert_as_told(long, cost)


def test_so_is_one_whose_narrations_were_all_reread(long: Long, cost: Cost) -> None:
    at = {each: long.log.node(CAMPAIGN, each) for each in long.statuses}
    readings = [
        reread(each, be("lamp", status), at=(at[each].branch, at[each].depth), raw=RAW)
        for each, status in long.statuses.items()
    ]
    version = long.log.read(0, 10_000, stream=CAMPAIGN)[-1].version
    long.log.execute(adopt(f"x-{version}", *readings, version=version))
    cost.events = 0  # making them all anew is no reading
    assert_as_told(long, cost)


def test_so_is_one_of_then(long: Long, cost: Cost) -> None:
    """At every narration, as it was when that had just been told."""
    for each in long.log.read(0, 10_000, stream=CAMPAIGN, topics=["state.proposal_judged"]):
        head, document = long.log.state_as_of(CAMPAIGN, each.position)
        assert document.entities["lamp"].status == long.statuses[head]
    assert cost.events <= states.STEPS
    assert cost.rows <= states.STEPS


def test_few_documents_are_stored_whole(long: Long) -> None:
    """One in so many, on each way through the tree."""
    stored = [row for row in versions(long) if row.document is not None]
    assert 0 < len(stored) <= len(versions(long)) / states.STEPS
    assert {row.steps for row in stored} == {0}
    assert max(row.steps for row in versions(long)) == states.STEPS - 1


def test_a_turn_reads_no_more_of_it_than_that(long: Long, cost: Cost) -> None:
    long.log.execute(take_turn("t_last", "continue", campaign=CAMPAIGN))
    long.accept("t_last", "last")
    assert cost.events <= states.STEPS
    assert cost.rows <= states.STEPS
