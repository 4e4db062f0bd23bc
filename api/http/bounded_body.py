"""How much may be sent at once."""

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.refusals import TooLarge

MAX_BODY = 1024 * 1024
"""The most bytes that a request's body may have."""
MOST_DISCARDED = 16 * MAX_BODY
"""The most bytes that are read, and thrown away, of a body that nobody wanted."""
DISCARDING_SECONDS = 5.0


class BoundedBody:
    """ASGI middleware: whoever reads more than `MAX_BODY` bytes of a body gets TooLarge.

    What was not read of a body by the time of the response is read and thrown away first: many clients send all of
    their request before they look for an answer, and would otherwise see a broken connection in place of it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes requests on with their bodies bounded."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, Headers(scope=scope))

        async def after_the_body(message: Message) -> None:
            if message["type"] == "http.response.start":
                await body.discard()
            await send(message)

        await self._app(scope, body.receive, after_the_body)


class _Body:
    def __init__(self, receive: Receive, headers: Headers) -> None:
        self._receive = receive
        self._declared_too_large = _is_more_than(headers.get("content-length", ""), MAX_BODY)
        # Such a client sends nothing before it is asked to go on, which reading does.
        self._awaits_word = headers.get("expect", "").lower() == "100-continue"
        self._read = 0
        self._over = False

    async def receive(self) -> Message:
        """The next message. Raises TooLarge, before anything is read when the length is declared."""
        if self._declared_too_large:
            raise TooLarge(MAX_BODY)
        message = await self._next()
        if self._read > MAX_BODY:
            raise TooLarge(MAX_BODY)
        return message

    async def discard(self) -> None:
        """Reads on to the end, within bounds, unless the client waits to be asked for its body."""
        if self._awaits_word and self._read == 0:
            return
        with anyio.move_on_after(DISCARDING_SECONDS):
            while not self._over and self._read < MOST_DISCARDED:
                await self._next()

    async def _next(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        self._over = self._over or not message.get("more_body", False)
        return message


def _is_more_than(declared: str, limit: int) -> bool:
    return declared.isascii() and declared.isdigit() and int(declared) > limit
