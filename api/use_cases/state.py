"""The state of a story as it is asked for, and corrected by hand. What is judged, and how, is the domain's."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from api.use_cases.answers import position_answer, position_of
from domain.campaign.commands import CorrectState
from domain.campaign.facts import NodeFacts
from domain.errors import InvalidInput
from domain.log import EventLog
from domain.narrative.changes import changes
from domain.narrative.course import after
from domain.narrative.document import EMPTY, Document
from domain.narrative.events import NarrationReread, ProposalJudged, StateCorrected
from domain.narrative.groups import duplicate_names, groups
from domain.narrative.scene_packet import scene_packet

MOST_LEVELS = 16
"""How deeply what is sent as an event may be nested; those of the vocabulary hold lists at most."""
_LARGEST, _SMALLEST = 2**64 - 1, -(2**63)

_PAGE = 64
"""How many nodes of the line are looked at together for proposals."""


def node_at(log: EventLog, campaign: str, at: int | None) -> NodeFacts:
    """The node that is named, or the head. Raises UnknownCampaign, UnknownNode."""
    return log.node(campaign, log.campaign(campaign).head if at is None else at)


def state_answer(log: EventLog, campaign: str, at: int | None = None, *, position: int | None = None) -> dict[str, Any]:
    """The state at the head, at a node, or at the head of a log position as it was then.

    Raises UnknownCampaign, UnknownNode, and InvalidInput where both a node and a position are named.
    """
    if at is not None and position is not None:
        raise InvalidInput({"position": "name either a node or a position"})
    if position is not None:
        node, document = log.state_as_of(campaign, position)
        return _state(document, log.node(campaign, node))
    place = node_at(log, campaign, at)
    return _state(log.state(campaign, place.node), place)


def _state(document: Document, place: NodeFacts) -> dict[str, Any]:
    return {
        "document": document.to_json(),
        "groups": [asdict(group) for group in groups(document)],
        "duplicate_names": [asdict(name) for name in duplicate_names(document)],
        "at": place.node,
        "moment": place.depth,
    }


def correct_state(
    log: EventLog, campaign: str, events: Sequence[Any], note: str, *, replaced_surrogates: int = 0
) -> dict[str, Any]:
    """The state at the head, corrected by the player; what was refused of the events, and what the others changed.

    Raises UnknownCampaign, TurnInProgress, CorrectionRefused when all were refused, and InvalidInput for no events or
    such as cannot be recorded.
    """
    _check_can_be_recorded(events)
    execution = log.execute(CorrectState(campaign, tuple(events), note, replaced_surrogates))
    corrected = execution.events[0].event
    if not isinstance(corrected, StateCorrected):
        raise TypeError("a correction makes a corrected state")
    before = execution.facts.states.get(corrected.node, EMPTY)
    document = after(before, corrected.accepted, "player")
    return {
        "document": document.to_json(),
        "accepted": list(corrected.accepted),
        "refused": [refused.model_dump(mode="json") for refused in corrected.refused],
        "state_changes": [change.to_json() for change in changes(before, document)],
        "at": corrected.node,
        "moment": corrected.depth,
        "position": position_answer(position_of(log, campaign)),
    }


def _check_can_be_recorded(value: Any, levels: int = MOST_LEVELS) -> None:
    """What is refused is recorded as well, and not all that can be read as JSON can be written again."""
    if levels < 0:
        raise InvalidInput({"events": f"an event has at most {MOST_LEVELS} levels; send a flat one"})
    if isinstance(value, float) and not isfinite(value):
        raise InvalidInput({"events": "a number is too large; write it as a string"})
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        raise InvalidInput({"events": "a number has at most 64 bits; write a larger one as a string"})
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        _check_can_be_recorded(each, levels - 1)


def scene_packet_answer(log: EventLog, campaign: str, at: int | None = None) -> dict[str, Any]:
    """What the scene at a node, or at the head, could be drawn from. Raises UnknownCampaign, UnknownNode."""
    place = node_at(log, campaign, at)
    packet = scene_packet(log.state(campaign, place.node), log.visual_profiles(campaign))
    return {**packet.model_dump(mode="json"), "at": place.node, "moment": place.depth}


# Proposals


def proposals_answer(
    log: EventLog, campaign: str, limit: int, before: int | None = None, *, at: int | None = None
) -> dict[str, Any]:
    """What became of the blocks of the line's narrations, newest first; `before` is a node, of which older ones are wanted.

    The line is the active one, or the one that ends at a node. Narrations that were never judged are left out: those
    that the player wrote, and those of versions before there was a state. Raises UnknownCampaign, UnknownNode.
    """
    end = node_at(log, campaign, at).node
    below = None if before is None else log.node(campaign, before).depth
    found = [proposal for _, proposal in zip(range(limit + 1), _proposals(log, campaign, end, below), strict=False)]
    page = found[:limit]
    return {"proposals": page, "next": page[-1]["node"] if len(found) > limit else None}


def _proposals(log: EventLog, campaign: str, end: int, before: int | None) -> Iterator[dict[str, Any]]:
    while nodes := log.end_of_line(campaign, end, limit=_PAGE, before=before):
        for node in reversed(nodes):
            if node.kind == "narration":
                yield from _proposal(log, campaign, log.node(campaign, node.node))
        before = nodes[0].depth


def _proposal(log: EventLog, campaign: str, place: NodeFacts) -> Iterator[dict[str, Any]]:
    judged = judged_at(log, campaign, place)
    if judged is None:
        return
    in_force = log.reading(campaign, place.node) or judged
    yield {
        "node": place.node,
        "moment": place.depth,
        "turn": judged.turn,
        "outcome": in_force.outcome,
        "accepted": list(in_force.accepted),
        "refused": [refused.model_dump(mode="json") for refused in in_force.refused],
        "block": in_force.block,
        "source": "reply" if isinstance(in_force, NarrationReread) else in_force.source,
        "pass_error": judged.pass_error,
        "reread_by": in_force.extractor if isinstance(in_force, NarrationReread) else None,
    }


def judged_at(log: EventLog, campaign: str, place: NodeFacts) -> ProposalJudged | None:
    """The judgement that was recorded with a narration; None for one that was never judged."""
    if place.turn is None:  # one that the player wrote anew
        found = log.judgement(campaign, place.node)
        return found if isinstance(found, ProposalJudged) else None
    told = (recorded.event for recorded in log.turn_events(campaign, place.turn))
    return next((one for one in told if isinstance(one, ProposalJudged) and one.node == place.node), None)
