"""The same story told and travelled by this log and by LangGraph's checkpoints in SQLite, in one run.

    python -m tests.bench.peer --peer peer_langgraph.py --peer-python /path/to/a/python/with/langgraph

`--peer` is a script that measures LangGraph (`--turns`, `--modes`, `--durability`, `--json`), in a process of its own,
with `--durability sync`: a step is on record before the next begins, as with ours. A turn is 2 KB of the player and 2 KB
of the narrator on either side. Ours waits for the disk (`synchronous=FULL`), and is measured twice: with the exact request
of every turn built (16,384 tokens at most) and put on record, to which the peer has no counterpart; and without, which is
the peer's work. Our bytes are those of the whole data directory, views included. Short stories are told several times,
ours and theirs in turn; of each figure the least counts, which the machine's other work disturbs least. Prints a table
in Markdown.
"""

import argparse
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import structlog

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames
from adapters.tokens import TiktokenCounter
from api.config import Config
from api.use_cases import places
from api.use_cases.prompting import Bodies, Prompter
from api.use_cases.stories import whole_line
from api.wiring import Store, open_store
from domain.campaign.commands import AcceptNarration, OpenTurn, RecordPrompt
from domain.extraction.extraction import extract_plain
from domain.installation import Settings
from domain.prompt.events import Window
from tests.bench.prose import Prose
from tests.bench.stories import ACCOUNT, CAMPAIGN, start

TURNS = (200, 1_000)
FORK_TURN = 100
MODES = ("messages", "delta")
HALF_TURN = 2_000
"""Characters of an action, and of a narration: as many as the peer's."""

SETTINGS = Settings(endpoint="http://127.0.0.1:1/v1", model="scripted-model")
"""With the budget that is the default: 16,384 tokens."""

_TURNS_IN_ALL = 600
"""A story is told as often as it takes to get to so many turns, and once at least."""
_TIMES = 5
_VIEWS = ("campaigns", "story", "prompts")


@dataclass(frozen=True)
class Taken:
    """What one way of keeping a story took, in milliseconds and bytes."""

    turn_first: float
    turn_last: float
    go_back: float
    play_on: float
    read_there: float
    read_head: float
    size: int


# Ours


class _Teller:
    """Tells turns as the use case does, the narrator's text made up on the spot, as the peer's is; with the exact request
    built and put on record, or without."""

    def __init__(self, log: SqlEventLog, prose: Prose, *, recording: bool) -> None:
        self._log, self._prose, self._recording = log, prose, recording
        self._names, self._bodies = RandomNames(), Bodies(log)
        self._prompter = Prompter(log, TiktokenCounter(), self._bodies)

    def turn(self) -> float:
        """Tells a turn; the milliseconds that it took."""
        turn, action = self._names.new("t"), self._prose.text(HALF_TURN)
        begun = perf_counter()
        self._log.execute(OpenTurn(CAMPAIGN, turn, "do", action, "p_bench", "0" * 32))
        if self._recording:
            self._record(turn)
        reply = self._prose.text(HALF_TURN)
        self._log.execute(AcceptNarration(CAMPAIGN, turn, reply, "", extract_plain(reply), "stop", ACCOUNT))
        return (perf_counter() - begun) * 1000

    def _record(self, turn: str) -> None:
        prepared = self._prompter.prepare(CAMPAIGN, self._log.turn(CAMPAIGN, turn), SETTINGS, Window())
        self._log.execute(RecordPrompt(CAMPAIGN, prepared.event))
        self._bodies.remember(CAMPAIGN, prepared.event, prepared.body)


def ours(home: Path, turns: int, *, recording: bool) -> Taken:
    """A story of so many turns told, gone back in, and read."""
    prose, few = Prose(), min(25, turns // 4)
    with _opened(home) as (store, log):
        start(log, prose)
        teller = _Teller(log, prose, recording=recording)
        each = [teller.turn() for _ in range(turns)]
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    with _opened(home) as (store, log):
        teller = _Teller(log, prose, recording=recording)
        fork, end = 1 + 2 * FORK_TURN, log.campaign(CAMPAIGN).head
        read_head = _times(lambda: whole_line(store, CAMPAIGN), turns)
        read_there = _times(lambda: whole_line(store, CAMPAIGN, fork), FORK_TURN)
        back, on = zip(*(_go_back_and_on(log, teller, end, fork) for _ in range(_TIMES)), strict=True)
    return Taken(median(each[1:few]), median(each[-few:]), median(back), median(on), read_there, read_head, size)


@contextmanager
def _opened(home: Path) -> Iterator[tuple[Store, SqlEventLog]]:
    """The store, its views at the end of the log. As it closes, the files beside the databases go into them."""
    with open_store(Config(home=home)) as store:
        assert isinstance(store.log, SqlEventLog)
        _wait_for(store)
        yield store, store.log
        _wait_for(store)


def _wait_for(store: Store) -> None:
    for view in _VIEWS:
        store.views.at_least(view, store.log.max_position(), timeout=120)


def _go_back_and_on(log: SqlEventLog, teller: _Teller, end: int, fork: int) -> tuple[float, float]:
    """From the end, where a turn was told last: each request that follows differs from the newest as a first one does."""
    places.move_head(log, CAMPAIGN, end, None)
    teller.turn()
    begun = perf_counter()
    places.move_head(log, CAMPAIGN, fork, None)
    return (perf_counter() - begun) * 1000, teller.turn()


def _times(read: Callable[[], Sequence[object]], turns: int) -> float:
    times = []
    for _ in range(_TIMES):
        begun = perf_counter()
        found = read()
        times.append((perf_counter() - begun) * 1000)
        assert len(found) == 1 + 2 * turns
    return median(times)


# Theirs


def theirs(script: Path, python: Path, turns: int, mode: str) -> Taken:
    """What the peer's script says of so many turns in a mode."""
    with tempfile.TemporaryDirectory(prefix="fabula-peer-") as directory:
        answer = Path(directory) / "answer.json"
        command = [
            str(python),
            str(script),
            "--turns",
            str(turns),
            "--modes",
            mode,
            "--durability",
            "sync",
            "--json",
            str(answer),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=directory, env={"BENCH_DIR": directory})
        (found,) = json.loads(answer.read_text())
    return _taken(found)


def _taken(found: dict[str, Any]) -> Taken:
    return Taken(
        found["turn_ms_first"],
        found["turn_ms_last"],
        found["fork_ms"],
        found["fork_first_turn_ms"],
        found["read_turn100_ms"],
        found["read_head_ms"],
        found["db_bytes"],
    )


# Both

ROWS: tuple[tuple[str, Callable[[Taken], float], str], ...] = (
    ("to record one of the first turns", lambda taken: taken.turn_first, "{:.1f} ms"),
    ("to record one of the last turns", lambda taken: taken.turn_last, "{:.1f} ms"),
    (f"to go back to turn {FORK_TURN}", lambda taken: taken.go_back, "{:.1f} ms"),
    ("to play the first turn there", lambda taken: taken.play_on, "{:.1f} ms"),
    (f"to read the line at turn {FORK_TURN}", lambda taken: taken.read_there, "{:.1f} ms"),
    ("to read the line at the head", lambda taken: taken.read_head, "{:.1f} ms"),
    ("bytes on the disk", lambda taken: taken.size / 1e6, "{:,.1f} MB"),
)
COLUMNS = ("Fabula, requests on record", "Fabula, as the peer: without", "LangGraph, default", "LangGraph, deltas")


def table(found: dict[int, Sequence[Taken]]) -> str:
    """The table in Markdown; a row is ours where both of our columns are ahead of both of theirs."""
    lines = ["| | " + " | ".join(COLUMNS) + " | ahead |", "|---|" + "---:|" * len(COLUMNS) + "---|"]
    for turns, taken in found.items():
        lines.append(f"| **{turns:,} turns** |" + " |" * (len(COLUMNS) + 1))
        lines += [_line(name, [of(one) for one in taken], shown) for name, of, shown in ROWS]
    return "\n".join(lines)


def _line(name: str, values: Sequence[float], shown: str) -> str:
    ahead = "yes" if max(values[:2]) < min(values[2:]) else "NO"
    return f"| {name} | " + " | ".join(shown.format(value) for value in values) + f" | {ahead} |"


def _round(script: Path, python: Path, turns: int) -> list[Taken]:
    """What each column took."""
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as directory:
        mine = [ours(Path(directory) / str(recording), turns, recording=recording) for recording in (True, False)]
    return [*mine, *(theirs(script, python, turns, mode) for mode in MODES)]


def _least(rounds: Sequence[Sequence[Taken]]) -> list[Taken]:
    """Of each figure of each column, the least of all rounds."""
    return [Taken(*map(min, zip(*map(astuple, column), strict=True))) for column in zip(*rounds, strict=True)]


def main() -> None:
    """Measures both, length by length, and prints the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.peer", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", type=Path, required=True, help="the script that measures LangGraph")
    parser.add_argument("--peer-python", type=Path, default=Path(sys.executable), help="a Python that has LangGraph")
    parser.add_argument("--turns", type=int, nargs="+", default=TURNS)
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found: dict[int, Sequence[Taken]] = {}
    for turns in arguments.turns:
        rounds = max(1, _TURNS_IN_ALL // turns)
        found[turns] = _least([_round(arguments.peer.resolve(), arguments.peer_python, turns) for _ in range(rounds)])
    print(table(found))


if __name__ == "__main__":
    main()
