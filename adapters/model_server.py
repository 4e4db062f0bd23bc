"""The narrator behind a model server that speaks OpenAI's completions, chat or plain: nearly all of them do."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress

import httpx
import orjson

from adapters.completion_stream import ReplyReader, ServerError
from adapters.endpoint_policy import CONNECT_SECONDS, EndpointPolicy, shown
from adapters.event_stream import MAX_EVENT_BYTES
from adapters.server_refusal import bounded, refusal_text
from domain.errors import (
    FabulaError,
    InvalidInput,
    ModelFailure,
    ModelRefused,
    ModelReplyIncomplete,
    ModelTimeout,
    ModelUnreachable,
)
from domain.ports import Ended, NarratorRequest, Said
from domain.prompt.events import Mode

MAX_REFUSAL_BYTES = 64 * 2**10

_OK = 200
_PATHS: Mapping[Mode, str] = {"chat": "chat/completions", "completion": "completions"}
_REFUSAL_SECONDS = 5.0
# The end of the body comes right after [DONE]. A server that does not send it loses the connection, not our time.
_DRAIN_SECONDS = 0.1
_SHORTEST_SECRET = 4


class OpenAICompatibleNarrator:
    """Implements `domain.ports.Narrator`. `client` is `policed_client`'s, and is closed by whoever built it.

    `api_key` is sent with every request and shows in no error, log or representation. Raises InvalidInput for a key
    that cannot be sent. A request's `timeout_seconds` is how long the server may say nothing: comments and pings, which
    keep a connection open, say nothing.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        policy: EndpointPolicy,
        *,
        api_key: str | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        models_seconds: float = 10.0,
    ) -> None:
        self._client = client
        self._policy = policy
        self._authorization = authorization(api_key)
        self._connect_seconds = connect_seconds
        self._models_seconds = models_seconds

    async def stream(self, request: NarratorRequest) -> AsyncGenerator[Said | Ended, None]:
        """The reply as it arrives, as the port promises. A ModelFailure's `partial` is what had been said by then."""
        self._policy.check_form(request.endpoint)
        reader = ReplyReader()
        failure: FabulaError | None = None
        try:
            async with aclosing(self._reply(request, reader)) as reply:
                async for said in reply:
                    yield said
            ended = reader.ended()
        except (httpx.HTTPError, ServerError, FabulaError) as error:
            failure = self._failure(error, request.endpoint, request.timeout_seconds)
        if failure is not None:
            raise _bare(failure, reader)
        yield ended

    async def models(self, endpoint: str) -> Sequence[str]:
        """The names of the models that the server offers, in its order. Raises as `stream` does."""
        self._policy.check_form(endpoint)
        failure: FabulaError | None = None
        try:
            return await self._model_names(endpoint)
        except (httpx.HTTPError, FabulaError) as error:
            failure = self._failure(error, endpoint, self._models_seconds)
        raise _bare(failure)

    async def _reply(self, request: NarratorRequest, reader: ReplyReader) -> AsyncGenerator[Said, None]:
        url = f"{request.endpoint.rstrip('/')}/{_PATHS[request.mode]}"
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        async with self._client.stream(
            "POST",
            url,
            content=request.body,
            headers=headers | self._authorization,
            timeout=self._timeout(request.timeout_seconds),
        ) as response:
            await self._accept(response, request.endpoint)
            async with aclosing(_chunks(response, reader, request.timeout_seconds)) as chunks:
                async for chunk in chunks:
                    for said in reader.feed(chunk):
                        yield said
            for said in reader.finish():
                yield said

    async def _model_names(self, endpoint: str) -> Sequence[str]:
        seconds = self._models_seconds
        async with self._client.stream(
            "GET", f"{endpoint.rstrip('/')}/models", headers=self._authorization, timeout=self._timeout(seconds)
        ) as response:
            await self._accept(response, endpoint)
            names = model_names(await opening_of(response, MAX_EVENT_BYTES, seconds))
        if names is None:
            raise ModelRefused(endpoint, "its answer to /models is no list of models", _OK)
        return names

    async def _accept(self, response: httpx.Response, endpoint: str) -> None:
        """Raise ModelRefused for anything but a 200."""
        if response.status_code == _OK:
            return
        if response.has_redirect_location:
            said = f"it redirects to {shown(response.headers['Location'])}, and redirects are not followed"
        else:
            said = refusal_text(await opening_of(response, MAX_REFUSAL_BYTES, _REFUSAL_SECONDS))
        raise ModelRefused(endpoint, self._without_key(said), response.status_code)

    def _timeout(self, seconds: float) -> httpx.Timeout:
        return httpx.Timeout(seconds, connect=self._connect_seconds, pool=None)

    def _without_key(self, said: str) -> str:
        """Some servers repeat a key that they refuse."""
        key = self._authorization.get("Authorization", "").removeprefix("Bearer ")
        return said.replace(key, "…") if len(key) >= _SHORTEST_SECRET else said

    def _failure(self, error: Exception, endpoint: str, seconds: float) -> FabulaError:
        match error:
            case FabulaError():
                return error
            case ServerError():
                return ModelRefused(endpoint, self._without_key(str(error)))
            case httpx.ConnectTimeout():
                return ModelUnreachable(endpoint, f"no connection within {self._connect_seconds:g} seconds")
            case httpx.ConnectError():
                return ModelUnreachable(endpoint, bounded(str(error)) or "no connection")
            case httpx.TimeoutException():
                return ModelTimeout(seconds)
            case _:
                return ModelUnreachable(endpoint, "it closed the connection")


def authorization(api_key: str | None) -> dict[str, str]:
    """The header that carries the key, none without one. Raises InvalidInput for a key that no header can carry."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput({"api_key": "must consist of printable ASCII characters"})
    return {"Authorization": f"Bearer {key}"} if key else {}


def model_names(body: bytes) -> tuple[str, ...] | None:
    """The ids in an answer to /models, `{"data": [{"id"}]}`; None for any other answer."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, list):
        return None
    names = (entry.get("id") for entry in data if isinstance(entry, dict))
    return tuple(name for name in names if isinstance(name, str))


async def opening_of(response: httpx.Response, limit: int, seconds: float) -> bytes:
    """The beginning of a body: at most `limit` bytes, and only what comes within `seconds` before the connection breaks."""
    body = bytearray()
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(seconds), aclosing(_body(response)) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) >= limit:
                    break
    return bytes(body[:limit])


async def _chunks(response: httpx.Response, reader: ReplyReader, seconds: float) -> AsyncGenerator[bytes, None]:
    """The body, until the reader is done.

    Raises ModelTimeout when `seconds` pass in which the reader hears nothing, ModelReplyIncomplete when the connection
    breaks; neither once the server has said that the reply is complete.
    """
    now = asyncio.get_running_loop().time
    heard, deadline = reader.heard, now() + seconds
    try:
        async with aclosing(_body(response)) as body:
            while (chunk := await _within(deadline, body)) is not None:
                yield chunk
                if reader.done:
                    await _drain(body)
                    return
                if reader.heard > heard:
                    heard, deadline = reader.heard, now() + seconds
    except (TimeoutError, httpx.HTTPError) as error:
        if not reader.complete:
            raise _broken(error, seconds) from None


async def _body(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    async for chunk in response.aiter_bytes():
        yield chunk


async def _within(deadline: float, body: AsyncGenerator[bytes, None]) -> bytes | None:
    """The next chunk, None at the end. `deadline` is in the loop's time."""
    async with asyncio.timeout_at(deadline):
        return await anext(body, None)


async def _drain(body: AsyncGenerator[bytes, None]) -> None:
    """Read the body's end, so that the connection can be used again."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in body:
                pass


def _broken(error: Exception, seconds: float) -> ModelFailure:
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return ModelTimeout(seconds)
    return ModelReplyIncomplete(f"the connection broke: {bounded(str(error)) or 'no reason is known'}")


def _bare(failure: FabulaError, reader: ReplyReader | None = None) -> FabulaError:
    """The failure with what had been said, without the errors and frames that led to it: they hold the request's key."""
    if isinstance(failure, ModelFailure) and reader is not None:
        failure.partial, failure.partial_reasoning = reader.text, reader.reasoning
    failure.__context__ = failure.__cause__ = None
    return failure.with_traceback(None)
