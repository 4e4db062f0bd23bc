"""The event log on a real file: opened, shared by several logs and processes, killed, full, locked, damaged."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select

from adapters.event_log import tables
from adapters.event_log.log import SqlEventLog
from adapters.event_log.tables import LOG_FORMAT
from adapters.time_and_names import RandomNames, SystemClock
from domain.errors import LogDamaged, StoreDamaged, StoreFull, StoreNewer, StoreReplaced, StoreUnavailable
from domain.event import Recorded
from domain.installation import INSTALLATION_STREAM
from tests.fakes.sample_story import CAMPAIGN, accept, retry, revise, start, take_turn

ROUNDS = 50
"""Each writes five commands a round."""


@contextmanager
def opened(store: Path) -> Iterator[SqlEventLog]:
    log = SqlEventLog(store, SystemClock(), RandomNames())
    try:
        yield log
    finally:
        log.close()


def schema(store: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()


def rows(log: SqlEventLog) -> dict[str, set[tuple[object, ...]]]:
    with log._reads.connect() as connection:
        return {
            table.name: {tuple(row) for row in connection.execute(select(table))} for table in tables.DECISION_TABLES
        }


def assert_whole(log: SqlEventLog) -> list[Recorded]:
    """That nothing is lost, doubled or out of order, and that the tables are what the events make of them."""
    events = list(log.read(0, 100_000))
    assert [recorded.position for recorded in events] == list(range(1, len(events) + 1))
    for stream in {recorded.stream for recorded in events}:
        versions = [recorded.version for recorded in events if recorded.stream == stream]
        assert versions == list(range(1, len(versions) + 1))
    assert log.verify().ok
    kept = rows(log)
    log.rebuild_decision_tables()
    assert rows(log) == kept
    return events


class TestOpening:
    def test_makes_a_store_where_there_is_none(self, store: Path) -> None:
        with opened(store) as log:
            assert (log.max_position(), log.verify().ok) == (0, True)
        assert store.exists()

    def test_takes_an_empty_file_for_no_store_yet(self, store: Path) -> None:
        store.touch()
        with opened(store) as log:
            log.execute(start())
            assert log.max_position() == 1

    def test_again_finds_what_was_written(self, store: Path) -> None:
        with opened(store) as log:
            written = log.execute(start(title="The Lighthouse")).events
        with opened(store) as log:
            assert list(log.read(0, 10)) == list(written)

    def test_again_changes_nothing(self, store: Path) -> None:
        with opened(store) as log:
            log.execute(start())
        before = schema(store), store.read_bytes()
        for _ in range(2):
            with opened(store):
                pass
        assert (schema(store), store.read_bytes()) == before

    def test_leaves_the_same_schema_in_every_store(self, tmp_path: Path) -> None:
        with opened(tmp_path / "one.db") as log:
            log.execute(start())
        with opened(tmp_path / "other.db"):
            pass
        assert schema(tmp_path / "one.db") == schema(tmp_path / "other.db")

    def test_a_store_of_a_newer_program_is_refused_and_not_touched(self, store: Path) -> None:
        with opened(store) as log:
            log.execute(start())
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("UPDATE store SET format = ?", [LOG_FORMAT + 1])
            connection.commit()
        before = store.read_bytes()
        with pytest.raises(StoreNewer) as refused:
            SqlEventLog(store, SystemClock(), RandomNames())
        assert f"format {LOG_FORMAT + 1}" in refused.value.message
        assert store.read_bytes() == before
        assert [path.name for path in store.parent.iterdir()] == [store.name]

    def test_a_directory_that_is_missing_is_named(self, tmp_path: Path) -> None:
        store = tmp_path / "no such directory" / "log.db"
        with pytest.raises(StoreUnavailable) as refused:
            SqlEventLog(store, SystemClock(), RandomNames())
        assert str(store) in refused.value.message
        assert "unable to open database file" in refused.value.message
        assert not store.parent.exists()

    def test_a_directory_in_the_place_of_the_file_is_named(self, store: Path) -> None:
        store.mkdir()
        with pytest.raises(StoreUnavailable) as refused:
            SqlEventLog(store, SystemClock(), RandomNames())
        assert str(store) in refused.value.message

    @pytest.mark.parametrize("content", [b"Dear diary, " * 500, b"\x00" * 5000], ids=["text", "zeros"])
    def test_a_file_that_is_no_database_is_named_and_not_touched(self, store: Path, content: bytes) -> None:
        store.write_bytes(content)
        with pytest.raises(StoreDamaged) as refused:
            SqlEventLog(store, SystemClock(), RandomNames())
        assert str(store) in refused.value.message
        assert "restore it from a backup" in refused.value.message
        assert "is safe" not in refused.value.message
        assert store.read_bytes() == content

    @pytest.mark.parametrize("name", ["what?.db", "50%20.db", "a#b.db", "a b.db", "łódź.db", "a&mode=memory.db"])
    def test_a_file_may_have_any_name(self, tmp_path: Path, name: str) -> None:
        with opened(tmp_path / name) as log:
            log.execute(start())
        assert name in {path.name for path in tmp_path.iterdir()}
        with opened(tmp_path / name) as log:
            assert log.max_position() == 1


def write_rounds(store: Path, name: str) -> list[str]:
    """A story of one's own and a story that all write to. The names of all events that were acknowledged."""
    acknowledged: list[str] = []
    with opened(store) as log:
        log.execute(start())
        acknowledged += [event.event_id for event in log.execute(start(campaign=name)).events]
        for number in range(ROUNDS):
            written = [
                log.execute(revise(title=f"{name} {number}")),
                log.execute(take_turn(f"t_{number}", "do", "Wait.", campaign=name)),
                log.execute(accept(f"t_{number}", "Fog.", campaign=name)),
                log.execute(retry(f"r_{number}", campaign=name)),
                log.execute(accept(f"r_{number}", "Mist.", campaign=name)),
            ]
            acknowledged += [event.event_id for execution in written for event in execution.events]
        acknowledged += [event.event_id for event in log.change_settings({"model": name}).events]
    return acknowledged


def assert_all_there(log: SqlEventLog, acknowledged: list[list[str]]) -> None:
    events = assert_whole(log)
    names = [recorded.event_id for recorded in events]
    first = [recorded.event_id for recorded in events if recorded.stream == CAMPAIGN and recorded.version == 1]
    assert sorted(names) == sorted([name for each in acknowledged for name in each] + first)
    for each in acknowledged:
        assert [name for name in names if name in set(each)] == each
    assert log.max_position(CAMPAIGN) > 0
    assert [recorded.version for recorded in log.read(0, 9, stream=INSTALLATION_STREAM)] == [1, 2]


class TestOneStoreForSeveral:
    def test_logs_in_one_process(self, store: Path) -> None:
        with ThreadPoolExecutor(2) as writers:
            written = list(writers.map(write_rounds, [store, store], ["c_one", "c_two"]))
        with opened(store) as log:
            assert_all_there(log, written)

    def test_processes(self, store: Path) -> None:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as writers:
            written = list(writers.map(write_rounds, [store, store], ["c_one", "c_two"]))
        with opened(store) as log:
            assert_all_there(log, written)

    def test_threads_of_one_log(self, store: Path) -> None:
        def take_turns(log: SqlEventLog, name: str) -> list[str]:
            log.execute(start(campaign=name))
            acknowledged = []
            for number in range(15):
                log.execute(revise(title=f"{name} {number}"))
                log.execute(take_turn(f"t_{number}", "do", "Wait.", campaign=name))
                acknowledged += [
                    event.event_id for event in log.execute(accept(f"t_{number}", "Fog.", campaign=name)).events
                ]
                assert log.campaign(name).head == 2 * number + 3
            return acknowledged

        names = [f"c_{number}" for number in range(24)]  # more than a pool has connections
        with opened(store) as log, ThreadPoolExecutor(len(names)) as players:
            log.execute(start())
            told = list(players.map(take_turns, [log] * len(names), names))
            events = assert_whole(log)
        assert len(events) == 1 + len(names) * (1 + 15 * 5)
        told_by = ("story.narration_accepted", "state.proposal_judged")
        told_in_the_log = [recorded.event_id for recorded in events if recorded.topic in told_by]
        assert sorted(told_in_the_log) == sorted(name for each in told for name in each)

    def test_a_reader_that_follows_misses_nothing_and_sees_nothing_half(self, store: Path) -> None:
        done = threading.Event()
        seen: list[Recorded] = []

        def follow() -> None:
            with opened(store) as log:
                while not done.is_set() or log.max_position() > len(seen):
                    seen.extend(log.read(len(seen), 7))
                    newest = {recorded.event_id for recorded in log.read(0, 100_000, topics=["story.player_acted"])}
                    opening = {recorded.turn for recorded in log.read(0, 100_000, topics=["story.turn_opened"])}
                    assert len(newest) <= len(opening)

        with opened(store) as log, ThreadPoolExecutor(1) as followers:
            following = followers.submit(follow)
            try:
                log.execute(start())
                for number in range(40):
                    log.execute(take_turn(f"t_{number}", "do", "Wait."))
                    log.execute(accept(f"t_{number}", "Fog."))
            finally:
                done.set()
            following.result()
            assert seen == list(log.read(0, 100_000))

    def test_one_turn_at_a_time_also_across_logs(self, store: Path) -> None:
        with opened(store) as one, opened(store) as other:
            one.execute(start())
            with ThreadPoolExecutor(2) as players:
                asked = [
                    players.submit(log.execute, take_turn(turn, "continue"))
                    for log, turn in ((one, "t_1"), (other, "t_2"))
                ]
            outcomes = [player.exception() for player in asked]
            assert [type(outcome).__name__ for outcome in outcomes].count("TurnInProgress") == 1
            assert len(one.open_turns()) == 1

    def test_that_is_made_by_many_at_once_is_made_once(self, tmp_path: Path) -> None:
        for number in range(10):
            store = tmp_path / f"{number}.db"
            together = threading.Barrier(4)

            def make(store: Path = store, together: threading.Barrier = together) -> None:
                together.wait()
                with opened(store) as log:
                    log.execute(start())

            with ThreadPoolExecutor(4) as makers:
                for made in [makers.submit(make) for _ in range(4)]:
                    made.result()
            with opened(store) as log:
                assert log.max_position() == 1


ACKNOWLEDGE = """
import sys
from pathlib import Path
from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from tests.fakes.sample_story import revise, start

log = SqlEventLog(Path(sys.argv[1]), SystemClock(), RandomNames())
log.execute(start())
for number in range(100_000):
    print(log.execute(revise(title=str(number))).events[0].event_id, flush=True)
"""


class TestAProcessThatIsKilled:
    @pytest.mark.parametrize("after", [1, 60])
    def test_leaves_everything_that_was_acknowledged(self, store: Path, after: int) -> None:
        command = [sys.executable, "-c", ACKNOWLEDGE, str(store)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
            assert process.stdout is not None
            acknowledged = [process.stdout.readline().strip() for _ in range(after)]
            os.kill(process.pid, signal.SIGKILL)
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]
        with opened(store) as log:
            names = [recorded.event_id for recorded in assert_whole(log)]
            assert names[1 : len(acknowledged) + 1] == acknowledged
            assert len(names) <= len(acknowledged) + 2  # the start, and one that was not acknowledged any more
            log.execute(revise(title="after"))
            assert_whole(log)


class TestWhatTheStoreCannotDo:
    @pytest.fixture
    def told(self, store: Path) -> Iterator[SqlEventLog]:
        with opened(store) as log:
            log.execute(start())
            yield log

    def pragma(self, log: SqlEventLog, statement: str) -> None:
        raw = log._writes.raw_connection()
        raw.cursor().execute(f"PRAGMA {statement}")
        raw.close()

    def test_on_a_full_disk_nothing_is_written_and_the_words_say_so(self, told: SqlEventLog, store: Path) -> None:
        before = told.read(0, 10), rows(told), told.verify()
        self.pragma(told, "max_page_count = 1")  # never less than there are: the next page is one too many
        with pytest.raises(StoreFull) as refused:
            told.execute(take_turn("t_1", "do", "Wait. " * 20_000))
        assert str(store) in refused.value.message
        assert (told.read(0, 10), rows(told), told.verify()) == before
        self.pragma(told, "max_page_count = 1000000")
        told.execute(take_turn("t_1", "do", "Wait. " * 20_000))
        assert told.max_position() == 3

    def test_behind_another_writer_that_never_ends_it_gives_up_and_writes_nothing(
        self, told: SqlEventLog, store: Path
    ) -> None:
        self.pragma(told, "busy_timeout = 50")
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable) as refused:
                told.execute(revise(title="New"))
            assert "database is locked" in refused.value.message
            assert len(told.read(0, 10)) == 1  # and reading waits for nobody
            other.execute("ROLLBACK")
        told.execute(revise(title="New"))
        assert told.max_position() == 2

    def test_where_another_event_stands_in_the_place_it_names_the_damage(self, told: SqlEventLog, store: Path) -> None:
        told.execute(revise(title="New"))
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("UPDATE stream_head SET version = 1")
            connection.commit()
        before = told.read(0, 10), rows(told)
        with pytest.raises(LogDamaged) as damage:
            told.execute(revise(title="Newer"))
        assert damage.value.fields == {"stream": CAMPAIGN, "version": 2}
        assert (told.read(0, 10), rows(told)) == before

    def test_when_its_tables_are_gone_it_says_so(self, told: SqlEventLog, store: Path) -> None:
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("DROP TABLE campaign")
            connection.commit()
        with pytest.raises(StoreUnavailable) as refused:
            told.execute(revise(title="New"))
        assert "no such table" in refused.value.message

    def test_a_turn_of_a_name_that_was_used_is_refused_by_the_store_and_leaves_no_half(self, told: SqlEventLog) -> None:
        told.execute(take_turn("t_1", "do", "Wait."))
        told.execute(accept("t_1", "Fog."))
        before = told.read(0, 10), rows(told)
        with pytest.raises(StoreUnavailable):
            told.execute(take_turn("t_1", "do", "Climb."))
        assert (told.read(0, 10), rows(told)) == before


class TestAFileThatIsNotWhereItWas:
    @pytest.fixture
    def told(self, store: Path) -> Iterator[SqlEventLog]:
        with opened(store) as log:
            log.execute(start())
            yield log

    def assert_refuses(self, log: SqlEventLog, store: Path) -> None:
        for asked in (
            lambda: log.execute(revise(title="New")),
            lambda: log.change_settings({"model": "m"}),
            lambda: log.delete_campaign(CAMPAIGN),
            lambda: log.campaign(CAMPAIGN),
            lambda: log.read(0, 10),
            log.max_position,
            log.open_turns,
        ):
            with pytest.raises(StoreReplaced) as refused:
                asked()
            assert str(store) in refused.value.message
            assert "nothing was recorded" in refused.value.message

    def test_deleted_refuses_and_is_not_made_anew(self, told: SqlEventLog, store: Path) -> None:
        store.unlink()
        self.assert_refuses(told, store)
        assert not store.exists()

    def test_deleted_with_its_directory_refuses(self, tmp_path: Path) -> None:
        store = tmp_path / "home" / "log.db"
        store.parent.mkdir()
        with opened(store) as log:
            log.execute(start())
            shutil.rmtree(store.parent)
            self.assert_refuses(log, store)

    def test_replaced_refuses_and_leaves_the_other_file_alone(self, told: SqlEventLog, store: Path) -> None:
        other = store.with_name("other.db")
        with opened(other) as log:
            log.execute(start(title="Other"))
        other.replace(store)
        before = store.read_bytes()
        self.assert_refuses(told, store)
        assert store.read_bytes() == before

    def test_put_back_works_again_with_all_that_was_acknowledged(self, told: SqlEventLog, store: Path) -> None:
        away = store.rename(store.with_name("away.db"))
        self.assert_refuses(told, store)
        away.rename(store)
        told.execute(revise(title="New"))
        assert len(assert_whole(told)) == 2

    def test_deleted_during_a_write_acknowledges_nothing(self, told: SqlEventLog, store: Path) -> None:
        away = store.with_name("away.db")
        with pytest.raises(StoreReplaced):
            told._write(lambda _: store.rename(away))
        away.rename(store)
        assert len(assert_whole(told)) == 1


class TestWhoListens:
    def test_is_woken_by_what_this_process_appends(self, store: Path) -> None:
        woken = threading.Event()
        with opened(store) as log:
            log.listen(woken)
            assert not woken.is_set()
            log.execute(start())
            assert woken.is_set()

    def test_finds_what_woke_it(self, store: Path) -> None:
        woken = threading.Event()
        with opened(store) as log, ThreadPoolExecutor(1) as listeners:
            log.listen(woken)

            def listen() -> int:
                assert woken.wait(10)
                return log.max_position()

            heard = listeners.submit(listen)
            log.execute(start())
            assert heard.result() == 1
