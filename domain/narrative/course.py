"""How the state of a story came about: nodes grew, and at some of them something was accepted.

A node begins with the state of its parent as that is when the node is made. What is corrected at a node later holds there
and below what grows from then on; what had grown before was told from the state that it was told from.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from domain.narrative.document import EMPTY, Document
from domain.narrative.judging import judge
from domain.narrative.rules import By

Accepted = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Grown:
    """A node was made under its parent."""

    node: int
    parent: int


@dataclass(frozen=True, slots=True)
class Told:
    """State events were accepted at a node; `at` is the position of the event that holds them."""

    node: int
    accepted: Accepted
    by: By
    at: int = 0


Step = Grown | Told


def after(document: Document, accepted: Accepted, by: By) -> Document:
    """The document after events that were accepted once.

    They are judged again, which changes nothing, unless the history before them was reread: then what no longer stands
    on anything falls away.
    """
    return judge(document, accepted, by=by).document


def reread(steps: Iterable[Step], readings: Mapping[int, Told]) -> Iterator[Step]:
    """The steps as an adopted extractor has them: a narration that was reread has its new reading and no other."""
    for step in steps:
        if isinstance(step, Grown):
            yield step
            if step.node in readings:
                yield readings[step.node]
        elif step.by == "player" or step.node not in readings:
            yield step


def states(steps: Iterable[Step], opening: int) -> dict[int, Document]:
    """The document at every node."""
    found = {opening: EMPTY}
    for step in steps:
        if isinstance(step, Grown):
            found[step.node] = found[step.parent]
        else:
            found[step.node] = after(found[step.node], step.accepted, step.by)
    return found
