"""Requests that cannot be: each gets a problem that says what is wrong, and nothing breaks."""

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from api.wiring import Fabula
from domain import errors
from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import Serving, serving
from tests.shapes import problem

JSON = {"content-type": "application/json"}
MIB = 1024 * 1024


@pytest.mark.parametrize(
    "path",
    [
        "/nope",
        "/api",
        "/api/",
        "/api/nope",
        "/api/campaigns/",
        "/api/settings/",
        "/api/health/x",
        "/api/campaigns/c_x/story/",
        "/api//campaigns",
        "/API/health",
        "/api/campaigns/c_x/nope",
        "/api/campaigns/c_x/nodes/1/nope",
        "/docs/../etc/passwd",
        "/docs/%2e%2e/%2e%2e/pyproject.toml",
        "/docs/..%2f..%2fpyproject.toml",
        "/docs/swagger-ui.css%00.js",
        "/api/campaigns/c_x/nodes/1/%2e%2e",
        "/%00",
        "/" + "a" * 10_000,
    ],
    ids=lambda path: path[:40],
)
def test_an_unknown_path_is_a_problem_everywhere(client: httpx.Client, path: str) -> None:
    said = problem(client.get(path), "unknown_path")
    assert len(said["detail"]) < 400


@pytest.mark.parametrize(
    "name",
    [
        "c_nope",
        "%00",
        "%2e%2e",
        "..%2f..",
        "%F0%9F%9A%AA",
        "%ED%A0%80",
        "c_%0d%0a",
        "'; DROP TABLE event; --",
        "a" * 5000,
    ],
)
def test_an_unknown_campaign_whatever_it_is_called(client: httpx.Client, name: str) -> None:
    code = "unknown_path" if "%2f" in name.lower() else "unknown_campaign"
    problem(client.get(f"/api/campaigns/{name}/story"), code)
    problem(client.delete(f"/api/campaigns/{name}"), code)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/campaigns", ["GET", "POST"]),
        ("DELETE", "/api/campaigns", ["GET", "POST"]),
        ("POST", "/api/campaigns/c_x", ["DELETE", "GET", "PATCH"]),
        ("GET", "/api/campaigns/c_x/turns", ["POST"]),
        ("GET", "/api/campaigns/c_x/retry", ["POST"]),
        ("POST", "/api/campaigns/c_x/story", ["GET"]),
        ("GET", "/api/campaigns/c_x/nodes/1", ["PATCH"]),
        ("GET", "/api/campaigns/c_x/undo", ["POST"]),
        ("DELETE", "/api/campaigns/c_x/save-points", ["GET", "POST"]),
        ("GET", "/api/campaigns/c_x/branches/1", ["PUT"]),
        ("POST", "/api/campaigns/c_x/tree", ["GET"]),
        ("PUT", "/api/settings", ["GET", "PATCH"]),
        ("GET", "/api/settings/test", ["POST"]),
        ("GET", "/api/projections/story/rebuild", ["POST"]),
        ("POST", "/docs", ["GET"]),
        ("OPTIONS", "/api/health", ["GET", "HEAD"]),
        ("TRACE", "/api/health", ["GET", "HEAD"]),
        ("NONSENSE", "/api/settings", ["GET", "PATCH"]),
    ],
)
def test_a_method_that_a_path_does_not_take(client: httpx.Client, method: str, path: str, allowed: list[str]) -> None:
    answer = client.request(method, path)
    said = problem(answer, "method_not_allowed")
    assert said["allowed"] == allowed
    assert answer.headers["allow"] == ", ".join(allowed)


def test_a_head_request_has_no_body(client: httpx.Client) -> None:
    answer = client.head("/api/health")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/json"
    assert int(answer.headers["content-length"]) > 0
    assert client.head("/api/settings").status_code == 405


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"kind": "do",, "text": "x"}',
        b'{"kind": "do", "text": "x",}',
        b"kind=do&text=x",
        b"'do'",
        b'{"kind": "do", "text": NaN}',
        b'{"kind": "do", "text": Infinity}',
        b'{"kind": "do", "text": -Infinity}',
        b'{"kind": "do", "text": "\xff"}',
        '{"kind": "do", "text": "é"}'.encode("latin-1"),
        '{"kind": "do", "text": "x"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"kind": "do", "text": "x"}',
        b'{"kind": "do", "text": "\xed\xa0\x80"}',
        b'{"kind": "do", "text": "line\nbreak"}',
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" * 700 + b'"\\ud800"' + b"]" * 700,
        b"1" * 5_000,
        b" ",
        b"\0",
        b'{"kind": "do"} {"kind": "do"}',
    ],
    ids=lambda body: repr(body[:30]),
)
def test_a_body_that_is_no_json(client: httpx.Client, story: str, body: bytes) -> None:
    for method, path in (
        ("POST", f"{story}/turns"),
        ("POST", "/api/campaigns"),
        ("PATCH", story),
        ("PATCH", "/api/settings"),
    ):
        problem(client.request(method, path, content=body, headers=JSON), "bad_request")


@pytest.mark.parametrize("depth", range(100, 1000, 100))
def test_a_deep_body_is_refused_at_any_depth(client: httpx.Client, story: str, depth: int) -> None:
    for innermost in (b"1", b'"\\ud800"'):
        body = b'{"kind": ' + b"[" * depth + innermost + b"]" * depth + b"}"
        answer = client.post(f"{story}/turns", content=body, headers=JSON)
        problem(answer, "bad_request" if answer.status_code == 400 else "invalid")


def test_no_body_at_all(client: httpx.Client, story: str) -> None:
    for method, path in (
        ("POST", f"{story}/turns"),
        ("POST", "/api/campaigns"),
        ("PATCH", story),
        ("PATCH", "/api/settings"),
    ):
        problem(client.request(method, path), "invalid")
        problem(client.request(method, path, content=b"", headers=JSON), "invalid")


@pytest.mark.parametrize(
    "declared", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "json"]
)
def test_a_body_that_is_not_declared_as_json(client: httpx.Client, story: str, declared: str) -> None:
    answer = client.post(f"{story}/turns", content=b'{"kind": "continue"}', headers={"content-type": declared})
    assert "application/json" in problem(answer, "bad_request")["detail"]


@pytest.mark.parametrize(
    "declared", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.fabula+json"]
)
def test_json_by_its_other_names(client: httpx.Client, story: str, declared: str) -> None:
    answer = client.post(f"{story}/turns", content=b'{"kind": "continue"}', headers={"content-type": declared})
    assert answer.status_code == 200


def test_what_is_said_back_of_a_bad_body_is_short(client: httpx.Client, story: str) -> None:
    body = {"k" * 100_000: 1, **{f"field{number}": 1 for number in range(5_000)}}
    answer = client.post(f"{story}/turns", json=body)
    problem(answer, "invalid")
    assert len(answer.content) < 8_000


def test_huge_numbers_in_a_body(client: httpx.Client, story: str) -> None:
    for number in ("1e999", "-1e999", "1" + "0" * 400):
        answer = client.patch("/api/settings", content=b'{"seed": %s}' % number.encode(), headers=JSON)
        problem(answer, "invalid")
        answer = client.patch("/api/settings", content=b'{"temperature": %s}' % number.encode(), headers=JSON)
        problem(answer, "invalid")


def _chunks(size: int) -> Iterator[bytes]:
    yield b'{"kind": "do", "text": "'
    for _ in range(size // 65_536):
        yield b"a" * 65_536
    yield b'"}'


@pytest.mark.parametrize("size", [MIB + 1, 3 * MIB, 9 * MIB])
def test_a_body_of_more_than_a_mebibyte(client: httpx.Client, story: str, size: int) -> None:
    said = problem(client.post(f"{story}/turns", content=b"a" * size, headers=JSON), "too_large")
    assert said["limit"] == MIB
    problem(client.post(f"{story}/turns", content=_chunks(size), headers=JSON), "too_large")
    problem(client.post(f"{story}/retry", content=_chunks(size), headers=JSON), "too_large")
    assert client.get(story).json()["position"]["head"] == 1


def test_a_large_body_that_nobody_wanted_is_answered_all_the_same(client: httpx.Client) -> None:
    problem(client.post("/api/nope", content=_chunks(3 * MIB), headers=JSON), "unknown_path")
    problem(client.put("/api/settings", content=b"a" * 3 * MIB, headers=JSON), "method_not_allowed")
    foreign = JSON | {"origin": "http://elsewhere.example"}
    problem(client.post("/api/campaigns", content=b"a" * MIB, headers=foreign), "origin_not_allowed")


def _raw(server: Serving, sent: bytes) -> bytes:
    """What the server says to these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_a_client_that_asks_first_is_told_at_once(server: Serving) -> None:
    head = b"POST /api/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    said = _raw(server, head + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 413")
    assert b'"too_large"' in said


def test_a_declared_length_is_enough(server: Serving) -> None:
    head = b"POST /api/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head + b"Content-Length: 99999999\r\n\r\n{")
        connection.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert said == b"" or b" 413 " in said  # a client that is gone is told nothing


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/health HTTP/1.1\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nHost: a\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ],
    ids=lambda head: repr(head[:60]),
)
def test_what_is_no_http_is_refused_by_the_server_itself(server: Serving, head: bytes) -> None:
    assert _raw(server, head).startswith(b"HTTP/1.1 400")


def test_a_request_of_http_1_0_without_a_host(server: Serving) -> None:
    said = _raw(server, b"GET /api/health HTTP/1.0\r\n\r\n")
    assert b" 400 " in said.split(b"\r\n")[0]
    assert b'"host_not_allowed"' in said


def test_what_breaks_is_a_problem_without_its_cause(
    narrator: ScriptedModelServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(fabula: Fabula) -> Fabula:
        return replace(fabula, store=replace(fabula.store, settings=_Broken(), log=_BrokenLog(fabula.log)))  # type: ignore[arg-type]  # that is the point

    with serving(tmp_path, narrator.endpoint, adapt=broken) as server, server.client() as client:
        for answer in (
            client.get("/api/settings"),
            client.patch("/api/settings", json={"model": "x"}),
            client.post("/api/settings/test"),
            client.get("/api/campaigns/c_x/verify"),
            client.get("/api/campaigns/c_x/events"),
        ):
            said = problem(answer, "internal_error")
            assert "Traceback" not in answer.text
            assert "the secret cause" not in answer.text
            assert ".py" not in answer.text
            assert said["detail"].startswith(f"{answer.request.method} /api/")
        assert client.get("/api/projections").status_code == 200  # the server goes on
    told = "".join(capfd.readouterr())
    assert "request_broke" in told


@pytest.mark.parametrize(
    "error",
    [
        errors.StoreUnavailable("database is locked"),
        errors.StoreReadOnly("/home"),
        errors.StoreFull("/home"),
        errors.StoreNewer("a log of format 99"),
        errors.ViewBehind("story", 1, 2),
        errors.LogDamaged("c_x", 1, "it does not fit"),
        errors.StoreReplaced("/home/log.db"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_store_that_fails_is_told_as_it_is(
    narrator: ScriptedModelServer, tmp_path: Path, error: errors.StoreFailure
) -> None:
    def failing(fabula: Fabula) -> Fabula:
        return replace(fabula, store=replace(fabula.store, log=_Failing(error), views=_Failing(error)))  # type: ignore[arg-type]  # that is the point

    with serving(tmp_path, narrator.endpoint, adapt=failing) as server, server.client() as client:
        for answer in (
            client.get("/api/health"),
            client.get("/api/campaigns"),
            client.post("/api/campaigns", json={}),
            client.get("/api/campaigns/c_x/story"),
            client.get("/api/campaigns/c_x/events", headers={"accept": "text/event-stream"}),
            client.delete("/api/campaigns/c_x"),
            client.post("/api/projections/story/rebuild"),
        ):
            assert problem(answer, error.code)["title"] == error.title
            assert answer.status_code == 503


def test_no_turn_is_acknowledged_while_the_log_is_not_in_its_place(
    narrator: ScriptedModelServer, tmp_path: Path
) -> None:
    with serving(tmp_path, narrator.endpoint) as server, server.client() as client:
        story = f"/api/campaigns/{client.post('/api/campaigns', json={}).json()['id']}"
        log = tmp_path / "log.db"
        away = log.rename(tmp_path / "away.db")
        act = {"kind": "do", "text": "I wait."}
        for answer in (client.get("/api/health"), client.post(f"{story}/turns", json=act), client.get(story)):
            said = problem(answer, "store_unavailable")
            assert answer.status_code == 503
            assert f"{log} was deleted or replaced" in said["detail"]
        assert not log.exists()
        away.rename(log)
        assert client.post(f"{story}/turns", json=act).status_code == 200
        assert client.get("/api/health").status_code == 200


class _Failing:
    def __init__(self, error: errors.StoreFailure) -> None:
        self._error = error

    def __getattr__(self, name: str) -> object:
        raise self._error


class _Broken:
    def __getattr__(self, name: str) -> object:
        raise RuntimeError("the secret cause")


class _BrokenLog:
    def __init__(self, log: object) -> None:
        self._log = log

    def __getattr__(self, name: str) -> object:
        if name == "campaign":
            raise RuntimeError("the secret cause")
        return getattr(self._log, name)


def test_every_answer_is_hardened(client: httpx.Client, story: str) -> None:
    for answer in (
        client.get(story),
        client.get("/api/nope"),
        client.post(f"{story}/turns", content=b"{", headers=JSON),
        client.get("/api/health", headers={"host": "elsewhere.example"}),
        client.get("/docs"),
        client.get("/openapi.json"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in answer.headers


def test_json_in_an_answer_is_json(client: httpx.Client) -> None:
    created = client.post("/api/campaigns", json={"title": "“é\0\u2028”", "opening": "\U0001f6aa"})
    assert json.loads(created.content)["title"] == "“é\0\u2028”"
