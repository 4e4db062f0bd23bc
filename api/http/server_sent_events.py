"""Server-sent events as bytes, with a sign of life while nothing happens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import orjson
from fastapi.sse import format_sse_event

PING = b": ping\n\n"
PING_SECONDS = 15.0
"""How often a silent stream says that it is alive."""

_Item = TypeVar("_Item")


def event_bytes(event: str, data: Any, *, event_id: str | None = None) -> bytes:
    """One event with its data as JSON."""
    return format_sse_event(event=event, data_str=orjson.dumps(data, default=str).decode(), id=event_id)


async def with_pings(items: AsyncIterator[_Item], seconds: float) -> AsyncIterator[_Item | None]:
    """The items as they come, and None whenever none came for so long."""
    coming = asyncio.ensure_future(anext(items))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=seconds)
            if not done:
                yield None
                continue
            try:
                yield coming.result()
            except StopAsyncIteration:
                return
            coming = asyncio.ensure_future(anext(items))
    finally:
        coming.cancel()
