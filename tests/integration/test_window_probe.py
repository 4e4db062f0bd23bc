"""How much a server says it will read, asked of servers on real sockets."""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.endpoint_policy import EndpointPolicy, policed_client
from adapters.window_probe import QUESTIONS, Question, ServerWindowProbe, read_props, server_root
from domain.ports import WindowProbe
from domain.prompt.events import Window
from tests.fakes.model_server import Reply, ScriptedModelServer, models_body, props_body

Result = TypeVar("Result")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "meta", "id", "aliases", "n_ctx", "n_ctx_train", "default_generation_settings"]),
            inner,
        )
    ),
    max_leaves=10,
)


@dataclass
class Monotonic:
    """A clock that stands still until it is moved."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


def probing(ask: Callable[[WindowProbe], Awaitable[Result]], **options: Any) -> Result:
    """What asking a new probe comes to, in a loop of its own."""

    async def main() -> Result:
        policy = options.pop("policy", EndpointPolicy())
        async with policed_client(policy) as client:
            return await ask(ServerWindowProbe(client, policy, **options))

    return asyncio.run(main())


def window_of(endpoint: str, model: str = "scripted-model", **options: Any) -> Window:
    return probing(lambda probe: probe.window(endpoint, model), **options)


def test_llama_cpp_tells_its_window_and_the_models_ceiling() -> None:
    with ScriptedModelServer(n_ctx=4096, n_ctx_train=32768) as server:
        window = window_of(server.endpoint)
        assert sorted(one.path for one in server.requests) == ["/props", "/v1/models"]
    assert window == Window(
        tokens=4096,
        source="loaded",
        verified=True,
        enforceable=True,
        model_max=32768,
        reachable=True,
        detail=f"The server says that it reads 4,096 tokens (llama.cpp, {server.root}/props).",
    )


def test_the_window_of_a_slot_is_believed_before_that_of_the_list() -> None:
    with ScriptedModelServer(n_ctx=8192) as server:
        server.answer("GET", "/props", props_body("x", 2048))
        window = window_of(server.endpoint + "/")
    assert (window.tokens, window.model_max) == (2048, 8192)


def test_the_list_of_models_is_believed_where_there_is_nothing_else() -> None:
    with ScriptedModelServer(n_ctx=8192) as server:
        server.answer("GET", "/props", {"error": "no"}, status=501)
        window = window_of(server.endpoint)
    assert (window.tokens, window.source, window.verified) == (8192, "loaded", True)


def test_the_entry_is_that_of_the_model() -> None:
    listed = models_body(("one",), 100, 200)["data"] + models_body(("two",), 300, 400)["data"]
    listed[1]["aliases"] = ["2"]
    with ScriptedModelServer() as server:
        server.answer("GET", "/v1/models", {"data": listed})
        windows = [window_of(server.endpoint, model) for model in ("one", "two", "2", "three")]
        assert [(window.tokens, window.model_max) for window in windows] == [
            (100, 200),
            (300, 400),
            (300, 400),
            (None, None),
        ]
        server.answer("GET", "/v1/models", {"data": listed[:1]})
        assert window_of(server.endpoint, "whatever").tokens == 100


def test_a_server_that_tells_no_window_is_reachable_and_unknown() -> None:
    with ScriptedModelServer() as server:
        window = window_of(server.endpoint)
    assert window.model_copy(update={"detail": ""}) == Window(reachable=True)
    assert "does not say" in window.detail
    assert f"{server.root}/props: HTTP 404" in window.detail


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"null", b"[]", b'{"default_generation_settings":5}', b'{"data":[null,5]}']
)
def test_an_answer_that_cannot_be_read_is_unknown(answer: bytes) -> None:
    with ScriptedModelServer() as server:
        for path in ("/props", "/v1/models"):
            server.answer("GET", path, answer)
        window = window_of(server.endpoint)
    assert (window.tokens, window.verified, window.reachable) == (None, False, True)
    assert window.detail


@pytest.mark.parametrize("n_ctx", [0, -1, True, "4096", 4096.0, None, [4096]])
def test_a_window_that_is_no_positive_integer_is_none(n_ctx: object) -> None:
    assert read_props({"default_generation_settings": {"n_ctx": n_ctx}}, "").tokens is None


@given(JSON, st.text(max_size=3))
def test_any_answer_can_be_read(content: Any, model: str) -> None:
    for question in QUESTIONS:
        finding = question.read(content, model)
        assert finding.tokens is None or finding.tokens > 0


def test_nothing_listening_is_unknown_and_not_reachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        window = window_of(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    assert (window.tokens, window.source, window.reachable) == (None, "unknown", False)
    assert window.detail.startswith("Nothing answers at http://127.0.0.1:")


def test_a_refused_endpoint_is_unknown_with_the_reason() -> None:
    for endpoint in ("http://8.8.8.8/v1", "", "file:///etc/passwd"):
        window = window_of(endpoint)
        assert not window.reachable
        assert "is refused" in window.detail
    window = window_of("http://story.test:1/v1", policy=EndpointPolicy(resolve=lambda _host, _port: ["8.8.8.8"]))
    assert not window.reachable
    assert window.detail.count("is refused") == 1


def test_the_whole_takes_no_longer_than_it_may() -> None:
    with ScriptedModelServer(n_ctx=4096) as server:
        server.answer("GET", "/props", Reply(hang_until=threading.Event()))
        started = time.monotonic()
        window = window_of(server.endpoint, whole_seconds=0.3)
        assert window.tokens == 4096
        server.answer("GET", "/v1/models", Reply.raw("{" + " " * 1000, chunk_size=1, delay_seconds=0.05))
        window = window_of(server.endpoint, whole_seconds=0.3)
        assert time.monotonic() - started < 2
    assert (window.tokens, window.reachable) == (None, True)
    assert "no answer within 0.3 seconds" in window.detail


def test_a_known_window_is_remembered_for_ten_minutes() -> None:
    clock = Monotonic()

    async def ask(probe: WindowProbe) -> list[int]:
        counts = []
        for passed in (0, 599, 2):
            clock.seconds += passed
            assert (await probe.window(server.endpoint, "scripted-model")).tokens == 4096
            counts.append(len(server.requests))
        return counts

    with ScriptedModelServer(n_ctx=4096) as server:
        assert probing(ask, monotonic=clock) == [2, 2, 4]


def test_an_unknown_window_is_remembered_for_a_minute() -> None:
    clock = Monotonic()

    async def ask(probe: WindowProbe) -> list[int]:
        counts = []
        for passed in (0, 59, 2):
            clock.seconds += passed
            assert (await probe.window(server.endpoint, "scripted-model")).tokens is None
            counts.append(len(server.requests))
        return counts

    with ScriptedModelServer() as server:
        assert probing(ask, monotonic=clock) == [2, 2, 4]


def test_each_endpoint_and_model_is_remembered_by_itself_until_it_is_forgotten() -> None:
    async def ask(probe: WindowProbe) -> None:
        for model in ("one", "two", "one"):
            await probe.window(server.endpoint, model)
        assert len(server.requests) == 4
        probe.forget(server.endpoint + "/", "one")
        probe.forget(server.endpoint, "never asked about")
        await probe.window(server.endpoint, "two")
        assert len(server.requests) == 4
        await probe.window(server.endpoint, "one")
        assert len(server.requests) == 6

    with ScriptedModelServer(n_ctx=4096) as server:
        probing(ask)


def test_what_is_forgotten_while_it_is_being_asked_is_not_remembered() -> None:
    async def ask(probe: WindowProbe) -> None:
        asking = asyncio.create_task(_window(probe))
        await asyncio.to_thread(server.wait_for_requests, 2)
        probe.forget(server.endpoint, "m")
        go_on.set()
        await asking
        await _window(probe)
        assert len(server.requests) == 4

    async def _window(probe: WindowProbe) -> Window:
        return await probe.window(server.endpoint, "m")

    go_on = threading.Event()
    with ScriptedModelServer(n_ctx=4096) as server:
        server.answer("GET", "/props", Reply.raw(b"{}", content_type="application/json", hang_until=go_on))
        probing(ask)


def test_cancelling_the_question_is_no_answer() -> None:
    async def ask(probe: WindowProbe) -> None:
        asking = asyncio.ensure_future(probe.window(server.endpoint, "m"))
        await asyncio.to_thread(server.wait_for_requests, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(server.wait_for_disconnect)

    with ScriptedModelServer(n_ctx=4096) as server:
        server.answer("GET", "/props", Reply(hang_until=threading.Event()))
        probing(ask)


def test_the_key_goes_along() -> None:
    with ScriptedModelServer(n_ctx=4096) as server:
        window_of(server.endpoint, api_key="sk-1234")
        assert {one.headers["authorization"] for one in server.requests} == {"Bearer sk-1234"}


def test_a_question_that_fails_spoils_no_other() -> None:
    def fail(_content: Any, _model: str) -> Any:
        raise RuntimeError

    faulty = Question("faulty", lambda endpoint: f"{server_root(endpoint)}/props", fail)
    with ScriptedModelServer(n_ctx=4096) as server:
        assert window_of(server.endpoint, questions=(faulty, *QUESTIONS)).tokens == 4096
        assert "RuntimeError" in window_of(server.endpoint, questions=(faulty,)).detail


def test_the_root_of_an_endpoint() -> None:
    assert server_root("http://127.0.0.1:1/v1/") == "http://127.0.0.1:1"
    assert server_root("http://127.0.0.1:1/api/v1") == "http://127.0.0.1:1/api"
    assert server_root("http://127.0.0.1:1") == "http://127.0.0.1:1"
