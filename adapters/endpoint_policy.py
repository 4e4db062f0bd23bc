"""Which model servers may be asked: those on this machine and in private networks, and nobody else.

An endpoint is judged twice: when a setting is saved (`EndpointPolicy.check`), and by the connection itself, since the
only HTTP client for model servers (`policed_client`) resolves names here, judges every address that a name has, and
connects to an address that was judged. A name that changes its mind between the two gains nothing.

An IPv4 address is judged by its meaning, as browsers read it: 127.1, 2130706433 and 0x7f000001 are 127.0.0.1.
"""

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import anyio.to_thread
import certifi
import httpcore
import httpx
import truststore

from domain.errors import EndpointRefused

CONNECT_SECONDS = 10.0
# llama.cpp closes an idle connection after 5 seconds; a request must not meet the closing one.
_KEEPALIVE_SECONDS = 2.0
_LONGEST_URL = 2_000
_LONGEST_NUMBER = 64
_IPV4_BYTES = 4
_LAST_PORT = 65535

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Sequence[str]]
"""Every address of a name, for a port, as text. May block. Raises OSError when the name has none."""

_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-fA-F:.]*\]|[A-Za-z0-9._-]*)(?P<port>:[0-9]*)?")

_ALLOWED: tuple[IPv4Network | IPv6Network, ...] = tuple(
    map(
        ip_network,
        ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "100.64.0.0/10"),
    )
)
_NEVER: tuple[tuple[IPv4Network | IPv6Network, str], ...] = tuple(
    (ip_network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "an unspecified address"),
        ("::/128", "an unspecified address"),
        ("169.254.0.0/16", "a link-local address"),
        ("fe80::/10", "a link-local address"),
        ("100.100.100.200/32", "a cloud's metadata service"),
        ("fd00:ec2::254/128", "a cloud's metadata service"),
        ("fd00:ec2::23/128", "a cloud's metadata service"),
        ("fd20:ce::254/128", "a cloud's metadata service"),
        ("fd00:42::42/128", "a cloud's metadata service"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("224.0.0.0/4", "a multicast address"),
        ("ff00::/8", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("192.0.0.0/24", "a reserved address"),
        ("3fff::/20", "an address for documentation"),
        ("64:ff9b::/96", "an IPv4 address behind NAT64"),
        ("64:ff9b:1::/48", "an IPv4 address behind NAT64"),
        ("2002::/16", "an IPv4 address behind 6to4"),
        ("192.88.99.0/24", "an IPv4 address behind 6to4"),
        ("2001::/32", "an IPv4 address behind Teredo"),
    )
)
# IPv6 is handed out of this network alone. The rest holds site-local addresses and translated ones, as ::ffff:0:0:0/96,
# some of which the standard library takes for public.
_GLOBAL_IPV6 = IPv6Network("2000::/3")


class AddressRefused(Exception):
    """A host is, or resolves to, an address that the policy refuses. Its text is the reason."""


class NameUnresolved(Exception):
    """A host name has no address here. Its text says so."""


def resolved_by_the_system(host: str, port: int) -> Sequence[str]:
    """Every address that the operating system knows for the name. Blocks."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


@dataclass(frozen=True)
class EndpointPolicy:
    """The judge. `public_endpoints` are those that the environment of the process allows by their exact URL.

    Even those never lead to link-local, multicast, metadata or translated addresses. Raises EndpointRefused for one
    that is no well-formed URL, or that spells such an address.
    """

    public_endpoints: frozenset[str] = frozenset()
    resolve: Resolver = resolved_by_the_system

    def __post_init__(self) -> None:
        for endpoint in self.public_endpoints:
            why = refusal_of_public(endpoint)
            if why is not None:
                raise EndpointRefused(shown(endpoint), why)

    def check(self, endpoint: str) -> None:
        """Raise EndpointRefused unless the URL is well formed and every address of its host is allowed.

        A name that does not resolve cannot be judged and is refused. Blocks while the name is resolved.
        """
        url = self.check_form(endpoint)
        try:
            self._judged(_host(url), _port(url), public_allowed=self.is_public(endpoint))
        except (AddressRefused, NameUnresolved) as refusal:
            raise EndpointRefused(shown(endpoint), str(refusal)) from None

    def check_form(self, endpoint: str) -> httpx.URL:
        """The endpoint as a URL, its host a name or an allowed address. Raises EndpointRefused. Resolves nothing.

        Requests are made to this URL: an IPv4 address stands there in its usual spelling.
        """
        try:
            url = _url(endpoint)
            _judged_literal(_host(url), public_allowed=self.is_public(endpoint))
        except (Misspelt, AddressRefused) as refusal:
            raise EndpointRefused(shown(endpoint), str(refusal)) from None
        if not self.is_public(endpoint) and (_host(url), _port(url)) in self._public_places:
            raise EndpointRefused(shown(endpoint), "the environment allows another URL of this host, and only that")
        return url

    def is_public(self, endpoint: str) -> bool:
        """Whether the environment names this endpoint, and so allows it although it is public."""
        return endpoint.rstrip("/") in {public.rstrip("/") for public in self.public_endpoints}

    def judged(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses to connect to, all of them allowed. Raises AddressRefused or NameUnresolved. Blocks."""
        return self._judged(host, port, public_allowed=(host, port) in self._public_places)

    def _judged(self, host: str, port: int, *, public_allowed: bool) -> tuple[str, ...]:
        literal = _judged_literal(host, public_allowed=public_allowed)
        if literal is not None:
            return (literal,)
        addresses = self._addresses(host, port)
        for address in addresses:
            why = refusal_of(address, public_allowed=public_allowed)
            if why is not None:
                raise AddressRefused(f"its name resolves to {address}, {why}")
        return tuple(dict.fromkeys(map(str, addresses)))

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        try:
            addresses = [_unmapped(ip_address(found)) for found in self.resolve(host, port)]
        except (OSError, ValueError):  # a UnicodeError, for a name that cannot be asked for, is a ValueError
            addresses = []
        if not addresses:
            raise NameUnresolved("its name does not resolve to an address here")
        return addresses

    @property
    def _public_places(self) -> frozenset[tuple[str, int]]:
        urls = map(_url, self.public_endpoints)
        return frozenset((_host(url), _port(url)) for url in urls)


def refusal_of_public(endpoint: str) -> str | None:
    """Why not even the environment may allow the endpoint, as words to stand after it; None when it may."""
    try:
        _judged_literal(_host(_url(endpoint)), public_allowed=True)
    except (Misspelt, AddressRefused) as refusal:
        return str(refusal)
    return None


def _judged_literal(host: str, *, public_allowed: bool) -> str | None:
    address = literal_address(host)
    if address is None:
        return None
    why = refusal_of(address, public_allowed=public_allowed)
    if why is not None:
        raise AddressRefused(f"{address} is {why}")
    return str(address)


def refusal_of(address: Address, *, public_allowed: bool = False) -> str | None:
    """What the address is, as words to stand after "is", if it is refused; None when it is allowed."""
    judged = _unmapped(address)
    for network, kind in _NEVER:
        if judged in network:
            return kind
    if any(judged in network for network in _ALLOWED) or (public_allowed and _is_public(judged)):
        return None
    return "an address neither on this machine nor in a private network"


def _is_public(address: Address) -> bool:
    return address.is_global and (isinstance(address, IPv4Address) or address in _GLOBAL_IPV6)


def literal_address(host: str) -> Address | None:
    """The address that the host spells, in any of IPv4's spellings; None for a name.

    Raises AddressRefused for what looks like an address and is none. Source: the host parser of the URL standard.
    """
    if ":" in host:
        try:
            return _unmapped(IPv6Address(host))
        except ValueError:
            raise AddressRefused("its host is not an address") from None
    parts = host.removesuffix(".").split(".")
    if not re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]*", parts[-1]):
        return None
    return IPv4Address(_ipv4_number([_number(part) for part in parts]))


def _ipv4_number(parts: Sequence[int]) -> int:
    """The last part fills all the bytes that the parts before it leave."""
    *leading, last = parts
    rest = _IPV4_BYTES - len(leading)
    if rest < 1 or any(part >= 1 << 8 for part in leading) or last >= 1 << (8 * rest):
        raise AddressRefused("its host is not an address")
    return sum(part << (8 * (3 - place)) for place, part in enumerate(leading)) + last


def _number(part: str) -> int:
    base = 16 if part[:2] in {"0x", "0X"} else 8 if part.startswith("0") else 10
    if not part.isalnum() or len(part) > _LONGEST_NUMBER:
        raise AddressRefused("its host is not an address")
    try:
        return int(part, base)
    except ValueError:
        raise AddressRefused("its host is not an address") from None


def _unmapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def _host(url: httpx.URL) -> str:
    """The host as it is connected to: httpx's own `host` would turn a name back from punycode."""
    return url.raw_host.decode("ascii")


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


class Misspelt(Exception):
    """No well-formed endpoint. Its text is the reason."""


def _url(endpoint: str) -> httpx.URL:
    """The endpoint as a URL, an IPv4 address in its usual spelling. Raises Misspelt, and AddressRefused as it is read.

    Nothing is left to guess at: what programs have been seen to read in different ways is refused.
    """
    if len(endpoint) > _LONGEST_URL:
        raise Misspelt("it is longer than an address can be")
    if not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
        raise Misspelt("it has characters that no address has")
    if "\\" in endpoint:
        raise Misspelt("it has a backslash")
    parts = re.fullmatch(r"(https?)://([^/?#]*)([^?#]*)(.*)", endpoint, re.IGNORECASE)
    if parts is None:
        raise Misspelt("it is not an http or https URL")
    scheme, authority, path, rest = parts.groups()
    if "@" in authority:
        raise Misspelt("it holds a user name or a password")
    if rest:
        raise Misspelt("it has a query or a fragment, which an endpoint has not")
    return _parsed(f"{scheme}://{_usual(authority)}{path}")


def _usual(authority: str) -> str:
    """Host and port, an IPv4 address in its usual spelling."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise Misspelt("its host is neither a name nor an address, or its port is no number")
    host, port = found["host"], found["port"] or ""
    if not host:
        raise Misspelt("it names no host")
    if len(port) > 1 and not 0 < int(port[1:][:_LONGEST_NUMBER]) <= _LAST_PORT:
        raise Misspelt(f"its port is not between 1 and {_LAST_PORT}")
    literal = None if host.startswith("[") else literal_address(host)
    return f"{host if literal is None else literal}{port}"


def _parsed(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
        parsed.host  # noqa: B018  # reads punycode, of which httpx takes note only here
    except (httpx.InvalidURL, UnicodeError):
        raise Misspelt("it is not a URL") from None
    return parsed


def shown(url: str) -> str:
    """The URL as it may be shown and logged: without user info, query and fragment, and not too long."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    hidden = re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*:(?=//))?.*@", r"\1//…@", bare, flags=re.DOTALL)
    return hidden if len(hidden) <= _LONGEST_URL else hidden[:_LONGEST_URL] + "…"


def policed_client(policy: EndpointPolicy, *, connect_seconds: float = CONNECT_SECONDS) -> httpx.AsyncClient:
    """The only client for model servers; whoever builds it closes it. Nothing else in the program builds one.

    It connects only where the policy allows (else EndpointRefused), follows no redirect, ignores proxy variables, keeps
    no cookie, and asks for no compression, so that a reply streams. Reading has no time limit unless a request sets one.
    """
    return httpx.AsyncClient(
        transport=_PolicedTransport(policy),
        timeout=httpx.Timeout(None, connect=connect_seconds),
        follow_redirects=False,
        trust_env=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers={"Accept-Encoding": "identity", "User-Agent": "fabula"},
    )


@cache
def _trust() -> ssl.SSLContext:
    """The operating system's trust store and certifi's. Reading certifi's takes 20 ms, so it is read once."""
    context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certifi.where())
    return context


class _PolicedTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport over a pool that connects through the judge."""

    def __init__(self, policy: EndpointPolicy) -> None:
        super().__init__(verify=_trust(), trust_env=False)
        # httpx has no parameter for this; the lock pins the version, and the tests meet a real connection.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_trust(),
            max_connections=None,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=_JudgingBackend(policy),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except AddressRefused as refusal:
            why = str(refusal)
        # Outside the handler: an error must not drag along the request and its Authorization header.
        raise EndpointRefused(shown(str(request.url.copy_with(raw_path=b"/"))), why)


class _JudgingBackend(httpcore.AsyncNetworkBackend):
    """Opens connections, each to an address that was judged just before. TLS and Host keep the name they were given."""

    def __init__(self, policy: EndpointPolicy) -> None:
        self._policy = policy
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        deadline = None if timeout is None else time.monotonic() + timeout
        addresses = await self._judged(host, port, timeout)
        for place, address in enumerate(addresses, start=1):
            # A dead address must leave time for those after it.
            share = None if deadline is None else (deadline - time.monotonic()) / (len(addresses) - place + 1)
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses):
                    raise
        raise httpcore.ConnectError("its name does not resolve to an address here")

    async def _judged(self, host: str, port: int, seconds: float | None) -> tuple[str, ...]:
        literal = literal_address(host)
        if literal is not None:
            return self._policy.judged(host, port)
        try:
            with anyio.fail_after(seconds):
                return await anyio.to_thread.run_sync(self._policy.judged, host, port, abandon_on_cancel=True)
        except TimeoutError:
            raise httpcore.ConnectTimeout("its name took too long to resolve") from None
        except NameUnresolved as unresolved:
            raise httpcore.ConnectError(str(unresolved)) from None
