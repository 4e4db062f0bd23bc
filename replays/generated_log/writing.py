"""Writes a log out of a seed into a store."""

from contextlib import closing
from pathlib import Path

from adapters.event_log.database import Database
from adapters.event_log.log import SqlEventLog
from domain.extraction.extractors import DEFAULT_VERSION
from replays.adopting import adopt_whole_history
from replays.generated_log.chance import SeededNames, StoryTime
from replays.generated_log.installation import Installation, Progress, Size
from replays.history import campaigns
from replays.reading import Released

EVENTS_A_CAMPAIGN = 1000
_FEWEST_CAMPAIGNS = 4
_FORMER = "1"
"""The extractor that one story goes back to."""


class StoreNotEmpty(Exception):
    """There is something in the store, and a generated log begins with its first event."""

    def __init__(self, store: str) -> None:
        super().__init__(f"{store} holds events already. A generated log needs a store of its own: name another.")


def write(
    store: Path | Database,
    *,
    seed: int,
    events: int,
    campaigns: int | None = None,
    progress: Progress = lambda _written, _wanted: None,
) -> int:
    """Writes about so many events, and says how many there are in the end. Raises StoreNotEmpty.

    The same seed and sizes give the same bytes in every column of every event, names and times included.
    """
    size = Size(events, campaigns or max(_FEWEST_CAMPAIGNS, events // EVENTS_A_CAMPAIGN))
    clock = StoryTime()
    with closing(SqlEventLog(store, clock, SeededNames(seed, "events"))) as log:
        if log.max_position() > 0:
            raise StoreNotEmpty(str(store))
        written = Installation(log, clock, seed, size).play(progress)
        return written + _read_anew(log)


def _read_anew(log: SqlEventLog) -> int:
    """Goes back to the former extractor for the whole history of the oldest story that it reads otherwise, and returns.

    How many events that appends.
    """
    before = log.max_position()
    for campaign in campaigns(log, before):
        if adopt_whole_history(log, campaign, Released(_FORMER)).readings:
            adopt_whole_history(log, campaign, Released(DEFAULT_VERSION))
            break
    return log.max_position() - before
