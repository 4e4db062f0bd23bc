"""The narrator behind a model server that speaks OpenAI's completions, chat or plain: nearly all of them do."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress

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
_STREAM_HEADERS: Mapping[str, str] = {
    "Content-Type": "application/json",
    "Accept": "text/event-stream, application/json",
}
_PATHS: Mapping[Mode, str] = {"chat": "chat/completions", "completion": "completions"}
_REFUSAL_SECONDS = 5.0
# Counts and [DONE] come right after the finish reason, and the end of the body right after [DONE]. A server that does
# not send them loses the connection, not our time.
_CLOSING_SECONDS = 10.0
_DRAIN_SECONDS = 0.1
_SHORTEST_SECRET = 4
_LONGEST_WAIT = 40
_KEY_REFUSED = frozenset({401, 403})


class OpenAICompatibleNarrator:
    """Implements `domain.ports.Narrator`. `client` is `policed_client`'s, and is closed by whoever built it.

    `api_key` is sent with every request and shows in no error, log or representation. Raises InvalidInput for a key
    that cannot be sent. A request's `timeout_seconds` is how long the server may say nothing: comments and pings, which
    keep a connection open, say nothing, and neither does half a header. `models_seconds` is what the whole list may take.
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
        endpoint = str(self._policy.check_form(request.endpoint))
        reader = ReplyReader()
        failure: FabulaError | None = None
        try:
            async with aclosing(self._reply(endpoint, request, reader)) as reply:
                async for said in reply:
                    yield said
            ended = reader.ended()
        except (httpx.HTTPError, ServerError, TimeoutError, FabulaError) as error:
            failure = self._failure(error, request.endpoint, request.timeout_seconds)
        if failure is not None:
            raise _bare(failure, reader)
        yield ended

    async def models(self, endpoint: str) -> Sequence[str]:
        """The names of the models that the server offers, in its order. Raises as `stream` does."""
        base = str(self._policy.check_form(endpoint))
        failure: FabulaError | None = None
        try:
            async with asyncio.timeout(self._models_seconds):
                return await self._model_names(base)
        except TimeoutError:
            failure = ModelUnreachable(endpoint, f"no answer within {self._models_seconds:g} seconds")
        except (httpx.HTTPError, FabulaError) as error:
            failure = self._failure(error, endpoint, self._models_seconds)
        raise _bare(failure)

    async def _reply(self, endpoint: str, request: NarratorRequest, reader: ReplyReader) -> AsyncGenerator[Said, None]:
        async with self._opened(endpoint, request) as response:
            await self._accept(response, request.endpoint)
            async with aclosing(_chunks(response, reader, request.timeout_seconds)) as chunks:
                async for chunk in chunks:
                    for said in reader.feed(chunk):
                        yield said
            for said in reader.finish():
                yield said

    @asynccontextmanager
    async def _opened(self, endpoint: str, request: NarratorRequest) -> AsyncIterator[httpx.Response]:
        """The answer, as soon as its headers are there. Raises TimeoutError when they do not come in time."""
        seconds = request.timeout_seconds
        asked = self._client.build_request(
            "POST",
            f"{endpoint.rstrip('/')}/{_PATHS[request.mode]}",
            content=request.body,
            headers={**_STREAM_HEADERS, **self._authorization},
            timeout=self._timeout(seconds),
        )
        # httpx counts anew with every byte that comes; whoever sends a byte now and then has said nothing yet.
        async with asyncio.timeout(self._connect_seconds + seconds):
            response = await self._client.send(asked, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def _model_names(self, endpoint: str) -> Sequence[str]:
        async with self._client.stream(
            "GET", f"{endpoint.rstrip('/')}/models", headers=self._authorization, timeout=self._timeout(None)
        ) as response:
            await self._accept(response, endpoint)
            names = model_names(await opening_of(response, MAX_EVENT_BYTES, self._models_seconds))
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
            said = "; ".join(filter(None, (said, _advice(response))))
        raise ModelRefused(endpoint, self._without_key(said), response.status_code)

    def _timeout(self, seconds: float | None) -> httpx.Timeout:
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
                return ModelUnreachable(endpoint, *_why_no_connection(error))
            case httpx.TimeoutException() | TimeoutError():
                return ModelTimeout(seconds)
            case _:
                return ModelUnreachable(endpoint, "it closed the connection")


def _why_no_connection(error: httpx.ConnectError) -> tuple[str, str]:
    """The reason, and what to do about it where it is not that the server does not run."""
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {bounded(tls.verify_message)}", (
            "give the server a certificate for this name, and put the authority that signed it into the operating "
            "system's trust store, then retry."
        )
    if tls is not None:
        said = bounded((tls.reason or str(tls)).replace("_", " ").lower())
        return f"no TLS connection: {said}", "see whether the server speaks https or http there, then retry."
    return bounded(str(error)) or "no connection", ""


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """What went wrong with TLS, beneath the errors that were made of it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _advice(response: httpx.Response) -> str:
    """What the status and the headers of a refusal add to its words."""
    wait = bounded(response.headers.get("Retry-After", ""), _LONGEST_WAIT)
    if wait:
        return f"it asks to be left alone for {wait} seconds" if wait.isdecimal() else f"it asks to wait until {wait}"
    if response.status_code in _KEY_REFUSED:
        return "a key for it goes into FABULA_API_KEY"
    return ""


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
    breaks; neither once the server has said that the reply is complete, and then nobody waits for long.
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
                    heard = reader.heard
                    deadline = now() + (min(seconds, _CLOSING_SECONDS) if reader.complete else seconds)
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
