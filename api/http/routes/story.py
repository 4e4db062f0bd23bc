"""Reading a story, and auditing its turns."""

import base64
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from api.http.clean_json import CleanJSONRoute
from api.http.fabula import ThisFabula
from api.http.problems import responses
from api.http.shapes import PromptShape, ReplyShape, StoryShape
from api.use_cases import audit
from api.use_cases.stories import story_page
from api.wiring import Fabula
from domain.errors import UnknownTurn

router = APIRouter(prefix="/api/campaigns/{campaign}", route_class=CleanJSONRoute)

Purpose = Annotated[Literal["narration", "state"], Query(description="Which of a turn's requests.")]
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The exact bytes, with their SHA-256 in `Repr-Digest`",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


@router.get(
    "/story",
    tags=["story"],
    response_model=StoryShape,
    responses=responses("unknown_campaign", "unknown_node", "view_behind"),
)
def story(
    campaign: str,
    fabula: ThisFabula,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: Annotated[int | None, Query(ge=1, description="Only nodes older than this node of the line.")] = None,
) -> dict[str, Any]:
    """The active line, newest page first, oldest first within a page."""
    return story_page(fabula.store, campaign, limit, before)


@router.get(
    "/turns/{turn}/prompt",
    tags=["audit"],
    response_model=PromptShape,
    responses=responses("unknown_campaign", "unknown_turn"),
)
def prompt(campaign: str, turn: str, fabula: ThisFabula, purpose: Purpose = "narration") -> dict[str, Any]:
    """The record of what a turn sent: sections, tokens, window, history; of failed turns too."""
    _only_narration(campaign, turn, purpose)
    return audit.prompt_answer(fabula.log, fabula.store.bodies, campaign, turn)


@router.get("/turns/{turn}/request", tags=["audit"], responses=_BYTES | responses("unknown_campaign", "unknown_turn"))
def request(campaign: str, turn: str, fabula: ThisFabula, purpose: Purpose = "narration") -> Response:
    """The exact bytes that a turn sent."""
    _only_narration(campaign, turn, purpose)
    return _exact(fabula, campaign, turn)


@router.get(
    "/turns/{turn}/reply",
    tags=["audit"],
    response_model=ReplyShape,
    responses=responses("unknown_campaign", "unknown_turn"),
)
def reply(campaign: str, turn: str, fabula: ThisFabula, purpose: Purpose = "narration") -> dict[str, Any]:
    """A turn's raw reply with its removals; of a failed turn, what had come."""
    _only_narration(campaign, turn, purpose)
    return audit.reply_answer(fabula.log, campaign, turn)


@router.get(
    "/nodes/{node}/prompt",
    tags=["audit"],
    response_model=PromptShape,
    responses=responses("unknown_campaign", "unknown_node", "unknown_turn"),
)
def prompt_of_node(campaign: str, node: int, fabula: ThisFabula, purpose: Purpose = "narration") -> dict[str, Any]:
    """The record of the turn that made a node."""
    return prompt(campaign, audit.turn_of_node(fabula.log, campaign, node), fabula, purpose)


@router.get(
    "/nodes/{node}/request",
    tags=["audit"],
    responses=_BYTES | responses("unknown_campaign", "unknown_node", "unknown_turn"),
)
def request_of_node(campaign: str, node: int, fabula: ThisFabula, purpose: Purpose = "narration") -> Response:
    """The exact bytes that the turn sent which made a node."""
    return request(campaign, audit.turn_of_node(fabula.log, campaign, node), fabula, purpose)


@router.get(
    "/nodes/{node}/reply",
    tags=["audit"],
    response_model=ReplyShape,
    responses=responses("unknown_campaign", "unknown_node", "unknown_turn"),
)
def reply_of_node(campaign: str, node: int, fabula: ThisFabula, purpose: Purpose = "narration") -> dict[str, Any]:
    """The raw reply of the turn that made a node."""
    return reply(campaign, audit.turn_of_node(fabula.log, campaign, node), fabula, purpose)


def _only_narration(campaign: str, turn: str, purpose: str) -> None:
    if purpose != "narration":
        raise UnknownTurn(campaign, turn, f"Turn {turn} sent no request for {purpose}; it sent one for its narration.")


def _exact(fabula: Fabula, campaign: str, turn: str) -> Response:
    sent = audit.request_of(fabula.log, fabula.store.bodies, campaign, turn)
    digest = base64.b64encode(bytes.fromhex(sent.sha256)).decode()
    return Response(sent.body, media_type="application/json", headers={"Repr-Digest": f"sha-256=:{digest}:"})
