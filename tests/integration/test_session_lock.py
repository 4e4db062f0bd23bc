"""On PostgreSQL too a dead process is told from a living one, whoever asks, and whatever becomes of connections."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from adapters import session_lock
from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from adapters.postgresql import PostgresqlDatabase
from adapters.session_lock import SessionLock
from adapters.time_and_names import RandomNames, SystemClock
from api.use_cases.dead_turns import DeadTurns
from domain.errors import StoreUnavailable
from tests.fakes.postgresql import running_server
from tests.fakes.sample_story import CAMPAIGN, PROCESS, start, take_turn

SOON = 10.0
_HOLD = """
import sys
from adapters.postgresql import PostgresqlDatabase
from adapters.session_lock import SessionLock
lock = SessionLock(PostgresqlDatabase(sys.argv[1]), sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
lock.release()
"""

Spawn = Callable[[str, str], "subprocess.Popen[str]"]


@contextmanager
def holding(url: str, name: str = "p_mine") -> Iterator[SessionLock]:
    lock = SessionLock(PostgresqlDatabase(url), name)
    try:
        yield lock
    finally:
        lock.release()


@pytest.fixture
def url(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database on a server that counts as one that was not just restarted."""
    monkeypatch.setattr(session_lock, "RESTART_SECONDS", 0)
    return database_url


@pytest.fixture
def mine(url: str) -> Iterator[SessionLock]:
    """The lock of this process."""
    with holding(url) as lock:
        yield lock


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts a process that holds a lock, and returns when it does."""
    with ExitStack() as running:

        def spawned(url: str, name: str) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-c", _HOLD, url, name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
                text=True,
            )
            running.enter_context(process)
            running.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            return process

        yield spawned


def held(url: str) -> int:
    """How many locks processes hold in this database."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database "
            "WHERE locktype = 'advisory' AND datname = current_database() AND granted"
        ).fetchone()
    return int(found[0]) if found else 0


def wait_for_name(lock: SessionLock) -> None:
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            assert lock.name
        except StoreUnavailable:
            time.sleep(0.01)
        else:
            return
    pytest.fail("the lock was not taken again")


def test_a_process_that_lives_is_not_dead_not_even_to_itself(mine: SessionLock, url: str) -> None:
    with holding(url, "p_other") as other:
        assert not mine.is_dead("p_other")
        assert not other.is_dead("p_mine")
        assert not mine.is_dead("p_mine")


def test_a_process_that_ended_in_order_is_dead(mine: SessionLock, url: str) -> None:
    with holding(url, "p_other"):
        pass
    assert mine.is_dead("p_other")
    assert held(url) == 1


def test_the_lock_of_a_killed_process_is_free_within_milliseconds(mine: SessionLock, url: str, spawn: Spawn) -> None:
    other = spawn(url, "p_other")
    assert held(url) == 2
    with psycopg.connect(url, autocommit=True) as connection:
        other.send_signal(signal.SIGKILL)
        began = time.monotonic()
        number = session_lock._number("p_other")
        while connection.execute("SELECT pg_try_advisory_xact_lock_shared(%s)", [number]).fetchone() != (True,):
            assert time.monotonic() - began < 1
    assert mine.is_dead("p_other")


def test_a_stopped_process_is_merely_slow(mine: SessionLock, url: str, spawn: Spawn) -> None:
    other = spawn(url, "p_other")
    other.send_signal(signal.SIGSTOP)
    assert not mine.is_dead("p_other")


def test_all_who_ask_about_a_dead_process_at_once_learn_that_it_is_dead(url: str) -> None:
    with ExitStack() as running, ThreadPoolExecutor(3) as asking:
        locks = [running.enter_context(holding(url, f"p_{number}")) for number in range(3)]

        def mistaken(lock: SessionLock) -> int:
            return sum(not lock._is_free("p_dead") for _ in range(500))

        assert list(asking.map(mistaken, locks)) == [0, 0, 0]


def test_a_process_whose_session_ended_takes_its_lock_again_and_is_never_taken_for_dead(url: str) -> None:
    with holding(url) as mine, holding(url, "p_other") as other:
        for _ in range(3):
            number = session_lock._number("p_other")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s",
                    [number >> 32 & 0xFFFFFFFF],
                )
            assert not mine.is_dead("p_other")
            wait_for_name(other)


def test_a_process_gives_its_name_to_no_turn_while_it_holds_no_lock() -> None:
    with running_server() as server, server.database() as url, holding(url) as mine:
        server.stop()
        time.sleep(0.5)  # twice as long as a loss may stay unnoticed
        with pytest.raises(StoreUnavailable, match="was lost, and is being made again"):
            assert mine.name
        with pytest.raises(StoreUnavailable):
            mine.is_dead("p_other")
        server.start()
        wait_for_name(mine)
        assert held(url) == 1


def test_for_some_seconds_after_a_restart_nobody_is_proved_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_lock, "LOOK_AGAIN_SECONDS", 0)
    monkeypatch.setattr(session_lock, "RESTART_SECONDS", 1)
    with running_server() as server, server.database() as url, holding(url) as mine:
        server.stop()
        server.start()
        began = time.monotonic()
        wait_for_name(mine)
        with holding(url, "p_new") as new:
            while time.monotonic() - began < 0.7:
                assert not mine.is_dead("p_gone")
                assert not new.is_dead("p_gone")
            time.sleep(0.7)
            assert mine.is_dead("p_gone")
            assert new.is_dead("p_gone")


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreUnavailable, match="there is no connection to postgresql://"):
        SessionLock(PostgresqlDatabase("postgresql://a:b@127.0.0.1:1/c"), "p_mine")


def test_releasing_twice_does_nothing(url: str) -> None:
    lock = SessionLock(PostgresqlDatabase(url), "p_mine")
    lock.release()
    lock.release()
    assert held(url) == 0


def test_two_who_meet_a_dead_turn_close_it_once(url: str) -> None:
    together = threading.Barrier(2)

    def closed(name: str) -> bool:
        log = SqlEventLog(PostgresqlStore(url), SystemClock(), RandomNames())
        try:
            with holding(url, name) as lock:
                turn = log.turn(CAMPAIGN, "t_1")
                together.wait()
                return DeadTurns(log, lock).close(CAMPAIGN, turn)
        finally:
            log.close()

    log = SqlEventLog(PostgresqlStore(url), SystemClock(), RandomNames())
    log.execute(start())
    log.execute(take_turn("t_1", "do", "Wait."))
    assert log.turn(CAMPAIGN, "t_1").process == PROCESS
    with ThreadPoolExecutor(2) as processes:
        assert list(processes.map(closed, ["p_one", "p_two"])) == [True, True]
    assert [recorded.turn for recorded in log.read(0, 10, topics=["story.turn_failed"])] == ["t_1"]
    assert log.verify().ok
    log.close()
