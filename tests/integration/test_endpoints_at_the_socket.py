"""The endpoint policy where it counts: what a listening socket sees of a narrator, a window probe and a whole Fabula."""

import asyncio
import hashlib
import os
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509

from adapters.endpoint_policy import EndpointPolicy, _trust, policed_client
from adapters.model_server import OpenAICompatibleNarrator
from adapters.window_probe import ServerWindowProbe
from domain.errors import EndpointRefused, ModelRefused, ModelUnreachable
from domain.ports import NarratorRequest
from domain.prompt.events import Window
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.fakes.serving import Serving, serving
from tests.shapes import problem

ROOT = Path(__file__).parents[2]
Ask = Callable[[OpenAICompatibleNarrator, ServerWindowProbe, str], Awaitable[object]]


async def tell(narrator: OpenAICompatibleNarrator, _probe: ServerWindowProbe, endpoint: str) -> object:
    return [piece async for piece in narrator.stream(NarratorRequest(endpoint, "chat", b"{}", 5))]


async def list_models(narrator: OpenAICompatibleNarrator, _probe: ServerWindowProbe, endpoint: str) -> object:
    return await narrator.models(endpoint)


async def ask_window(_narrator: OpenAICompatibleNarrator, probe: ServerWindowProbe, endpoint: str) -> Window:
    return await probe.window(endpoint, "scripted-model")


def asked(ask: Ask, endpoint: str, policy: EndpointPolicy | None = None, times: int = 1) -> object:
    """What asking comes to, so many times over one client."""

    async def main() -> object:
        judge = policy or EndpointPolicy()
        async with policed_client(judge) as client:
            narrator, probe = OpenAICompatibleNarrator(client, judge), ServerWindowProbe(client, judge)
            for _ in range(times - 1):
                await ask(narrator, probe, endpoint)
            return await ask(narrator, probe, endpoint)

    return asyncio.run(main())


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(n_ctx=8192) as server:
        yield server


# --- Redirects ---


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed_by_anyone(status: int, model: ScriptedModelServer) -> None:
    with ScriptedModelServer() as elsewhere:
        away = Reply(status=status, body=b"", headers={"Location": f"{elsewhere.endpoint}/x"})
        for method, path in (("POST", "/v1/chat/completions"), ("GET", "/v1/models"), ("GET", "/props")):
            model.answer(method, path, away)
        for ask in (tell, list_models):
            with pytest.raises(
                ModelRefused, match=f"HTTP {status}: it redirects to .*, and redirects are not followed"
            ):
                asked(ask, model.endpoint)
        window = asked(ask_window, model.endpoint)
        assert isinstance(window, Window)
        assert (window.tokens, window.verified) == (None, False)
        assert elsewhere.connections == 0


# --- Proxies ---

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SOCKS_PROXY")


@pytest.mark.parametrize("no_proxy", [None, "", "*", "example.com"])
def test_no_proxy_variable_brings_a_proxy_a_connection(
    model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch, no_proxy: str | None
) -> None:
    with ScriptedModelServer() as proxy:
        for name in PROXIES:
            monkeypatch.setenv(name, proxy.root)
            monkeypatch.setenv(name.lower(), proxy.root)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
            if no_proxy is not None:
                monkeypatch.setenv(name, no_proxy)
        policy = EndpointPolicy(resolve=lambda _host, _port: ["127.0.0.1"])
        for endpoint in (model.endpoint, f"http://story.test:{model.port}/v1"):
            for ask in (tell, list_models, ask_window):
                assert asked(ask, endpoint, policy)
        secure = SecureServer(trustme.CA().issue_cert("story.test"))
        with secure.listening() as port, pytest.raises(ModelUnreachable, match="not trusted"):
            asked(tell, f"https://story.test:{port}/v1", policy)
        assert proxy.connections == 0
        assert model.connections >= 6


# --- Names ---


class Changing:
    """A resolver that answers with one set of addresses after the other, and with the last for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self, _host: str, _port: int) -> Sequence[str]:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@pytest.mark.parametrize("later", [["8.8.8.8"], ["169.254.169.254"], ["127.0.0.1", "8.8.8.8"], ["::ffff:0:127.0.0.1"]])
@pytest.mark.parametrize("ask", [tell, list_models])
def test_a_name_that_rebinds_after_it_was_saved_gets_no_connection(
    ask: Ask, later: Sequence[str], model: ScriptedModelServer
) -> None:
    resolver = Changing(["127.0.0.1"], later)
    policy = EndpointPolicy(resolve=resolver)
    endpoint = f"http://story.test:{model.port}/v1"
    policy.check(endpoint)
    with pytest.raises(EndpointRefused, match=r"^'http://story\.test:\d+/?.*' is refused: its name resolves to"):
        asked(ask, endpoint, policy)
    assert (resolver.asked, model.connections) == (2, 0)


def test_a_window_probe_judges_the_name_for_itself(model: ScriptedModelServer) -> None:
    endpoint = f"http://story.test:{model.port}/v1"
    window = asked(ask_window, endpoint, EndpointPolicy(resolve=Changing(["127.0.0.1", "10.0.0.1", "9.9.9.9"])))
    assert isinstance(window, Window)
    assert (window.reachable, window.tokens) == (False, None)
    assert "9.9.9.9" in window.detail
    assert model.connections == 0


def test_the_address_that_is_connected_to_is_one_that_was_judged_and_no_second_answer(
    model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the judgement and the connection nobody resolves the name again."""
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", _only_numbers(socket.getaddrinfo))
        resolver = Changing(["127.0.0.1"], ["8.8.8.8"])
        assert asked(tell, f"http://story.test:{model.port}/v1", EndpointPolicy(resolve=resolver))
    assert resolver.asked == 1
    assert model.requests[-1].headers["host"] == f"story.test:{model.port}"


def _only_numbers(real: Callable[..., object]) -> Callable[..., object]:
    def resolve(host: object, *more: object, **named: object) -> object:
        assert host in ("127.0.0.1", b"127.0.0.1"), f"{host!r} was resolved past the judge"
        return real(host, *more, **named)

    return resolve


# --- TLS ---


class SecureServer:
    """A TLS server on loopback, which records the name in the greeting and the Host of each request."""

    def __init__(self, certificate: trustme.LeafCert) -> None:
        self.names: list[str | None] = []
        self.hosts: list[str] = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)
        self._context.sni_callback = lambda _connection, name, _context: self.names.append(name)

    @contextmanager
    def listening(self) -> Iterator[int]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0.05)
            done = threading.Event()
            thread = threading.Thread(target=self._serve, args=(listener, done))
            thread.start()
            yield listener.getsockname()[1]
            done.set()
            thread.join()

    def _serve(self, listener: socket.socket, done: threading.Event) -> None:
        while not done.is_set():
            try:
                connection, _ = listener.accept()
                with connection, self._context.wrap_socket(connection, server_side=True) as secure:
                    self._answer(secure)
            except OSError:  # nobody came, or whoever came did not trust us
                continue

    def _answer(self, secure: ssl.SSLSocket) -> None:
        secure.settimeout(5)
        received = b""
        while b"\r\n\r\n" not in received:
            received += secure.recv(65536)
        lines = received.decode("latin-1").split("\r\n")
        self.hosts += [line[6:] for line in lines if line.lower().startswith("host: ")]
        body = b'{"data":[{"id":"safe"}]}'
        secure.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


STORY = EndpointPolicy(resolve=lambda _host, _port: ["127.0.0.1"])


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(organization_name="fabula", organization_unit_name="tests")


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The authority is one of the operating system's."""
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    monkeypatch.setattr("adapters.endpoint_policy._trust", _trust.__wrapped__)


@pytest.mark.usefixtures("trusted")
def test_tls_and_host_keep_the_name_while_the_connection_goes_to_the_judged_address(authority: trustme.CA) -> None:
    server = SecureServer(authority.issue_cert("story.test"))
    with server.listening() as port:
        assert asked(list_models, f"https://story.test:{port}/v1", STORY) == ("safe",)
    assert (server.names, server.hosts) == (["story.test"], [f"story.test:{port}"])


def _expired(authority: trustme.CA) -> trustme.LeafCert:
    now = datetime.now(UTC)
    return authority.issue_cert("story.test", not_before=now - timedelta(days=9), not_after=now - timedelta(days=1))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("certificate", "why"),
    [
        pytest.param(
            lambda _authority: trustme.CA().issue_cert("story.test"), "unable to get local issuer", id="unknown"
        ),
        pytest.param(_expired, "certificate has expired", id="expired"),
        pytest.param(lambda authority: authority.issue_cert("other.test"), "Hostname mismatch", id="another name"),
        pytest.param(lambda authority: authority.issue_cert("127.0.0.1"), "Hostname mismatch", id="only its address"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused_in_clear_words(
    authority: trustme.CA, certificate: Callable[[trustme.CA], trustme.LeafCert], why: str
) -> None:
    server = SecureServer(certificate(authority))
    with server.listening() as port:
        for ask in (tell, list_models):
            with pytest.raises(ModelUnreachable, match=f"its certificate is not trusted: .*{why}") as caught:
                asked(ask, f"https://story.test:{port}/v1", STORY)
            assert "the operating system's trust store" in caught.value.message
        window = asked(ask_window, f"https://story.test:{port}/v1", STORY)
        assert isinstance(window, Window)
        assert (window.reachable, window.tokens) == (False, None)
    assert server.hosts == []


def test_https_to_a_server_that_speaks_http_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ModelUnreachable, match=r"\(no TLS connection: .*\)\. .*https or http"):
            asked(list_models, f"https://127.0.0.1:{listener.getsockname()[1]}/v1")
        thread.join()


_ASK = """
import asyncio, certifi, sys
if sys.argv[2]:
    certifi.where = lambda: sys.argv[2]
from adapters.endpoint_policy import EndpointPolicy, policed_client
from adapters.model_server import OpenAICompatibleNarrator
from domain.errors import FabulaError

async def main():
    policy = EndpointPolicy(resolve=lambda host, port: ["127.0.0.1"])
    async with policed_client(policy) as client:
        try:
            print(await OpenAICompatibleNarrator(client, policy).models(sys.argv[1]))
        except FabulaError as error:
            print(error.message)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep their trust store elsewhere")
@pytest.mark.parametrize("kept", ["SSL_CERT_FILE", "SSL_CERT_DIR", "certifi", ""])
def test_the_systems_store_and_certifis_are_both_trusted(authority: trustme.CA, tmp_path: Path, kept: str) -> None:
    """A process that finds the authority in either, or in neither."""
    other, mine, hashed = tmp_path / "other.pem", tmp_path / "mine.pem", tmp_path / "hashed"
    trustme.CA().cert_pem.write_to_path(str(other))
    authority.cert_pem.write_to_path(str(mine))
    hashed.mkdir()
    if kept == "SSL_CERT_DIR":
        authority.cert_pem.write_to_path(str(hashed / f"{_subject_hash(mine)}.0"))  # where OpenSSL looks it up
    environment = {
        "PATH": os.environ["PATH"],
        "SSL_CERT_FILE": str(mine if kept == "SSL_CERT_FILE" else other),
        "SSL_CERT_DIR": str(hashed),
    }
    server = SecureServer(authority.issue_cert("story.test"))
    with server.listening() as port:
        command = [sys.executable, "-c", _ASK, f"https://story.test:{port}/v1", str(mine) if kept == "certifi" else ""]
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert ("('safe',)" if kept else "its certificate is not trusted") in ran.stdout


def _subject_hash(certificate: Path) -> str:
    """OpenSSL's hash of a certificate's subject, which must be short and in lower case already."""
    name = x509.load_pem_x509_certificate(certificate.read_bytes()).subject.public_bytes()
    digest = hashlib.sha1(name[2:], usedforsecurity=False).digest()
    return f"{int.from_bytes(digest[:4], 'little'):08x}"


def test_verification_is_never_off() -> None:
    assert _trust().verify_mode is ssl.CERT_REQUIRED
    assert _trust().check_hostname


# --- A row that was tampered with ---


@contextmanager
def tampered(home: Path, model: ScriptedModelServer, endpoint: str) -> Iterator[Serving]:
    """A Fabula that was told of a good endpoint, and whose row of it was then changed behind its back."""
    with serving(home, "") as server:
        with server.client() as client:
            assert client.patch("/api/settings", json={"endpoint": model.endpoint}).status_code == 200
        with closing(sqlite3.connect(home / "log.db")) as store, store:
            changed = store.execute("UPDATE setting SET value = ? WHERE name = 'endpoint'", (f'"{endpoint}"',))
            assert changed.rowcount == 1
        yield server


TAMPERED = [
    # These would reach the model server, were they asked: the socket can tell that nobody was.
    "http://0.0.0.0:{port}/v1",
    "http://0:{port}/v1",
    "http://user@127.0.0.1:{port}/v1",
    "http://127.0.0.1:{port}/v1?x=",
    "http://rebound.test:{port}/v1",
    # And these would leave the machine.
    "http://8.8.8.8:{port}/v1",
    "http://169.254.169.254/v1",
    "https://[2606:4700::1111]/v1",
    "gopher://127.0.0.1:{port}/",
]


@pytest.mark.parametrize("row", TAMPERED)
def test_a_tampered_row_is_refused_at_the_request_and_nothing_is_sent(
    row: str, model: ScriptedModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _rebound(socket.getaddrinfo))
    with tampered(tmp_path, model, row.format(port=model.port)) as server, server.client() as client:
        before = model.connections
        found = client.post("/api/settings/test")
        assert found.status_code == 200
        assert (found.json()["reachable"], found.json()["window"]["reachable"]) == (False, False)
        for detail in (found.json()["detail"], found.json()["window"]["detail"]):
            assert "is refused" in detail
        story = client.post("/api/campaigns", json={"opening": "A door."}).json()["id"]
        answer = client.post(f"/api/campaigns/{story}/turns", json={"kind": "do", "text": "I step through"})
        said = problem(answer, "endpoint_refused")
        assert client.get(f"/api/campaigns/{story}/story").json()["nodes"][-1]["text"] == "I step through"
        reply = client.get(f"/api/campaigns/{story}/turns/{said['turn']}/reply").json()
        assert (reply["error"], reply["raw_reply"]) == ("endpoint_refused", "")
        assert model.connections == before
        assert model.requests == ()


def _rebound(real: Callable[..., object]) -> Callable[..., object]:
    """The system's resolver, for which rebound.test is on this machine and elsewhere."""

    def resolve(host: object, port: object, *more: object, **named: object) -> object:
        if host != "rebound.test":
            return real(host, port, *more, **named)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in ("127.0.0.1", "8.8.8.8")]

    return resolve
