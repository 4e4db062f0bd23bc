"""A log out of a seed: the same each time, and in every way the log of an installation that was played on."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise, product
from pathlib import Path
from typing import Any, get_args

import pytest
from sqlalchemy import select

from adapters.event_log import tables
from adapters.event_log.database import Database
from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from api.use_cases.prompting import Bodies, Prompter
from domain.campaign.events import NarrationAccepted, Operation, TurnKind, TurnOpened
from domain.catalogue import catalogue
from domain.extraction.extraction import prose_of
from domain.prompt.events import PromptSent
from projections.all import ALL, open_views
from replays.generated_log.prompts import WINDOW, RoughCounter
from replays.generated_log.writing import StoreNotEmpty, write
from tests.fakes.time_and_names import NumberedNames, TickingClock

EVENTS = 4000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlEventLog]:
    """A generated log. Tests read it, or change nothing that they do not put back."""
    store = tmp_path_factory.mktemp("generated") / "log.db"
    write(store, seed=1, events=EVENTS)
    with closing(opened(store)) as log:
        yield log


def opened(store: Path | Database) -> SqlEventLog:
    return SqlEventLog(store, TickingClock(), NumberedNames())


def written(place: Path | Database, *, seed: int, events: int = 600) -> list[tuple[Any, ...]]:
    """Every column of every event of a log that is written here."""
    write(place, seed=seed, events=events)
    with closing(opened(place)) as log, log._reads.connect() as connection:
        rows = connection.execute(select(tables.event).order_by(tables.event.c.position)).all()
    return [tuple(row) for row in rows]


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(tmp_path: Path) -> None:
    first = written(tmp_path / "first.db", seed=1)
    assert written(tmp_path / "second.db", seed=1) == first
    assert written(tmp_path / "third.db", seed=2) != first


def test_it_is_the_same_log_in_postgresql(tmp_path: Path, database_url: str) -> None:
    assert written(PostgresqlStore(database_url), seed=1) == written(tmp_path / "log.db", seed=1)


def test_it_ends_with_about_as_many_events_as_were_asked_for_and_no_turn_open(log: SqlEventLog) -> None:
    with log._reads.connect() as connection:
        events = len(connection.execute(select(tables.event.c.position)).all())
    assert EVENTS <= events < EVENTS * 1.02
    assert not log.open_turns()


def test_every_kind_of_event_occurs(log: SqlEventLog) -> None:
    """One that was added to the catalogue is added to the generator too."""
    assert {recorded.topic for recorded in log.read(0, 2 * EVENTS)} == set(catalogue().topics)


def test_stories_are_played_side_by_side(log: SqlEventLog) -> None:
    streams = [recorded.stream for recorded in log.read(0, 2 * EVENTS)]
    assert len(set(streams)) > 4
    assert sum(one != other for one, other in pairwise(streams)) > len(streams) / 3


def test_turns_are_those_of_a_game(log: SqlEventLog) -> None:
    """All kinds of them, some with several takes, and narrations as long as narrations are."""
    happened = [(recorded.stream, recorded.event) for recorded in log.read(0, 2 * EVENTS)]
    turns = [event for _, event in happened if isinstance(event, TurnOpened)]
    assert {(turn.operation, turn.kind) for turn in turns} == set(product(get_args(Operation), get_args(TurnKind)))
    narrations = [(stream, event) for stream, event in happened if isinstance(event, NarrationAccepted)]
    assert {60 <= len(prose_of(told.raw_reply, told.removals).split()) < 230 for _, told in narrations} == {True}
    assert max(Counter((stream, told.parent) for stream, told in narrations).values()) > 2


def test_the_chain_is_whole_and_every_request_rebuilds(log: SqlEventLog) -> None:
    assert log.verify().ok


def test_requests_are_those_that_fabula_would_have_sent(log: SqlEventLog) -> None:
    bodies = Bodies(log)
    prompter = Prompter(log, RoughCounter(), bodies)
    newest = list(newest_requests(log))
    assert newest
    for campaign, prompt in newest:
        sent = bodies.of(campaign, prompt)
        assert sent == prompter.assemble(campaign, prompt.node, log.settings().settings, WINDOW).body.data


def newest_requests(log: SqlEventLog) -> Iterator[tuple[str, PromptSent]]:
    """The newest of each story whose settings and those of the installation still are what they were then."""
    changed = max(log.settings().set_at.values())
    for campaign in sorted({recorded.stream for recorded in log.read(0, 2 * EVENTS, topics=["campaign.started"])}):
        changing = ["campaign.revised", "story.text_corrected", "state.corrected", "prompt.sent"]
        later = log.read(changed, 2 * EVENTS, stream=campaign, topics=changing)
        if later and isinstance(later[-1].event, PromptSent):
            yield campaign, later[-1].event


def decisions(log: SqlEventLog) -> dict[str, list[tuple[object, ...]]]:
    with log._reads.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in tables.DECISION_TABLES
        }


def test_the_decision_tables_are_what_the_events_make_of_them(log: SqlEventLog) -> None:
    kept = decisions(log)
    assert all(kept.values())
    log.rebuild_decision_tables()
    assert decisions(log) == kept


def test_views_that_followed_it_equal_those_that_are_built_from_it(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "log.db")) as log:
        views = open_views(tmp_path / "views", log)
        write(tmp_path / "log.db", seed=3, events=EVENTS // 2, progress=lambda _written, _wanted: views.catch_up())
        views.catch_up()
        followed = {projection.name: views.digest(projection.name) for projection in ALL}
        for projection in ALL:
            views.rebuild(projection.name)
        assert {projection.name: views.digest(projection.name) for projection in ALL} == followed
        views.stop()


def test_a_store_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "log.db", seed=1, events=100)
    with pytest.raises(StoreNotEmpty):
        write(tmp_path / "log.db", seed=1, events=100)


def test_the_command_writes_a_store(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "replays.generated_log", "--seed", "1", "--events", "300", str(tmp_path / "home")]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "events in" in said.stdout
    with closing(opened(tmp_path / "home" / "log.db")) as log:
        assert log.verify().ok
    again = subprocess.run(command, check=False, capture_output=True, text=True)
    assert again.returncode == 1
    assert "holds events already" in again.stderr
