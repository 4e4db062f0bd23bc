"""Who may ask and how much at once, layer by layer, without a server."""

import asyncio
import hmac
from collections.abc import Sequence

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from api.http.bounded_body import MAX_BODY, MOST_DISCARDED, BoundedBody
from api.http.guard import OPEN_PATHS, Guard
from api.http.last_resort import LastResort
from api.http.refusals import TooLarge
from api.http.security_headers import SecurityHeaders

Sent = list[Message]


async def _let_in(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("let in")(scope, receive, send)


def _ask(
    app: object, method: str = "GET", path: str = "/api/health", body: Sequence[Message] = (), **headers: str | bytes
) -> Sent:
    sent: Sent = []
    messages = list(body) or [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [
        (name.replace("_", "-").encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in headers.items()
    ]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
    asyncio.run(app(scope, receive, send))  # type: ignore[operator]  # an ASGI app
    return sent


def _status(sent: Sent) -> int:
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8420",
        "127.0.0.1",
        "127.0.0.1:8420",
        "127.1.2.3",
        "[::1]",
        "[::1]:8420",
        "fabula.lan",
        "Fabula.LAN:1",
        "10.0.0.5",
    ],
)
def test_hosts_that_are_ours(host: str) -> None:
    assert _status(_ask(Guard(_let_in, allowed_hosts=["fabula.lan", "10.0.0.5:8420"]), host=host)) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        " ",
        "elsewhere.example",
        "localhost.elsewhere.example",
        "127.0.0.1.elsewhere.example",
        "elsewhere.example@127.0.0.1",
        "127.0.0.1/elsewhere.example",
        "127.0.0.1#elsewhere.example",
        "127.0.0.1?x",
        "127.0.0.1:8420:1",
        "127.0.0.1:x",
        "127.0.0.1, elsewhere.example",
        "[::1",
        "::1",
        "[::1]x",
        "0.0.0.0",
        "[::]",
        "10.0.0.6",
        "2130706433",
        "127.1",
        "localhost.",
        "xn--localhost",
        "１２７.0.0.1",
        "localhost\u00a0",
        "\xff",
    ],
)
def test_hosts_that_are_not_ours(host: str) -> None:
    assert _status(_ask(Guard(_let_in, allowed_hosts=["fabula.lan", "", "10.0.0.5"]), host=host.encode())) == 400


def test_no_host_at_all() -> None:
    assert _status(_ask(Guard(_let_in))) == 400
    assert _status(_ask(Guard(_let_in, allowed_hosts=["", " ", ","]))) == 400


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "NONSENSE"])
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8420", 200),
        ("HTTP://LOCALHOST:8420", 200),
        ("https://localhost:8420", 200),
        ("http://localhost", 403),
        ("http://localhost:8421", 403),
        ("http://127.0.0.1:8420", 403),
        ("http://localhost:8420.elsewhere.example", 403),
        ("http://elsewhere.example", 403),
        ("null", 403),
        ("", 403),
        ("http://[", 403),
        ("ftp://localhost:8420", 403),
        ("localhost:8420", 403),
        ("chrome-extension://abc", 403),
    ],
)
def test_origins_that_may_change_something(method: str, origin: str, status: int) -> None:
    assert _status(_ask(Guard(_let_in), method, host="localhost:8420", origin=origin)) == status


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_reading_asks_for_no_origin(method: str) -> None:
    assert _status(_ask(Guard(_let_in), method, host="localhost", origin="http://elsewhere.example")) == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (b"Bearer secret", 200),
        (b"bearer secret", 200),
        (b"BEARER   secret ", 200),
        (b"Bearer secre", 401),
        (b"Bearer secrett", 401),
        (b"Bearer SECRET", 401),
        (b"Bearer", 401),
        (b"secret", 401),
        (b"Basic secret", 401),
        (b"", 401),
        (b"Bearer \xff\xfe", 401),
    ],
)
def test_the_token(given: bytes, status: int) -> None:
    sent = _ask(Guard(_let_in, token="secret"), host="localhost", authorization=given)
    assert _status(sent) == status
    assert ((b"www-authenticate", b"Bearer") in sent[0]["headers"]) is (status == 401)


def test_a_token_beyond_ascii() -> None:
    guard = Guard(_let_in, token="schlüssel")
    assert _status(_ask(guard, host="localhost", authorization="Bearer schlüssel".encode())) == 200
    assert _status(_ask(guard, host="localhost", authorization="Bearer schlüssel".encode("latin-1"))) == 401


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    genuine = hmac.compare_digest

    def compare(given: bytes, token: bytes) -> bool:
        compared.append((given, token))
        return genuine(given, token)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    _ask(Guard(_let_in, token="secret"), host="localhost", authorization="Bearer other")
    assert compared == [(b"other", b"secret")]


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
def test_the_documentation_needs_no_token(path: str) -> None:
    assert _status(_ask(Guard(_let_in, token="secret"), path=path, host="localhost")) == 200
    assert _status(_ask(Guard(_let_in, token="secret"), path=path, host="elsewhere.example")) == 400


@pytest.mark.parametrize(
    "path", ["/api", "/api/health", "/docs/", "/docs/other", "/openapi.json/", "/OPENAPI.JSON", "//docs"]
)
def test_everything_else_needs_it(path: str) -> None:
    assert _status(_ask(Guard(_let_in, token="secret"), path=path, host="localhost")) == 401


# Bodies


async def _reading(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the whole body and says how long it was, or that it was too much."""
    size, more = 0, True
    try:
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
    except TooLarge:
        await PlainTextResponse("too large", 413)(scope, receive, send)
        return
    await PlainTextResponse(str(size))(scope, receive, send)


def _body(*sizes: int) -> list[Message]:
    parts: list[Message] = [{"type": "http.request", "body": b"a" * size, "more_body": True} for size in sizes]
    parts[-1]["more_body"] = False
    return parts


@pytest.mark.parametrize(
    ("sizes", "status"),
    [
        ((0,), 200),
        ((MAX_BODY,), 200),
        ((MAX_BODY - 1, 1), 200),
        ((MAX_BODY, 0), 200),
        ((MAX_BODY + 1,), 413),
        ((MAX_BODY, 1), 413),
        ((1,) * 3 + (MAX_BODY,), 413),
    ],
)
def test_a_body_is_bounded_however_it_comes(sizes: tuple[int, ...], status: int) -> None:
    assert _status(_ask(BoundedBody(_reading), "POST", body=_body(*sizes))) == status


def test_a_declared_length_is_judged_before_anything_is_read() -> None:
    messages = _body(1, 1)
    sent = _ask(BoundedBody(_reading), "POST", body=messages, content_length=str(MAX_BODY + 1))
    assert _status(sent) == 413
    assert _status(_ask(BoundedBody(_reading), "POST", body=_body(5), content_length=str(MAX_BODY))) == 200


@pytest.mark.parametrize("declared", ["", "x", "-1", "1e9", "²", "9" * 30])
def test_a_length_that_is_none_breaks_nothing(declared: str) -> None:
    status = _status(_ask(BoundedBody(_reading), "POST", body=_body(5), content_length=declared))
    assert status == (413 if declared == "9" * 30 else 200)


class _Source:
    """A body without an end, that counts how much of it was taken."""

    def __init__(self) -> None:
        self.taken = 0

    async def receive(self) -> Message:
        self.taken += 65_536
        return {"type": "http.request", "body": b"a" * 65_536, "more_body": True}


def _answered(source: _Source, **headers: str) -> Sent:
    sent: Sent = []

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": raw}
    asyncio.run(BoundedBody(_let_in)(scope, source.receive, send))
    return sent


def test_a_body_that_nobody_wanted_is_thrown_away_before_the_answer_but_not_without_end() -> None:
    source = _Source()
    assert _status(_answered(source)) == 200
    assert MAX_BODY < source.taken <= MOST_DISCARDED + 65_536


def test_a_client_that_waits_to_be_asked_is_not_asked() -> None:
    source = _Source()
    assert _status(_answered(source, expect="100-Continue")) == 200
    assert source.taken == 0


# What breaks


async def _broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise RuntimeError("a secret of the story")


async def _breaking_off(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError("a secret of the story")


def test_what_breaks_before_the_answer_is_a_problem(capfd: pytest.CaptureFixture[str]) -> None:
    sent = _ask(LastResort(_broken))
    assert _status(sent) == 500
    assert b'"internal_error"' in sent[1]["body"]
    assert b"secret" not in sent[1]["body"]


def test_what_breaks_off_is_cut_off_and_not_raised() -> None:
    assert [message["type"] for message in _ask(LastResort(_breaking_off))] == ["http.response.start"]


def test_headers_that_an_answer_sets_are_its_own() -> None:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("", headers={"Content-Security-Policy": "mine"})(scope, receive, send)

    headers = dict(_ask(SecurityHeaders(answer))[0]["headers"])
    assert headers[b"content-security-policy"] == b"mine"
    assert headers[b"x-content-type-options"] == b"nosniff"


@pytest.mark.parametrize("layer", [Guard, BoundedBody, LastResort, SecurityHeaders])
def test_what_is_no_request_passes(layer: type) -> None:
    passed: list[str] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        passed.append(scope["type"])

    async def nothing() -> Message:
        return {}

    async def drop(_: Message) -> None: ...

    asyncio.run(layer(app)({"type": "lifespan"}, nothing, drop))
    assert passed == ["lifespan"]
