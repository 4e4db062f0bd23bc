"""Extraction: ordinary replies, against reading the same from SQLite and decoding their JSON; and nasty ones of a megabyte."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time

import orjson

from domain.extraction.case_texts import case_texts
from domain.extraction.extractors import EXTRACTORS, extract
from domain.prompt import texts
from tests.bench.prose import Prose
from tests.bench.table import Figure, at_most, told

REPLIES = 4_000
QUICK_REPLIES = 500
CHARACTERS = 1_000
ROUNDS = 5

NASTY_CHARACTERS = 1_000_000
QUICK_CHARACTERS = 200_000
SECONDS = 1.0
GROWTH = 3.0
"""What twice the text may take, with the moods of the machine; what is quadratic takes four times."""

_TEXTS = case_texts()
_BLOCK = '{"events": [{"type": "set_possession", "item": "lamp", "owner": "oren"}, {"type": "add_fact", "predicate": "it rains"}]}'
_TAILS = (
    f"\n\n```state\n{_BLOCK}\n```",
    f"\n\n```state\n{_BLOCK}\n```",
    f"\n\n```json\n{_BLOCK}\n```",
    f"\n\n{_TEXTS['PASTED_STATE']}\n\n```state\n{_BLOCK}\n```",
    f"\n\n{_TEXTS['LENGTH_HINT']}\n\n{_TEXTS['REMINDER']}",
    "",
)

PLAINEST = ("{", "[", "]", "```state", '"', "“", ">", "\n")
"""What a model stuck in a loop says: of each, a megabyte takes well under a second."""

NASTY = (
    "```state\n", "```json\n", "```\n", '\\"', "[Reminder: ", "[Reminder: x]\n", ">\n", "> {", "> {\n", '{"events":[',
    '{"events":[\n', "<think>", "State\n", f"{texts.HEADING_FACTS}\n", "Scene: ", "set_scene(x)\n", "{}\n", "[]",
    f"{_BLOCK}\n", f"```state\n{_BLOCK}\n```\n\n", '```state\n{"events": [ > [Reminder: <think> Scene: "\n', '```json{\\"',
    "```{ x ```y ",
)  # fmt: skip


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """Processor time, in replies per second and as a ratio; then the slowest of the nasty ones, and how they grow."""
    replies = list(_replies(QUICK_REPLIES if quick else REPLIES))
    return [*_ordinary(home, replies), *_nasty(QUICK_CHARACTERS if quick else NASTY_CHARACTERS, quick=quick)]


def _replies(number: int) -> Iterator[str]:
    prose = Prose()
    for reply in range(number):
        yield f"{prose.text(CHARACTERS)}{_TAILS[reply % len(_TAILS)]}"


def _ordinary(home: Path, replies: list[str]) -> Iterator[Figure]:
    home.mkdir(parents=True)
    path = home / "replies.db"
    _write(path, replies)
    reading = _time(lambda: _read(path))
    yield told(
        f"reading and decoding: replies of {CHARACTERS:,} characters and what follows, a second",
        f"{len(replies) / reading:,.0f}",
    )
    for version in EXTRACTORS:
        spent = _time(lambda version=version: [extract(reply, version) for reply in replies])  # type: ignore[misc]
        yield told(
            f"extractor {version}: replies a second", f"{len(replies) / spent:,.0f}, {spent / reading:.0f} times that"
        )


def _write(path: Path, replies: list[str]) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE reply (payload BLOB)")
    rows = ((orjson.dumps({"node": 1, "raw_reply": reply, "reasoning": "", "removals": []}),) for reply in replies)
    connection.executemany("INSERT INTO reply VALUES (?)", rows)
    connection.commit()
    connection.close()


def _read(path: Path) -> None:
    connection = sqlite3.connect(path)
    for (payload,) in connection.execute("SELECT payload FROM reply"):
        orjson.loads(payload)
    connection.close()


def _nasty(characters: int, *, quick: bool) -> Iterator[Figure]:
    size = f"{characters / 1_000_000:g} MB"
    spent = {unit: (_once(unit, characters // 2), _once(unit, characters)) for unit in (*PLAINEST, *NASTY)}
    plain, nasty = (max(units, key=lambda unit: spent[unit][1]) for units in (PLAINEST, NASTY))
    bound = SECONDS * characters / NASTY_CHARACTERS
    yield at_most(
        f"{size} of one sign or the fence: seconds, the slowest", spent[plain][1], bound, note=f" ({plain!r})"
    )
    middle = median(spent[unit][1] for unit in NASTY)
    yield told(
        f"{size} of one of {len(NASTY)} nastier texts: seconds",
        f"{middle:.2f}, the slowest {spent[nasty][1]:.2f} ({nasty!r:.24})",
    )
    growth = {unit: _growth(*halves, floor=bound / 10) for unit, halves in spent.items()}
    steepest = max(growth, key=growth.__getitem__)
    allowed = GROWTH if not quick else 2 * GROWTH
    yield at_most("twice the text / once, the steepest of all", growth[steepest], allowed, note=f" ({steepest!r:.24})")


def _growth(half: float, whole: float, *, floor: float) -> float:
    """How much longer the whole took; what takes no time to speak of grows into none."""
    return max(whole, floor) / max(half, floor / 2)


def _once(unit: str, characters: int) -> float:
    text = unit * (characters // len(unit))
    begun = process_time()
    extract(text)
    return process_time() - begun


def _time(work: Callable[[], object]) -> float:
    def timed() -> float:
        begun = process_time()
        work()
        return process_time() - begun

    return min(timed() for _ in range(ROUNDS))
