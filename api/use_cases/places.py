"""Moving about in a story, and naming places. The rules are the domain's; here they are asked and answered."""

from typing import Any

from api.use_cases.answers import position_answer, position_of, proposal_answer, state_changes
from domain.campaign.commands import (
    CorrectText,
    MoveHead,
    NameBranch,
    Redo,
    RemoveSavePoint,
    ReviseNode,
    SetSavePoint,
    Undo,
)
from domain.campaign.events import NodeRevised, SavePointSet
from domain.campaign.facts import SavePointFacts
from domain.campaign.naming import POSITION_PREFIX, folded
from domain.errors import InvalidInput, UnknownNode
from domain.extraction.extractors import proposal_in
from domain.log import EventLog
from domain.narrative.events import ProposalJudged
from domain.narrative.judging import Proposed
from domain.ports import IdSource

_MOST_DIGITS = 16
"""The most digits of a node or a position: more than any story has, and never too large for a store."""


def undo(log: EventLog, campaign: str) -> dict[str, Any]:
    """To before the newest turn; the position. Raises NothingToUndo, TurnInProgress."""
    log.execute(Undo(campaign))
    return position_answer(position_of(log, campaign))


def redo(log: EventLog, campaign: str) -> dict[str, Any]:
    """One turn forward; the position. Raises NothingToRedo, TurnInProgress."""
    log.execute(Redo(campaign))
    return position_answer(position_of(log, campaign))


def move_head(log: EventLog, campaign: str, node: int | None, save_point: str | None) -> dict[str, Any]:
    """To a node or a save point; the position. Raises UnknownNode, UnknownSavePoint, TurnInProgress, InvalidInput."""
    log.execute(MoveHead(campaign, node, save_point))
    return position_answer(position_of(log, campaign))


def revise(log: EventLog, campaign: str, node: int, text: str, *, replaced_surrogates: int = 0) -> dict[str, Any]:
    """A node written anew beside the old one; answers as a turn does. Raises UnknownNode, InvalidInput, TurnInProgress."""
    judged = log.judgement(campaign, node)
    block = None if judged is None else judged.block
    proposed: Proposed = "absent" if block is None else proposal_in(block)
    execution = log.execute(ReviseNode(campaign, node, text, replaced_surrogates, proposed, block))
    revised = execution.events[0].event
    if not isinstance(revised, NodeRevised):
        raise TypeError("a revision makes a revised node")
    again = next((one.event for one in execution.events if isinstance(one.event, ProposalJudged)), None)
    is_narration = revised.kind == "narration"
    above = log.node(campaign, revised.parent)
    return {
        "turn": None,
        "player_node": (above.node if above.is_player else None) if is_narration else revised.node,
        "node": revised.node,
        "prose": revised.text,
        "finish_reason": None,
        "position": position_answer(position_of(log, campaign)),
        "state_changes": state_changes(log, campaign, revised.parent, again),
        "proposal": proposal_answer(again),
        "accounting": None,
    }


def correct(log: EventLog, campaign: str, node: int, text: str, *, replaced_surrogates: int = 0) -> dict[str, Any]:
    """A typo mended in place. Raises UnknownNode, InvalidInput, TurnInProgress."""
    log.execute(CorrectText(campaign, node, text, replaced_surrogates))
    return {"node": node, "text": text, "position": position_answer(position_of(log, campaign))}


def set_save_point(log: EventLog, ids: IdSource, campaign: str, name: str, node: int | None) -> dict[str, Any]:
    """A name for a place. Raises NameTaken, InvalidInput, UnknownNode."""
    execution = log.execute(SetSavePoint(campaign, ids.new("s"), name, node))
    point = execution.events[0].event
    if not isinstance(point, SavePointSet):
        raise TypeError("setting a save point makes a save point")
    return {"id": point.save_point, "name": point.name, "node": point.node, "moment": point.depth}


def save_points(log: EventLog, campaign: str) -> dict[str, Any]:
    """The save points of a story, in the order in which they were set."""
    return {"save_points": [_save_point(log, campaign, point) for point in log.save_points(campaign)]}


def _save_point(log: EventLog, campaign: str, point: SavePointFacts) -> dict[str, Any]:
    return {
        "id": point.save_point,
        "name": point.name,
        "node": point.node,
        "moment": log.node(campaign, point.node).depth,
    }


def remove_save_point(log: EventLog, campaign: str, save_point: str) -> dict[str, Any]:
    """Removes a save point; its place stays. Raises UnknownSavePoint."""
    log.execute(RemoveSavePoint(campaign, save_point))
    return save_points(log, campaign)


def name_branch(log: EventLog, campaign: str, branch: int, name: str) -> dict[str, Any]:
    """Names a branch. Raises UnknownBranch, NameTaken, InvalidInput."""
    log.execute(NameBranch(campaign, branch, name))
    named = log.branch(campaign, branch)
    return {"branch": named.branch, "name": named.name, "tip": named.leaf}


def place_named(log: EventLog, campaign: str, reference: str) -> int:
    """The node that a person means by a reference.

    A node's number; `head` or `tip`; `position:N`, the head at that log position; a save point by id or name; a branch
    by name, for its end. Raises UnknownCampaign, UnknownNode, and InvalidInput for what is no position.
    """
    wanted = reference.strip()
    if wanted.isascii() and wanted.isdecimal():
        return _numbered(log, campaign, wanted)
    facts = log.campaign(campaign)
    if wanted in ("head", "tip"):
        return facts.head if wanted == "head" else facts.tip
    if folded(wanted).startswith(POSITION_PREFIX):
        return _head_at(log, campaign, wanted[len(POSITION_PREFIX) :])
    return _called(log, campaign, wanted)


def position_named(reference: str) -> int | None:
    """The log position that a reference names, None when it names a place by other means."""
    wanted = folded(reference)
    return int(wanted[len(POSITION_PREFIX) :]) if wanted.startswith(POSITION_PREFIX) else None


def _numbered(log: EventLog, campaign: str, digits: str) -> int:
    if len(digits.lstrip("0")) > _MOST_DIGITS:
        raise UnknownNode(log.campaign(campaign).campaign, f"{digits[:_MOST_DIGITS]}…")
    return log.node(campaign, int(digits)).node


def _head_at(log: EventLog, campaign: str, digits: str) -> int:
    digits = digits.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits.lstrip("0")) <= _MOST_DIGITS):
        raise InvalidInput({"position": f"{digits[:_MOST_DIGITS]!r} is no log position; they are whole numbers from 1"})
    return log.head_at(campaign, int(digits))


def _called(log: EventLog, campaign: str, name: str) -> int:
    node = log.place_called(campaign, name)
    if node is None:
        raise UnknownNode(
            campaign,
            name,
            f"Nothing in this story is called {name!r}. Name a node by its number, a save point, a branch by its name, "
            "`head`, `tip`, or `position:N`.",
        )
    return node
