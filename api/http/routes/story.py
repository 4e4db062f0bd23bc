"""Reading a story, and auditing its turns."""

import base64
from typing import Any

from fastapi import APIRouter, Response

from api.http.clean_json import CleanJSONRoute
from api.http.fabula import ThisFabula
from api.http.openapi import problem_responses
from api.http.parameters import (
    AsRead,
    AtNode,
    AtPosition,
    BeforeNode,
    CampaignId,
    NodeNumber,
    PageSize,
    Purpose,
    TurnId,
)
from api.http.shapes.audit import PromptShape, ReplyShape
from api.http.shapes.story import StoryShape
from api.use_cases import audit
from api.use_cases.stories import story_page
from api.wiring import Fabula

router = APIRouter(prefix="/api/campaigns/{campaign}", route_class=CleanJSONRoute)

_BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The exact bytes, with their SHA-256 in `Repr-Digest`",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "example": {
                    "model": "llama3.2",
                    "messages": [{"role": "user", "content": "> I step through the door"}],
                    "stream": True,
                },
            }
        },
        "headers": {
            "Repr-Digest": {
                "description": "RFC 9530: the SHA-256 of the bytes, in base 64",
                "schema": {"type": "string"},
                "example": "sha-256=:X3C/GKCGAHAWlGuwSu07ghA6Nr6kF1W2zd+vEKzjxu8=:",
            }
        },
    }
}


@router.get(
    "/story",
    tags=["story"],
    response_model=StoryShape,
    responses=problem_responses("unknown_campaign", "unknown_node", "view_behind"),
)
def read_story(
    campaign: CampaignId,
    fabula: ThisFabula,
    limit: PageSize = 50,
    before: BeforeNode = None,
    at: AtNode = None,
    position: AtPosition = None,
    reading: AsRead = "in_force",
) -> dict[str, Any]:
    """The active line, newest page first, oldest first within a page; or the line at a node, or as of a position."""
    recorded = reading == "recorded"
    return story_page(fabula.store, campaign, limit, before, at=at, position=position, recorded=recorded)


@router.get(
    "/turns/{turn}/prompt",
    tags=["audit"],
    response_model=PromptShape,
    responses=problem_responses("unknown_campaign", "unknown_turn"),
)
def read_prompt(
    campaign: CampaignId, turn: TurnId, fabula: ThisFabula, purpose: Purpose = "narration"
) -> dict[str, Any]:
    """The record of what a turn sent: sections, tokens, window, history; of failed turns too."""
    return audit.prompt_answer(fabula.log, fabula.store.bodies, campaign, turn, purpose)


@router.get(
    "/turns/{turn}/request", tags=["audit"], responses=_BYTES | problem_responses("unknown_campaign", "unknown_turn")
)
def read_request(campaign: CampaignId, turn: TurnId, fabula: ThisFabula, purpose: Purpose = "narration") -> Response:
    """The exact bytes that a turn sent."""
    return _exact(fabula, campaign, turn, purpose)


@router.get(
    "/turns/{turn}/reply",
    tags=["audit"],
    response_model=ReplyShape,
    responses=problem_responses("unknown_campaign", "unknown_turn"),
)
def read_reply(
    campaign: CampaignId, turn: TurnId, fabula: ThisFabula, purpose: Purpose = "narration"
) -> dict[str, Any]:
    """A turn's raw reply with its removals; of a failed turn, what had come."""
    return audit.reply_answer(fabula.log, campaign, turn, purpose)


@router.get(
    "/nodes/{node}/prompt",
    tags=["audit"],
    response_model=PromptShape,
    responses=problem_responses("unknown_campaign", "unknown_node", "unknown_turn"),
)
def read_prompt_of_node(
    campaign: CampaignId, node: NodeNumber, fabula: ThisFabula, purpose: Purpose = "narration"
) -> dict[str, Any]:
    """The record of the turn that made a node."""
    return read_prompt(campaign, audit.turn_of_node(fabula.log, campaign, node), fabula, purpose)


@router.get(
    "/nodes/{node}/request",
    tags=["audit"],
    responses=_BYTES | problem_responses("unknown_campaign", "unknown_node", "unknown_turn"),
)
def read_request_of_node(
    campaign: CampaignId, node: NodeNumber, fabula: ThisFabula, purpose: Purpose = "narration"
) -> Response:
    """The exact bytes that the turn sent which made a node."""
    return read_request(campaign, audit.turn_of_node(fabula.log, campaign, node), fabula, purpose)


@router.get(
    "/nodes/{node}/reply",
    tags=["audit"],
    response_model=ReplyShape,
    responses=problem_responses("unknown_campaign", "unknown_node", "unknown_turn"),
)
def read_reply_of_node(
    campaign: CampaignId, node: NodeNumber, fabula: ThisFabula, purpose: Purpose = "narration"
) -> dict[str, Any]:
    """The raw reply of the turn that made a node."""
    return read_reply(campaign, audit.turn_of_node(fabula.log, campaign, node), fabula, purpose)


def _exact(fabula: Fabula, campaign: str, turn: str, purpose: Purpose) -> Response:
    sent = audit.request_of(fabula.log, fabula.store.bodies, campaign, turn, purpose)
    digest = base64.b64encode(bytes.fromhex(sent.sha256)).decode()
    return Response(sent.body, media_type="application/json", headers={"Repr-Digest": f"sha-256=:{digest}:"})
