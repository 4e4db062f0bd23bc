"""Who may ask, and how much at once: checked before any route sees the request."""

import hmac
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problems import RequestProblem, problem_response
from domain.errors import FabulaError

MAX_BODY = 1024 * 1024
"""The most bytes that a request's body may have."""

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Guard:
    """ASGI middleware: the host that is named, the origin that asks, the token, the size of the body.

    A web page elsewhere can make a browser send requests here. It cannot choose the `Host` and `Origin` that the
    browser puts on them.
    """

    def __init__(self, app: ASGIApp, *, allowed_hosts: Iterable[str] = (), token: str = "") -> None:
        self._app = app
        self._allowed_hosts = frozenset(host.strip().lower() for host in allowed_hosts if host.strip())
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what may pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        if refusal is not None:
            await problem_response(refusal, _challenge(refusal))(scope, receive, send)
            return
        await self._passed(scope, receive, send)

    async def _passed(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _hardened(message.get("headers", ()))}
            await send(message)

        await self._app(scope, _BoundedBody(receive).receive, hardened)

    def _refusal(self, method: str, path: str, headers: Headers) -> FabulaError | None:
        if not self._host_allowed(headers.get("host", "")):
            return _host_not_allowed(headers.get("host", ""))
        origin = headers.get("origin")
        if method not in _SAFE_METHODS and origin is not None and not self._is_ours(origin, headers.get("host", "")):
            return _origin_not_allowed(origin)
        if self._token and path.startswith("/api") and not self._has_token(headers):
            return _token_required()
        length = headers.get("content-length", "")
        return _too_large() if length.isdecimal() and int(length) > MAX_BODY else None

    def _host_allowed(self, host: str) -> bool:
        name = _name_of(f"//{host}")
        return name in self._allowed_hosts or _is_loopback(name)

    def _is_ours(self, origin: str, host: str) -> bool:
        """A page of this very server, by name and port."""
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)


class _BoundedBody:
    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > MAX_BODY:
            raise _too_large()
        return message


def _hardened(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    named = {name.lower() for name, _ in given}
    added = ((name.encode(), value.encode()) for name, value in _SECURITY_HEADERS.items())
    return given + [header for header in added if header[0] not in named]


def _name_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _challenge(refusal: FabulaError) -> Mapping[str, str]:
    return {"WWW-Authenticate": "Bearer"} if refusal.code == "token_required" else {}


def _host_not_allowed(host: str) -> FabulaError:
    return RequestProblem(
        "host_not_allowed",
        "The host is not allowed",
        f"Requests must name this server by a loopback address, not {host!r}. Set FABULA_ALLOWED_HOSTS to allow a name.",
    )


def _origin_not_allowed(origin: str) -> FabulaError:
    return RequestProblem(
        "origin_not_allowed",
        "The origin is not allowed",
        f"A page of {origin!r} may not change anything here. Ask from this server's own pages, or without a browser.",
    )


def _token_required() -> FabulaError:
    return RequestProblem(
        "token_required",
        "A token is required",
        "Send the token that this server was started with (FABULA_TOKEN) as `Authorization: Bearer …`.",
    )


def _too_large() -> FabulaError:
    return RequestProblem(
        "too_large",
        "The body is too large",
        f"A body may have {MAX_BODY:,} bytes at most. Nothing was changed.",
        limit=MAX_BODY,
    )
