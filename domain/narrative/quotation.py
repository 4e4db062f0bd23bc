"""The words by which a narrator brought a state event, with their place in its reply."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.extraction.extraction import Removal
from domain.narrative.document import Document
from domain.narrative.passages import Passage, block_in, passage_of
from domain.narrative.rules import Event


@dataclass(frozen=True)
class Quotation:
    """The words that hold an event, and the block that they are of.

    Where no words of the block read as the event, the words are the whole block. `place` and `block_place` say where
    both stand in the raw reply; None for a block that another request brought.
    """

    text: str
    block: str
    place: Passage | None = None
    block_place: Passage | None = None


@dataclass(frozen=True)
class Reply:
    """A raw reply, and what was taken out of it."""

    raw: str
    removals: tuple[Removal, ...]


def quotation(block: str, accepted: Sequence[Event], number: int, document: Document, reply: Reply | None) -> Quotation:
    """The words of the accepted event of this number. `document` is the one that the block was judged on.

    `reply` is the one that the block came with; None for a block that was asked for alone.
    """
    passage = passage_of(block, accepted, number, document)
    text = block if passage is None else passage.of(block)
    if reply is None:
        return Quotation(text, block)
    stands = block_in(reply.raw, block, reply.removals)
    if stands is not None:
        within = passage or Passage(0, len(block))
        return Quotation(text, block, within.moved(stands.start), stands)
    removed = _among_what_was_removed(reply, accepted, number, document)
    return Quotation(text if removed is None else removed.of(reply.raw), block, removed)


def _among_what_was_removed(reply: Reply, accepted: Sequence[Event], number: int, document: Document) -> Passage | None:
    """Where the event stands in the last removal that holds it, whichever way its block was stored."""
    for removal in reversed(reply.removals):
        passage = passage_of(reply.raw[removal.start : removal.end], accepted, number, document)
        if passage is not None:
            return passage.moved(removal.start)
    return None
