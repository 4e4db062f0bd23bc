"""Waiting in a program of many turns: for the disk, and for what must not be left half done."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def aside(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Runs what waits for the disk in a thread, so that other turns are heard meanwhile."""
    return await asyncio.to_thread(call, *arguments)


async def through(work: Coroutine[None, None, None]) -> None:
    """Awaits what must not be left half done. Cancelled meanwhile, it raises that when the work is done."""
    working = asyncio.create_task(work)
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        await working
        raise
