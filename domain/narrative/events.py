"""What happens to the state of a story. Each event says when it is written; its topic is for ever."""

from typing import Any, ClassVar, Literal

from domain.campaign.events import Placed
from domain.event import DomainEvent
from domain.extraction.extraction import Removal
from domain.narrative.judging import Outcome
from domain.narrative.refusals import Refused
from domain.narrative.visual_profile import VisualProfile

StateEvents = tuple[dict[str, Any], ...]
"""State events in the wire format, in the order in which they were given."""

BlockSource = Literal["reply", "state_pass"]
AdoptionScope = Literal["from_now", "whole_history"]


class ProposalJudged(DomainEvent, Placed):
    """The block of a narration was judged. Written with every narration, also where it had no block.

    Written too, without a turn, when the player writes a narration anew: what the original proposed is judged again.

    `block` is what was judged, as the model wrote it, None where there was nothing. It came with the narration, or from
    the second request that asks for the block alone (`source`); `pass_error` says why that request brought none.
    """

    topic: ClassVar = "state.proposal_judged"
    actor: ClassVar = "fabula"

    turn: str | None = None
    outcome: Outcome
    accepted: StateEvents = ()
    refused: tuple[Refused, ...] = ()
    block: str | None = None
    source: BlockSource = "reply"
    pass_error: str | None = None


class StateCorrected(DomainEvent, Placed):
    """The player corrected the state at the head. Written when at least one of the events was accepted."""

    topic: ClassVar = "state.corrected"

    accepted: StateEvents
    refused: tuple[Refused, ...] = ()
    note: str = ""
    replaced_surrogates: int = 0


class NarrationReread(DomainEvent, Placed):
    """An extractor that is adopted for the whole history reads a narration otherwise than what was in force.

    Written for each narration whose removals, block or judgement differ, in the order of creation; the adoption that
    follows in the same append puts them in force. What was recorded with the narration stays as it was. `prose` is the
    raw reply without the removals.
    """

    topic: ClassVar = "story.narration_reread"
    actor: ClassVar = "fabula"

    extractor: str
    removals: tuple[Removal, ...] = ()
    prose: str
    outcome: Outcome
    accepted: StateEvents = ()
    refused: tuple[Refused, ...] = ()
    block: str | None = None


class ExtractorAdopted(DomainEvent):
    """The player put an extractor in force for a story: for narrations from now on, or for all that there ever were."""

    topic: ClassVar = "extractor.adopted"

    extractor: str
    scope: AdoptionScope


class VisualProfileSet(DomainEvent):
    """The player said how an entity looks. The newest holds, on every line."""

    topic: ClassVar = "state.visual_profile_set"

    entity: str
    profile: VisualProfile
    replaced_surrogates: int = 0


NarrativeEvent = ProposalJudged | StateCorrected | NarrationReread | ExtractorAdopted | VisualProfileSet
"""What this module adds to a campaign's own stream."""
