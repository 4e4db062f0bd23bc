"""The raw log: read, followed live, verified."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import anyio.to_thread
import orjson
from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse

from api.http.clean_json import CleanJSONRoute
from api.http.fabula import ThisFabula
from api.http.openapi import or_stream, problem_responses
from api.http.parameters import (
    LARGEST_INTEGER,
    Accept,
    AfterPosition,
    CampaignId,
    EventPageSize,
    LastEventId,
    wants_stream,
)
from api.http.problems import problem_of
from api.http.server_sent_events import PING, PING_SECONDS, event_bytes, with_pings
from api.http.shapes.log import EVENT, EventPage, VerifyShape
from api.use_cases.integrity import event_answer, events_answer, verify_answer
from domain.errors import FabulaError
from domain.event import Recorded
from domain.log import EventLog

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["log"], route_class=CleanJSONRoute)

FOLLOW_SECONDS = 0.2
"""How soon a follower learns of an event."""

_PAGE = 500
_FOLLOWED = or_stream(
    "A page; or, with `Accept: text/event-stream`, an `event` for each that there is and each that is appended, until "
    "the client hangs up. A problem ends the stream as `error`: `unknown_campaign` when the story is deleted.",
    f"id: 41\nevent: event\ndata: {orjson.dumps(EVENT).decode()}\n\n",
)


@router.get("/events", response_model=EventPage, responses=_FOLLOWED | problem_responses("unknown_campaign"))
async def read_events(
    *,
    campaign: CampaignId,
    fabula: ThisFabula,
    after: AfterPosition = 0,
    limit: EventPageSize = 100,
    accept: Accept = "application/json",
    last_event_id: LastEventId = None,
) -> Response:
    """The campaign's events with their hashes, in order; or live."""
    if not wants_stream(accept):
        return JSONResponse(await anyio.to_thread.run_sync(events_answer, fabula.log, campaign, after, limit))
    await anyio.to_thread.run_sync(fabula.log.campaign, campaign)
    following = _followed(fabula.log, campaign, max(after, _seen(last_event_id)))
    return EventSourceResponse(following, headers={"cache-control": "no-store", "x-accel-buffering": "no"})


@router.get("/verify", response_model=VerifyShape, responses=problem_responses("unknown_campaign"))
def verify_campaign(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """Walk the campaign's hash chain and name the first event that does not fit."""
    fabula.log.campaign(campaign)
    return verify_answer(fabula.log.verify(campaign))


def _seen(last_event_id: str | None) -> int:
    """The position that a follower has seen; 0 for an id that is none of ours."""
    if last_event_id is None or not (last_event_id.isascii() and last_event_id.isdigit()):
        return 0
    return min(int(last_event_id), LARGEST_INTEGER)


async def _followed(log: EventLog, campaign: str, after: int) -> AsyncIterator[bytes]:
    try:
        async for recorded in with_pings(_appended(log, campaign, after), PING_SECONDS):
            yield PING if recorded is None else _event(recorded)
    except FabulaError as error:
        yield event_bytes("error", problem_of(error))


def _event(recorded: Recorded) -> bytes:
    return event_bytes("event", event_answer(recorded), event_id=str(recorded.position))


async def _appended(log: EventLog, campaign: str, after: int) -> AsyncIterator[Recorded]:
    while True:
        page = await asyncio.to_thread(log.read, after, _PAGE, stream=campaign)
        for recorded in page:
            after = recorded.position
            yield recorded
        if not page:
            await asyncio.to_thread(log.campaign, campaign)  # raises when it was deleted
            await asyncio.sleep(FOLLOW_SECONDS)
