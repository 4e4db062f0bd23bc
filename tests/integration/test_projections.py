"""The views on real files, over a real log: read, caught up, deleted, damaged, raced, rebuilt."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, event, insert, select
from sqlalchemy import Engine as SqlEngine
from structlog.testing import capture_logs

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from domain.errors import StoreFull, StoreReadOnly, StoreUnavailable, UnknownProjection, ViewBehind, ViewParked
from domain.event import LogEntry
from projections import story
from projections.all import ALL, open_views
from projections.engine import follower
from projections.engine.engine import Engine
from projections.projection import Projection
from tests.fakes.sample_story import ACCOUNT, CAMPAIGN, accept, prompted, record, retry, start, take_turn

ROOT = Path(__file__).parents[2]
WORDS = "the drowned bell of Ys"

seen = Table(
    "seen", MetaData(), Column("id", Integer, primary_key=True), Column("position", Integer), Column("by", Text)
)


def note(connection: Connection, events: Sequence[LogEntry]) -> None:
    """Folding anything twice leaves two rows: nothing here would forgive it."""
    connection.execute(insert(seen), [{"position": one.position, "by": str(os.getpid())} for one in events])


SEEN = Projection("seen", 1, seen.metadata, {}, note, ("projections.projection",))


def positions(views: Engine) -> list[int]:
    with views.reading("seen") as connection:
        return list(connection.execute(select(seen.c.position).order_by(seen.c.position)).scalars())


def tell(
    log: SqlEventLog, turn: str, *, campaign: str = CAMPAIGN, again: bool = False, text: str = "The tide turns."
) -> int:
    """A whole turn, or another take of the newest one; the newest position after it."""
    opening = retry(turn, campaign=campaign) if again else take_turn(turn, text=f"Wait, {turn}.", campaign=campaign)
    log.execute(opening)
    log.execute(record(prompted(turn), campaign=campaign))
    return log.execute(accept(turn, f" {text} {turn}\n", campaign=campaign, account=ACCOUNT)).position


def tell_many(log: SqlEventLog, turns: int, *, campaign: str = CAMPAIGN) -> None:
    log.execute(start(campaign=campaign))
    for number in range(turns):
        tell(log, f"t_{number}", campaign=campaign)


OpenViews = Callable[..., Engine]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "views"


@pytest.fixture
def opening(log: SqlEventLog, directory: Path) -> Iterator[OpenViews]:
    """Opens the views of the store, as often as it is asked to."""
    opened: list[Engine] = []

    def opening(projections: Sequence[Projection] = ALL, **more: Any) -> Engine:
        opened.append(Engine(directory, log, projections, **more))
        return opened[-1]

    yield opening
    for views in opened:
        views.stop()


@pytest.fixture
def views(log: SqlEventLog, directory: Path) -> Iterator[Engine]:
    """The views of the store, without a thread that follows."""
    views = open_views(directory, log)
    yield views
    views.stop()


def digests(views: Engine) -> list[str]:
    """The rows of every view, once it has caught up."""
    for projection in ALL:
        with views.reading(projection.name, timeout=20):
            pass
    return [views.digest(projection.name) for projection in ALL]


@contextmanager
def pragma_on_every_connection(pragma: str) -> Iterator[None]:
    """As if the disk were so: every connection that is opened meanwhile is told this first."""

    def told(connection: Any, _: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    event.listen(SqlEngine, "connect", told)
    try:
        yield
    finally:
        event.remove(SqlEngine, "connect", told)


def eventually(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return False


def caught_up(views: Engine) -> bool:
    return all(status.state == "current" for status in views.status())


# Following


def test_a_deleted_campaign_is_gone_from_every_view_and_a_rebuild_agrees(log: SqlEventLog, views: Engine) -> None:
    log.execute(start(campaign="c_stays"))
    tell(log, "t_1", campaign="c_stays")
    alone = digests(views)
    tell_many(log, 2, campaign="c_goes")
    views.catch_up()
    log.execute(take_turn("t_9", text="Unseen by the views.", campaign="c_goes"))
    log.delete_campaign("c_goes")
    assert digests(views) == alone
    for projection in ALL:
        views.rebuild(projection.name)
    assert digests(views) == alone


def test_a_view_passes_events_that_it_does_not_care_about(log: SqlEventLog, views: Engine) -> None:
    log.change_settings({"model": "small"})
    log.change_settings({"model": "large"})
    views.at_least("story", 2)
    views.catch_up()
    assert [(status.position, status.lag, status.state) for status in views.status()] == [(2, 0, "current")] * 3


def test_the_thread_follows_what_this_process_appends_at_once(log: SqlEventLog, views: Engine) -> None:
    with views:
        assert eventually(lambda: caught_up(views))
        tell_many(log, 3)
        assert eventually(lambda: caught_up(views) and views.status()[0].position == log.max_position())


def test_the_thread_notices_what_another_process_appended(log: SqlEventLog, store: Path, views: Engine) -> None:
    other = SqlEventLog(store, SystemClock(), RandomNames())
    with views:
        assert eventually(lambda: caught_up(views))
        tell_many(other, 3)
        assert eventually(lambda: views.status()[0].position == log.max_position())
    other.close()


def test_a_reader_catches_the_view_up_by_itself(log: SqlEventLog, opening: OpenViews) -> None:
    views = opening(page=5)
    tell_many(log, 10)
    views.at_least("story", log.max_position())
    assert [status.state for status in views.status()] == ["behind", "current", "behind"]


def test_who_waits_for_an_event_that_never_comes_is_told_in_time(log: SqlEventLog, views: Engine) -> None:
    log.execute(start())
    began = time.monotonic()
    with pytest.raises(ViewBehind) as behind:
        views.at_least("story", 99, timeout=0.3)
    assert 0.3 <= time.monotonic() - began < 1.5
    assert behind.value.fields == {"name": "story", "position": 1, "wanted": 99, "parked_at": None}
    with pytest.raises(ViewBehind), views.reading("story", 99, timeout=0.05):
        pass


def test_who_waits_for_an_event_that_comes_meanwhile_gets_it(log: SqlEventLog, views: Engine) -> None:
    later = Timer(0.2, lambda: log.execute(start()))
    later.start()
    views.at_least("campaigns", 1, timeout=5)
    later.join()


def test_a_view_that_is_not_there_is_named_with_those_that_are(views: Engine) -> None:
    for asked in (views.rebuild, views.digest, lambda name: views.at_least(name, 0)):
        with pytest.raises(UnknownProjection) as unknown:
            asked("stories")
        assert unknown.value.fields["known"] == ["campaigns", "story", "prompts"]


def test_a_rebuild_that_was_asked_for_warns_of_nothing(log: SqlEventLog, opening: OpenViews) -> None:
    tell_many(log, 5)
    views = opening()
    digests(views)
    with capture_logs() as logged:
        views.rebuild("story")
    emptied = [(entry["view"], entry["log_level"]) for entry in logged if entry["event"] == "view starts from zero"]
    assert emptied == [("story", "info")]


def test_a_rebuild_tells_how_far_it_is_and_ends_with_the_same_rows(log: SqlEventLog, opening: OpenViews) -> None:
    views = opening(page=10)
    tell_many(log, 10)
    before, told = digests(views), list[tuple[int, int]]()
    views.rebuild("story", lambda position, target: told.append((position, target)))
    newest = log.max_position()
    assert told[0] == (0, newest)
    assert told[-1] == (newest, newest)
    assert told == sorted(told)
    assert len(told) > 3
    assert digests(views) == before


def test_a_view_that_is_ahead_of_its_log_is_built_anew(log: SqlEventLog, views: Engine, tmp_path: Path) -> None:
    """The log was restored from a backup, and the views were not."""
    log.execute(start())
    shutil.copytree(tmp_path, tmp_path / "backup", ignore=shutil.ignore_patterns("views", "backup"))
    tell(log, "t_1", text=WORDS)
    views.catch_up()
    views.stop()
    older = SqlEventLog(tmp_path / "backup" / "log.db", SystemClock(), RandomNames())
    restored = open_views(tmp_path / "views", older)
    restored.catch_up()
    tell(older, "t_2")
    with restored.reading("story") as connection:
        told = [node.text for node in story.line(connection, CAMPAIGN, older.line(CAMPAIGN, 3))]
    assert told[1:] == ["Wait, t_2.", "The tide turns. t_2"]
    restored.stop()
    older.close()


# Exactly once


def test_two_engines_in_two_threads_fold_every_event_once(log: SqlEventLog, opening: OpenViews) -> None:
    one, other = opening([SEEN], page=2), opening([SEEN], page=3)
    with one, other:
        tell_many(log, 40)
        one.at_least("seen", log.max_position(), timeout=20)
    assert positions(one) == list(range(1, log.max_position() + 1))


CHILD = """
import os, sys
from pathlib import Path
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert
from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from projections.engine.engine import Engine
from projections.projection import Projection

seen = Table("seen", MetaData(), Column("id", Integer, primary_key=True), Column("position", Integer), Column("by", Text))

def note(connection, events):
    connection.execute(insert(seen), [{"position": one.position, "by": str(os.getpid())} for one in events])

store = Path(sys.argv[1])
log = SqlEventLog(store, SystemClock(), RandomNames())
view = Projection("seen", 1, seen.metadata, {}, note, ("projections.projection",))
with Engine(store.parent / "views", log, [view], page=int(sys.argv[2])):
    print("ready", flush=True)
    sys.stdin.read()
log.close()
"""
"""SEEN, as a program of its own follows with it."""


@contextmanager
def another_process(store: Path, page: int) -> Iterator[subprocess.Popen[str]]:
    """A process that follows the log in pages of this size, while the context lasts."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(store), str(page)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert "ready" in next(line for line in child.stdout if "ready" in line)
        try:
            yield child
        finally:
            child.stdin.close()
            child.stdout.read()


def test_two_processes_fold_every_event_once(log: SqlEventLog, store: Path, opening: OpenViews) -> None:
    log.execute(start())
    views = opening([SEEN], page=2)
    with another_process(store, 3) as child, views:
        for number in range(150):
            tell(log, f"t_{number}")
        views.at_least("seen", log.max_position(), timeout=20)
        with views.reading("seen") as connection:
            folded = set(connection.execute(select(seen.c.by).distinct()).scalars())
    assert child.returncode == 0
    assert positions(views) == list(range(1, log.max_position() + 1))
    assert folded == {str(os.getpid()), str(child.pid)}


def test_two_processes_agree_again_after_the_file_was_deleted_under_both(
    log: SqlEventLog, store: Path, directory: Path, opening: OpenViews
) -> None:
    log.execute(start())
    views = opening([SEEN], page=2)
    with another_process(store, 3) as child, views:
        for number in range(90):
            tell(log, f"t_{number}")
            if number % 30 == 20:
                (directory / "seen.v1.db").unlink()
        views.at_least("seen", log.max_position(), timeout=20)
        assert positions(views) == list(range(1, log.max_position() + 1))
    assert child.returncode == 0
    assert positions(opening([SEEN])) == list(range(1, log.max_position() + 1))


def test_a_killed_process_leaves_a_view_that_goes_on(log: SqlEventLog, store: Path, opening: OpenViews) -> None:
    tell_many(log, 60)
    with another_process(store, 1) as child:
        child.kill()
    assert child.returncode < 0
    views = opening([SEEN])
    assert positions(views) == list(range(1, log.max_position() + 1))


# Deleted, damaged, of another stamp


def gone_file(directory: Path) -> None:
    (directory / "story.v3.db").unlink()


def gone_files(directory: Path) -> None:
    for path in directory.glob("story.v3.db*"):
        path.unlink()


def gone_directory(directory: Path) -> None:
    shutil.rmtree(directory)


def other_file(directory: Path) -> None:
    shutil.copy(directory / "prompts.v3.db", directory / "story.new")
    (directory / "story.new").replace(directory / "story.v3.db")


@pytest.mark.parametrize("gone", [gone_file, gone_files, gone_directory, other_file])
@pytest.mark.parametrize("running", [True, False])
def test_a_file_deleted_under_a_running_program_is_built_anew(
    log: SqlEventLog, directory: Path, views: Engine, gone: Callable[[Path], None], *, running: bool
) -> None:
    tell_many(log, 5)
    if running:
        views.start()
    before = digests(views)
    gone(directory)
    tell(log, "t_more")
    with views.reading("story") as connection:
        told = [node.node for node in story.line(connection, CAMPAIGN, log.line(CAMPAIGN, 13))]
    assert told == list(range(1, 14))
    assert (directory / "story.v3.db").exists()
    views.catch_up()
    assert digests(views)[1] != before[1]
    kept = digests(views)
    for projection in ALL:
        views.rebuild(projection.name)
    assert digests(views) == kept


def test_a_reader_that_is_at_it_when_the_file_is_deleted_reads_on(
    log: SqlEventLog, directory: Path, views: Engine
) -> None:
    tell_many(log, 5)
    segments = log.line(CAMPAIGN, 11)
    with views.reading("story") as connection:
        first = story.page(connection, CAMPAIGN, segments, limit=3)
        gone_file(directory)
        views.at_least("story", log.max_position())
        with views.reading("story") as fresh:
            assert story.page(fresh, CAMPAIGN, segments, limit=3) == first
        assert story.page(connection, CAMPAIGN, segments, limit=3) == first
    assert story_of(views, log) == list(range(1, 12))


def story_of(views: Engine, log: SqlEventLog) -> list[int]:
    with views.reading("story") as connection:
        head = log.campaign(CAMPAIGN).head
        return [node.node for node in story.line(connection, CAMPAIGN, log.line(CAMPAIGN, head))]


def test_views_that_were_deleted_between_two_runs_are_built_anew(
    log: SqlEventLog, directory: Path, opening: OpenViews
) -> None:
    tell_many(log, 5)
    views = opening()
    before = digests(views)
    views.stop()
    assert sorted(path.name for path in directory.iterdir()) == ["campaigns.v2.db", "prompts.v3.db", "story.v3.db"]
    shutil.rmtree(directory)
    assert digests(opening()) == before


def test_opening_again_changes_nothing(log: SqlEventLog, directory: Path, opening: OpenViews) -> None:
    tell_many(log, 5)
    views = opening()
    before = digests(views)
    views.stop()
    bytes_before = {path.name: path.read_bytes() for path in directory.iterdir()}
    again = opening()
    with capture_logs() as logged:
        assert digests(again) == before
        again.stop()
    assert logged == []
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == bytes_before


def test_a_view_that_other_code_folded_is_built_anew(log: SqlEventLog, directory: Path, opening: OpenViews) -> None:
    tell_many(log, 5)
    views = opening()
    before = digests(views)
    views.stop()
    with sqlite3.connect(directory / "story.v3.db") as raw:
        raw.execute("UPDATE checkpoint SET fingerprint = 'other'")
        raw.execute("UPDATE node SET text = 'as other code had it'")
        raw.execute("CREATE TABLE of_other_code (x)")
    raw.close()
    with capture_logs() as logged:
        assert digests(opening()) == before
    assert [(entry["event"], entry["view"]) for entry in logged if entry["log_level"] == "warning"] == [
        ("view is of other code", "story")
    ]
    assert WORDS not in str(logged)


def test_a_view_of_another_version_has_a_file_of_its_own_and_older_ones_go_when_it_is_done(
    log: SqlEventLog, directory: Path, opening: OpenViews
) -> None:
    log.execute(start())
    opening([SEEN]).catch_up()
    opening([replace(SEEN, version=3)]).catch_up()
    newer = opening([replace(SEEN, version=2)])
    assert {path.name for path in directory.glob("*.db")} == {"seen.v3.db"}
    newer.at_least("seen", 1)
    assert {path.name for path in directory.glob("*.db")} == {"seen.v2.db", "seen.v3.db"}
    newer.catch_up()
    assert {path.name for path in directory.glob("*.db")} == {"seen.v2.db", "seen.v3.db"}


def test_a_running_program_stands_aside_for_other_code(log: SqlEventLog, opening: OpenViews) -> None:
    log.execute(start())
    older, newer = opening([SEEN]), opening([replace(SEEN, sources=("projections.story",))])
    older.catch_up()
    newer.catch_up()
    with pytest.raises(StoreUnavailable, match="Another version of the program"):
        positions(older)
    assert [(status.state, status.error) for status in older.status()] == [("failed", "ForeignView")]
    assert positions(newer) == [1]


def overwrite(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * length)


@pytest.mark.parametrize(("begin", "length"), [(0, 100), (0, 20_000), (100, 30_000)])
def test_a_damaged_file_is_built_anew_at_start(
    log: SqlEventLog, directory: Path, opening: OpenViews, begin: int, length: int
) -> None:
    tell_many(log, 30)
    views = opening()
    before = digests(views)
    views.stop()
    overwrite(directory / "story.v3.db", begin, length)
    again = opening()
    with capture_logs() as logged:
        again.at_least("story", log.max_position())
    assert "view file is damaged" in [entry["event"] for entry in logged]
    assert digests(again) == before


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be taken for one" * 100])
def test_a_file_that_is_no_database_is_built_anew(
    log: SqlEventLog, directory: Path, views: Engine, content: bytes
) -> None:
    tell_many(log, 3)
    directory.mkdir()
    (directory / "story.v3.db").write_bytes(content)
    assert story_of(views, log) == list(range(1, 8))


def test_damage_that_is_found_while_reading_is_told_and_mended(
    log: SqlEventLog, directory: Path, opening: OpenViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "FIRST_DELAY", 0.05)
    tell_many(log, 60)
    views = opening()
    before = digests(views)
    views.stop()
    size, sound = (directory / "story.v3.db").stat().st_size, 4 * 16_384  # the first pages
    overwrite(directory / "story.v3.db", sound, size - sound)
    with pytest.raises(StoreUnavailable, match="damaged"):
        digests(views)
    views.start()
    assert eventually(lambda: caught_up(views))
    assert digests(views) == before


# Failing


def stumbling(at: int, stumbles: list[int]) -> Projection:
    """A view that cannot fold the event at this position, as long as there are stumbles left."""

    def fold(connection: Connection, events: Sequence[LogEntry]) -> None:
        note(connection, events)
        if at in [one.position for one in events] and stumbles:
            stumbles.pop()
            raise LookupError(WORDS)

    return replace(SEEN, fold=fold)


def test_a_fold_that_raises_stops_its_view_before_that_event_and_no_other(log: SqlEventLog, opening: OpenViews) -> None:
    tell_many(log, 20)
    views = opening([stumbling(33, [1] * 1000), *ALL])
    with capture_logs() as logged:
        views.catch_up()
    newest = log.max_position()
    assert [(one.name, one.position, one.lag, one.state, one.error) for one in views.status()] == [
        ("seen", 32, newest - 32, "failed", "LookupError"),
        *((projection.name, newest, 0, "current", None) for projection in ALL),
    ]
    failure = logged[-1]
    assert (failure["event"], failure["view"], failure["position"], failure["error"]) == (
        "view failed",
        "seen",
        32,
        "LookupError",
    )
    assert "test_projections.py" in failure["at"]
    assert WORDS not in str(logged)


def test_a_failed_view_is_read_as_far_as_it_goes_and_waited_for_in_vain(log: SqlEventLog, opening: OpenViews) -> None:
    tell_many(log, 20)
    views = opening([stumbling(33, [1] * 1000)])
    with pytest.raises(ViewBehind) as behind:
        views.at_least("seen", 33, timeout=0.2)
    assert behind.value.fields["position"] == 32
    with views.reading("seen", 32) as connection:
        assert len(connection.execute(select(seen)).all()) == 32


def test_what_cannot_be_folded_is_tried_again_with_growing_delay_and_then_parked(
    log: SqlEventLog, opening: OpenViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "FIRST_DELAY", 0.01)
    monkeypatch.setattr("projections.engine.engine.POLL_SECONDS", 0.005)
    tell_many(log, 20)
    stumbles = [1] * 1000
    views = opening([stumbling(33, stumbles), *ALL])
    with capture_logs() as logged, views:
        assert eventually(lambda: views.status()[0].state == "parked")
        assert eventually(lambda: all(status.state == "current" for status in views.status()[1:]))
        tried = len(stumbles)
        time.sleep(0.1)
        assert len(stumbles) == tried, "a parked view is left alone"
        with pytest.raises(ViewBehind, match=r"parked.*33.*rebuild seen") as behind:
            views.at_least("seen", 33)
        with views.reading("seen", 32) as connection:
            assert len(connection.execute(select(seen)).all()) == 32
    assert behind.value.fields == {"name": "seen", "position": 32, "wanted": 33, "parked_at": 33}
    status = views.status()[0]
    assert (status.position, status.parked_at, status.error) == (32, 33, "LookupError")
    assert [entry["retry_in"] for entry in logged if entry["event"] == "view failed"] == [0.01, 0.02, 0.04]
    (parked,) = [entry for entry in logged if entry["event"] == "view parked"]
    assert (parked["view"], parked["parked_at"], parked["error"]) == ("seen", 33, "LookupError")
    assert WORDS not in str(logged)


def test_a_parked_view_is_parked_for_every_process_and_tried_again_by_the_next_that_starts(
    log: SqlEventLog, opening: OpenViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "FIRST_DELAY", 0.01)
    monkeypatch.setattr("projections.engine.engine.POLL_SECONDS", 0.005)
    tell_many(log, 20)
    stumbles = [1] * 1000
    view = stumbling(33, stumbles)
    with opening([view]) as views:
        assert eventually(lambda: views.status()[0].state == "parked")
    other = opening([view])
    other.catch_up()
    assert [(one.state, one.parked_at, one.error) for one in other.status()] == [("parked", 33, "LookupError")]
    stumbles.clear()
    with opening([view]) as mended:
        assert eventually(lambda: caught_up(mended))
    assert positions(mended) == list(range(1, log.max_position() + 1))


def test_a_rebuild_that_cannot_be_finished_says_why_and_what_served_serves_on(
    log: SqlEventLog, opening: OpenViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "FIRST_DELAY", 0.01)
    tell_many(log, 20)
    stumbles = list[int]()
    views = opening([stumbling(33, stumbles)])
    before = positions(views)
    stumbles += [1] * 1000
    with pytest.raises(ViewParked, match=r"33 \(LookupError"):
        views.rebuild("seen")
    status = views.status()[0]
    assert (status.state, status.rebuilding and status.rebuilding.parked_at) == ("current", 33)
    assert positions(views) == before
    stumbles.clear()
    assert not views.rebuild("seen").differed
    assert views.status()[0].rebuilding is None
    assert positions(views) == before


def test_an_error_that_passes_leaves_no_trace(log: SqlEventLog, opening: OpenViews) -> None:
    tell_many(log, 20)
    views = opening([stumbling(33, [1])])
    assert positions(views) == list(range(1, log.max_position() + 1))
    assert views.status()[0].state == "current"


def test_a_log_that_cannot_be_read_stops_the_views_where_it_is_damaged(
    log: SqlEventLog, store: Path, opening: OpenViews
) -> None:
    tell_many(log, 10)
    with sqlite3.connect(store) as raw:
        raw.execute("UPDATE event SET payload = 'x' WHERE position = 30")
    raw.close()
    views = opening([SEEN])
    views.catch_up()
    assert [(one.position, one.state, one.error) for one in views.status()] == [(29, "parked", "LogDamaged")]


@pytest.mark.parametrize(("pragma", "failure"), [("query_only=ON", StoreReadOnly), ("max_page_count=1", StoreFull)])
def test_a_disk_that_takes_nothing_is_said_to_be_so(
    log: SqlEventLog, opening: OpenViews, pragma: str, failure: type[Exception]
) -> None:
    tell_many(log, 3)
    views = opening()
    with pragma_on_every_connection(pragma):
        with pytest.raises(failure):
            views.at_least("story", 1)
        views.catch_up()
        assert [(one.state, one.error) for one in views.status()] == [("failed", failure.__name__)] * 3


def test_a_disk_that_fills_up_stops_the_view_and_more_room_lets_it_go_on(
    log: SqlEventLog, opening: OpenViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "FIRST_DELAY", 0.05)
    views = opening()
    with pragma_on_every_connection("max_page_count=14"):
        tell_many(log, 1)
        views.at_least("story", log.max_position())
        for number in range(20):
            tell(log, f"m_{number}", text="x" * 4000)
        with pytest.raises(StoreFull):
            views.at_least("story", log.max_position())
        with views.reading("story", 1) as connection:
            assert story.one(connection, CAMPAIGN, 1) is not None
        views.stop()
    views.start()
    assert eventually(lambda: caught_up(views))
    assert len(story_of(views, log)) == 43


def test_a_directory_that_cannot_be_made_is_said_to_be_so(log: SqlEventLog, tmp_path: Path) -> None:
    (tmp_path / "views").write_text("in the way")
    views = open_views(tmp_path / "views", log)
    with pytest.raises(StoreUnavailable):
        views.at_least("story", 0)
    assert [status.state for status in views.status()] == ["failed"] * 3
    views.stop()


def test_nothing_of_the_story_is_logged_when_a_statement_fails(log: SqlEventLog, opening: OpenViews) -> None:
    def fold(connection: Connection, events: Sequence[LogEntry]) -> None:
        connection.execute(insert(seen), [{"id": 1, "by": WORDS}, {"id": 1, "by": WORDS}])

    log.execute(start())
    views = opening([replace(SEEN, fold=fold)])
    with capture_logs() as logged, pytest.raises(ViewBehind):
        views.at_least("seen", 1, timeout=0.1)
    assert WORDS not in str(logged)
    assert [status.error for status in views.status()] == ["IntegrityError"]
