"""What of a reply changed under a candidate, and what of that a person must look at."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from domain.extraction.extraction import RULE_WHITESPACE, Removal, prose_of
from domain.narrative.judging import Proposed
from replays.comparison import Compared, Standing
from replays.json_values import same
from replays.spans import in_order, kept, solid, solid_in, without

Change = Literal["prose", "rules", "proposal", "outcome"]
"""`rules`: the same prose, but other rules took out the rest, or other spans. What only moves white space is none."""

Flag = Literal[
    "text_added",
    "text_rewritten",
    "unexplained_removal",
    "quarter_removed",
    "proposal_lost",
    "proposal_changed",
    "candidate_failed",
]
FLAGS: tuple[Flag, ...] = get_args(Flag)

MOST_REMOVED = 0.25
"""The share of the prose that may go without a person looking at it."""

_QUOTED = 80


@dataclass(frozen=True, slots=True)
class Flagged:
    """A flag, and a sentence about what raised it."""

    flag: Flag
    detail: str


def changes_of(compared: Compared) -> tuple[Change, ...]:
    """What is another than before. White space at the end of the prose is not looked at."""
    before, after = compared.before, compared.after
    prose = before.prose.rstrip() != after.prose.rstrip()
    found: dict[Change, bool] = {
        "prose": prose,
        "rules": not prose and _removed(compared.raw, before.removals) != _removed(compared.raw, after.removals),
        "proposal": not same(before.proposed, after.proposed),
        "outcome": before.outcome != after.outcome,
    }
    return tuple(kind for kind, is_so in found.items() if is_so)


def flags_of(compared: Compared) -> tuple[Flagged, ...]:
    """What a person must look at. Of a candidate that failed there is nothing else to say."""
    if compared.failure is not None:
        return (Flagged("candidate_failed", compared.failure.detail),)
    before, after = compared.before, compared.after
    words = () if (before.prose, before.removals) == (after.prose, after.removals) else _words(compared)
    return (*words, *_proposal(before.proposed, after.proposed))


def share_removed(compared: Compared) -> float:
    """How much of the prose before is gone, from 0 to 1; white space does not count."""
    had = solid(compared.before.prose)
    return _gone(compared) / had if had else 0.0


def _words(compared: Compared) -> Iterator[Flagged]:
    raw, after = compared.raw, compared.after
    if unnamed := sum(not removal.rule.strip() for removal in after.removals):
        yield Flagged("unexplained_removal", f"{unnamed} of its removals name no rule.")
    if _is_explained(raw, after):
        added = [raw[start:end] for start, end in _added(compared) if not raw[start:end].isspace()]
        if added:
            yield Flagged("text_added", f"It keeps what was taken out before: {_quoted(added[0])}")
    else:
        yield _unexplained(raw, after)
    share = share_removed(compared)
    if share > MOST_REMOVED:
        yield Flagged("quarter_removed", f"{share:.0%} of the prose is gone.")


def _is_explained(raw: str, standing: Standing) -> bool:
    """White space around the prose needs no removal."""
    return in_order(raw, standing.removals) and prose_of(raw, standing.removals).strip() == standing.prose.strip()


def _unexplained(raw: str, after: Standing) -> Flagged:
    """What the prose is, other than the reply without the removals: less than that, or something else."""
    due = prose_of(raw, after.removals) if in_order(raw, after.removals) else raw
    missing, instead = _between(due.split(), after.prose.split())
    if not missing and not instead:
        return Flagged("text_rewritten", "White space within the prose is another.")
    if _is_left_of(instead, missing):
        return Flagged("unexplained_removal", f"No removal accounts for what is missing: {_quoted(' '.join(missing))}")
    where = f"in the place of {_quoted(' '.join(missing))}" if missing else "where the reply has nothing"
    return Flagged("text_rewritten", f"It has {_quoted(' '.join(instead))} {where}.")


def _between(ours: Sequence[str], theirs: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of each between their common beginning and their common end."""
    start = _shared(ours, theirs)
    end = _shared(ours[start:][::-1], theirs[start:][::-1])
    return ours[start : len(ours) - end], theirs[start : len(theirs) - end]


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many words the two begin with alike."""
    unlike = (number for number, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
    return next(unlike, min(len(ours), len(theirs)))


def _is_left_of(words: Sequence[str], text: Sequence[str]) -> bool:
    """Whether these words stand in the text in this order: nothing was written, only left out."""
    there = iter(text)
    return all(word in there for word in words)


def _proposal(before: Proposed, after: Proposed) -> Iterator[Flagged]:
    """A proposal where there was none to read is no flag."""
    if same(before, after) or before == "absent" or (before == "unparseable" and isinstance(after, tuple)):
        return
    flag: Flag = (
        "proposal_lost" if isinstance(before, tuple) and before and not _has_events(after) else "proposal_changed"
    )
    yield Flagged(flag, f"The block was {_told(before)}, and is {_told(after)}.")


def _has_events(proposed: Proposed) -> bool:
    return isinstance(proposed, tuple) and bool(proposed)


def _told(proposed: Proposed) -> str:
    if not isinstance(proposed, tuple):
        return proposed
    listed = ", ".join(str(event.get("type")) if isinstance(event, Mapping) else "no event" for event in proposed)
    return f"of {len(proposed)} event{_plural(proposed)} ({_shortened(listed)})" if proposed else "empty"


def _plural(things: Sequence[object]) -> str:
    return "" if len(things) == 1 else "s"


def _added(compared: Compared) -> Iterator[tuple[int, int]]:
    raw = compared.raw
    return without(kept(raw, compared.after.removals), kept(raw, compared.before.removals))


def _gone(compared: Compared) -> int:
    raw, before, after = compared.raw, compared.before, compared.after
    if _is_explained(raw, after):
        return solid_in(raw, without(kept(raw, before.removals), kept(raw, after.removals)))
    return max(0, solid(before.prose) - solid(after.prose))


def _removed(raw: str, removals: Sequence[Removal]) -> list[tuple[str, str]]:
    """What was taken out, by which rule; without white space, which no rule is about but its own."""
    return [
        (removal.rule, raw[removal.start : removal.end].strip())
        for removal in removals
        if removal.rule != RULE_WHITESPACE
    ]


def _quoted(text: str) -> str:
    return f"“{_shortened(' '.join(text.split()))}”"


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
