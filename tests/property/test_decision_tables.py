"""Whatever is asked of a store: its tables are what its events make of them, and both logs agree on every answer."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from adapters.event_log import states, tables
from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from domain.campaign.events import NarrationAccepted
from domain.campaign.facts import CampaignFacts
from domain.errors import FabulaError
from domain.log import EventLog
from tests.fakes.event_log import MemoryEventLog
from tests.fakes.postgresql import Server
from tests.fakes.time_and_names import NumberedNames, TickingClock
from tests.property.steps import CAMPAIGNS, STEPS, Ask, Change, Delete, Step, raws_of

pytestmark = pytest.mark.timeout(900)
"""An example that fails is made smaller for up to five minutes, and is worth waiting for."""

THOROUGHLY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LESS_OFTEN = settings(THOROUGHLY, max_examples=10)
NOW_AND_THEN = settings(THOROUGHLY, max_examples=5)


@pytest.fixture(autouse=True, scope="module")
def whole_documents_close_together() -> Iterator[None]:
    """No story here is long enough to be read over several whole documents, were they as far apart as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "STEPS", 3)
        yield


@contextmanager
def logs() -> Iterator[tuple[SqlEventLog, MemoryEventLog]]:
    """An empty log of each kind, with clocks and names of their own that tell the same."""
    with TemporaryDirectory() as directory:
        sql = SqlEventLog(Path(directory) / "log.db", TickingClock(), NumberedNames())
        in_no_hurry(sql)
        try:
            yield sql, MemoryEventLog(TickingClock(), NumberedNames())
        finally:
            sql.close()


def in_no_hurry(log: SqlEventLog) -> None:
    """The disk need not have it before the next step: nothing here outlasts the process."""
    raw = log._writes.raw_connection()
    raw.cursor().execute("PRAGMA synchronous=OFF")
    raw.close()


def outcome(ask: Callable[[], Any]) -> object:
    """The answer, or the refusal."""
    try:
        return ask()
    except FabulaError as refusal:
        return type(refusal), refusal.message, refusal.fields


def happened(log: EventLog, step: Step, facts: CampaignFacts, new: str) -> object:
    """What the step made happen in a log."""
    match step:
        case Delete(campaign=campaign):
            return outcome(lambda: log.delete_campaign(campaign).events)
        case Change(changes=changes):
            return outcome(lambda: log.change_settings(changes).events)
        case Ask():
            told = log.read(0, 10_000, stream=step.campaign, topics=[NarrationAccepted.topic])
            raws = raws_of(one.event for one in told)
            return outcome(lambda: log.execute(step.command(facts, new, raws)).events)


def take(steps: Iterable[tuple[int, Step]], sql: SqlEventLog, memory: MemoryEventLog) -> None:
    """Every step, each with a number of its own, in both logs, which have the same to say to each."""
    for number, step in steps:
        facts = memory.whole(CAMPAIGNS[0] if isinstance(step, Change) else step.campaign)
        assert happened(sql, step, facts, f"t_{number}") == happened(memory, step, facts, f"t_{number}")


def rows(log: SqlEventLog) -> dict[str, set[tuple[Any, ...]]]:
    """Every row of every decision table."""
    with log._reads.connect() as connection:
        return {
            table.name: {tuple(row) for row in connection.execute(select(table))} for table in tables.DECISION_TABLES
        }


def answers(log: EventLog, turns: dict[str, tuple[str, ...]]) -> dict[str, object]:
    """The answer to everything that can be asked."""
    found: dict[str, object] = {
        "read": list(log.read(0, 10_000)),
        "some": list(log.read(3, 5, topics=["story.turn_opened", "story.narration_accepted"])),
        "settings": log.settings(),
        "max_position": log.max_position(),
        "verify": log.verify(),
        "open_turns": sorted(log.open_turns(), key=lambda pair: pair[0]),
    }
    for campaign in (*CAMPAIGNS, "c_nowhere"):
        found |= {f"{campaign} {question}": answer for question, answer in of_campaign(log, campaign).items()}
        for turn in (*turns.get(campaign, ()), "t_unknown"):
            found[f"{campaign} {turn}"] = outcome(lambda c=campaign, t=turn: log.turn(c, t))  # type: ignore[misc]
            found[f"{campaign} {turn} events"] = outcome(lambda c=campaign, t=turn: list(log.turn_events(c, t)))  # type: ignore[misc]
    return found


def of_campaign(log: EventLog, campaign: str) -> dict[str, object]:
    """The answer to everything about one campaign."""
    facts = outcome(lambda: log.campaign(campaign))
    found = {
        "facts": facts,
        "times": outcome(lambda: log.campaign_times(campaign)),
        "activity": log.activity([campaign]),
        "stream": list(log.read(0, 10_000, stream=campaign)),
        "max_position": log.max_position(campaign),
        "last_prompt": log.last_prompt(campaign),
        "words": list(log.words_of(campaign, [3, 1, 2, 99])),
        "payloads": log.payloads(campaign, [3, 1, 99, 2]),
        "tree": outcome(lambda: log.tree(campaign)),
        "save_points": outcome(lambda: list(log.save_points(campaign))),
        "profiles": outcome(lambda: log.visual_profiles(campaign)),
        "heads": [outcome(lambda p=at: log.head_at(campaign, p)) for at in range(0, log.max_position() + 1, 5)],  # type: ignore[misc]
        "then": [outcome(lambda p=at: log.state_as_of(campaign, p)) for at in range(0, log.max_position() + 1, 4)],  # type: ignore[misc]
        "verify": log.verify(campaign),
    }
    for node in range(getattr(facts, "last_node", 0) + 2):
        found |= {f"{node} {question}": answer for question, answer in at_node(log, campaign, node).items()}
    return found


def at_node(log: EventLog, campaign: str, node: int) -> dict[str, object]:
    """The answer to everything about one node."""
    return {
        "node": outcome(lambda: log.node(campaign, node)),
        "takes": outcome(lambda: list(log.takes(campaign, node))),
        "state": outcome(lambda: log.state(campaign, node).to_bytes()),
        "state course": outcome(lambda: list(log.state_course(campaign, node))),
        "reading": outcome(lambda: log.reading(campaign, node)),
        "judgement": outcome(lambda: log.judgement(campaign, node)),
        "floor": outcome(lambda: log.floor(campaign, node)),
        "line": outcome(lambda: list(log.line(campaign, node))),
        "line from 3": outcome(lambda: list(log.line(campaign, node, down_to=3))),
        "text": outcome(lambda: list(log.end_of_line(campaign, node, limit=10_000))),
        "newest": outcome(lambda: list(log.end_of_line(campaign, node, limit=2))),
        "page": outcome(lambda: list(log.end_of_line(campaign, node, limit=3, before=4))),
    }


def assert_they_agree(sql: SqlEventLog, memory: MemoryEventLog) -> None:
    """That both answer alike to everything, and that the tables are what the events make of them."""
    turns = {campaign: tuple(memory.whole(campaign).turns) for campaign in CAMPAIGNS}
    assert answers(sql, turns) == answers(memory, turns)
    assert sql.verify().ok
    kept = rows(sql)
    sql.rebuild_decision_tables()
    assert rows(sql) == kept


@THOROUGHLY
@given(STEPS)
def test_both_logs_say_the_same_and_the_tables_are_what_the_events_make_of_them(steps: list[Step]) -> None:
    with logs() as (sql, memory):
        take(enumerate(steps), sql, memory)
        assert_they_agree(sql, memory)


@NOW_AND_THEN
@given(steps=STEPS)
def test_postgresql_says_the_same(postgresql_server: Server, steps: list[Step]) -> None:
    with postgresql_server.database() as url:
        sql, memory = (
            SqlEventLog(PostgresqlStore(url), TickingClock(), NumberedNames()),
            MemoryEventLog(TickingClock(), NumberedNames()),
        )
        try:
            take(enumerate(steps), sql, memory)
            assert_they_agree(sql, memory)
        finally:
            sql.close()


@LESS_OFTEN
@given(STEPS, st.integers(0, 30))
def test_tables_that_were_folded_anew_serve_what_is_asked_next(steps: list[Step], pause: int) -> None:
    with logs() as (sql, memory):
        take(enumerate(steps[:pause]), sql, memory)
        sql.rebuild_decision_tables()
        take(enumerate(steps[pause:], pause), sql, memory)
        assert sql.read(0, 10_000) == memory.read(0, 10_000)
