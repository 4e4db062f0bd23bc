"""What a thousand turns take on the disk, every exact request included, against the bytes of the story's text."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from projections.all import open_views
from tests.bench.prose import Kind, Prose
from tests.bench.stories import HALF_TURN, Teller, opened_log, start
from tests.bench.table import Figure, at_most, told

TIMES_THE_TEXT = 4
RECORD_KILOBYTES = 8

_VIEWS = ("campaigns", "story", "prompts")
_COLUMNS = ("stream", "topic", "event_id", "at", "turn", "actor", "payload_hash", "payload", "chain")
_NUMBERS = 12
"""About what the numbers and lengths of a row take."""


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """Sizes of a store of English-like text, and of one of words that hardly compress."""
    turns = 100 if quick else 1_000
    return [*_sized(home / "english", turns, "english"), *_sized(home / "random", turns, "random")]


def _sized(home: Path, turns: int, kind: Kind) -> Iterator[Figure]:
    _play(home, turns, kind)
    text = turns * 2 * HALF_TURN
    files = {path.name: path.stat().st_size for path in home.rglob("*") if path.is_file()}
    each = ", ".join(f"{name} {size / turns / 1024:.1f}" for name, size in sorted(files.items()))
    whole = f"{kind} text, {turns:,} turns of {2 * HALF_TURN:,} characters: store / text"
    yield at_most(whole, sum(files.values()) / text, TIMES_THE_TEXT)
    yield told(f"{kind}: KB a turn, by file", f"{sum(files.values()) / turns / 1024:.1f}: {each}")
    events = _events(home / "log.db", turns)
    yield told(
        f"{kind}: KB a turn, by event", ", ".join(f"{name} {kilobytes:.2f}" for name, kilobytes in events.items())
    )
    yield told(f"{kind}: KB a turn, the rest of log.db", _rest(home / "log.db", turns, sum(events.values())))
    yield at_most(f"{kind}: prompt records, KB a turn", events["prompt.sent"], RECORD_KILOBYTES)


def _play(home: Path, turns: int, kind: Kind) -> None:
    prose = Prose(kind=kind)
    with opened_log(home, durable=False) as log:
        start(log, prose)
        teller = Teller(log, prose)
        for _ in range(turns):
            teller.turn()
        with open_views(home / "views", log) as views:
            for name in _VIEWS:
                views.at_least(name, log.max_position(), timeout=120)


def _events(path: Path, turns: int) -> dict[str, float]:
    """The bytes of each kind of event in kilobytes a turn, all columns."""
    row = " + ".join(f"ifnull(length({name}), 0)" for name in _COLUMNS)
    query = f"SELECT topic, sum({row} + {_NUMBERS}) FROM event GROUP BY topic ORDER BY 2 DESC"  # noqa: S608  # our names
    return {topic: size / turns / 1024 for topic, size in _asked(path, query)}


def _rest(path: Path, turns: int, events: float) -> str:
    """What is not the bytes of events: decision tables, indexes, and what pages leave empty."""
    whole = path.stat().st_size / turns / 1024
    try:
        query = "SELECT name, sum(pgsize) FROM dbstat WHERE name != 'event' GROUP BY name ORDER BY 2 DESC LIMIT 4"
        tables = [(name, size / turns / 1024) for name, size in _asked(path, query)]
    except sqlite3.OperationalError:
        return f"{whole - events:.2f} (this SQLite has no dbstat to say where)"
    return f"{whole - events:.2f}: " + ", ".join(f"{name} {size:.2f}" for name, size in tables)


def _asked(path: Path, query: str) -> list[tuple[str, int]]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()
