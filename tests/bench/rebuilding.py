"""Building each view from nothing, against SQLite alone writing the very same rows."""

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
from projections.projection import Projection
from tests.bench.prose import SEED
from tests.bench.table import Figure, at_least, at_most, told

EVENTS = 200_000
QUICK_EVENTS = 5_000
RATIO = 0.25
GROWTH_MEGABYTES = 16
"""What a log five times as long may add to the memory of a rebuild."""
START_SECONDS = 2.0

_SHARE = 5
_STARTS = 5
_NOWHERE = subprocess.DEVNULL


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
    def views(self) -> Path:
        return self.home / "views"


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """Events a second, the ratio and the memory of each view; and the start with all of them."""
    bench = _Bench(home, QUICK_EVENTS if quick else EVENTS, times=1 if quick else 3)
    generated = list(_generated(bench))
    rounds = [_all_anew(bench) for _ in range(bench.times)]
    rebuilt = [figure for projection in ALL for figure in _rebuilt(bench, projection, rounds)]
    repeated = f"{bench.times} of each, from a log of {bench.events:,} events of many stories"
    return [*generated, *rebuilt, *_started(bench), told("repetitions", repeated)]


def _generated(bench: _Bench) -> Iterator[Figure]:
    """Both logs, written at the same time."""
    begun = perf_counter()
    writers = [_generating(bench.long, bench.events), _generating(bench.short, bench.events // _SHARE)]
    for writer in writers:
        if writer.wait() != 0:
            raise subprocess.CalledProcessError(writer.returncode, writer.args)
        if writer is writers[0]:
            yield told("writing the log: events a second", f"{bench.events / (perf_counter() - begun):,.0f}")


def _generating(store: Path, events: int) -> subprocess.Popen[bytes]:
    size = ["--seed", str(SEED), "--events", str(events)]
    return subprocess.Popen([*_module("replays.generated_log"), *size, str(store)], stdout=_NOWHERE, stderr=_NOWHERE)


def _all_anew(bench: _Bench) -> dict[str, dict[str, float]]:
    """Every view rebuilt from nothing: what each took."""
    shutil.rmtree(bench.views, ignore_errors=True)
    return {projection.name: _process("view_process", bench.long, bench.views, projection.name) for projection in ALL}


def _rebuilt(bench: _Bench, projection: Projection, rounds: Sequence[dict[str, dict[str, float]]]) -> Iterator[Figure]:
    name, ours = projection.name, [each[projection.name] for each in rounds]
    short = _process("view_process", bench.short, bench.home / "short_views", name)
    alone = _process("row_writes", bench.long, bench.home / "noted_views", name, bench.times)
    seconds = median(said["seconds"] for said in ours)
    rate = f"{bench.events / seconds:,.0f}   (of {len(projection.topics)} kinds; {seconds:.2f} s)"
    yield told(f"{name}: events a second", rate)
    note = f"   ({alone['same']:.3f} s, {alone['writes']:,.0f} rows)"
    yield at_least(f"{name}: SQLite's time for the very same writes / ours", alone["same"] / seconds, RATIO, note=note)
    final = f"{alone['final'] / seconds:.2f}   ({alone['final']:.3f} s, {alone['rows']:,.0f} rows)"
    yield told(f"{name}: the same for the rows that stand in the end", final)
    more = median(said["megabytes"] for said in ours) - short["megabytes"]
    yield at_most(f"{name}: memory that a log {_SHARE} times as long adds", more, GROWTH_MEGABYTES, unit=" MB")


def _started(bench: _Bench) -> Iterator[Figure]:
    """A process that opens the store, with views that are up to date, and reads each of them."""
    seconds = []
    for _ in range(_STARTS):
        begun = perf_counter()
        subprocess.run([*_module("tests.bench.view_process"), str(bench.long), str(bench.views)], check=True)
        seconds.append(perf_counter() - begun)
    yield at_most("from nothing to a read of every view", median(seconds), START_SECONDS, unit=" s")


def _process(module: str, *arguments: object) -> dict[str, float]:
    """What a process of its own has to say, as JSON."""
    command = [*_module(f"tests.bench.{module}"), *map(str, arguments)]
    said: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return said


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", name]
