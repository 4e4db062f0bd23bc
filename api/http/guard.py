"""Who may ask: checked before any route sees the request."""

import hmac
import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.problems import problem_response
from api.http.refusals import HostNotAllowed, OriginNotAllowed, RequestProblem, TokenRequired

OPEN_PATHS = frozenset(
    ("/", "/openapi.json", "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js")
)
"""What can be read without the token: the description of the API, the page that shows it and the way there. They hold no story."""

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^\[\]:/@?#\s]+)(?::[0-9]{1,5})?", re.ASCII)


class Guard:
    """ASGI middleware: the host that is named, the origin that asks, the token.

    A web page elsewhere can make a browser send requests here. It cannot choose the `Host` and `Origin` that the
    browser puts on them.
    """

    def __init__(self, app: ASGIApp, *, allowed_hosts: Iterable[str] = (), token: str = "") -> None:
        self._app = app
        self._allowed_hosts = frozenset(filter(None, map(_name_of, allowed_hosts)))
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what may pass."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        app = self._app if refusal is None else problem_response(refusal)
        await app(scope, receive, send)

    def _refusal(self, scope: Scope) -> RequestProblem | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._host_allowed(host):
            return HostNotAllowed(host)
        if scope["method"] not in _SAFE_METHODS and origin is not None and not _same_place(origin, host):
            return OriginNotAllowed(origin)
        if self._token and scope["path"] not in OPEN_PATHS and not self._has_token(headers):
            return TokenRequired()
        return None

    def _host_allowed(self, host: str) -> bool:
        name = _name_of(host)
        return name in self._allowed_hosts or _is_loopback(name)

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Headers are bytes, which Starlette reads as Latin-1; a token is compared as the bytes that it was sent as.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("latin-1"), self._token)


def _same_place(origin: str, host: str) -> bool:
    """Whether the origin is a page of this very server, by name and port."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _name_of(host: str) -> str:
    """The name or address in a `Host`, in lower case, without port and brackets; empty when it is none."""
    found = _HOST.fullmatch(host.strip())
    return found["name"].strip("[]").lower() if found else ""


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
