"""Two readings of a story's history, side by side: of each narration, and of the state that follows down every line."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from domain.campaign.facts import OPENING
from domain.extraction.extraction import Removal
from domain.extraction.extractors import extract
from domain.log import EventLog
from domain.narrative.changes import Change, changes
from domain.narrative.course import Grown, after
from domain.narrative.document import EMPTY, Document
from domain.narrative.events import StateEvents
from domain.narrative.judging import Outcome, Proposed, judge_proposal
from domain.narrative.refusals import Refused
from domain.prompt.texts import FENCE_TOKEN
from replays.history import Corrected, Narrated, Stood, Uses, happenings, uses
from replays.json_values import same
from replays.reading import Candidate, Failure, Reading, Released

IN_FORCE: Literal["in force"] = "in force"
"""Against what the story is made of now: each narration as it was recorded, or as the newest adoption reads it."""
RECORDED: Literal["recorded"] = "recorded"
"""Against what was recorded with each narration, whatever was adopted since."""

Stored = Literal["in force", "recorded"]
Against = Released | Stored
"""What a candidate is held against."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A narration as one side has it: its words, and what became of what it proposed."""

    prose: str
    removals: tuple[Removal, ...]
    proposed: Proposed
    outcome: Outcome
    accepted: StateEvents
    refused: tuple[Refused, ...]
    block: str | None


@dataclass(frozen=True, slots=True)
class Compared:
    """A narration on both sides. Where the candidate failed (`failure`), its side has the words of the other."""

    campaign: str
    node: int
    branch: int
    depth: int
    raw: str
    before: Standing
    after: Standing
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class LineEnd:
    """The end of a line, a node without a child, and how the two states there differ; nothing where they do not."""

    campaign: str
    node: int
    changes: tuple[Change, ...]


def compare(
    log: EventLog, campaign: str, up_to: int, candidate: Candidate | Stored, against: Against
) -> Iterator[Compared | LineEnd]:
    """A story up to a position, as a candidate and what it is held against have it, in order of the log.

    Holds the documents of those nodes that something still follows. Raises UnknownCampaign.
    """
    sides = _Sides(campaign, candidate, against, uses(log, campaign, up_to))
    for happening in happenings(log, campaign, up_to):
        match happening:
            case Grown(node=node, parent=parent):
                yield from sides.grow(node, parent)
            case Corrected(node=node, accepted=accepted):
                yield from sides.correct(node, accepted)
            case Narrated():
                yield from sides.tell(happening)


def differs(before: Standing, ours: Standing) -> bool:
    """Whether the two differ in anything that the log would keep of them."""
    return (
        before.prose != ours.prose or before.removals != ours.removals or not same(_judgement(before), _judgement(ours))
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """The state at a node on both sides: one and the same document as long as nothing differs."""

    before: Document
    after: Document

    @property
    def one(self) -> bool:
        """Whether nothing differs."""
        return self.before is self.after


class _Sides:
    """Both sides of one story, as far as it was gone through."""

    def __init__(self, campaign: str, candidate: Candidate | Stored, against: Against, left: Uses) -> None:
        self._campaign = campaign
        self._candidate = candidate
        self._against = against
        self._uses = left
        self._at = {OPENING: _Pair(EMPTY, EMPTY)}

    def grow(self, node: int, parent: int) -> Iterator[LineEnd]:
        """The player wrote a node: it begins with the state of its parent."""
        yield from self._made(node, self._under(parent))

    def correct(self, node: int, accepted: StateEvents) -> Iterator[LineEnd]:
        """The player corrected the state at a node, which holds on both sides."""
        pair = self._at.pop(node)
        before = after(pair.before, accepted, "player")
        self._uses.come_back(node)
        yield from self._made(node, _Pair(before, before if pair.one else after(pair.after, accepted, "player")))

    def tell(self, told: Narrated) -> Iterator[Compared | LineEnd]:
        """A narration: read by both sides, and judged on the state that it follows there."""
        under = self._under(told.parent)
        read = None if isinstance(self._candidate, str) else self._candidate.read(told.raw)
        before, document = self._held_against(told, under.before, read)
        if isinstance(self._candidate, str):
            ours, ours_after = _stands(told, self._candidate, under.after, before.proposed)
        else:
            reading = _kept(told, read) if isinstance(read, Reading) else _words(before)
            ours, ours_after = _judged_alike(under, reading, before, document)
        alike = under.one and same(ours.accepted, before.accepted)
        failure = read if isinstance(read, Failure) else None
        yield Compared(self._campaign, told.node, told.branch, told.depth, told.raw, before, ours, failure)
        yield from self._made(told.node, _Pair(document, document if alike else ours_after))

    def _held_against(
        self, told: Narrated, under: Document, read: Reading | Failure | None
    ) -> tuple[Standing, Document]:
        """How the narration stands on the other side, and the state after it there."""
        if isinstance(self._against, Released):
            return _judged(under, _kept(told, self._against.read(told.raw)))
        return _stands(told, self._against, under, read.proposed if isinstance(read, Reading) else "absent")

    def _under(self, parent: int) -> _Pair:
        pair = self._at[parent]
        if self._uses.come_back(parent):
            del self._at[parent]
        return pair

    def _made(self, node: int, pair: _Pair) -> Iterator[LineEnd]:
        """Keeps the state of a node for what follows it; where nothing does, the line ends here."""
        if self._uses.needed(node):
            self._at[node] = pair
        elif node not in self._uses.parents:
            yield LineEnd(self._campaign, node, () if pair.one else changes(pair.before, pair.after))


def _judgement(standing: Standing) -> list[Any]:
    refused = [each.model_dump() for each in standing.refused]
    return [standing.outcome, standing.accepted, refused, standing.block]


def _judged_alike(under: _Pair, reading: Reading, before: Standing, document: Document) -> tuple[Standing, Document]:
    """The judgement of a reading. Of the same proposal on the same state it is that of the other side."""
    if under.one and same(reading.proposed, before.proposed):
        return replace(before, prose=reading.prose, removals=reading.removals, block=reading.block), document
    return _judged(under.after, reading)


def _stands(told: Narrated, stored: Stored, under: Document, like: Proposed) -> tuple[Standing, Document]:
    """How the narration stands in the log, and the state after it."""
    stood = told.recorded if stored == RECORDED else told.in_force
    standing = Standing(
        stood.prose,
        stood.removals,
        _proposed(stood, like),
        stood.outcome,
        stood.accepted,
        stood.refused,
        stood.block,
    )
    return standing, after(under, stood.accepted, "narrator")


def _judged(under: Document, reading: Reading) -> tuple[Standing, Document]:
    judgement = judge_proposal(under, reading.proposed)
    accepted = tuple(dict(event) for event in judgement.accepted)
    standing = Standing(
        reading.prose,
        reading.removals,
        reading.proposed,
        judgement.outcome,
        accepted,
        judgement.refused,
        reading.block,
    )
    return standing, judgement.document


def _words(standing: Standing) -> Reading:
    """A side's own words, for the other to have where it has none."""
    return Reading(standing.prose, standing.removals, standing.proposed, standing.block)


def _kept(told: Narrated, reading: Reading) -> Reading:
    """The reading, with what a second request brought for the narration in the place of what its reply proposes."""
    if not told.by_pass:
        return reading
    return replace(reading, proposed=_proposed(told.recorded, "absent"), block=told.recorded.block)


def _proposed(stood: Stood, like: Proposed) -> Proposed:
    """What was proposed, of which the log has the accepted and the refused events apart.

    In the order of `like` if that is made of them, else as they stand in the block, else the accepted ones first.
    """
    if stood.outcome == "unparseable" or stood.outcome == "absent":  # noqa: PLR1714  # mypy narrows it so
        return stood.outcome
    accepted, refused = list(stood.accepted), [each.event for each in stood.refused]
    if _is_made_of(like, accepted, refused):
        return like
    in_block = extract(f"{FENCE_TOKEN}\n{stood.block}\n```").proposal
    return in_block if _is_made_of(in_block, accepted, refused) else (*accepted, *refused)


def _is_made_of(proposed: Proposed, accepted: Sequence[Any], refused: Sequence[Any]) -> bool:
    """Whether it is these two sequences of events, one shuffled into the other."""
    if not isinstance(proposed, tuple) or len(proposed) != len(accepted) + len(refused):
        return False
    sides = (deque(accepted), deque(refused))
    for event in proposed:
        side = next((side for side in sides if side and same(side[0], event)), None)
        if side is None:
            return False
        side.popleft()
    return True
