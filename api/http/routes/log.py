"""The raw log: read, followed live, verified."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse

from api.http.clean_json import CleanJSONRoute
from api.http.fabula import ThisFabula
from api.http.problems import responses
from api.http.server_sent_events import PING, PING_SECONDS, event_bytes, with_pings
from api.http.shapes import EventPage, VerifyShape
from api.use_cases.integrity import event_answer, events_answer, verify_answer
from domain.event import Recorded
from domain.log import EventLog

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["log"], route_class=CleanJSONRoute)

FOLLOW_SECONDS = 0.2
"""How soon a follower learns of an event."""

_PAGE = 500
_FOLLOWED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page; or, with `Accept: text/event-stream`, the events as they are appended",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/events", response_model=EventPage, responses=_FOLLOWED | responses("unknown_campaign"))
async def events(
    campaign: str,
    fabula: ThisFabula,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    accept: Annotated[str, Header()] = "application/json",
) -> Response:
    """The campaign's events with their hashes, in order; or live."""
    page = await anyio.to_thread.run_sync(events_answer, fabula.log, campaign, after, limit)
    if "text/event-stream" in accept:
        return EventSourceResponse(_followed(fabula.log, campaign, after), headers={"cache-control": "no-store"})
    return JSONResponse(page)


@router.get("/verify", response_model=VerifyShape, responses=responses("unknown_campaign"))
def verified(campaign: str, fabula: ThisFabula) -> dict[str, Any]:
    """Walk the campaign's hash chain and name the first event that does not fit."""
    fabula.log.campaign(campaign)
    return verify_answer(fabula.log.verify(campaign))


async def _followed(log: EventLog, campaign: str, after: int) -> AsyncIterator[bytes]:
    async for recorded in with_pings(_appended(log, campaign, after), PING_SECONDS):
        if recorded is None:
            yield PING
        else:
            yield event_bytes("event", event_answer(recorded), event_id=str(recorded.position))


async def _appended(log: EventLog, campaign: str, after: int) -> AsyncIterator[Recorded]:
    while True:
        page = await asyncio.to_thread(log.read, after, _PAGE, stream=campaign)
        for recorded in page:
            after = recorded.position
            yield recorded
        if not page:
            await asyncio.sleep(FOLLOW_SECONDS)
