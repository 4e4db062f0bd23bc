"""Which events of a block are taken into the state, which are refused and why, and what that changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from domain.narrative.applying import applied
from domain.narrative.changes import Change, changes
from domain.narrative.document import Document
from domain.narrative.refusals import Refusal, Refused
from domain.narrative.rules import By, broken_rule, unknown_reference
from domain.narrative.shape import misshapen
from domain.narrative.vocabulary import MOST_EVENTS

Outcome = Literal["applied", "partly_applied", "refused", "unparseable", "empty", "absent"]
"""What became of a reply's block.

`applied`: all events were accepted, and something changed. `partly_applied`: some were accepted, some refused.
`refused`: all were. `empty`: there was a block, nothing in it was refused, and nothing changed: it had no events, or only
such as say what is so already. `unparseable` and `absent`: there was nothing to judge.
"""


Proposed = tuple[Any, ...] | Literal["unparseable", "absent"]
"""What a reply asks for: state events of any shape, or why there are none."""


@dataclass(frozen=True)
class Judgement:
    """What was decided of a block: the document after it, and the events as they were given, in their order."""

    document: Document
    outcome: Outcome
    accepted: tuple[Mapping[str, Any], ...] = ()
    refused: tuple[Refused, ...] = ()
    changes: tuple[Change, ...] = ()


def judge(document: Document, events: Sequence[Any], *, by: By) -> Judgement:
    """Judge a block's events on a document, one after another, each on what those before it have made.

    Total: any JSON value is an event that may be refused. A refused one changes nothing. Of a block of more than
    MOST_EVENTS the rest is refused. The document after an `empty` block may still differ in its order and in what is
    marked as the player's, where one event undid another.
    """
    after = document
    accepted: list[Mapping[str, Any]] = []
    refused: list[Refused] = []
    for number, event in enumerate(events):
        refusal = _refusal(after, event, by) if number < MOST_EVENTS else _TOO_MANY
        if refusal is None:
            after = applied(after, [event], by=by)
            accepted.append(event)
        else:
            refused.append(Refused(event=event, code=refusal.code, detail=refusal.detail))
    changed = changes(document, after)
    outcome = _outcome(accepted=bool(accepted), refused=bool(refused), changed=bool(changed))
    return Judgement(after, outcome, tuple(accepted), tuple(refused), changed)


def unjudged(document: Document, outcome: Literal["unparseable", "absent"]) -> Judgement:
    """The judgement of a reply that brought no events: the document stays."""
    return Judgement(document, outcome)


def judge_proposal(document: Document, proposed: Proposed) -> Judgement:
    """The judgement of what a narrator asks for, whatever that is."""
    return judge(document, proposed, by="narrator") if isinstance(proposed, tuple) else unjudged(document, proposed)


_TOO_MANY = Refusal(
    "too_large", f"A block has at most {MOST_EVENTS} events, and this one stands behind them. Send it in another block."
)


def _refusal(document: Document, event: Any, by: By) -> Refusal | None:
    return misshapen(event) or unknown_reference(document, event) or broken_rule(document, event, by)


def _outcome(*, accepted: bool, refused: bool, changed: bool) -> Outcome:
    if refused:
        return "partly_applied" if accepted else "refused"
    return "applied" if changed else "empty"
