"""The audit of a turn: what was sent, to the byte; what came back; what was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from api.use_cases.answers import account_of, accounting_answer
from api.use_cases.prompting import Bodies
from domain.campaign.events import NarrationAccepted, TurnFailed
from domain.campaign.facts import TurnFacts
from domain.errors import UnknownTurn
from domain.event import Recorded
from domain.extraction.extraction import prose_of
from domain.log import EventLog
from domain.narrative.events import ProposalJudged
from domain.prompt.events import PromptSent, Purpose, SectionSpan
from domain.prompt.request import text_at


@dataclass(frozen=True)
class SentRequest:
    """The exact bytes that a turn sent, and their SHA-256 in hexadecimal."""

    body: bytes
    sha256: str


def turn_of_node(log: EventLog, campaign: str, node: int) -> str:
    """The turn that made a node. Raises UnknownNode, and UnknownTurn for what no turn made: an opening, a revision."""
    made = log.node(campaign, node)
    if made.turn is None:
        how = "is the opening" if made.parent is None else "was written anew by the player"
        raise UnknownTurn(campaign, None, f"Node {node} of {campaign} {how}: no turn made it, and nothing was sent.")
    return made.turn


def request_of(log: EventLog, bodies: Bodies, campaign: str, turn: str, purpose: Purpose = "narration") -> SentRequest:
    """What the turn sent. Raises UnknownTurn, also for a turn that ended before anything was recorded."""
    prompt = _prompt(log.turn_events(campaign, turn), campaign, turn, purpose)[1]
    return SentRequest(bodies.of(campaign, prompt), prompt.body.sha256)


def prompt_answer(
    log: EventLog, bodies: Bodies, campaign: str, turn: str, purpose: Purpose = "narration"
) -> dict[str, Any]:
    """The record of the turn's request. Raises as `request_of`."""
    events = log.turn_events(campaign, turn)
    recorded, prompt = _prompt(events, campaign, turn, purpose)
    body = bodies.of(campaign, prompt)
    narration = _narration(events)
    history = prompt.history.model_dump(mode="json")
    return {
        "node": narration.node if narration else None,
        "turn": turn,
        "purpose": prompt.purpose,
        "sections": [_section(body, span) for span in prompt.sections],
        "tokens": prompt.tokens.model_dump(mode="json"),
        "window": {
            **prompt.window.model_dump(mode="json"),
            "capped": prompt.tokens.budget < prompt.tokens.configured_budget,
            "preflight": None,
        },
        "history": history,
        "memories": {"query": {}, "eligible": 0, "considered": []},
        "knowledge": {"considered": []},
        "accounting": accounting_answer(account_of(events, purpose)),
        "endpoint": prompt.endpoint,
        "public_endpoint": prompt.public_endpoint,
        "model": prompt.model,
        "mode": prompt.mode,
        "parameters": _parameters(body),
        "body_sha256": prompt.body.sha256,
        "body_bytes": prompt.body.length,
        "built_from": prompt.built_from,
        "at": recorded.at,
    }


def reply_answer(log: EventLog, campaign: str, turn: str, purpose: Purpose = "narration") -> dict[str, Any]:
    """What came back; of a failed turn, what had come by then. Raises UnknownTurn."""
    facts = log.turn(campaign, turn)
    events = log.turn_events(campaign, turn)
    if purpose == "state":
        return _reply_of_pass(campaign, turn, facts, events)
    narration = _narration(events)
    failure = next((one.event for one in events if isinstance(one.event, TurnFailed)), None)
    answer: dict[str, Any] = {"turn": turn, "node": None, "ended": facts.ended, "extractor": None, "removals": []}
    if narration is not None:
        return answer | {
            "node": narration.node,
            "raw_reply": narration.raw_reply,
            "reasoning": narration.reasoning,
            "extractor": narration.extractor,
            "removals": [removal.model_dump() for removal in narration.removals],
            "prose": prose_of(narration.raw_reply, narration.removals),
            "finish_reason": narration.finish_reason,
            "error": None,
            "message": None,
            "reading": _reading(log, campaign, narration.node),
        }
    return answer | {
        "raw_reply": failure.partial_reply if failure else "",
        "reasoning": failure.partial_reasoning if failure else "",
        "prose": "",
        "finish_reason": None,
        "error": failure.error if failure else None,
        "message": failure.message if failure else None,
        "reading": None,
    }


def _reply_of_pass(campaign: str, turn: str, facts: TurnFacts, events: Sequence[Recorded]) -> dict[str, Any]:
    """What came back from the request for the state alone: nothing of it is story."""
    _prompt(events, campaign, turn, "state")
    judged = next((one.event for one in events if isinstance(one.event, ProposalJudged)), None)
    passed = judged is not None and judged.source == "state_pass"
    return {
        "turn": turn,
        "node": judged.node if judged else None,
        "ended": facts.ended,
        "extractor": None,
        "removals": [],
        "raw_reply": (judged.block or "") if judged and passed else "",
        "reasoning": "",
        "prose": "",
        "finish_reason": None,
        "error": "state_pass" if judged and judged.pass_error else None,
        "message": judged.pass_error if judged else None,
        "reading": None,
    }


def _reading(log: EventLog, campaign: str, node: int) -> dict[str, Any] | None:
    """How an adopted extractor reads the reply now; None while it stands as it was recorded."""
    read = log.reading(campaign, node)
    if read is None:
        return None
    removals = [removal.model_dump() for removal in read.removals]
    return {"extractor": read.extractor, "removals": removals, "prose": read.prose}


def _prompt(events: Sequence[Recorded], campaign: str, turn: str, purpose: Purpose) -> tuple[Recorded, PromptSent]:
    for recorded in events:
        if isinstance(recorded.event, PromptSent) and recorded.event.purpose == purpose:
            return recorded, recorded.event
    if purpose == "state":
        raise UnknownTurn(campaign, turn, f"Turn {turn} made no second request for the state.")
    raise UnknownTurn(campaign, turn, f"Turn {turn} ended before a request was recorded, so nothing was sent.")


def _narration(events: Sequence[Recorded]) -> NarrationAccepted | None:
    return next((one.event for one in events if isinstance(one.event, NarrationAccepted)), None)


def _section(body: bytes, span: SectionSpan) -> dict[str, Any]:
    text = "\n\n".join(text_at(body, stretch) for stretch in span.spans)
    return {"name": span.name, "label": span.label, "tokens": span.tokens, "why": span.why, "text": text}


def _parameters(body: bytes) -> dict[str, Any]:
    """The request's fields besides its text."""
    return {name: value for name, value in orjson.loads(body).items() if name not in ("messages", "prompt")}
