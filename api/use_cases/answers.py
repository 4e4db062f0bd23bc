"""The answers that programs rely on, as plain JSON values."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from domain.campaign.events import NarrationAccepted, PlayerActed, TurnOpened
from domain.campaign.facts import CampaignFacts, NodeFacts
from domain.campaign.position import Position, position_at
from domain.event import Recorded
from domain.extraction.extraction import prose_of
from domain.log import EventLog
from domain.narrative.changes import changes
from domain.narrative.course import after
from domain.narrative.events import ProposalJudged
from domain.prompt.events import Accounting, Purpose, ReplyAccounted

_Kind = TypeVar("_Kind")


def position_answer(position: Position) -> dict[str, Any]:
    """A position as every answer carries it."""
    return {**asdict(position), "takes": list(position.takes)}


def position_of(log: EventLog, campaign: str) -> Position:
    """Where the reader is now. Raises UnknownCampaign."""
    facts = log.campaign(campaign)
    head = log.node(campaign, facts.head)
    return _position(facts, head, log.takes(campaign, head.node))


def _position(facts: CampaignFacts, head: NodeFacts, takes: Sequence[int]) -> Position:
    return position_at(
        head.node, head.depth, takes, later_story=facts.tip != facts.head, turn_in_progress=facts.open_turn
    )


def accounting_answer(accounting: Accounting | None) -> dict[str, Any] | None:
    """An account as programs know it, None until it exists."""
    return None if accounting is None else accounting.model_dump(mode="json")


def account_of(events: Sequence[Recorded], purpose: Purpose = "narration") -> Accounting | None:
    """The account of a turn's request, among the turn's events; None until it exists."""
    accounts = (one.event for one in events if isinstance(one.event, ReplyAccounted))
    return next((account.accounting for account in accounts if account.purpose == purpose), None)


def proposal_answer(judged: ProposalJudged | None) -> dict[str, Any]:
    """What became of a narration's block. Of a narration of an older version of the program: that there was none."""
    if judged is None:
        return {"outcome": "absent", "accepted": [], "refused": []}
    refused = [one.model_dump(mode="json") for one in judged.refused]
    return {"outcome": judged.outcome, "accepted": list(judged.accepted), "refused": refused}


def state_changes(log: EventLog, campaign: str, parent: int, judged: ProposalJudged | None) -> list[dict[str, Any]]:
    """What a narration changed in the state that it was told from, which is that of the node it hangs under."""
    if judged is None or not judged.accepted:
        return []
    before = log.state(campaign, parent)
    return [change.to_json() for change in changes(before, after(before, judged.accepted, "narrator"))]


def turn_answer(log: EventLog, campaign: str, turn: str) -> dict[str, Any]:
    """The answer to an accepted turn, out of its events: the same now and after any restart.

    The position is the one that the turn led to; of a late reply, which moved nothing, the one that stands.
    """
    return answer_from(log, campaign, turn, log.turn_events(campaign, turn))


def answer_from(log: EventLog, campaign: str, turn: str, events: Sequence[Recorded]) -> dict[str, Any]:
    """As `turn_answer`, for one who has the events of the turn: its opening, and what ended it."""
    narration = _one(events, NarrationAccepted)
    if narration is None:
        raise ValueError(f"turn {turn} was not accepted")
    judged = _one(events, ProposalJudged)
    return {
        "turn": turn,
        "player_node": _player_node(log, campaign, events),
        "node": narration.node,
        "prose": prose_of(narration.raw_reply, narration.removals),
        "finish_reason": narration.finish_reason,
        "position": position_answer(_position_after(log, campaign, narration)),
        "state_changes": state_changes(log, campaign, narration.parent, judged),
        "proposal": proposal_answer(judged),
        "accounting": accounting_answer(account_of(events)),
    }


def _position_after(log: EventLog, campaign: str, narration: NarrationAccepted) -> Position:
    if narration.late:
        return position_of(log, campaign)
    takes = [take for take in log.takes(campaign, narration.node) if take <= narration.node]
    return position_at(narration.node, narration.depth, takes, later_story=False)


def _player_node(log: EventLog, campaign: str, events: Sequence[Recorded]) -> int | None:
    """The action that the turn told: its own words, or those that an earlier turn had left untold."""
    acted = _one(events, PlayerActed)
    if acted is not None:
        return acted.node
    opened = _one(events, TurnOpened)
    if opened is None or not log.node(campaign, opened.parent).is_player:
        return None
    return opened.parent


def _one(events: Sequence[Recorded], kind: type[_Kind]) -> _Kind | None:
    return next((one.event for one in events if isinstance(one.event, kind)), None)
