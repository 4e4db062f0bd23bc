"""Appending a turn's events through the log, against SQLite alone writing the same rows of the same table.

Ours decides, stamps, chains and keeps the decision tables in the same three transactions; SQLite alone writes only the
rows of `event`. The two take turns, and which goes first alternates, so that the disk's moods hit both.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from adapters.event_log.log import SqlEventLog
from adapters.event_log.tables import event
from tests.bench.prose import Prose
from tests.bench.stories import Teller, grow, opened_log, start
from tests.bench.table import Figure, Spent, at_least, told

Row = tuple[object, ...]

REQUIRED = 0.15

_INSERT = f"INSERT INTO event VALUES ({', '.join('?' * len(event.columns))})"  # noqa: S608  # question marks
_WARM_NODES = 60
_WARM = 20


@dataclass
class _Compared:
    ours: list[Spent] = field(default_factory=list)
    raw: list[Spent] = field(default_factory=list)

    def figure(self, of: Callable[[Spent], float]) -> tuple[float, str]:
        """The ratio, and what it is made of."""
        ours, raw = (median(map(of, samples[_WARM:])) for samples in (self.ours, self.raw))
        return raw / ours, f"   ({raw * 1000:.2f} ms / {ours * 1000:.2f} ms)"


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """The ratios, with and without waiting for the disk."""
    turns = 100 if quick else 300
    durable = _compared(home / "full", turns, durable=True)
    hasty = _compared(home / "off", turns, durable=False)
    ratio, parts = durable.figure(_wall)
    return [
        at_least("raw time / our time, synchronous=FULL", ratio, REQUIRED, note=parts),
        told("raw time / our time, synchronous=OFF", "{:.2f}{}".format(*hasty.figure(_wall))),
        told("raw / ours, processor time, synchronous=OFF", "{:.2f}{}".format(*hasty.figure(_processor))),
        told("repetitions", f"{turns} turns each, interleaved, after {_WARM} to warm up"),
    ]


def _wall(spent: Spent) -> float:
    return spent.wall


def _processor(spent: Spent) -> float:
    return spent.processor


def _compared(home: Path, turns: int, *, durable: bool) -> _Compared:
    found, prose = _Compared(), Prose()
    with opened_log(home, durable=durable) as log, _raw(home / "raw.db", durable=durable) as other:
        start(log, prose)
        grow(log, prose, _WARM_NODES)
        teller = Teller(log, prose)
        _, earlier = _told(log, teller)
        for number in range(turns + _WARM):
            first, second = (earlier, None) if number % 2 else (None, earlier)
            _time_raw(other, first, found.raw)
            spent, earlier = _told(log, teller)
            found.ours.append(spent)
            _time_raw(other, second, found.raw)
    return found


def _told(log: SqlEventLog, teller: Teller) -> tuple[Spent, list[list[Row]]]:
    """What the appends of a turn took, and the rows of each of the three as they are stored."""
    before = log.max_position()
    spent = teller.turn()
    with log._reads.begin() as connection:
        rows = [tuple(row) for row in connection.execute(event.select().where(event.c.position > before))]
    opened, acted, sent, accepted, accounted = rows
    return spent, [[opened, acted], [sent], [accepted, accounted]]


@contextmanager
def _raw(path: Path, *, durable: bool) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
    connection.execute(str(CreateTable(event).compile(dialect=sqlite.dialect())))
    yield connection
    connection.close()


def _time_raw(connection: sqlite3.Connection, transactions: Iterable[list[Row]] | None, found: list[Spent]) -> None:
    if transactions is None:
        return
    begun = Spent.now()
    for rows in transactions:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_INSERT, rows)
        connection.execute("COMMIT")
    found.append(Spent.now() - begun)
