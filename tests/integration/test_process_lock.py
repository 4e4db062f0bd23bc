"""A dead process is told from a living one by a lock, whoever asks and however many ask at once."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from adapters import process_lock
from adapters.process_lock import ProcessLock

REPOSITORY = Path(__file__).parents[2]
_HOLD = """
import sys
from pathlib import Path
from adapters.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]), sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
lock.release()
"""
_ASK = """
import sys
from pathlib import Path
from adapters.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
print(sum(not lock.is_dead(sys.argv[3]) for _ in range(2000)), flush=True)
"""
_SWEEP = """
import sys
from pathlib import Path
from adapters.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
while True:
    lock.sweep(set())
"""

Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "locks"


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts a Python process with pipes, and returns when it has said its first line."""
    with ExitStack() as running:

        def spawned(program: str, *arguments: object) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-c", program, *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                text=True,
            )
            running.enter_context(process)
            running.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            return process

        yield spawned


def test_a_process_that_lives_is_not_dead_not_even_to_itself(locks: Path, spawn: Spawn) -> None:
    mine = ProcessLock(locks, "p_mine")
    spawn(_HOLD, locks, "p_other")
    assert not mine.is_dead("p_other")
    assert not mine.is_dead("p_mine")
    assert not mine.is_dead("p_mine")
    mine.release()


def test_a_killed_process_is_dead_at_once(locks: Path, spawn: Spawn) -> None:
    mine = ProcessLock(locks, "p_mine")
    other = spawn(_HOLD, locks, "p_other")
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert mine.is_dead("p_other")
    assert (locks / "p_other.lock").exists()
    mine.release()


def test_a_stopped_process_is_merely_slow(locks: Path, spawn: Spawn) -> None:
    mine = ProcessLock(locks, "p_mine")
    other = spawn(_HOLD, locks, "p_other")
    other.send_signal(signal.SIGSTOP)
    assert not mine.is_dead("p_other")
    mine.release()


def test_a_process_that_ended_in_order_leaves_no_file_and_is_dead(locks: Path, spawn: Spawn) -> None:
    mine = ProcessLock(locks, "p_mine")
    other = spawn(_HOLD, locks, "p_other")
    other.communicate("\n")
    assert not (locks / "p_other.lock").exists()
    assert mine.is_dead("p_other")
    mine.release()
    assert list(locks.iterdir()) == []


def test_a_program_that_the_process_started_does_not_keep_it_alive(locks: Path, spawn: Spawn) -> None:
    program = "import subprocess, sys\n" + _HOLD.replace(
        'print("held"', 'child = subprocess.Popen(["sleep", "60"])\nprint(child.pid, file=sys.stderr)\nprint("held"'
    ).replace("file=sys.stderr", "file=open(sys.argv[3], 'w'), flush=True")
    mine = ProcessLock(locks, "p_mine")
    pid_file = locks.parent / "pid"
    other = spawn(program, locks, "p_other", pid_file)
    other.kill()
    other.wait()
    try:
        assert mine.is_dead("p_other")
    finally:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    mine.release()


def test_all_who_ask_about_a_dead_process_at_once_learn_that_it_is_dead(locks: Path, spawn: Spawn) -> None:
    """With exclusive locks, each who asks makes it look alive to the others for a moment."""
    dead = spawn(_HOLD, locks, "p_dead")
    dead.kill()
    dead.wait()
    asking = [spawn(_ASK, locks, f"p_{number}", "p_dead") for number in range(3)]
    for one in asking:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    mistaken = [int(one.communicate()[0]) for one in asking]
    assert mistaken == [0, 0, 0]


def test_a_sweep_removes_the_dead_but_for_those_whose_turns_are_open(locks: Path, spawn: Spawn) -> None:
    mine = ProcessLock(locks, "p_mine")
    spawn(_HOLD, locks, "p_living")
    for name in ("p_dead", "p_named"):
        (locks / f"{name}.lock").touch()
    mine.sweep({"p_named"})
    assert sorted(path.name for path in locks.iterdir()) == ["p_living.lock", "p_mine.lock", "p_named.lock"]
    mine.release()


def test_a_lock_taken_while_others_sweep_is_held_by_a_file_that_is_there(locks: Path, spawn: Spawn) -> None:
    """A file that a sweep removed under its holder would make a living process look dead."""
    sweeping = [spawn(_SWEEP, locks, f"p_sweeper{number}") for number in range(2)]
    mine = ProcessLock(locks, "p_mine")
    taken_for_dead = 0
    for number in range(1000):
        lock = ProcessLock(locks, f"p_{number}")
        taken_for_dead += mine.is_dead(lock.name)
        lock.release()
    for one in sweeping:
        one.kill()
    mine.release()
    assert taken_for_dead == 0


def test_releasing_twice_does_nothing(locks: Path) -> None:
    lock = ProcessLock(locks, "p_mine")
    lock.release()
    lock.release()
    assert list(locks.iterdir()) == []


def test_a_file_that_was_swept_away_as_it_was_opened_proves_nothing(
    locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another sweep removes it, and its owner makes it again, between our opening of it and our asking for its lock."""
    mine, path = ProcessLock(locks, "p_mine"), locks / "p_slow.lock"
    path.touch()
    owners: list[ProcessLock] = []
    ask = process_lock._locked

    def asked_late(descriptor: int) -> bool:
        if not owners:
            path.unlink()
            owners.append(ProcessLock(locks, "p_slow"))
        return ask(descriptor)

    monkeypatch.setattr(process_lock, "_locked", asked_late)
    assert not mine.is_dead("p_slow")
    owners.pop().release()
    path.touch()
    mine.sweep({"p_mine"})
    assert path.exists(), "it is held"
    owners.pop().release()
    mine.release()
