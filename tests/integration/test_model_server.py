"""The narrator, the policed client and the scripted server, over real sockets."""

import asyncio
import json
import logging
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import trustme

from adapters.endpoint_policy import EndpointPolicy, policed_client
from adapters.model_server import OpenAICompatibleNarrator
from domain.errors import (
    EndpointRefused,
    InvalidInput,
    ModelFailure,
    ModelRefused,
    ModelReplyIncomplete,
    ModelTimeout,
    ModelUnreachable,
)
from domain.ports import Ended, Narrator, NarratorRequest, Said, Usage
from domain.prompt.events import Mode
from tests.fakes.model_server import Reply, ScriptedModelServer

Result = TypeVar("Result")
CASES = [
    json.loads(line) for line in (Path(__file__).parent.parent / "cases" / "streams.jsonl").read_bytes().splitlines()
]
BODY = b'{"messages": [{"role":"user","content":"I open the door \xe2\x98\x82"}],"stream":true,"stream_options":{"include_usage":true}}'
SECRET = "sk-very-secret-1234"  # noqa: S105 -- that of nobody


def request(endpoint: str, *, body: bytes = BODY, mode: Mode = "chat", timeout: float = 5) -> NarratorRequest:
    return NarratorRequest(endpoint=endpoint, mode=mode, body=body, timeout_seconds=timeout)


def asking(
    ask: Callable[[OpenAICompatibleNarrator], Awaitable[Result]],
    *,
    policy: EndpointPolicy | None = None,
    api_key: str | None = None,
    connect_seconds: float = 5,
) -> Result:
    """What asking a new narrator comes to, in a loop of its own."""

    async def main() -> Result:
        judge = policy or EndpointPolicy()
        async with policed_client(judge) as client:
            narrator = OpenAICompatibleNarrator(client, judge, api_key=api_key, connect_seconds=connect_seconds)
            return await ask(narrator)

    return asyncio.run(main())


async def all_of(narrator: Narrator, asked: NarratorRequest) -> list[Said | Ended]:
    return [piece async for piece in narrator.stream(asked)]


def told(server: ScriptedModelServer, **options: Any) -> list[Said | Ended]:
    return asking(lambda narrator: all_of(narrator, request(server.endpoint, **options)))


def text_of(pieces: Sequence[Said | Ended]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Said))


def reasoning_of(pieces: Sequence[Said | Ended]) -> str:
    return "".join(piece.reasoning for piece in pieces if isinstance(piece, Said))


# --- A reply ---


def test_a_reply_comes_piece_by_piece_and_then_ends() -> None:
    reply = Reply("The door opens.", reasoning="hm", prompt_tokens=35, completion_tokens=12, cached_tokens=7)
    with ScriptedModelServer(reply) as server:
        pieces = told(server)
    assert pieces == [
        Said(reasoning="hm"),
        Said("The"),
        Said(" door"),
        Said(" opens."),
        Ended("stop", Usage(35, 12, 7)),
    ]


def test_the_bytes_are_sent_unchanged_to_the_path_of_the_mode() -> None:
    body = b' {"odd" :  "spacing", "\xc3\xa9": "\\u00e9"}\n'
    with ScriptedModelServer() as server:
        told(server, body=body)
        told(server, body=body, mode="completion")
        asking(lambda narrator: all_of(narrator, request(server.endpoint + "/", body=body)))
        assert [(one.method, one.path, one.body) for one in server.requests] == [
            ("POST", "/v1/chat/completions", body),
            ("POST", "/v1/completions", body),
            ("POST", "/v1/chat/completions", body),
        ]
        assert {one.headers["content-type"] for one in server.requests} == {"application/json"}
        assert all("authorization" not in one.headers for one in server.requests)


def test_the_completion_mode_is_told_alike() -> None:
    with ScriptedModelServer(Reply("Once upon a time", finish_reason="length", prompt_tokens=9)) as server:
        pieces = told(server, mode="completion")
    assert text_of(pieces) == "Once upon a time"
    assert pieces[-1] == Ended("length", Usage(9, 4, 0))


def test_a_server_that_does_not_stream_is_understood() -> None:
    for mode in ("chat", "completion"):
        with ScriptedModelServer(Reply("All at once.", reasoning="", prompt_tokens=9, completion_tokens=3)) as server:
            pieces = told(server, body=b"{}", mode=mode)
        assert pieces == [Said("All at once."), Ended("stop", Usage(9, 3, 0))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_each_case_is_read_from_a_socket(case: dict[str, Any]) -> None:
    want = case["want"]
    with ScriptedModelServer(Reply.raw(case["body"], chunk_size=case["cut"])) as server:
        if not want["complete"]:
            with pytest.raises(
                ModelRefused if "error" in want else ModelReplyIncomplete, match=want.get("error")
            ) as caught:
                told(server)
            assert caught.value.partial == want["text"]
            return
        pieces = told(server)
    assert (text_of(pieces), reasoning_of(pieces)) == (want["text"], want.get("reasoning", ""))
    assert isinstance(pieces[-1], Ended)
    assert pieces[-1].finish_reason == want.get("finish", "stop")
    assert pieces[-1].usage.prompt_tokens == want.get("prompt_tokens")


def test_a_connection_serves_one_request_after_the_other() -> None:
    async def thrice(narrator: OpenAICompatibleNarrator) -> None:
        for _ in range(3):
            await all_of(narrator, request(server.endpoint))

    with ScriptedModelServer(default=Reply("a b c", delay_seconds=0.01)) as server:
        asking(thrice)
        assert server.connections == 1


# --- What goes wrong ---


@pytest.mark.parametrize(
    ("reply", "status", "said"),
    [
        (Reply.refusal(500, "out of memory"), 500, "out of memory"),
        (
            Reply.context_exceeded(3031, 512),
            400,
            "request (3031 tokens) exceeds the available context size (512 tokens)",
        ),
        (Reply.raw('{"error":"model \'x\' not found"}', status=404), 404, "model 'x' not found"),
        (Reply.raw('{"detail":"Not Found"}', status=404), 404, "Not Found"),
        (Reply.raw("<h1>Bad Gateway</h1>", status=502, content_type="text/html"), 502, "<h1>Bad Gateway</h1>"),
        (Reply.raw("", status=503), 503, "it gave no reason"),
        (Reply.raw("x" * 1_000_000, status=500, chunk_size=10_000), 500, "x" * 1_999 + "…"),
        (Reply.raw("", status=204), 204, "it gave no reason"),
    ],
)
def test_a_refusal_has_the_servers_words_and_status(reply: Reply, status: int, said: str) -> None:
    with ScriptedModelServer(reply) as server, pytest.raises(ModelRefused) as caught:
        told(server)
    assert said in caught.value.message
    assert caught.value.fields["upstream_status"] == status
    assert f"HTTP {status}" in caught.value.message


def test_an_error_within_a_stream_is_a_refusal_that_keeps_what_was_said() -> None:
    body = (
        'data: {"choices":[{"delta":{"content":"Hi","reasoning":"hm"}}]}\n\ndata: {"error":{"message":"crashed"}}\n\n'
    )
    with (
        ScriptedModelServer(Reply.raw(body)) as server,
        pytest.raises(ModelRefused, match="in its reply: crashed") as caught,
    ):
        told(server)
    assert (caught.value.partial, caught.value.partial_reasoning) == ("Hi", "hm")
    assert caught.value.fields["upstream_status"] is None


def test_a_connection_that_breaks_is_an_incomplete_reply() -> None:
    broken = pytest.raises(ModelReplyIncomplete, match="the connection broke")
    with ScriptedModelServer(Reply("one two three", cut_after=2)) as server, broken as caught:
        told(server)
    assert caught.value.partial == "one two"


def test_a_connection_that_breaks_after_the_finish_reason_does_no_harm() -> None:
    with ScriptedModelServer(Reply("one two", cut_after=3)) as server:
        assert text_of(told(server)) == "one two"


def test_neither_finish_reason_nor_done_is_an_incomplete_reply() -> None:
    reply = Reply("one two", finish_reason=None, with_done=False)
    with ScriptedModelServer(reply) as server, pytest.raises(ModelReplyIncomplete) as caught:
        told(server)
    assert caught.value.partial == "one two"


def test_done_alone_is_an_end() -> None:
    with ScriptedModelServer(Reply("one two", finish_reason=None, with_usage=False)) as server:
        assert told(server)[-1] == Ended(None, Usage())


def test_a_server_that_hangs_before_its_answer_times_out() -> None:
    with ScriptedModelServer(Reply("never", hang_until=threading.Event())) as server:
        with pytest.raises(ModelTimeout, match=r"nothing for 0\.2 seconds"):
            told(server, timeout=0.2)
        assert server.wait_for_disconnect()


def test_a_server_that_stalls_in_its_answer_times_out_and_what_it_said_is_kept() -> None:
    with ScriptedModelServer(Reply("one two three", hang_until=threading.Event(), hang_after=2)) as server:
        with pytest.raises(ModelTimeout) as caught:
            told(server, timeout=0.2)
        assert server.wait_for_disconnect()
    assert caught.value.partial == "one two"


def test_a_server_that_only_pings_times_out() -> None:
    pings = Reply.raw(": ping\n\n" * 1000, chunk_size=8, delay_seconds=0.05)
    with ScriptedModelServer(pings) as server, pytest.raises(ModelTimeout):
        told(server, timeout=0.3)


def test_a_slow_server_that_goes_on_talking_does_not_time_out() -> None:
    with ScriptedModelServer(Reply("a b c d e f", delay_seconds=0.1)) as server:
        assert text_of(told(server, timeout=0.3)) == "a b c d e f"


def test_a_server_that_never_closes_after_done_costs_no_time() -> None:
    with ScriptedModelServer(Reply("a b", hang_until=threading.Event(), hang_after=5)) as server:
        started = time.monotonic()
        assert text_of(told(server, timeout=20)) == "a b"
        assert time.monotonic() - started < 5


def test_nothing_listening_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ModelUnreachable, match=endpoint):
            asking(lambda narrator: all_of(narrator, request(endpoint)))


def test_a_server_that_hangs_up_is_unreachable() -> None:
    with (
        hanging_up() as endpoint,
        pytest.raises(ModelUnreachable, match=r"No answer came from .* \(it closed the connection\)\. Your words"),
    ):
        asking(lambda narrator: all_of(narrator, request(endpoint)))


@contextmanager
def hanging_up() -> Iterator[str]:
    """A listener that closes each connection at once."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems answer a full queue in other ways")
def test_a_host_that_does_not_answer_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with pytest.raises(ModelUnreachable, match=r"no connection within 0\.3 seconds"):
            asking(lambda narrator: all_of(narrator, request(endpoint)), connect_seconds=0.3)
        for filler in fillers:
            filler.close()


# --- Going away ---


def test_closing_the_iterator_closes_the_connection() -> None:
    async def leave(narrator: OpenAICompatibleNarrator) -> Said | Ended:
        async with aclosing(narrator.stream(request(server.endpoint, timeout=60))) as reply:
            return await anext(reply)

    with ScriptedModelServer(Reply("one two", hang_until=threading.Event(), hang_after=1)) as server:
        assert asking(leave) == Said("one")
        assert server.wait_for_disconnect()


def test_cancelling_the_task_closes_the_connection() -> None:
    async def cancelled(narrator: OpenAICompatibleNarrator) -> None:
        task = asyncio.create_task(all_of(narrator, request(server.endpoint, timeout=60)))
        await asyncio.to_thread(server.wait_for_requests, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.wait_for_disconnect)

    hang = threading.Event()
    for place in (None, 0, 1):
        with ScriptedModelServer(Reply("one two", hang_until=hang, hang_after=place)) as server:
            asking(cancelled)


# --- Secrets ---


def shown_of(error: BaseException) -> str:
    """All that a talkative traceback shows of the program's own frames."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    told.stack = traceback.StackSummary.from_list([frame for frame in told.stack if frame.filename != __file__])
    return "".join(told.format())


def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    replies = [
        Reply.refusal(401, f"Incorrect API key provided: {SECRET}"),
        Reply.raw(f'data: {{"error":"bad key {SECRET}"}}\n\n'),
        Reply("one two", cut_after=1),
        Reply("one two", hang_until=threading.Event()),
        Reply.raw("data: {broken\n\n"),
    ]
    with ScriptedModelServer(*replies) as server:
        for _ in replies:
            with pytest.raises(ModelFailure) as caught:
                asking(lambda narrator: all_of(narrator, request(server.endpoint, timeout=0.2)), api_key=f" {SECRET}\n")
            assert SECRET not in shown_of(caught.value)
            assert SECRET not in repr(caught.value.fields)
            assert caught.value.__context__ is None
        assert {one.headers["authorization"] for one in server.requests} == {f"Bearer {SECRET}"}
    assert SECRET not in caplog.text
    assert SECRET not in asking(lambda narrator: asyncio.sleep(0, repr(narrator)), api_key=SECRET)


def test_a_key_that_no_header_can_carry_is_refused_unseen() -> None:
    for key in ("sécret", "sec\nret"):
        with pytest.raises(InvalidInput) as caught:
            asking(lambda narrator: asyncio.sleep(0), api_key=key)
        assert key not in f"{caught.value} {caught.value.fields}"


# --- The list of models ---


def test_the_models_are_listed() -> None:
    with ScriptedModelServer(models=("one", "two")) as server:
        assert list(asking(lambda narrator: narrator.models(server.endpoint), api_key=SECRET)) == ["one", "two"]
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"data":null}', b'{"models":[]}', b""])
def test_what_is_no_list_of_models_is_refused(answer: bytes) -> None:
    with ScriptedModelServer() as server:
        server.answer("GET", "/v1/models", answer)
        with pytest.raises(ModelRefused, match="no list of models"):
            asking(lambda narrator: narrator.models(server.endpoint))


def test_entries_without_a_name_are_left_out() -> None:
    with ScriptedModelServer() as server:
        server.answer("GET", "/v1/models", {"data": [{"id": "one"}, {"id": 5}, None, {}]})
        assert list(asking(lambda narrator: narrator.models(server.endpoint))) == ["one"]


def test_the_list_of_models_fails_as_a_reply_does() -> None:
    with ScriptedModelServer() as server:
        server.answer("GET", "/v1/models", {"error": "no"}, status=500)
        with pytest.raises(ModelRefused, match="no"):
            asking(lambda narrator: narrator.models(server.endpoint))
    with pytest.raises(ModelUnreachable):
        asking(lambda narrator: narrator.models(server.endpoint))
    with pytest.raises(EndpointRefused):
        asking(lambda narrator: narrator.models("http://8.8.8.8/v1"))


# --- The endpoint policy at the connection ---


def named(server: ScriptedModelServer, *addresses: str) -> tuple[EndpointPolicy, str]:
    """A policy whose resolver knows story.test by these addresses, and the server's endpoint by that name."""
    return EndpointPolicy(resolve=lambda _host, _port: addresses), f"http://story.test:{server.port}/v1"


def test_the_connection_goes_to_the_judged_address_and_keeps_the_name() -> None:
    with ScriptedModelServer() as server:
        policy, endpoint = named(server, "127.0.0.1")
        asking(lambda narrator: all_of(narrator, request(endpoint)), policy=policy)
        assert server.requests[0].headers["host"] == f"story.test:{server.port}"


def test_a_dead_address_gives_way_to_the_next() -> None:
    with ScriptedModelServer() as server:
        policy, endpoint = named(server, "::1", "127.0.0.1")
        assert asking(lambda narrator: all_of(narrator, request(endpoint)), policy=policy)


def test_a_name_with_one_public_address_is_never_connected_to() -> None:
    with ScriptedModelServer() as server:
        policy, endpoint = named(server, "127.0.0.1", "8.8.8.8")
        with pytest.raises(EndpointRefused, match=r"8\.8\.8\.8"):
            asking(lambda narrator: all_of(narrator, request(endpoint)), policy=policy)
        assert server.requests == ()


def test_a_name_that_changes_its_mind_is_judged_anew() -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    policy = EndpointPolicy(resolve=lambda _host, _port: next(answers))
    with ScriptedModelServer() as server:
        endpoint = f"http://story.test:{server.port}/v1"
        policy.check(endpoint)
        with pytest.raises(EndpointRefused, match="link-local"):
            asking(lambda narrator: all_of(narrator, request(endpoint)), policy=policy)


def test_a_name_that_does_not_resolve_is_unreachable() -> None:
    policy = EndpointPolicy(resolve=lambda _host, _port: [])
    with pytest.raises(ModelUnreachable, match="does not resolve"):
        asking(lambda narrator: all_of(narrator, request("http://story.test/v1")), policy=policy)


def test_a_name_that_resolves_too_slowly_is_unreachable() -> None:
    released = threading.Event()

    def slow(_host: str, _port: int) -> Sequence[str]:
        released.wait(10)
        return ["127.0.0.1"]

    async def ask(narrator: OpenAICompatibleNarrator) -> None:
        try:
            await all_of(narrator, request("http://story.test/v1"))
        finally:
            released.set()

    with pytest.raises(ModelUnreachable, match="no connection within"):
        asking(ask, policy=EndpointPolicy(resolve=slow), connect_seconds=0.2)


@pytest.mark.parametrize(
    "endpoint", ["http://8.8.8.8/v1", "http://a@127.0.0.1/v1", "file:///etc/passwd", "", "http://0/v1"]
)
def test_a_tampered_endpoint_is_refused_before_any_request(endpoint: str) -> None:
    with pytest.raises(EndpointRefused):
        asking(lambda narrator: all_of(narrator, request(endpoint)))


def test_the_client_alone_refuses_a_public_address() -> None:
    async def get() -> None:
        async with policed_client(EndpointPolicy()) as client:
            for url in ("http://8.8.8.8/", "http://0x08080808/", "http://[64:ff9b::7f00:1]/", "http://0/"):
                with pytest.raises(EndpointRefused):
                    await client.get(url)

    asyncio.run(get())


def test_odd_spellings_connect_to_what_they_mean() -> None:
    with ScriptedModelServer() as server:
        for host in ("127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"):
            endpoint = f"http://{host}:{server.port}/v1"
            assert asking(partial(all_of, asked=request(endpoint)))


def test_a_redirect_is_not_followed() -> None:
    with ScriptedModelServer() as elsewhere, ScriptedModelServer() as server:
        server.script(Reply(status=302, body=b"", headers={"Location": f"{elsewhere.endpoint}/x?token=hidden"}))
        with pytest.raises(ModelRefused, match="redirects are not followed") as caught:
            told(server)
        assert "hidden" not in caught.value.message
        assert elsewhere.requests == ()


def test_proxy_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModelServer() as proxy, ScriptedModelServer() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.root)
        assert told(server)
        assert proxy.requests == ()


def test_no_cookie_is_kept() -> None:
    async def twice(narrator: OpenAICompatibleNarrator) -> None:
        await all_of(narrator, request(server.endpoint))
        await all_of(narrator, request(server.endpoint))

    with ScriptedModelServer(Reply("a", headers={"Set-Cookie": "id=1"})) as server:
        asking(twice)
        assert "cookie" not in server.requests[1].headers


# --- TLS ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What a client has to trust, and the certificate of story.test with its key, in a file each."""
    place = tmp_path_factory.mktemp("tls")
    authority, server = place / "authority.pem", place / "server.pem"
    signing = trustme.CA()
    signing.cert_pem.write_to_path(str(authority))
    signing.issue_cert("story.test").private_key_and_cert_chain_pem.write_to_path(str(server))
    return authority, server


@asynccontextmanager
async def tls_in_front_of(server: ScriptedModelServer, certificate: tuple[Path, Path]) -> AsyncIterator[int]:
    """A port at which TLS ends and the bytes go on to the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1])

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while chunk := await source.read(65536):
            sink.write(chunk)
        sink.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward, back = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            await asyncio.gather(pump(reader, back), pump(onward, writer))
        finally:
            back.transport.abort()
            writer.transport.abort()

    async with await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context) as listener:
        yield listener.sockets[0].getsockname()[1]


def test_a_private_authority_of_the_system_is_trusted_and_the_name_is_verified(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(narrator: OpenAICompatibleNarrator) -> None:
        async with tls_in_front_of(server, certificate) as port:
            known = request(f"https://story.test:{port}/v1")
            with pytest.raises(ModelUnreachable, match="certificate is not trusted: unable to get local issuer"):
                await all_of(narrator, known)
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
            assert await all_of(narrator, known)
            assert server.requests[0].headers["host"] == f"story.test:{port}"
            for host in ("other.test", "127.0.0.1"):
                with pytest.raises(ModelUnreachable, match=r"certificate is not trusted: .* mismatch"):
                    await all_of(narrator, request(f"https://{host}:{port}/v1"))

    with ScriptedModelServer() as server:
        asking(ask, policy=EndpointPolicy(resolve=lambda _host, _port: ["127.0.0.1"]))


# --- The scripted server itself ---


def test_the_scripted_server_runs_as_a_process() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.fakes.model_server",
        "--port",
        "0",
        "--reply",
        "Hello there",
        "--delay-ms",
        "1",
    ]
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        endpoint = process.stdout.readline().strip()
        try:
            assert text_of(asking(lambda narrator: all_of(narrator, request(endpoint)))) == "Hello there"
        finally:
            process.terminate()


def test_the_script_comes_before_the_default() -> None:
    with ScriptedModelServer(Reply("first")) as server:
        server.script(Reply("second"))
        texts = [text_of(told(server)) for _ in range(3)]
    assert texts == ["first", "second", "This is sentence number 3 of the tale."]


def test_many_clients_at_once_are_served() -> None:
    async def crowd(narrator: OpenAICompatibleNarrator) -> list[list[Said | Ended]]:
        return await asyncio.gather(*(all_of(narrator, request(server.endpoint)) for _ in range(50)))

    with ScriptedModelServer() as server:
        assert len({text_of(pieces) for pieces in asking(crowd)}) == 50
        assert server.disconnects == 0


def test_the_shape_is_that_of_llama_cpp() -> None:
    with ScriptedModelServer(Reply(".", prompt_tokens=35, completion_tokens=12)) as server:
        lines = httpx.post(f"{server.endpoint}/chat/completions", content=BODY, trust_env=False).text.split("\n\n")
    names = '"created":1796061095,"id":"chatcmpl-1","model":"-","system_fingerprint":"b0-unknown","object":"chat.completion.chunk"'
    usage = '"usage":{"completion_tokens":12,"prompt_tokens":35,"total_tokens":47,"prompt_tokens_details":{"cached_tokens":0}}'
    choice = '"choices":[{"finish_reason":null,"index":0,"delta":'
    assert lines[0] == f'data: {{{choice}{{"role":"assistant","content":null}}}}],{names}}}'
    assert lines[1] == f'data: {{{choice}{{"content":"."}}}}],{names}}}'
    assert lines[2] == f'data: {{"choices":[{{"finish_reason":"stop","index":0,"delta":{{}}}}],{names}}}'
    assert lines[3].startswith(f'data: {{"choices":[],{names},{usage},"timings":{{"cache_n":0,')
    assert lines[4:] == ["data: [DONE]", ""]
