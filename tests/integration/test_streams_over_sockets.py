"""Replies as servers, proxies and networks really deliver them: raw bytes on a socket, and when they come."""

import asyncio
import gzip
import json
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from adapters.endpoint_policy import EndpointPolicy, policed_client
from adapters.model_server import OpenAICompatibleNarrator
from domain.errors import FabulaError, ModelRefused, ModelReplyIncomplete, ModelTimeout, ModelUnreachable
from domain.ports import Ended, NarratorRequest, Said
from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import serving

HELLO = 'data: {"choices":[{"delta":{"content":"Größe "}}]}\n\ndata: {"choices":[{"delta":{"content":"☂"}}]}\n\n'
STOP = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9}}\n\n'
WHOLE = (HELLO + STOP + "data: [DONE]\n\n").encode()
TEXT = "Größe ☂"
EVENTS = "Content-Type: text/event-stream"

Answer = Callable[[socket.socket], None]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """The endpoint of a server that reads one request, lets `answer` do as it likes, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                _read_request(connection)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        thread.join()


def _read_request(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)


def head(*lines: str, status: str = "HTTP/1.1 200 OK") -> bytes:
    return "".join(f"{line}\r\n" for line in (status, *lines, "")).encode()


def chunked(body: bytes, size: int = 7) -> bytes:
    pieces = (body[at : at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


def sending(*pieces: bytes, pause: float = 0) -> Answer:
    def answer(connection: socket.socket) -> None:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause)

    return answer


def then_nothing(*pieces: bytes, seconds: float = 10) -> Answer:
    """Sends the pieces, and then leaves the connection open until the client closes it."""

    def answer(connection: socket.socket) -> None:
        sending(*pieces)(connection)
        connection.settimeout(seconds)
        assert connection.recv(1) == b""

    return answer


def told_by(answer: Answer, *, timeout: float = 5, seconds: float = 5) -> tuple[str, Ended]:
    """What the narrator tells: its text and its end."""

    async def listen(endpoint: str) -> list[Said | Ended]:
        policy = EndpointPolicy()
        async with policed_client(policy) as client, asyncio.timeout(seconds):
            narrator = OpenAICompatibleNarrator(client, policy, connect_seconds=0.5)
            return [piece async for piece in narrator.stream(NarratorRequest(endpoint, "chat", b"{}", timeout))]

    with answering(answer) as endpoint:
        *said, ended = asyncio.run(listen(endpoint))
    assert isinstance(ended, Ended)
    return "".join(piece.text for piece in said if isinstance(piece, Said)), ended


GOOD = {
    "chunks of seven bytes": (head(EVENTS, "Transfer-Encoding: chunked"), chunked(WHOLE), b"0\r\n\r\n"),
    "trailers": (
        head(EVENTS, "Transfer-Encoding: chunked", "Trailer: X-Sum"),
        chunked(WHOLE),
        b"0\r\nX-Sum: 1\r\n\r\n",
    ),
    "HTTP/1.0 without a length": (head(EVENTS, status="HTTP/1.0 200 OK"), WHOLE),
    "a length": (head(EVENTS, f"Content-Length: {len(WHOLE)}"), WHOLE),
    "gzip that nobody asked for": (head(EVENTS, "Content-Encoding: gzip", "Connection: close"), gzip.compress(WHOLE)),
    "text/plain": (head("Content-Type: text/plain", "Connection: close"), WHOLE),
    "another charset": (head(f"{EVENTS}; charset=iso-8859-1", "Connection: close"), WHOLE),
    "no content type": (head("Connection: close"), WHOLE),
    "early hints": (head("Link: </x>", status="HTTP/1.1 103 Early Hints"), head(EVENTS, "Connection: close"), WHOLE),
    "a whole reply": (
        head("Content-Type: application/json", "Connection: close"),
        json.dumps({"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}).encode(),
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_each_way_to_deliver_a_reply_is_understood(name: str) -> None:
    text, ended = told_by(sending(*GOOD[name]))
    assert (text, ended.finish_reason) == (TEXT, "stop")


def test_a_byte_at_a_time_is_time_enough() -> None:
    body = ('data: {"choices":[{"delta":{"content":"☂"},"finish_reason":"stop"}]}\n\n').encode()
    pieces = (head(EVENTS, "Transfer-Encoding: chunked"), *(chunked(body[at : at + 1]) for at in range(len(body))))
    assert told_by(sending(*pieces, b"0\r\n\r\n", pause=0.001))[0] == "☂"


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"20\r\ndata: {", id="in the middle of a chunk"),
        pytest.param(b"", id="between two chunks"),
        pytest.param(b"zz\r\n", id="with a length that is none"),
    ],
)
def test_a_server_that_closes_too_early_leaves_an_incomplete_reply(rest: bytes) -> None:
    opening = head(EVENTS, "Transfer-Encoding: chunked") + chunked(HELLO.encode()) + rest
    with pytest.raises(ModelReplyIncomplete, match="the connection broke") as caught:
        told_by(sending(opening))
    assert caught.value.partial == TEXT


def test_an_early_close_after_the_finish_reason_does_no_harm() -> None:
    opening = head(EVENTS, "Transfer-Encoding: chunked") + chunked((HELLO + STOP).encode()) + b"20\r\ndata"
    text, ended = told_by(sending(opening))
    assert (text, ended.usage.prompt_tokens) == (TEXT, 9)


def test_a_reset_is_an_incomplete_reply() -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(head(EVENTS, "Transfer-Encoding: chunked") + chunked(HELLO.encode()))
        time.sleep(0.1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with pytest.raises(ModelReplyIncomplete) as caught:
        told_by(answer)
    assert caught.value.partial == TEXT


def test_gzip_that_is_broken_is_an_incomplete_reply() -> None:
    with pytest.raises(ModelReplyIncomplete):
        told_by(sending(head(EVENTS, "Content-Encoding: gzip", "Connection: close"), b"no gzip at all"))


# --- Other answers than 200 ---


@pytest.mark.parametrize(
    ("status", "lines", "body", "said"),
    [
        ("204 No Content", (), b"", "HTTP 204: it gave no reason"),
        ("206 Partial Content", (), b"a part", "HTTP 206: a part"),
        (
            "301 Moved Permanently",
            ("Location: https://8.8.8.8/v1",),
            b"",
            "HTTP 301: it redirects to https://8.8.8.8/v1",
        ),
        ("304 Not Modified", (), b"", "HTTP 304: it gave no reason"),
        ("401 Unauthorized", (), b'{"error":"no key"}', "HTTP 401: no key; a key for it goes into FABULA_API_KEY"),
        ("403 Forbidden", (), b"", "HTTP 403: a key for it goes into FABULA_API_KEY"),
        ("429 Too Many Requests", ("Retry-After: 20",), b"slow", "429: slow; it asks to be left alone for 20 seconds"),
        (
            "503 Service Unavailable",
            ("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT",),
            b'{"error":{"message":"Loading model"}}',
            "HTTP 503: Loading model; it asks to wait until Wed, 21 Oct 2026 07:28:00 GMT",
        ),
        ("418 I'm a teapot", (), b"\xff\x00\x1b[31m", "HTTP 418: "),
        ("500 Oops", (), b'{"error":{"message":"Context size has been exceeded."}}', "lower `context_budget`"),
    ],
)
def test_each_other_status_is_a_refusal_that_says_why(
    status: str, lines: tuple[str, ...], body: bytes, said: str
) -> None:
    with pytest.raises(ModelRefused) as caught:
        told_by(sending(head("Connection: close", *lines, status=f"HTTP/1.1 {status}"), body))
    assert said in caught.value.message
    assert caught.value.message.isprintable()


def test_what_is_no_http_is_unreachable() -> None:
    with pytest.raises(ModelUnreachable, match="closed the connection"):
        told_by(sending(b"SSH-2.0-OpenSSH_9.6\r\n"))


# --- Time ---


def ended_within(answer: Answer, *, timeout: float, seconds: float) -> FabulaError:
    """The failure, which must come when the narrator's patience ends and not much later."""
    started = time.monotonic()
    with pytest.raises(ModelTimeout) as caught:
        told_by(answer, timeout=timeout)
    assert timeout <= time.monotonic() - started < seconds
    return caught.value


def drip(piece: bytes, *opening: bytes) -> Answer:
    """Says nothing, but keeps saying it, until the client goes away."""

    def answer(connection: socket.socket) -> None:
        sending(*opening)(connection)
        for _ in range(200):
            connection.sendall(piece)
            time.sleep(0.05)

    return answer


OPENING = head(EVENTS, "Transfer-Encoding: chunked")


@pytest.mark.parametrize(
    ("answer", "partial"),
    [
        pytest.param(then_nothing(), "", id="nothing at all"),
        pytest.param(then_nothing(b"HTTP/1.1 200 OK\r\nContent-Ty"), "", id="half a header"),
        pytest.param(drip(b"X", b"HTTP/1.1 200 OK\r\nX-Header: "), "", id="a header without end"),
        pytest.param(drip(head(status="HTTP/1.1 102 Processing")), "", id="that it is on its way"),
        pytest.param(then_nothing(OPENING), "", id="headers alone"),
        pytest.param(drip(chunked(b": ping\n\n"), OPENING), "", id="pings alone"),
        pytest.param(drip(chunked(b"event: ping\ndata: {}\n\n", 99), OPENING), "", id="events called ping"),
        pytest.param(drip(chunked(b"data:\n\n"), OPENING), "", id="empty data"),
        pytest.param(drip(chunked(b" ", 1), OPENING, chunked(HELLO.encode())), TEXT, id="white space after words"),
        pytest.param(drip(chunked(b": ping\n\n"), OPENING, chunked(HELLO.encode())), TEXT, id="pings after words"),
        pytest.param(then_nothing(OPENING, chunked(HELLO.encode())), TEXT, id="nothing after words"),
        pytest.param(then_nothing(OPENING, b"20\r\ndata"), "", id="half a chunk"),
    ],
)
def test_a_stall_ends_with_the_narrators_patience(answer: Answer, partial: str) -> None:
    failure = ended_within(answer, timeout=0.3, seconds=2)
    assert isinstance(failure, ModelTimeout)
    assert failure.partial == partial


def test_a_stall_after_the_finish_reason_does_not_cost_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.model_server._CLOSING_SECONDS", 0.2)
    started = time.monotonic()
    text, ended = told_by(then_nothing(OPENING, chunked((HELLO + STOP).encode())), timeout=60)
    assert (text, ended.finish_reason, ended.usage.prompt_tokens) == (TEXT, "stop", 9)
    assert time.monotonic() - started < 3


def test_the_patience_is_what_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float] = []
    stream = OpenAICompatibleNarrator.stream

    def observed(self: OpenAICompatibleNarrator, request: NarratorRequest) -> AsyncGenerator[Said | Ended, None]:
        patience.append(request.timeout_seconds)
        return stream(self, request)

    monkeypatch.setattr(OpenAICompatibleNarrator, "stream", observed)
    with ScriptedModelServer() as model, serving(tmp_path, model.endpoint) as server, server.client() as client:
        story = client.post("/api/campaigns", json={"opening": "A door."}).json()["id"]
        for seconds in (None, 30, 3600):
            if seconds:
                client.patch("/api/settings", json={"model_timeout_seconds": seconds})
            assert client.post(f"/api/campaigns/{story}/turns", json={"kind": "continue"}).status_code == 200
    assert patience == [300, 30, 3600]


def test_the_list_of_models_has_a_time_limit_of_its_own() -> None:
    async def ask(endpoint: str) -> None:
        policy = EndpointPolicy()
        async with policed_client(policy) as client:
            await OpenAICompatibleNarrator(client, policy, models_seconds=0.3).models(endpoint)

    for answer in (drip(b"X", b"HTTP/1.1 200 OK\r\nX-Header: "), drip(chunked(b" ", 1), OPENING)):
        started = time.monotonic()
        with answering(answer) as endpoint, pytest.raises((ModelUnreachable, ModelRefused)):
            asyncio.run(ask(endpoint))
        assert time.monotonic() - started < 3
