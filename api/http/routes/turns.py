"""Taking turns: streamed, or awaited as JSON."""

from collections.abc import AsyncIterator
from typing import Any, assert_never

import anyio
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse

from api.http.clean_json import CleanJSONRoute, replaced_surrogates
from api.http.fabula import ThisFabula
from api.http.openapi import WHEN_WRITING, or_stream, problem_responses
from api.http.parameters import Accept, CampaignId, IdempotencyKey, TurnId, wants_stream
from api.http.problems import problem_of
from api.http.server_sent_events import PING, PING_SECONDS, event_bytes, with_pings
from api.http.shapes.turns import CancelShape, TurnRequest, TurnShape
from api.use_cases.answers import position_answer, position_of
from api.use_cases.telling import Accepted, Delta, Done, Failed, Happening, Telling

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["turns"], route_class=CleanJSONRoute)

_MODEL_FAILS = (
    "model_unreachable",
    "model_refused",
    "model_reply_incomplete",
    "model_reply_empty",
    "model_timeout",
    "turn_cancelled",
    "turn_interrupted",
    "context_overflow",
    "endpoint_refused",
    *WHEN_WRITING,
)
_STREAM = or_stream(
    "The answer; or, with `Accept: text/event-stream`, the events `accepted` {turn, node}, `delta` {text}…, then `done` "
    "with the answer, or `error` with a problem.",
    'event: accepted\ndata: {"turn":"t_4m2kq7xw3a","node":2}\n\n'
    'event: delta\ndata: {"text":"The door "}\n\n'
    'event: done\ndata: {"turn":"t_4m2kq7xw3a","player_node":2,"node":3,"prose":"The door gives."}\n\n',
)


@router.post(
    "/turns",
    response_model=TurnShape,
    responses=_STREAM
    | problem_responses("unknown_campaign", "turn_in_progress", "idempotency_key_reused", *_MODEL_FAILS),
)
async def take_turn(
    *,
    campaign: CampaignId,
    wanted: TurnRequest,
    request: Request,
    fabula: ThisFabula,
    accept: Accept = "application/json",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Act, and be told what happens. Hanging up does not cancel the turn."""
    telling = await fabula.turns.take(
        campaign, wanted.kind, wanted.text, key=idempotency_key, replaced_surrogates=replaced_surrogates(request)
    )
    return await _told(telling, accept)


@router.post(
    "/retry",
    response_model=TurnShape,
    responses=_STREAM
    | problem_responses(
        "unknown_campaign", "turn_in_progress", "nothing_to_retry", "idempotency_key_reused", *_MODEL_FAILS
    ),
)
async def retry_turn(
    campaign: CampaignId,
    fabula: ThisFabula,
    accept: Accept = "application/json",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask for another take of the newest narration; the old one is kept. Answers as a turn does."""
    return await _told(await fabula.turns.retry(campaign, key=idempotency_key), accept)


@router.post(
    "/turns/{turn}/cancel",
    response_model=CancelShape,
    responses=problem_responses("unknown_campaign", "unknown_turn", "turn_not_running", *WHEN_WRITING),
)
async def cancel_turn(campaign: CampaignId, turn: TurnId, fabula: ThisFabula) -> dict[str, Any]:
    """Stop a running turn. Its words stay in the story, what had been narrated in its record."""
    ended = await fabula.turns.cancel(campaign, turn)
    position = await anyio.to_thread.run_sync(position_of, fabula.log, campaign)
    return {"turn": turn, "ended": ended.ended, "position": position_answer(position)}


async def _told(telling: Telling, accept: str) -> Response:
    if wants_stream(accept):
        return EventSourceResponse(_events(telling), headers={"cache-control": "no-store", "x-accel-buffering": "no"})
    return JSONResponse(await telling.answer())


async def _events(telling: Telling) -> AsyncIterator[bytes]:
    async for happening in with_pings(telling.happening(), PING_SECONDS):
        yield PING if happening is None else _event(happening)


def _event(happening: Happening) -> bytes:
    match happening:
        case Accepted():
            return event_bytes("accepted", {"turn": happening.turn, "node": happening.node})
        case Delta():
            return event_bytes("delta", {"text": happening.text})
        case Done():
            return event_bytes("done", happening.answer)
        case Failed():
            return event_bytes("error", problem_of(happening.error))
        case _:
            assert_never(happening)
