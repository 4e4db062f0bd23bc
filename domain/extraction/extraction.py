"""An extraction: what of a raw reply is story, exactly what was taken out of it, and what its block proposes."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from domain.narrative.judging import Proposed

RULE_WHITESPACE = "whitespace"


class Removal(BaseModel):
    """The characters start…end (half open, in code points) of the raw reply, and the rule that took them out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Extraction:
    """The prose of a reply, and its removals in order. Prose and removals, put back in place, are the raw reply.

    `proposal` holds the events of the last block that could be read, any JSON values; `block` is that block's text as
    it stands in the reply, without its fence, or where none could be read, the last one's; None where there is none.
    """

    prose: str
    removals: tuple[Removal, ...]
    extractor: str
    proposal: Proposed = "absent"
    block: str | None = None


def prose_of(raw: str, removals: tuple[Removal, ...]) -> str:
    """The raw reply without its removals, which are in order and do not overlap."""
    kept, at = [], 0
    for removal in removals:
        kept.append(raw[at : removal.start])
        at = removal.end
    return "".join([*kept, raw[at:]])


def extract_plain(raw: str) -> Extraction:
    """Extractor `0`: a reply is story as it stands; only the white space around it is a removal."""
    start = len(raw) - len(raw.lstrip())
    end = len(raw.rstrip())
    edges = [(0, start), (end, len(raw))] if start < end else [(0, len(raw))]
    removals = tuple(Removal(rule=RULE_WHITESPACE, start=a, end=b) for a, b in edges if a < b)
    return Extraction(prose_of(raw, removals), removals, "0")
