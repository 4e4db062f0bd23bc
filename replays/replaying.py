"""Running an extractor over every raw reply that was ever stored, beside what it is to replace."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any

from domain.errors import UnknownCampaign
from domain.log import EventLog
from replays.comparison import Against, Compared, LineEnd, Stored, compare
from replays.findings import changes_of, flags_of
from replays.history import campaigns, narrations
from replays.reading import Candidate, Released
from replays.rows import change_key, content_key, line_row, reply_row
from replays.spool import Spool
from replays.tally import Tally

Progress = Callable[[int, int], None]
"""Told how far it has come: (replies, replies there are). Whatever it raises ends the replay."""

_TOGETHER = 500
"""Stories that are asked about at once."""


@dataclass(frozen=True)
class Question:
    """What to run over which history: of one story, or without any, of all."""

    candidate: Candidate | Stored
    against: Against
    campaign: str | None = None

    @property
    def candidate_name(self) -> str:
        """The candidate, as reports call it."""
        return self.candidate if isinstance(self.candidate, str) else self.candidate.name

    @property
    def against_name(self) -> str:
        """What the candidate is held against, as reports call it."""
        return self.against.name if isinstance(self.against, Released) else self.against


@dataclass
class Replay:
    """A replay as far as it has come. What changed is in `replies`, in order of the log; the lines whose state differs at
    their end are in `lines`. Both are on the disk: memory holds hashes and figures.
    """

    question: Question
    up_to: int = 0
    seconds: float = 0.0
    tally: Tally = field(default_factory=Tally)
    replies: Spool = field(default_factory=Spool)
    lines: Spool = field(default_factory=Spool)
    _seen: set[bytes] = field(default_factory=set)
    _changes: set[bytes] = field(default_factory=set)

    def run(self, log: EventLog, progress: Progress = lambda _done, _total: None) -> None:
        """Goes through everything that is in the log at its beginning.

        Only narrations are replayed: what had come of a reply when its turn failed was never story. Raises
        UnknownCampaign for a story that is named and not there, and what the log raises.
        """
        begun = perf_counter()
        self.up_to = log.max_position()
        names = _named(log, self.question.campaign, self.up_to)
        total = sum(narrations(log, some) for some in _batches(names))
        progress(0, total)
        for name in _named(log, self.question.campaign, self.up_to):
            self._run_story(log, name, lambda: progress(min(self.tally.replies, total), total))
        progress(total, total)
        self.seconds = perf_counter() - begun

    def summary(self) -> dict[str, Any]:
        """What it comes to, as programs read it."""
        return {
            "candidate": self.question.candidate_name,
            "against": self.question.against_name,
            "campaign": self.question.campaign,
            "position": self.up_to,
            **self.tally.to_json(),
            "seconds": round(self.seconds, 3),
        }

    def close(self) -> None:
        """Gives the rows up."""
        self.replies.close()
        self.lines.close()

    def _run_story(self, log: EventLog, name: str, told: Callable[[], None]) -> None:
        self.tally.stories += 1
        try:
            for found in compare(log, name, self.up_to, self.question.candidate, self.question.against):
                if isinstance(found, LineEnd):
                    self._add_end(found)
                else:
                    self._add_reply(found)
                    told()
        except UnknownCampaign:
            if name == self.question.campaign:
                raise  # any other was deleted since its name was read

    def _add_reply(self, compared: Compared) -> None:
        self.tally.add_reply(compared.before, compared.after)
        content = content_key(compared)
        if content not in self._seen:
            self._seen.add(content)
            self.tally.add_distinct(compared.raw, compared.before.removals, compared.after.removals)
        kinds, flags = changes_of(compared), flags_of(compared)
        if (kinds or flags) and (key := change_key(compared)) not in self._changes:
            self._changes.add(key)
            self.tally.add_change(kinds, flags)
            self.replies.add(reply_row(compared, kinds, flags))

    def _add_end(self, end: LineEnd) -> None:
        self.tally.add_end(end)
        if end.changes:
            self.lines.add(line_row(end))


def _named(log: EventLog, campaign: str | None, up_to: int) -> Iterator[str]:
    """The story that is asked for, or all. Raises UnknownCampaign."""
    if campaign is None:
        yield from campaigns(log, up_to)
    else:
        yield log.campaign(campaign).campaign


def _batches(names: Iterable[str]) -> Iterator[list[str]]:
    names = iter(names)
    while some := list(islice(names, _TOGETHER)):
        yield some
