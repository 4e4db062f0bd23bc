"""Building each view from nothing, against SQLite alone writing the same rows.

A rebuild runs in a process of its own, so that its memory can be told apart: `python -m tests.bench.rebuilding LOG
VIEWS NAME` prints its seconds and by how many megabytes it grew.
"""

import json
import logging
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter

import structlog

from api.use_cases.prompting import record_of
from projections.all import ALL, open_views
from tests.bench.prose import Prose
from tests.bench.stories import CAMPAIGN, Teller, grow, opened_log, start
from tests.bench.table import Figure, at_least, at_most, told

EVENTS = 50_000
MANY_EVENTS = 200_000
QUICK_EVENTS = 5_000
RATIO = 0.25
GROWTH_MEGABYTES = 16
"""What a log five times as long may add to the memory of a rebuild."""

_PAGE = 1000
_EVENTS_A_NODE = 2.65
_NODES_AT_ONCE = 400
_SHARE = 5
_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "cache_size=-16384", "wal_autocheckpoint=4000")


def measure(home: Path, *, quick: bool, many: bool = False) -> list[Figure]:
    """Events a second, the ratio and the memory of each view."""
    events = QUICK_EVENTS if quick else MANY_EVENTS if many else EVENTS
    times = 1 if quick else 3
    _build(home / "short", home / "long", events)
    figures = [
        figure
        for projection in ALL
        for figure in _rebuilt(home, projection.name, len(projection.topics), events, times)
    ]
    return [
        *figures,
        told("repetitions", f"{times} of each, after each other in turn, from a log of {events:,} events"),
    ]


def _rebuilt(home: Path, name: str, topics: int, events: int, times: int) -> Iterator[Figure]:
    ours, raw, grown = [], [], []
    for _ in range(times):
        seconds, megabytes = _in_a_process(home / "long", home / "views", name)
        ours.append(seconds)
        grown.append(megabytes)
        raw.append(_by_sqlite_alone(next((home / "views").glob(f"{name}.v*.db")), home / "raw.db"))
    _, short = _in_a_process(home / "short", home / "views", name)
    rate = f"{events / median(ours):,.0f}   (of {topics} kinds; {median(ours):.2f} s, SQLite alone {median(raw):.2f} s)"
    yield told(f"{name}: events a second", rate)
    yield at_least(f"{name}: raw time / our time (wanted later)", median(raw) / median(ours), RATIO)
    more = median(grown) - short
    yield at_most(f"{name}: memory that a log {_SHARE} times as long adds", more, GROWTH_MEGABYTES, unit=" MB")


def _build(short: Path, long: Path, events: int) -> None:
    """A log of so many events, and one of a fifth of them, which is its beginning."""
    prose = Prose()
    with opened_log(short, durable=False) as log:
        start(log, prose)
        teller = Teller(log, prose)
        for _ in range(40):  # until a record is as large as they get
            teller.turn()
    _extend(short, events // _SHARE)
    shutil.copytree(short, long)
    _extend(long, events)


def _extend(home: Path, events: int) -> None:
    prose = Prose()
    with opened_log(home, durable=False) as log:
        recorded = log.last_prompt(CAMPAIGN)
        assert recorded is not None
        nodes = log.campaign(CAMPAIGN).last_node
        while (has := log.max_position()) < events:
            nodes += max(1, min(_NODES_AT_ONCE, int((events - has) / _EVENTS_A_NODE)))
            grow(log, prose, nodes, record=record_of(recorded))


def _in_a_process(log: Path, views: Path, name: str) -> tuple[float, float]:
    """Seconds, and megabytes."""
    shutil.rmtree(views, ignore_errors=True)
    command = [sys.executable, "-m", "tests.bench.rebuilding", str(log), str(views), name]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return said["seconds"], said["megabytes"]


def _by_sqlite_alone(view: Path, raw: Path) -> float:
    """Seconds for the same rows into the same tables, a page in a transaction as well."""
    raw.unlink(missing_ok=True)
    with closing(sqlite3.connect(view)) as source, closing(sqlite3.connect(raw, isolation_level=None)) as target:
        schema = source.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC"
        ).fetchall()
        rows = {name: source.execute(f"SELECT * FROM {name}").fetchall() for name, sql in schema if "TABLE" in sql}  # noqa: S608  # the view's own names
        for pragma in _PRAGMAS:
            target.execute(f"PRAGMA {pragma}")
        begun = perf_counter()
        for _, sql in schema:
            target.execute(sql)
        for name, all_rows in rows.items():
            _write(target, name, all_rows)
        return perf_counter() - begun


def _write(target: sqlite3.Connection, table: str, rows: list[tuple[object, ...]]) -> None:
    for first in range(0, len(rows), _PAGE):
        page = rows[first : first + _PAGE]
        target.execute("BEGIN IMMEDIATE")
        target.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(page[0]))})", page)  # noqa: S608
        target.execute("COMMIT")


def main() -> None:
    """Rebuilds one view, and says what it took."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    home, directory, name = sys.argv[1:]
    with opened_log(Path(home)) as log:
        views = open_views(Path(directory), log)
        before, begun = getrusage(RUSAGE_SELF).ru_maxrss, perf_counter()
        views.rebuild(name)
        seconds, grown = perf_counter() - begun, getrusage(RUSAGE_SELF).ru_maxrss - before
        views.stop()
    print(json.dumps({"seconds": seconds, "megabytes": grown / 1024}))


if __name__ == "__main__":
    main()
