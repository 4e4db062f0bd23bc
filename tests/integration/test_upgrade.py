"""A store of format 1, as 0.1.0 wrote it, is brought up when it is opened: all of it or nothing."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.event_log import decision_tables
from adapters.event_log import log as log_of_today
from adapters.event_log.log import SqlEventLog
from adapters.event_log.tables import LOG_FORMAT
from domain.campaign.decide import decide
from domain.campaign.facts import StoryEvent
from domain.errors import NothingToRedo
from domain.narrative.events import ProposalJudged
from tests.fakes.sample_story import (
    CAMPAIGN,
    accept,
    fail,
    go,
    name_branch,
    redo,
    retry,
    save,
    start,
    take_turn,
    undo,
)
from tests.fakes.time_and_names import NumberedNames, TickingClock

OTHER = "c_other"

TABLES_OF_FORMAT_1 = """
CREATE TABLE campaign (
    campaign TEXT NOT NULL, settings TEXT NOT NULL, created_at TEXT NOT NULL, revised_at TEXT NOT NULL,
    head INTEGER NOT NULL, tip INTEGER NOT NULL, last_node INTEGER NOT NULL, last_branch INTEGER NOT NULL,
    open_turn TEXT, last_prompt INTEGER, PRIMARY KEY (campaign)
) WITHOUT ROWID;
CREATE TABLE node (
    campaign TEXT NOT NULL, node INTEGER NOT NULL, parent INTEGER, kind TEXT NOT NULL, branch INTEGER NOT NULL,
    depth INTEGER NOT NULL, turn TEXT, children INTEGER NOT NULL, text_at INTEGER NOT NULL,
    PRIMARY KEY (campaign, node)
) WITHOUT ROWID;
CREATE INDEX node_by_place ON node (campaign, branch, depth);
CREATE INDEX node_by_parent ON node (campaign, parent);
CREATE TABLE branch (
    campaign TEXT NOT NULL, branch INTEGER NOT NULL, parent_branch INTEGER, fork_depth INTEGER NOT NULL,
    PRIMARY KEY (campaign, branch)
) WITHOUT ROWID;
"""
"""Those tables of format 1 that are not as they were, in its words."""

CHANGED_SINCE = ("campaign", "node", "branch")
NEW_SINCE = ("save_point", "state_version", "visual_profile")
INDEXES_SINCE = ("node_by_place", "node_by_parent", "branch_by_fork", "branch_by_name", "event_rare")

CAMPAIGN_COLUMNS = (
    "campaign, settings, created_at, revised_at, head, tip, last_node, last_branch, open_turn, last_prompt"
)
NODE_COLUMNS = "campaign, node, parent, kind, branch, depth, turn, children, text_at"
BRANCH_COLUMNS = "campaign, branch, parent_branch, fork_depth"


@contextmanager
def opened(path: Path) -> Iterator[SqlEventLog]:
    log = SqlEventLog(path, TickingClock(), NumberedNames())
    try:
        yield log
    finally:
        log.close()


def query(path: Path, asked: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(asked).fetchall()


def schema(path: Path) -> list[tuple[Any, ...]]:
    return query(path, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")


def columns(path: Path) -> set[tuple[Any, ...]]:
    """The columns of every table: the table, the column, its type, whether it must be there, its place in the key."""
    tables = query(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    asked = "SELECT name, type, \"notnull\", pk FROM pragma_table_info('{}')"
    return {(table, *row) for (table,) in tables for row in query(path, asked.format(table))}


def events(path: Path) -> list[tuple[Any, ...]]:
    return query(path, "SELECT * FROM event ORDER BY position") + query(path, "SELECT * FROM stream_head")


@pytest.fixture
def old(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What 0.1.0 could write: turns, takes, a failed turn, a running one; in its own tables."""
    with monkeypatch.context() as patch, opened(store) as log:
        patch.setattr(log_of_today, "decide", _decide_as_0_1_0)
        for campaign in (CAMPAIGN, OTHER):
            log.execute(start(campaign=campaign))
            for number in range(3):
                log.execute(take_turn(f"t_{number}", text=f"Step {number}.", campaign=campaign))
                log.execute(accept(f"t_{number}", f"Told {number}.", campaign=campaign))
            log.execute(retry("t_3", campaign=campaign))
            log.execute(accept("t_3", "Told again.", campaign=campaign))
            log.execute(take_turn("t_4", text="And fail.", campaign=campaign))
            log.execute(fail("t_4", campaign=campaign))
        log.execute(take_turn("t_5", text="And wait.", campaign=OTHER))
    _as_format_1(store)
    return store


def _decide_as_0_1_0(*asked: Any) -> list[StoryEvent]:
    """It judged no proposals, and wrote nothing of them."""
    return [event for event in decide(*asked) if not isinstance(event, ProposalJudged)]


def _as_format_1(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for table in CHANGED_SINCE:
            connection.execute(f"ALTER TABLE {table} RENAME TO newer_{table}")
        for index in INDEXES_SINCE:
            connection.execute(f"DROP INDEX {index}")
        connection.executescript(TABLES_OF_FORMAT_1)
        for table in CHANGED_SINCE:
            kept = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
            connection.execute(f"INSERT INTO {table} ({kept}) SELECT {kept} FROM newer_{table}")  # noqa: S608  # names of its own
        for table in (*NEW_SINCE, *(f"newer_{table}" for table in CHANGED_SINCE)):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE store SET format = 1")
        connection.commit()


def test_it_is_what_0_1_0_wrote(old: Path) -> None:
    """The tables and their columns, and the topics of the events, are those of the store that is kept from then."""
    kept = Path(__file__).parent.parent / "stores" / "0.1.0" / "log.db"
    assert columns(old) == columns(kept)
    asked = "SELECT DISTINCT topic FROM event"
    assert set(query(old, asked)) <= set(query(kept, asked))


def test_it_has_the_schema_of_a_fresh_store_and_every_event_as_it_was(old: Path, tmp_path: Path) -> None:
    before = events(old)
    with opened(tmp_path / "fresh.db"), opened(old) as log:
        assert log.verify().ok
    assert schema(old) == schema(tmp_path / "fresh.db")
    assert query(old, "SELECT format FROM store") == [(LOG_FORMAT,)]
    assert events(old) == before


def test_it_answers_as_before_and_its_tables_are_what_the_events_make(old: Path) -> None:
    asked = (
        f"SELECT {CAMPAIGN_COLUMNS} FROM campaign",  # noqa: S608  # names of its own
        f"SELECT {NODE_COLUMNS} FROM node",  # noqa: S608  # names of its own
        f"SELECT {BRANCH_COLUMNS} FROM branch",  # noqa: S608  # names of its own
        "SELECT * FROM turn",
        "SELECT * FROM idempotency_key",
    )
    before = [query(old, one) for one in asked]
    with opened(old) as log:
        assert [query(old, one) for one in asked] == before
        branches = query(old, "SELECT * FROM branch")
        log.rebuild_decision_tables()
        assert [query(old, one) for one in asked] == before
        assert query(old, "SELECT * FROM branch") == branches
        assert log.campaign(OTHER).open_turn == "t_5"


def test_one_moves_about_in_it_at_once(old: Path) -> None:
    with opened(old) as log:
        log.execute(undo())
        log.execute(undo())
        assert log.campaign(CAMPAIGN).head == 5
        log.execute(redo())
        assert (log.campaign(CAMPAIGN).head, log.campaign(CAMPAIGN).tip) == (8, 9)
        log.execute(go(7))
        with pytest.raises(NothingToRedo):
            log.execute(redo())
        log.execute(go(5))
        assert log.campaign(CAMPAIGN).tip == 7  # the leaf below that was the head last
        log.execute(save("s_1", "here"))
        log.execute(name_branch(1, "the first way"))
        assert log.place_called(CAMPAIGN, "The First Way") == 7


def test_again_changes_nothing(old: Path) -> None:
    with opened(old):
        pass
    before = old.read_bytes()
    with opened(old):
        pass
    assert old.read_bytes() == before


def test_many_at_once_bring_it_up_once(old: Path) -> None:
    def open_it(_: int) -> tuple[int, bool]:
        with opened(old) as log:
            return log.campaign(CAMPAIGN).head, log.verify().ok

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(open_it, range(4))) == {(9, True)}
    assert query(old, "SELECT format FROM store") == [(LOG_FORMAT,)]
    assert query(old, "SELECT count(*) FROM node WHERE campaign = 'c_lighthouse'") == [(9,)]


@pytest.mark.parametrize("after", [0, 1, 10, 30])
def test_what_breaks_off_leaves_it_as_it_was(old: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It broke off at the events' folding, so many of them done: the old program could go on with the store."""
    before = schema(old), events(old), query(old, "SELECT * FROM node"), query(old, "SELECT * FROM branch")
    fold, done = decision_tables.fold, 0

    def breaking(*arguments: Any) -> None:
        nonlocal done
        if done == after:
            raise KeyboardInterrupt
        done += 1
        fold(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(decision_tables, "fold", breaking)
        with pytest.raises(KeyboardInterrupt):
            SqlEventLog(old, TickingClock(), NumberedNames())
    assert (schema(old), events(old), query(old, "SELECT * FROM node"), query(old, "SELECT * FROM branch")) == before
    assert query(old, "SELECT format FROM store") == [(1,)]
    with opened(old) as log:
        assert log.campaign(CAMPAIGN).head == 9
