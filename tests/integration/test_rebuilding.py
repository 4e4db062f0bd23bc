"""Building a view anew beside the one that serves, as files and in PostgreSQL: gone on with, swapped, compared, killed."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, update
from structlog.testing import capture_logs

from adapters.event_log.log import SqlEventLog
from adapters.postgresql import PostgresqlDatabase
from domain.errors import StoreFailure, UnknownProjection, ViewBehind, ViewParked
from projections import story
from projections.all import ALL
from projections.engine import follower
from projections.engine.database_storage import DatabaseStorage
from projections.engine.digest import digest_of
from projections.engine.engine import Engine
from projections.engine.file_storage import FileStorage
from projections.engine.place import ForeignView, Storage
from projections.projection import Fold, Projection
from projections.story import STORY
from replays.generated_log.writing import write
from tests.fakes.postgresql import Server
from tests.fakes.sample_story import CAMPAIGN, accept, correct, prompted, record, revise, start, take_turn

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("FABULA_KILLS", "4"))
"""How often workers are killed while they rebuild."""
KILL_EVENTS = int(os.environ.get("FABULA_KILL_EVENTS", "0"))
"""Of how many events, out of a seed; without it a small log of the test's own."""
NAMES = [projection.name for projection in ALL]


@dataclass(frozen=True)
class Kept:
    """Where views are kept, and how they are lost. `address` is what a process of its own needs to find them."""

    address: str
    storage: Callable[[], Storage]
    names: Callable[[], list[str]]
    lose: Callable[[str], None]
    spoil: Callable[[str, str], None]


@pytest.fixture(params=["files", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    if request.param == "files":
        yield _in_files(tmp_path / "views")
        return
    server: Server = request.getfixturevalue("postgresql_server")
    with server.database() as url:
        yield _in_database(url)


def _in_files(directory: Path) -> Kept:
    def lose(pattern: str) -> None:
        for path in directory.glob(f"{pattern}*.db*"):
            path.unlink(missing_ok=True)

    def names() -> list[str]:
        return sorted(path.name.removesuffix(".db") for path in directory.glob("*.db") if path.stem != "serving")

    def spoil(view: str, statement: str) -> None:
        with closing(sqlite3.connect(next(directory.glob(f"{view}.v*.db")))) as file:
            file.execute(statement)
            file.commit()

    return Kept(str(directory), lambda: FileStorage(directory), names, lose, spoil)


def _in_database(url: str) -> Kept:
    def asked(statement: str) -> list[Any]:
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def names() -> list[str]:
        found = asked("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'fabula\\_view\\_%'")
        shown = (name.removeprefix("fabula_view_").replace("_v", ".v").replace("_g", ".g") for (name,) in found)
        return sorted(name.removesuffix(".g0") for name in shown)

    def lose(pattern: str) -> None:
        schemas = "fabula_views" if pattern == "serving" else f"fabula_view_{pattern}"
        for (name,) in asked(f"SELECT nspname FROM pg_namespace WHERE nspname LIKE '{schemas}%'"):  # noqa: S608
            asked(f'DROP SCHEMA "{name}" CASCADE')

    def spoil(view: str, statement: str) -> None:
        ((schema,),) = asked(f"SELECT nspname FROM pg_namespace WHERE nspname LIKE 'fabula_view_{view}%'")  # noqa: S608
        asked(f'SET search_path = "{schema}"; {statement}')

    return Kept(url, lambda: DatabaseStorage(PostgresqlDatabase(url)), names, lose, spoil)


Opening = Callable[..., Engine]


@pytest.fixture
def opening(kept: Kept, log: SqlEventLog) -> Iterator[Opening]:
    """Opens the views of the store, each time as another process would."""
    with ExitStack() as opened:

        def opening(projections: Sequence[Projection] = ALL, **more: Any) -> Engine:
            views = Engine(kept.storage(), log, projections, **more)
            opened.callback(views.stop)
            return views

        yield opening


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "FIRST_DELAY", 0.01)
    monkeypatch.setattr("projections.engine.engine.POLL_SECONDS", 0.01)
    monkeypatch.setattr("projections.engine.builds.LOOK_SECONDS", 0.02)


def tell(log: SqlEventLog, turn: str, *, campaign: str = CAMPAIGN) -> int:
    log.execute(take_turn(turn, text=f"Wait, {turn}. \x00 \x01", campaign=campaign))
    log.execute(record(prompted(turn), campaign=campaign))
    return log.execute(accept(turn, f"The tide turns. {turn}", campaign=campaign)).position


def tell_many(log: SqlEventLog, turns: int, *, campaign: str = CAMPAIGN) -> None:
    log.execute(start(campaign=campaign))
    for number in range(turns):
        tell(log, f"t_{number}", campaign=campaign)


def digests(views: Engine) -> list[str]:
    found = []
    for projection in ALL:
        with views.reading(projection.name, timeout=120) as connection:
            found.append(digest_of(connection, projection.tables))
    return found


def eventually(holds: Callable[[], object], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return False


def spoil(views: Engine, name: str = "story", *, campaign: str = CAMPAIGN) -> None:
    """As if a fold had had a mistake: one row of what serves is not what the log makes of it."""
    serving = views._views[name]._builds.serving()
    assert serving is not None
    with serving.place.writing() as connection:
        wrong = update(story.node).where(story.node.c.campaign == campaign, story.node.c.node == 3)
        connection.execute(wrong.values(text="WRONG"))


def text_of(views: Engine, node: int, *, campaign: str = CAMPAIGN) -> str:
    with views.reading("story") as connection:
        found = story.one(connection, campaign, node)
        assert found is not None
        return found.text


# Beside, and swapped


def test_a_build_beside_takes_the_place_of_what_served_and_that_is_removed(
    log: SqlEventLog, opening: Opening, kept: Kept
) -> None:
    views = opening()
    tell_many(log, 10)
    before = digests(views)
    assert kept.names() == ["campaigns.v2", "prompts.v3", "story.v3"]
    assert [views.rebuild(name).differed for name in NAMES] == [False] * 3
    assert kept.names() == ["campaigns.v2.g1", "prompts.v3.g1", "story.v3.g1"]
    assert digests(views) == before
    assert digests(opening()) == before
    views.rebuild("story")
    assert kept.names() == ["campaigns.v2.g1", "prompts.v3.g1", "story.v3.g2"]


def test_a_view_that_was_not_what_the_log_makes_of_it_is_mended_and_that_is_told(
    log: SqlEventLog, opening: Opening
) -> None:
    views = opening()
    tell_many(log, 5)
    before = digests(views)
    spoil(views)
    assert text_of(views, 3) == "WRONG"
    with capture_logs() as logged:
        assert views.rebuild("story").differed
    assert [entry["differed"] for entry in logged if entry["event"] == "view rebuilt"] == [True]
    assert digests(views) == before


class Gate:
    """A fold that a test holds up."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self.holding = False
        self.met = 0

    def __call__(self, connection: Connection, entries: Sequence[Any]) -> None:
        self.met += 1
        while self.holding and self.met > 2:
            time.sleep(0.005)
        self._fold(connection, entries)


def test_what_served_serves_until_the_build_beside_is_done_and_a_turn_of_meanwhile_is_in_it(
    log: SqlEventLog, opening: Opening
) -> None:
    tell_many(log, 10)
    views, gate = opening(), Gate(STORY.fold)
    digests(views)
    builder = opening([replace(STORY, fold=gate)], page=10)
    gate.holding = True
    building = Thread(target=builder.rebuild, args=["story"])
    building.start()
    assert eventually(lambda: gate.met > 2)
    tell(log, "t_meanwhile")
    assert text_of(views, 23) == "The tide turns. t_meanwhile"
    status = next(one for one in views.status() if one.name == "story")
    assert (status.state, status.rebuilding is not None) == ("current", True)
    gate.holding = False
    building.join()
    assert text_of(views, 23) == "The tide turns. t_meanwhile"
    assert text_of(builder, 23) == "The tide turns. t_meanwhile"
    assert next(one for one in views.status() if one.name == "story").rebuilding is None
    assert digests(views) == digests(opening())


def test_how_far_a_build_is_can_be_asked_in_another_process(log: SqlEventLog, opening: Opening) -> None:
    tell_many(log, 30)
    digests(opening())
    gate = Gate(STORY.fold)
    builder, asked = opening([replace(STORY, fold=gate)], page=10), opening()
    gate.holding = True
    building = Thread(target=builder.rebuild, args=["story"])
    building.start()
    assert eventually(lambda: gate.met > 2)
    (status,) = [one.rebuilding for one in asked.status() if one.name == "story"]
    assert status is not None
    assert 0 < status.position < status.target == log.max_position()
    assert status.events_per_second is not None
    assert status.events_per_second > 0
    assert status.seconds_left is not None
    gate.holding = False
    building.join()


def test_a_rebuild_that_is_left_to_the_threads_is_done_by_them(log: SqlEventLog, opening: Opening, kept: Kept) -> None:
    tell_many(log, 10)
    with opening() as views, opening() as others:
        before = digests(views)
        views.begin_rebuild("story")
        assert eventually(lambda: "story.v3.g1" in kept.names() and "story.v3" not in kept.names())
        assert digests(views) == digests(others) == before


def test_two_that_rebuild_at_once_work_at_one_build(log: SqlEventLog, opening: Opening, kept: Kept) -> None:
    tell_many(log, 40)
    before = digests(opening())
    several = [opening(page=7) for _ in range(3)]
    threads = [Thread(target=views.rebuild, args=["story"]) for views in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [digests(views) for views in several] == [before] * 3
    assert [name for name in kept.names() if name.startswith("story")] in (
        ["story.v3.g1"],
        ["story.v3.g2"],
        ["story.v3.g3"],
    )


def test_only_views_that_there_are_are_built(opening: Opening) -> None:
    views = opening()
    for ask in (
        views.rebuild,
        views.check,
        views.begin_rebuild,
        lambda name: views.rebuild_campaign(name, CAMPAIGN),
    ):
        with pytest.raises(UnknownProjection):
            ask("stories")


def test_texts_of_any_size_are_written_and_mended(log: SqlEventLog, opening: Opening) -> None:
    views = opening()
    log.execute(start())
    sizes = [1, 900_000, 5_000_000, 2]
    for number, size in enumerate(sizes):
        log.execute(take_turn(f"t_{number}", text="Wait."))
        log.execute(record(prompted(f"t_{number}")))
        log.execute(accept(f"t_{number}", "x" * size))
    digests(views)
    for node, size in zip((3, 5, 7, 9), reversed(sizes), strict=True):
        log.execute(correct(node, "y" * size))
    followed = digests(views)
    assert [len(text_of(views, node)) for node in (3, 5, 7, 9)] == sizes[::-1]
    for name in NAMES:
        views.rebuild(name)
    assert digests(views) == followed


# Lost


@pytest.mark.parametrize("lost", ["story", "", "serving"])
def test_views_lost_while_the_program_runs_are_noticed_built_and_served(
    log: SqlEventLog, opening: Opening, kept: Kept, lost: str
) -> None:
    tell_many(log, 10)
    with opening() as views:
        before = digests(views)
        views.rebuild("story")
        kept.lose(lost)
        assert digests(views) == before
        tell(log, "t_more")
        assert text_of(views, 23) == "The tide turns. t_more"
    again = opening()
    again.catch_up()
    assert digests(again) == digests(views)


def test_what_is_lost_under_a_build_beside_is_built_again(log: SqlEventLog, opening: Opening, kept: Kept) -> None:
    tell_many(log, 20)
    views, gate = opening(), Gate(STORY.fold)
    before = digests(views)
    builder = opening([replace(STORY, fold=gate)], page=10)
    gate.holding = True
    building = Thread(target=builder.rebuild, args=["story"])
    building.start()
    assert eventually(lambda: gate.met > 2)
    gate.holding = False
    kept.lose("story")
    building.join()
    assert digests(views) == before
    opening().rebuild("story")
    assert digests(views) == before


def test_a_build_whose_remover_was_killed_is_removed_by_whoever_runs(
    log: SqlEventLog, opening: Opening, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_many(log, 10)
    with opening() as views:
        digests(views)
        killed = opening()
        with monkeypatch.context() as patch:  # after the swap, before the removal
            patch.setattr("projections.engine.view_file.ViewFile.drop", lambda _: None)
            patch.setattr("projections.engine.view_schema.ViewSchema.drop", lambda _: None)
            patch.setattr(killed._storage, "tidy", lambda _: None)
            killed.rebuild("story")
        assert eventually(lambda: only_one_build_each(kept)), kept.names()


# Of one campaign


def test_the_rows_of_one_campaign_are_built_anew_and_no_other(log: SqlEventLog, opening: Opening) -> None:
    views = opening(page=5)
    tell_many(log, 10)
    tell_many(log, 10, campaign="c_other")
    log.execute(revise(campaign=CAMPAIGN, title="Anew"))
    log.execute(correct(3, "Mended."))
    before = digests(views)
    spoil(views)
    spoil(views, campaign="c_other")
    told = list[tuple[int, int]]()
    views.rebuild_campaign("story", CAMPAIGN, lambda position, target: told.append((position, target)))
    assert (text_of(views, 3), text_of(views, 3, campaign="c_other")) == ("Mended.", "WRONG")
    views.rebuild_campaign("story", "c_other")
    for name in NAMES:
        views.rebuild_campaign(name, CAMPAIGN)
    assert digests(views) == before
    assert told == sorted(told)
    assert told[-1] == (log.max_position(), log.max_position())


def test_a_campaign_that_is_gone_leaves_no_rows_when_it_is_built_anew(log: SqlEventLog, opening: Opening) -> None:
    tell_many(log, 3)
    tell_many(log, 3, campaign="c_gone")
    log.delete_campaign("c_gone")
    views = opening()
    before = digests(views)
    for name in NAMES:
        views.rebuild_campaign(name, "c_gone")
    assert digests(views) == before


def test_a_campaign_that_is_deleted_while_it_is_built_anew_does_not_come_back(
    log: SqlEventLog, opening: Opening
) -> None:
    tell_many(log, 3)
    tell_many(log, 3, campaign="c_goes")
    views, follower_of_all = opening(page=2), opening()
    for name in NAMES:
        digests(views)

        def delete(_position: int, _target: int) -> None:
            if log.next_position(0, []) is not None and any(c == "c_goes" for c in campaigns_of(log)):
                log.delete_campaign("c_goes")
                follower_of_all.catch_up()

        views.rebuild_campaign(name, "c_goes", delete)
        assert views.check(name) is None
        tell_many(log, 3, campaign="c_goes")


def campaigns_of(log: SqlEventLog) -> set[str]:
    return {recorded.stream for recorded in log.read(0, 10_000)}


# Checked


def test_a_check_names_the_first_row_that_is_not_what_the_log_makes_of_it(
    log: SqlEventLog, opening: Opening, kept: Kept
) -> None:
    views = opening()
    tell_many(log, 5)
    digests(views)
    names = kept.names()
    assert [views.check(name) for name in NAMES] == [None] * 3
    spoil(views)
    spoiled = views.digest("story")
    found = views.check("story")
    assert found is not None
    assert (found.table, found.key, found.position) == ("node", {"campaign": CAMPAIGN, "node": 3}, log.max_position())
    assert (found.stored, found.rebuilt) == ({"text": "WRONG"}, {"text": "The tide turns. t_0"})
    assert views.digest("story") == spoiled, "a check changes nothing"
    assert kept.names() == names


@pytest.mark.parametrize("missing", ["stored", "rebuilt"])
def test_a_check_tells_a_row_that_one_side_has_not(log: SqlEventLog, opening: Opening, missing: str) -> None:
    views = opening()
    tell_many(log, 3)
    digests(views)
    serving = views._views["story"]._builds.serving()
    assert serving is not None
    with serving.place.writing() as connection:
        if missing == "stored":
            connection.execute(story.node.delete().where(story.node.c.node == 4))
        else:
            connection.execute(update(story.node).where(story.node.c.node == 7).values(node=9))
    found = views.check("story")
    assert found is not None
    assert found.key["node"] == {"stored": 4, "rebuilt": 9}[missing]
    assert (found.stored is None) == (missing == "stored")


def test_a_check_of_views_that_were_lost_says_how_far_it_came(log: SqlEventLog, opening: Opening, kept: Kept) -> None:
    """It is brought up first: an empty view agrees with an empty one, and that would say nothing."""
    tell_many(log, 3)
    with opening() as views:
        views.catch_up()
    kept.lose("story")
    asked = list[tuple[int, int]]()
    views = opening()
    assert views.check("story", lambda done, target: asked.append((done, target))) is None
    newest = log.max_position()
    assert asked[-1] == (newest, newest)


def test_a_check_while_turns_are_told_finds_nothing(log: SqlEventLog, opening: Opening) -> None:
    tell_many(log, 20)
    views = opening(page=5)
    digests(views)
    teller = Thread(target=lambda: [tell(log, f"t_more_{number}") for number in range(20)])
    teller.start()
    assert [views.check(name) for name in NAMES] == [None] * 3
    teller.join()


# Spoiled


@pytest.mark.parametrize(
    "spoiling",
    [
        "DROP TABLE node",
        "ALTER TABLE node DROP COLUMN at",
        "DROP TABLE checkpoint",
        "DELETE FROM checkpoint",
        "UPDATE checkpoint SET position = -5",
    ],
)
def test_tables_that_are_not_as_they_were_made_are_made_again(
    log: SqlEventLog, opening: Opening, kept: Kept, spoiling: str
) -> None:
    tell_many(log, 10)
    with opening() as views:
        before = digests(views)
        kept.spoil("story", spoiling)
        tell(log, "t_more")

        def read() -> bool:
            try:
                return text_of(views, 23) == "The tide turns. t_more"
            except StoreFailure:  # once, to whoever meets it
                return False

        assert eventually(read)
        assert views.check("story") is None
        views.rebuild("story")
        assert eventually(lambda: all(status.state == "current" for status in views.status()))
        assert digests(views) != before


@pytest.mark.parametrize(
    "spoiling",
    [
        "UPDATE node SET text = CAST(x'ff41' AS TEXT) WHERE node = 1",
        "UPDATE node SET text = x'ff00' WHERE node = 1",
        (
            "INSERT INTO checkpoint SELECT 'story2', version, position, fingerprint, updated, target, rate, parked_at, error, "
            "digest FROM checkpoint"
        ),
        "UPDATE checkpoint SET position = 'abc'",
        "UPDATE checkpoint SET target = 'abc', rate = 'fast'",
    ],
)
def test_what_no_program_wrote_into_a_file_stops_no_thread_and_a_rebuild_mends_it(
    log: SqlEventLog, tmp_path: Path, spoiling: str
) -> None:
    kept = _in_files(tmp_path / "views")
    tell_many(log, 10)
    with Engine(kept.storage(), log, ALL) as views:
        before = digests(views)
        kept.spoil("story", spoiling)
        views.rebuild("story")
        assert views.check("story") is None
        tell(log, "t_more")
        assert eventually(lambda: [status.state for status in views.status()] == ["current"] * 3)
        assert digests(views) != before


def test_a_rebuild_beside_a_view_that_is_still_being_filled_ends_with_all_of_it(
    log: SqlEventLog, opening: Opening
) -> None:
    tell_many(log, 60)
    with opening(page=5) as views:
        for name in NAMES:
            views.rebuild(name)
            assert [one.lag for one in views.status() if one.name == name] == [0]


def test_a_rebuild_of_a_parked_view_meets_the_event_that_parked_it(log: SqlEventLog, opening: Opening) -> None:
    tell_many(log, 20)
    stumbles = [1] * 10_000

    def fold(connection: Connection, entries: Sequence[Any]) -> None:
        if stumbles and any(entry.position == 33 for entry in entries):
            raise LookupError
        STORY.fold(connection, entries)

    story_view = replace(STORY, fold=fold)
    with opening([story_view]) as views:
        assert eventually(lambda: views.status()[0].state == "parked")
    asked = opening([story_view])
    with pytest.raises(ViewParked):
        asked.rebuild("story")
    (status,) = asked.status()
    assert (status.state, status.parked_at) == ("parked", 33)
    stumbles.clear()
    asked.rebuild("story")
    assert [(one.state, one.lag) for one in asked.status()] == [("current", 0)]


def test_asking_how_views_stand_changes_nothing(log: SqlEventLog, opening: Opening, kept: Kept) -> None:
    tell_many(log, 5)
    digests(opening())
    tell(log, "t_more")
    names = kept.names()
    for views in (opening(), opening([replace(STORY, sources=("projections.campaigns",))])):
        assert [one.position for one in views.status()] == [one.position for one in views.status()]
        assert all(one.lag > 0 and one.rebuilding is None for one in views.status())
    assert kept.names() == names


def test_a_view_that_other_code_took_over_is_taken_back_by_a_rebuild(log: SqlEventLog, opening: Opening) -> None:
    tell_many(log, 5)
    views = opening()
    before = digests(views)
    other = opening([replace(STORY, sources=("projections.campaigns",))])
    other.rebuild("story")
    with pytest.raises(ForeignView, match="fabula rebuild story"), views.reading("story"):
        pass
    views.rebuild("story")
    assert digests(views) == before


# Killed

CHILD = """
import sys
from pathlib import Path
from adapters.event_log.log import SqlEventLog
from adapters.postgresql import PostgresqlDatabase
from adapters.time_and_names import RandomNames, SystemClock
from projections.all import ALL
from projections.engine.database_storage import DatabaseStorage
from projections.engine.engine import Engine

store, views, page = sys.argv[1:]
log = SqlEventLog(Path(store), SystemClock(), RandomNames())
storage = DatabaseStorage(PostgresqlDatabase(views)) if views.startswith("postgresql") else Path(views)
engine = Engine(storage, log, ALL, page=int(page))
engine.start()
print("ready", flush=True)
for name in ("campaigns", "story", "prompts"):
    engine.rebuild(name)
print("done", flush=True)
sys.stdin.read()
"""
"""A worker that rebuilds every view, a few events at a time."""


@contextmanager
def worker(store: Path, kept: Kept, page: int) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", CHILD, str(store), kept.address, str(page)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline().startswith(("ready", "20"))
            yield child
        finally:
            child.kill()


def test_workers_killed_while_they_rebuild_leave_a_view_that_serves_and_a_build_that_is_gone_on_with(
    log: SqlEventLog, store: Path, opening: Opening, kept: Kept
) -> None:
    if KILL_EVENTS:
        write(store, seed=KILLS, events=KILL_EVENTS)
    else:
        tell_many(log, 150)
    page, longest = (500, 4.0) if KILL_EVENTS else (3, 0.4)
    views = opening()
    before, chance = digests(views), random.Random(KILLS)
    for _ in range(KILLS):
        with worker(store, kept, page) as one, worker(store, kept, page) as other:
            time.sleep(chance.uniform(0.02, longest))
            for child in (one, other):
                os.kill(child.pid, signal.SIGKILL)
        assert digests(views) == before
    positions = {one.name: one.rebuilding.position for one in views.status() if one.rebuilding}
    assert digests(opening()) == before
    told = list[int]()
    if "prompts" in positions:
        views.rebuild("prompts", lambda position, _: told.append(position))
        assert told[0] >= positions["prompts"], "it is gone on with, not begun again"
    with opening() as last:
        assert eventually(lambda: all(one.rebuilding is None for one in last.status()), seconds=60)
        assert eventually(lambda: only_one_build_each(kept)), kept.names()
    assert digests(views) == before


def only_one_build_each(kept: Kept) -> bool:
    return sorted(place.split(".")[0] for place in kept.names()) == sorted(NAMES)


def test_a_view_waits_for_its_build_no_longer_than_it_was_asked_to(log: SqlEventLog, opening: Opening) -> None:
    """Where other code folded what serves, there is nothing to read until our own build is done."""
    tell_many(log, 10)
    digests(opening())
    gate = Gate(STORY.fold)
    other = replace(STORY, fold=gate, sources=("projections.campaigns",))
    views = opening([other], page=10)
    gate.holding = True
    with views:
        assert eventually(lambda: gate.met > 2)
        began = time.monotonic()
        with pytest.raises(ViewBehind):
            views.at_least("story", log.max_position(), timeout=0.2)
        assert time.monotonic() - began < 2
        (status,) = views.status()
        assert (status.state, status.rebuilding is not None) == ("rebuilding", True)
        gate.holding = False
        views.at_least("story", log.max_position(), timeout=10)
    assert views.status()[0].state == "current"
