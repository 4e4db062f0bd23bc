"""Building each view from nothing, against SQLite alone writing the very same rows.

The log is one of many stories out of a seed. Each rebuild has a process of its own, and so has what SQLite does alone.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from projections.all import ALL
from projections.campaigns import CAMPAIGNS
from tests.bench.prose import SEED
from tests.bench.stores import begin_stories, copied
from tests.bench.table import Figure, at_least, at_most, told
from tests.fakes.postgresql import running_server

EVENTS = 200_000
QUICK_EVENTS = 5_000
RATIO = 0.25
RATIO_IN_POSTGRESQL = 0.10
"""Of what SQLite alone takes: PostgreSQL is asked over a socket."""
GROWTH_MEGABYTES = 16
"""What a log five times as long may add to the memory of a rebuild."""
START_SECONDS = 2.0
ROWS = 1_000
"""Fewer rows than a page holds say nothing of the speed: what they take is the opening of a file, and of two connections."""

_SHARE = 5
_STARTS = 5

Said = dict[str, float]
"""The figures of one process."""


@dataclass(frozen=True)
class _Bench:
    """Two logs out of one seed, one a fifth as long as the other, and how often each rebuild is measured."""

    home: Path
    events: int
    times: int

    @property
    def long(self) -> Path:
        return self.home / "long"

    @property
    def short(self) -> Path:
        return self.home / "short"

    @property
    def stories(self) -> Path:
        """A log of stories that were begun, a tenth of them revised, and none played: all of it is in the list."""
        return self.home / "stories"

    @property
    def views(self) -> Path:
        return self.home / "views"


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """Seconds, ratios and memory of each view, here and in PostgreSQL; and the start with all of them."""
    bench = _Bench(home, QUICK_EVENTS if quick else EVENTS, times=1 if quick else 3)
    generated = list(_generated(bench))
    ours = [_all_anew(bench.long, bench.views) for _ in range(bench.times)]
    started = list(_started(bench))
    short = _all_anew(bench.short, bench.home / "short_views")
    alone = {name: _process("row_writes", bench.long, home / "noted", name, bench.times) for name in _names()}
    there = _in_postgresql(bench, bench.long)
    listed = list(_listed(bench))
    rebuilt = [
        figure
        for name in _names()
        for figure in _rebuilt(name, bench.events, [each[name] for each in ours], short[name], alone[name], there[name])
    ]
    repeated = f"{bench.times} of each, in PostgreSQL 1, from a log of {bench.events:,} events of many stories"
    return [*generated, *rebuilt, *listed, *started, told("repetitions", repeated)]


def _names() -> list[str]:
    return [projection.name for projection in ALL]


def _generated(bench: _Bench) -> Iterator[Figure]:
    """Both logs, written at the same time."""
    begun = perf_counter()
    long, short = (_generating(bench.long, bench.events), _generating(bench.short, bench.events // _SHARE))
    _end(long)
    yield told("writing the log: events a second", f"{bench.events / (perf_counter() - begun):,.0f}")
    _end(short)


def _generating(store: Path, events: int) -> "subprocess.Popen[bytes]":
    command = [*_module("replays.generated_log"), "--seed", str(SEED), "--events", str(events), str(store)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.wait() != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)


def _all_anew(store: Path, views: Path) -> dict[str, Said]:
    """Every view rebuilt from nothing: what each took."""
    shutil.rmtree(views, ignore_errors=True)
    return {name: _process("view_process", store, views, name) for name in _names()}


def _in_postgresql(bench: _Bench, log: Path) -> dict[str, Said]:
    """The same from a copy of the log in a PostgreSQL server on this machine, into the same database."""
    with running_server() as server, server.database() as url:
        copied(log, url)
        return {name: _process("view_process", url, bench.views, name) for name in _names()}


def _listed(bench: _Bench) -> Iterator[Figure]:
    """The list of campaigns out of a log that is all for it. In one of turns it has so few rows that opening a file for
    them takes longer than writing them."""
    name = CAMPAIGNS.name
    begin_stories(bench.stories, bench.events)
    ours = [_all_anew(bench.stories, bench.views)[name]["seconds"] for _ in range(bench.times)]
    alone = _process("row_writes", bench.stories, bench.home / "noted_stories", name, bench.times)
    there = _in_postgresql(bench, bench.stories)[name]["seconds"]
    seconds, note = median(ours), f"   ({alone['same']:.3f} s, {alone['writes']:,.0f} rows)"
    yield told(
        f"{name}, of a log of stories alone: events a second", f"{bench.events / seconds:,.0f}   ({seconds:.2f} s)"
    )
    yield at_least(f"{name}, of stories alone: SQLite's time / ours", alone["same"] / seconds, RATIO, note=note)
    ratio, note = alone["same"] / there, f"   ({there:.2f} s)"
    yield at_least(f"{name}, of stories alone: in PostgreSQL", ratio, RATIO_IN_POSTGRESQL, note=note)


def _rebuilt(name: str, events: int, ours: Sequence[Said], short: Said, alone: Said, there: Said) -> Iterator[Figure]:
    seconds = median(said["seconds"] for said in ours)
    yield told(f"{name}: events a second", f"{events / seconds:,.0f}   ({seconds:.2f} s)")
    note = f"   ({alone['same']:.3f} s, {alone['writes']:,.0f} rows)"
    yield _judged(f"{name}: SQLite's time for the very same writes / ours", alone["same"] / seconds, RATIO, alone, note)
    final = f"{alone['final'] / seconds:.2f}   ({alone['final']:.3f} s, {alone['rows']:,.0f} rows)"
    yield told(f"{name}: the same for the rows that stand in the end", final)
    both = alone["same"] + alone["read"]
    yield told(f"{name}: the same with reading the events", f"{both / seconds:.2f}   ({both:.3f} s)")
    ratio, note = alone["same"] / there["seconds"], f"   ({there['seconds']:.2f} s)"
    yield _judged(f"{name}: SQLite's time / ours in PostgreSQL", ratio, RATIO_IN_POSTGRESQL, alone, note)
    more = median(said["megabytes"] for said in ours) - short["megabytes"]
    yield at_most(f"{name}: memory that a log {_SHARE} times as long adds", more, GROWTH_MEGABYTES, unit=" MB")


def _judged(name: str, ratio: float, target: float, alone: Said, note: str) -> Figure:
    """A ratio with its target, where there are rows enough for it to say something of the speed."""
    return at_least(name, ratio, target, note=note) if alone["writes"] >= ROWS else told(name, f"{ratio:.2f}{note}")


def _started(bench: _Bench) -> Iterator[Figure]:
    """A process that opens the store, with views that are up to date, and reads each of them."""
    seconds = []
    for _ in range(_STARTS):
        begun = perf_counter()
        subprocess.run([*_module("tests.bench.view_process"), str(bench.long), str(bench.views)], check=True)
        seconds.append(perf_counter() - begun)
    yield at_most("from no process to a read of every view", median(seconds), START_SECONDS, unit=" s")


def _process(module: str, *arguments: object) -> Said:
    """What a process of its own has to say."""
    command = [*_module(f"tests.bench.{module}"), *map(str, arguments)]
    said: Said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return said


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", name]
