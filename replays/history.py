"""The history of a story as an extractor's work goes through it: nodes, narrations with their readings, corrections.

It is read in pages, of each event only what is needed, so that the memory it takes does not grow with the story.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from domain.campaign.events import NarrationAccepted, NodeRevised, PlayerActed
from domain.errors import UnknownCampaign
from domain.event import LogEntry, Reads
from domain.extraction.extraction import Removal, prose_of
from domain.log import EventLog
from domain.narrative.course import Grown
from domain.narrative.events import NarrationReread, ProposalJudged, StateCorrected, StateEvents
from domain.narrative.judging import Outcome
from domain.narrative.refusals import Refused

PAGE = 500
"""Events that are in memory at once."""


class _Growth(BaseModel):
    """What is read of a node that no narrator told."""

    node: int
    parent: int


class _Narration(BaseModel):
    """What is read of a narration."""

    node: int
    branch: int
    depth: int
    parent: int
    raw_reply: str
    removals: tuple[Removal, ...] = ()


class _Correction(BaseModel):
    """What is read of a correction."""

    node: int
    accepted: StateEvents


class _Node(BaseModel):
    """What is read of a reading that may not be the newest."""

    node: int


READS: Reads = {
    PlayerActed.topic: _Growth,
    NodeRevised.topic: _Growth,
    NarrationAccepted.topic: _Narration,
    ProposalJudged.topic: ProposalJudged,
    StateCorrected.topic: _Correction,
}
"""What is read of a story's events, in order."""


@dataclass(frozen=True, slots=True)
class Stood:
    """How a narration was read at some time: its prose, its removals, and what became of what it proposed."""

    prose: str
    removals: tuple[Removal, ...]
    outcome: Outcome
    accepted: StateEvents = ()
    refused: tuple[Refused, ...] = ()
    block: str | None = None


@dataclass(frozen=True, slots=True)
class Narrated:
    """A narration: its place, its raw reply, how it was recorded, and how it is read since.

    `reread` is None where no adoption changed it. `by_pass` says that what was judged came from a second request, and
    not from the reply.
    """

    node: int
    parent: int
    branch: int
    depth: int
    raw: str
    recorded: Stood
    reread: Stood | None = None
    by_pass: bool = False

    @property
    def in_force(self) -> Stood:
        """How it is read now."""
        return self.reread or self.recorded


@dataclass(frozen=True, slots=True)
class Corrected:
    """The player corrected the state at a node."""

    node: int
    accepted: StateEvents


Happening = Grown | Narrated | Corrected


@dataclass(frozen=True, slots=True)
class Uses:
    """What a story's nodes are still to be come back to for: a child, or a correction. `parents` are those with a child."""

    left: Counter[int]
    parents: frozenset[int]

    def come_back(self, node: int) -> bool:
        """Notes that a node was come back to; whether that was the last time."""
        self.left[node] -= 1
        return self.left[node] <= 0

    def needed(self, node: int) -> bool:
        """Whether a node is still to be come back to."""
        return self.left[node] > 0


def campaigns(log: EventLog, up_to: int) -> Iterator[str]:
    """The stories that were begun up to a position and are still there, in order."""
    yield from (entry.stream for entry in _pages(log, {"campaign.started": None}, None, up_to))


def narrations(log: EventLog, names: Sequence[str]) -> int:
    """How many narrations these stories have."""
    return sum(each.turns for each in log.activity(names).values())


def uses(log: EventLog, campaign: str, up_to: int) -> Uses:
    """What a story's nodes are needed for after they were made. Raises UnknownCampaign."""
    parents = [node.parent for node in log.tree(campaign).nodes if node.parent is not None]
    corrected = _pages(log, {StateCorrected.topic: _Node}, campaign, up_to)
    left = Counter(parents)
    left.update(entry.event.node for entry in corrected if isinstance(entry.event, _Node))
    return Uses(left, frozenset(parents))


def happenings(log: EventLog, campaign: str, up_to: int) -> Iterator[Happening]:
    """What happened in a story up to a position, in order. Raises what the log raises."""
    reread_at = _newest_readings(log, campaign, up_to)
    narration: _Narration | None = None
    for entry in _pages(log, READS, campaign, up_to):
        if narration is not None:
            judged = entry.event if isinstance(entry.event, ProposalJudged) else None
            yield _narrated(log, campaign, narration, judged, reread_at)
            narration = None
        match entry.event:
            case _Narration() as told:
                narration = told
            case _Growth(node=node, parent=parent):
                yield Grown(node, parent)
            case _Correction(node=node, accepted=accepted):
                yield Corrected(node, accepted)
            case _:
                pass  # a judgement, which belongs to the narration before it
    if narration is not None:
        yield _narrated(log, campaign, narration, None, reread_at)


def newest_event(log: EventLog, campaign: str) -> tuple[int, int]:
    """Position and version of a story's newest event. Raises UnknownCampaign."""
    for recorded in log.read(log.max_position(campaign) - 1, 1, stream=campaign):
        return recorded.position, recorded.version
    raise UnknownCampaign(campaign)


def _narrated(
    log: EventLog, campaign: str, told: _Narration, judged: ProposalJudged | None, reread_at: Mapping[int, int]
) -> Narrated:
    prose = prose_of(told.raw_reply, told.removals)
    return Narrated(
        told.node,
        told.parent,
        told.branch,
        told.depth,
        told.raw_reply,
        # Before there was a state, nothing was judged.
        Stood(prose, told.removals, "absent") if judged is None else _stood(prose, told.removals, judged),
        _reading(log, campaign, reread_at.get(told.node)),
        by_pass=judged is not None and judged.source == "state_pass",
    )


def _stood(prose: str, removals: tuple[Removal, ...], judged: ProposalJudged | NarrationReread) -> Stood:
    return Stood(prose, removals, judged.outcome, judged.accepted, judged.refused, judged.block)


def _reading(log: EventLog, campaign: str, position: int | None) -> Stood | None:
    if position is None:
        return None
    [entry] = log.entries(position - 1, 1, {NarrationReread.topic: NarrationReread}, stream=campaign)
    assert isinstance(entry.event, NarrationReread)  # noqa: S101  # it is read as one
    return _stood(entry.event.prose, entry.event.removals, entry.event)


def _newest_readings(log: EventLog, campaign: str, up_to: int) -> dict[int, int]:
    """Where the newest reading of each narration stands that was read anew: positions by node."""
    found = _pages(log, {NarrationReread.topic: _Node}, campaign, up_to)
    return {entry.event.node: entry.position for entry in found if isinstance(entry.event, _Node)}


def _pages(log: EventLog, reads: Reads, campaign: str | None, up_to: int) -> Iterator[LogEntry]:
    after = 0
    while page := log.entries(after, PAGE, reads, stream=campaign, up_to=up_to):
        yield from page
        after = page[-1].position
