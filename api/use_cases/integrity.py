"""The raw log as programs read it, and whether it is whole."""

from typing import Any

from domain.event import Recorded
from domain.log import EventLog, Verification

_PAGE = 500


def event_answer(recorded: Recorded) -> dict[str, Any]:
    """An event as it stands in the log."""
    return {
        "position": recorded.position,
        "stream": recorded.stream,
        "version": recorded.version,
        "topic": recorded.topic,
        "schema": recorded.schema_version,
        "id": recorded.event_id,
        "at": recorded.at,
        "turn": recorded.turn,
        "actor": recorded.actor,
        "data": recorded.event.model_dump(mode="json"),
        "payload_sha256": recorded.payload_hash.hex(),
        "chain": recorded.chain.hex(),
    }


def events_answer(log: EventLog, campaign: str, after: int, limit: int) -> dict[str, Any]:
    """A page of a campaign's events. Raises UnknownCampaign."""
    log.campaign(campaign)
    events = log.read(after, limit, stream=campaign)
    following = events[-1].position if len(events) == limit else None
    return {"events": [event_answer(recorded) for recorded in events], "next": following}


def was_head(log: EventLog, campaign: str, head: str) -> bool:
    """Whether the campaign's chain ends in this hash, or once did: then nothing up to there was changed since.

    True only of a log that verifies is a proof. Raises UnknownCampaign.
    """
    wanted, after = head.lower(), 0
    log.campaign(campaign)
    while page := log.read(after, _PAGE, stream=campaign):
        if any(recorded.chain.hex() == wanted for recorded in page):
            return True
        after = page[-1].position
    return False


def verify_answer(verification: Verification) -> dict[str, Any]:
    """What a walk over the chain found."""
    bad = verification.first_bad
    return {
        "ok": verification.ok,
        "events": verification.events,
        "head": verification.head,
        "first_bad": None if bad is None else {**vars(bad)},
    }
