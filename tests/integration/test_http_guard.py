"""Who may ask, on a real server: hosts, origins, tokens."""

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import Serving, serving
from tests.shapes import problem

TOKEN = "s3cret-tökén"  # noqa: S105  # of a server that lives as long as its test


@pytest.fixture(scope="module")
def _guarded(narrator: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("guarded")
    with serving(home, narrator.endpoint, token=TOKEN, allowed_hosts="fabula.lan, Box.Local:80") as server:
        yield server


@pytest.fixture
def guarded(_guarded: Serving) -> Iterator[httpx.Client]:
    """A client of a server that needs a token and answers to two names more."""
    with _guarded.client() as client:
        yield client


def _authorized(value: str, **more: str) -> httpx.Headers:
    """Headers, with the value as UTF-8."""
    return httpx.Headers([(b"authorization", value.encode()), *((k.encode(), v.encode()) for k, v in more.items())])


def _bearer(token: str, **more: str) -> httpx.Headers:
    return _authorized(f"Bearer {token}", **more)


def test_a_foreign_host_is_refused(client: httpx.Client, server: Serving) -> None:
    for host in ("elsewhere.example", f"elsewhere.example:{server.port}", "127.0.0.1.elsewhere.example", ""):
        problem(client.get("/api/health", headers={"host": host}), "host_not_allowed")
        problem(client.get("/docs", headers={"host": host}), "host_not_allowed")


def test_loopback_by_any_of_its_names(client: httpx.Client, server: Serving) -> None:
    for host in ("localhost", f"LocalHost:{server.port}", "127.0.0.1", "127.8.8.8:1", "[::1]", f"[::1]:{server.port}"):
        assert client.get("/api/health", headers={"host": host}).status_code == 200


def test_a_foreign_page_may_not_change_anything(client: httpx.Client, server: Serving, story: str) -> None:
    for origin in (
        "http://elsewhere.example",
        "null",
        "",
        "http://[",
        f"http://127.0.0.1:{server.port + 1}",
        "file://",
    ):
        headers = {"origin": origin}
        problem(client.post("/api/campaigns", json={}, headers=headers), "origin_not_allowed")
        problem(client.patch("/api/settings", json={}, headers=headers), "origin_not_allowed")
        problem(client.delete(story, headers=headers), "origin_not_allowed")
        problem(client.post(f"{story}/retry", headers=headers), "origin_not_allowed")
    answer = client.get(story, headers={"origin": "http://elsewhere.example"})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers  # the page may send it, and not read it


def test_our_own_page_may(client: httpx.Client, server: Serving) -> None:
    origin = {"origin": server.url}
    assert client.post("/api/campaigns", json={}, headers=origin).status_code == 201


def test_a_configured_name_is_allowed_and_needs_the_token(guarded: httpx.Client) -> None:
    for host in ("fabula.lan", "FABULA.lan:8080", "box.local"):
        assert guarded.get("/api/health", headers=_bearer(TOKEN, host=host)).status_code == 200
        problem(guarded.get("/api/health", headers={"host": host}), "token_required")
    problem(guarded.get("/api/health", headers=_bearer(TOKEN, host="other.lan")), "host_not_allowed")


@pytest.mark.parametrize(
    "path", ["/api/campaigns", "/api/settings", "/api/health", "/api/campaigns/c_x/story", "/api/nope", "/nope"]
)
def test_without_the_token_nothing_is_told(guarded: httpx.Client, path: str) -> None:
    for headers in (
        httpx.Headers(),
        _bearer("wrong"),
        _authorized("Bearer"),
        _bearer(TOKEN + "x"),
        _authorized(f"Basic {TOKEN}"),
    ):
        answer = guarded.get(path, headers=headers)
        problem(answer, "token_required")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text


def test_with_the_token_everything_is_as_without_one(guarded: httpx.Client) -> None:
    headers = _bearer(TOKEN)
    created = guarded.post("/api/campaigns", json={}, headers=headers)
    assert created.status_code == 201
    told = guarded.post(f"/api/campaigns/{created.json()['id']}/turns", json={"kind": "continue"}, headers=headers)
    assert told.status_code == 200
    assert guarded.get("/api/health", headers=_authorized(f"bearer  {TOKEN}")).status_code == 200
    problem(guarded.get("/api/nope", headers=headers), "unknown_path")


def test_the_description_can_be_read_without_the_token(guarded: httpx.Client) -> None:
    guarded.post("/api/campaigns", json={"title": "A title that nobody may read"}, headers=_bearer(TOKEN))
    for path in ("/docs", "/docs/start.js", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/openapi.json"):
        answer = guarded.get(path)
        assert answer.status_code == 200
        assert "A title that nobody may read" not in answer.text
        assert TOKEN not in answer.text


def test_the_token_is_never_told(guarded: httpx.Client) -> None:
    for path in ("/api/settings", "/api/health", "/api/projections", "/openapi.json"):
        assert TOKEN not in guarded.get(path, headers=_bearer(TOKEN)).text


def test_a_refusal_counts_before_a_body_is_read(guarded: httpx.Client) -> None:
    json_type = {"content-type": "application/json"}
    problem(guarded.post("/api/campaigns", content=b"{", headers=json_type), "token_required")
    problem(guarded.post("/api/campaigns", content=b"a" * 2**21, headers=json_type), "token_required")
