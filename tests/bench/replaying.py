"""Replaying an extractor over many replies, against reading the same events and decoding their JSON; and the memory of it.

Each replay has a process of its own.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter

import orjson
from sqlalchemy import create_engine, text

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from domain.campaign.events import NarrationAccepted
from replays.comparison import IN_FORCE
from replays.generated_log.writing import write
from replays.history import READS
from replays.reading import Released
from replays.replaying import Question, Replay
from tests.bench.prose import SEED
from tests.bench.table import Figure, at_most, told
from tests.bench.view_process import peak

REPLIES = 10_000
QUICK_REPLIES = 1_000
SHARE = 10
EVENTS_A_REPLY = 6.2
"""Events of a generated log to one reply, about."""
GROWTH_MEGABYTES = 16
"""What ten times as many replies may add."""

CANDIDATES = {"2": "as it is", "0": "which changes most replies"}

Said = dict[str, float]


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """Seconds, ratios and memory."""
    replies = QUICK_REPLIES if quick else REPLIES
    return list(_figures(home, replies, times=1 if quick else 3))


def _figures(home: Path, replies: int, times: int) -> Iterator[Figure]:
    long, short = _store(home / "long", replies), _store(home / "short", replies // SHARE)
    decoded = median(_decoded(long) for _ in range(times))
    yield told("reading the same events and decoding their JSON", f"{decoded:.2f} s")
    for candidate, what in CANDIDATES.items():
        many = [_process(long, candidate) for _ in range(times)]
        few = _process(short, candidate)
        seconds = median(said["seconds"] for said in many)
        note = (
            f"{seconds:.2f} s, {many[0]['replies'] / seconds:,.0f} replies a second, {many[0]['changed']:,.0f} changed"
        )
        yield told(f"extractor {candidate}, {what}: {many[0]['replies']:,.0f} replies", note)
        yield told(f"extractor {candidate}: times the reading and decoding", f"{seconds / decoded:.1f}")
        alone = f"{median(said['alone'] for said in many):.2f} s"
        yield told(f"extractor {candidate}: of that, the extractor alone", alone)
        more = median(said["megabytes"] for said in many) - few["megabytes"]
        yield at_most(
            f"extractor {candidate}: memory that {many[0]['replies']:,.0f} replies add to {few['replies']:,.0f}",
            more,
            GROWTH_MEGABYTES,
            unit=" MB",
        )


def _store(home: Path, replies: int) -> Path:
    home.mkdir(parents=True)
    write(home / "log.db", seed=SEED, events=int(replies * EVENTS_A_REPLY))
    return home


def _decoded(home: Path) -> float:
    """Seconds to read the events that a replay reads, in pages of all streams, and to decode each."""
    engine = create_engine(f"sqlite:///{home / 'log.db'}")
    topics = ", ".join(f"'{topic}'" for topic in READS)
    page = text(
        f"SELECT position, payload FROM event WHERE position > :after AND topic IN ({topics}) "  # noqa: S608  # our own
        "ORDER BY position LIMIT 500"
    )
    begun, after = perf_counter(), 0
    with engine.connect() as connection:
        while rows := connection.execute(page, {"after": after}).all():
            for row in rows:
                orjson.loads(row.payload)
            after = rows[-1].position
    engine.dispose()
    return perf_counter() - begun


def _process(home: Path, candidate: str) -> Said:
    command = [sys.executable, "-m", "tests.bench.replaying", str(home), candidate]
    said: Said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return said


def main() -> None:
    """`python -m tests.bench.replaying HOME VERSION` replays a version, and prints what that took."""
    home, candidate = sys.argv[1:]
    with closing(SqlEventLog(Path(home) / "log.db", SystemClock(), RandomNames())) as log:
        log.max_position()
        before, begun = peak(), perf_counter()
        with closing(Replay(Question(Released(candidate), IN_FORCE))) as run:
            run.run(log)
            said = {"seconds": perf_counter() - begun, "megabytes": peak() - before}
            said |= {"replies": run.tally.replies, "changed": run.tally.changed}
        print(json.dumps(said | {"alone": _alone(log, Released(candidate))}))


def _alone(log: SqlEventLog, candidate: Released) -> float:
    """Seconds of the extractor alone, over all replies."""
    spent, after = 0.0, 0
    while page := log.read(after, 500, topics=[NarrationAccepted.topic]):
        replies = [each.event.raw_reply for each in page if isinstance(each.event, NarrationAccepted)]
        begun = perf_counter()
        for raw in replies:
            candidate.read(raw)
        spent, after = spent + perf_counter() - begun, page[-1].position
    return spent


if __name__ == "__main__":
    main()
