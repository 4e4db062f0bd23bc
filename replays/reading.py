"""What an extractor makes of a reply, whichever extractor that is, and who can be asked for it."""

from dataclasses import dataclass
from typing import Literal, Protocol

from domain.errors import InvalidInput
from domain.extraction.extraction import Extraction, Removal
from domain.extraction.extractors import EXTRACTORS, extract
from domain.narrative.judging import Proposed

FailureKind = Literal["timed_out", "crashed", "raised", "nonsense", "not_asked"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What of a reply is story, what was taken out of it, and what it proposes; `block` is the text of the proposal.

    Of an extractor that is being developed nothing here is to be trusted: removals may overlap, lie outside of the reply,
    or have nothing to do with the prose.
    """

    prose: str
    removals: tuple[Removal, ...]
    proposed: Proposed = "absent"
    block: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a reply could not be read, with a sentence for people."""

    kind: FailureKind
    detail: str


class Candidate(Protocol):
    """An extractor that is tried out."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def read(self, raw: str) -> Reading | Failure:
        """What it makes of a raw reply. Never raises, and never takes longer than its limit of time."""
        ...


class Released:
    """An extractor of Fabula's own."""

    def __init__(self, version: str) -> None:
        """Raises InvalidInput for a version that does not exist."""
        if version not in EXTRACTORS:
            raise InvalidInput({"extractor": unknown_version(version)})
        self.name = version

    def read(self, raw: str) -> Reading:
        """See Candidate."""
        return as_reading(extract(raw, self.name))


def as_reading(extraction: Extraction) -> Reading:
    """The reading that an extraction is."""
    return Reading(extraction.prose, extraction.removals, extraction.proposal, extraction.block)


def unknown_version(version: str) -> str:
    """The sentence about a version that does not exist, without its full stop."""
    return f"there is no extractor {version!r}; there are {', '.join(EXTRACTORS)}"
