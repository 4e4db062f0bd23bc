"""A model server that says what it was told to say, on a real socket, in llama.cpp's own bytes.

    with ScriptedModelServer(Reply("The door opens."), Reply.refusal(500, "out of memory")) as server:
        ...  # POST server.endpoint + "/chat/completions"
        assert server.requests[0].body == sent

Each narration (POST to /v1/chat/completions or /v1/completions) takes the next reply of the script, and the default
reply once the script is empty. The bytes were compared with those of llama.cpp's server (build of `xllamacpp`
2026.10). As a process: `python -m tests.fakes.model_server --port N [--reply TEXT] [--delay-ms D] [--n-ctx N]`.
"""

import argparse
import json
import re
import select
import socket
import socketserver
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedIOBase
from types import TracebackType
from typing import Any, Self, cast

NARRATION_PATHS = ("/v1/chat/completions", "/v1/completions")
EVENT_STREAM = "text/event-stream"
JSON = "application/json; charset=utf-8"
_CREATED = 1796061095
_POLL_SECONDS = 0.01
_REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error"}


class ClientGone(Exception):
    """The client closed the connection in the middle of a reply."""


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it arrived. Header names are in lower case; `body` is exact to the byte."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is empty or no JSON."""
        with suppress(ValueError):
            return json.loads(self.body)
        return None


@dataclass(frozen=True)
class Reply:
    """What to answer to one narration.

    Without `body`, a completion of `reasoning` and then `text`, streamed if the request asks for a stream. It is cut
    into words unless `deltas` says how; a piece is one delta. With `body`, those bytes, `chunk_size` bytes at a time
    (0: at once), and a piece is one such chunk.

    `delay_seconds` passes before every piece but the first. `hang_until` stops the reply until that event is set:
    before the status line, or, with `hang_after`, after so many pieces. `cut_after` closes the connection after so
    many pieces, in the middle of the body. Token counts that are None are made up from lengths.
    """

    text: str = ""
    deltas: Sequence[str] | None = None
    reasoning: str = ""
    finish_reason: str | None = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0
    with_usage: bool = True
    with_done: bool = True
    delay_seconds: float = 0
    hang_until: threading.Event | None = None
    hang_after: int | None = None
    cut_after: int | None = None
    status: int = 200
    body: bytes | None = None
    content_type: str = EVENT_STREAM
    chunk_size: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def raw(
        cls,
        body: bytes | str,
        *,
        chunk_size: int = 0,
        status: int = 200,
        content_type: str = EVENT_STREAM,
        delay_seconds: float = 0,
        hang_until: threading.Event | None = None,
    ) -> Self:
        """Exactly these bytes."""
        return cls(
            body=body.encode() if isinstance(body, str) else body,
            chunk_size=chunk_size,
            status=status,
            content_type=content_type,
            delay_seconds=delay_seconds,
            hang_until=hang_until,
        )

    @classmethod
    def refusal(cls, status: int, message: str, kind: str = "server_error", **more: object) -> Self:
        """llama.cpp's refusal: `{"error": {"code", "message", "type", …}}` with this status."""
        error = {"code": status, "message": message, "type": kind, **more}
        return cls.raw(_dumped({"error": error}), status=status, content_type=JSON)

    @classmethod
    def context_exceeded(cls, n_prompt_tokens: int, n_ctx: int) -> Self:
        """llama.cpp's refusal of a prompt that is longer than its window."""
        message = (
            f"request ({n_prompt_tokens} tokens) exceeds the available context size ({n_ctx} tokens), try increasing it"
        )
        return cls.refusal(400, message, "exceed_context_size_error", n_prompt_tokens=n_prompt_tokens, n_ctx=n_ctx)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The text as it is cut; together they are the text."""
        return tuple(self.deltas) if self.deltas is not None else tuple(re.findall(r"\s*\S+|\s+$", self.text))

    @property
    def full_text(self) -> str:
        return self.text if self.deltas is None else "".join(self.deltas)


DefaultReply = Callable[[RecordedRequest, int], Reply]


def numbered(_request: RecordedRequest, number: int) -> Reply:
    """The default reply: a sentence with the number of the narration, counted from 1."""
    return Reply(f"This is sentence number {number} of the tale.")


def always(reply: Reply) -> DefaultReply:
    """A default that answers every narration alike."""
    return lambda _request, _number: reply


def quarter_of_the_bytes(request: RecordedRequest) -> int:
    """A prompt count to make up: one token for four bytes of the body, at least one."""
    return max(1, len(request.body) // 4)


class ScriptedModelServer:
    """The server. A context manager: it listens on 127.0.0.1 from entry to exit, in threads of its own.

    `n_ctx`: the window that GET /props and /v1/models tell; None: /props is 404 and the models have no `meta`.
    `models`: the names that /v1/models lists. `count_prompt`: the prompt count where a reply names none.
    All of its methods may be called from any thread.
    """

    def __init__(
        self,
        *replies: Reply,
        default: DefaultReply | Reply = numbered,
        models: Sequence[str] = ("scripted-model",),
        n_ctx: int | None = None,
        n_ctx_train: int | None = None,
        count_prompt: Callable[[RecordedRequest], int] = quarter_of_the_bytes,
        port: int = 0,
    ) -> None:
        self.models = tuple(models)
        self.n_ctx = n_ctx
        self.n_ctx_train = n_ctx_train
        self.count_prompt = count_prompt
        self._default = always(default) if isinstance(default, Reply) else default
        self._script = deque(replies)
        self._answers: dict[tuple[str, str], Reply] = {}
        self._requests: list[RecordedRequest] = []
        self._narrations = 0
        self._disconnects = 0
        self._accepted = 0
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._changed = threading.Condition()
        self.stopping = threading.Event()
        self._port = port
        self._listener: _Listener | None = None

    def __enter__(self) -> Self:
        self._listener = _Listener(("127.0.0.1", self._port), self)
        self._port = self._listener.server_address[1]
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Close every connection and the listening socket; replies that hang end. A second call does nothing."""
        if self._listener is None:
            return
        self.stopping.set()
        self._listener.shutdown()
        self._listener.server_close()
        self._listener = None
        self._thread.join()
        self._end_connections()

    def _end_connections(self) -> None:
        with self._changed:
            connections = dict(self._connections)
        for connection, thread in connections.items():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(5)

    @property
    def port(self) -> int:
        return self._port

    @property
    def root(self) -> str:
        """The server's address without a path."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def endpoint(self) -> str:
        """What a player would enter: the address with /v1."""
        return f"{self.root}/v1"

    def script(self, *replies: Reply) -> None:
        """Queue further replies."""
        with self._changed:
            self._script.extend(replies)

    def answer(self, method: str, path: str, content: object, status: int = 200) -> None:
        """Answer this path so from now on, before anything built in: JSON, bytes as they are, or a Reply."""
        if not isinstance(content, Reply):
            content = _plain(status, content if isinstance(content, bytes) else _dumped(content))
        with self._changed:
            self._answers[method, path] = content

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Every request so far, oldest first."""
        with self._changed:
            return tuple(self._requests)

    @property
    def narrations(self) -> tuple[RecordedRequest, ...]:
        """Those requests that asked for a completion."""
        return tuple(request for request in self.requests if _is_narration(request))

    @property
    def disconnects(self) -> int:
        """How many clients went away in the middle of a reply."""
        with self._changed:
            return self._disconnects

    @property
    def connections(self) -> int:
        """How many connections were made so far."""
        with self._changed:
            return self._accepted

    def wait_for_disconnect(self, timeout: float = 5, count: int = 1) -> bool:
        """Whether so many clients have gone away, waiting at most so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._disconnects >= count, timeout)

    def wait_for_requests(self, count: int, timeout: float = 5) -> bool:
        """Whether so many requests have come, waiting at most so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._requests) >= count, timeout)

    # What follows is called by the connections' threads.

    def connected(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections[connection] = threading.current_thread()
            self._accepted += 1

    def disconnected(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.pop(connection, None)

    def client_went_away(self) -> None:
        if self.stopping.is_set():
            return
        with self._changed:
            self._disconnects += 1
            self._changed.notify_all()

    def reply_to(self, request: RecordedRequest) -> Reply:
        """Record the request, and choose its reply."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            answer = self._answers.get((request.method, request.path))
            if answer is None and _is_narration(request):
                return self._next_narration(request)
        return answer or self._built_in(request)

    def _next_narration(self, request: RecordedRequest) -> Reply:
        self._narrations += 1
        return self._script.popleft() if self._script else self._default(request, self._narrations)

    def _built_in(self, request: RecordedRequest) -> Reply:
        if request.method == "GET" and request.path == "/v1/models":
            return _plain(200, _dumped(models_body(self.models, self.n_ctx, self.n_ctx_train)))
        if request.method == "GET" and request.path == "/props" and self.n_ctx is not None:
            return _plain(200, _dumped(props_body(next(iter(self.models), "-"), self.n_ctx)))
        return _plain(404, b'{"error":{"message":"File Not Found","type":"not_found_error","code":404}}')


def _is_narration(request: RecordedRequest) -> bool:
    return request.method == "POST" and request.path in NARRATION_PATHS


def _plain(status: int, body: bytes) -> Reply:
    return Reply.raw(body, status=status, content_type=JSON)


def _dumped(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def models_body(names: Sequence[str], n_ctx: int | None, n_ctx_train: int | None) -> dict[str, Any]:
    """llama.cpp's answer to GET /v1/models."""
    meta = {"vocab_type": 2, "n_vocab": 49152, "n_ctx": n_ctx, "n_ctx_train": n_ctx_train or n_ctx, "n_embd": 576}
    with_meta = {} if n_ctx is None else {"meta": meta}
    return {
        "models": [{"name": name, "model": name, "type": "model", "capabilities": ["completion"]} for name in names],
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": _CREATED, "owned_by": "llamacpp", **with_meta} for name in names
        ],
    }


def props_body(name: str, n_ctx: int) -> dict[str, Any]:
    """llama.cpp's answer to GET /props, as far as anyone reads it."""
    return {
        "default_generation_settings": {"params": {"n_predict": -1, "stream": False}, "n_ctx": n_ctx},
        "total_slots": 1,
        "model_alias": name,
        "model_path": name,
        "build_info": "b0-unknown",
        "is_sleeping": False,
    }


@dataclass(frozen=True)
class _Completion:
    """One reply in the shape that its request asked for. The order of the members is llama.cpp's too."""

    reply: Reply
    chat: bool
    include_usage: bool
    prompt_tokens: int
    number: int

    def stream(self) -> tuple[bytes, ...]:
        """The events, to be sent one after the other."""
        opening = (self._event(b'"delta":{"role":"assistant","content":null}'),) if self.chat else ()
        return (*opening, *self._deltas(), *self._closing())

    def whole(self) -> bytes:
        """The reply to a request that wants no stream."""
        told = b',"usage":%s' % _dumped(self._usage()) if self.reply.with_usage else b""
        timed = b',"timings":%s' % _dumped(self._timings()) if self.reply.with_usage else b""
        kind = b"chat.completion" if self.chat else b"text_completion"
        said = self._whole_message() if self.chat else b'"text":%s' % _dumped(self.reply.full_text)
        choice = self._choice(said, self.reply.finish_reason)
        names = b'"created":%d,"model":"-","system_fingerprint":"b0-unknown","object":"%s"' % (_CREATED, kind)
        return b'{"choices":[%s],%s%s,%s%s}' % (choice, names, told, self._id, timed)

    def _whole_message(self) -> bytes:
        thought = {"reasoning_content": self.reply.reasoning} if self.reply.reasoning else {}
        return b'"message":%s' % _dumped({"role": "assistant", **thought, "content": self.reply.full_text})

    def _deltas(self) -> Iterable[bytes]:
        if self.chat and self.reply.reasoning:
            yield self._event(b'"delta":{"reasoning_content":%s}' % _dumped(self.reply.reasoning))
        template = b'"delta":{"content":%s}' if self.chat else b'"text":%s'
        for piece in self.reply.pieces:
            yield self._event(template % _dumped(piece))

    def _closing(self) -> Iterable[bytes]:
        told = self.reply.with_usage and (self.include_usage or not self.chat)
        usage = b',"usage":%s' % _dumped(self._usage()) if told else b""
        timings = b',"timings":%s' % _dumped(self._timings()) if self.reply.with_usage else b""
        if self.reply.finish_reason is not None:
            last = b'"delta":{}' if self.chat else b'"text":""'
            apart = self.chat and told
            yield self._event(last, self.reply.finish_reason, b"" if apart else usage, b"" if apart else timings)
        if self.chat and told:
            yield self._data(b"", usage, timings)
        if self.reply.with_done:
            yield b"data: [DONE]\n\n"

    def _event(self, said: bytes, finish: str | None = None, usage: bytes = b"", timings: bytes = b"") -> bytes:
        return self._data(self._choice(said, finish), usage, timings)

    def _choice(self, said: bytes, finish: str | None = None) -> bytes:
        if self.chat:
            return b'{"finish_reason":%s,"index":0,%s}' % (_dumped(finish), said)
        return b'{%s,"index":0,"logprobs":null,"finish_reason":%s}' % (said, _dumped(finish))

    def _data(self, choice: bytes, usage: bytes, timings: bytes) -> bytes:
        build = b'"model":"-","system_fingerprint":"b0-unknown"'
        if self.chat:
            names = b'"created":%d,%s,%s,"object":"chat.completion.chunk"%s' % (_CREATED, self._id, build, usage)
        else:
            names = b'"created":%d,%s,"object":"text_completion"%s,%s' % (_CREATED, build, usage, self._id)
        return b'data: {"choices":[%s],%s%s}\n\n' % (choice, names, timings)

    @property
    def _id(self) -> bytes:
        return b'"id":"chatcmpl-%d"' % self.number

    @property
    def _written(self) -> int:
        made_up = len(self.reply.pieces) + bool(self.reply.reasoning)
        return made_up if self.reply.completion_tokens is None else self.reply.completion_tokens

    def _usage(self) -> dict[str, Any]:
        return {
            "completion_tokens": self._written,
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self._written + self.prompt_tokens,
            "prompt_tokens_details": {"cached_tokens": self.reply.cached_tokens},
        }

    def _timings(self) -> dict[str, Any]:
        read = self.prompt_tokens - self.reply.cached_tokens
        return {
            "cache_n": self.reply.cached_tokens,
            "prompt_n": read,
            "prompt_ms": 133.044,
            "prompt_per_token_ms": 4.157625,
            "prompt_per_second": 240.52193259372837,
            "predicted_n": self._written,
            "predicted_ms": 22.009,
            "predicted_per_token_ms": 11.0045,
            "predicted_per_second": 90.87191603434958,
        }


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], model_server: ScriptedModelServer) -> None:
        self.model_server = model_server
        super().__init__(address, _Connection)


class _Connection(socketserver.StreamRequestHandler):
    """One connection: requests and replies in turn until either side closes."""

    disable_nagle_algorithm = True
    connection: socket.socket

    @property
    def model_server(self) -> ScriptedModelServer:
        return cast(_Listener, self.server).model_server

    def handle(self) -> None:
        self.model_server.connected(self.connection)
        try:
            with suppress(ConnectionError):
                self._serve()
        finally:
            self.model_server.disconnected(self.connection)

    def _serve(self) -> None:
        number = 0
        while (request := _read_request(self.rfile, self.connection)) is not None:
            number += 1
            try:
                if not self._send(request, self.model_server.reply_to(request), number):
                    return
            except (ClientGone, ConnectionError):
                self.model_server.client_went_away()
                return

    def _send(self, request: RecordedRequest, reply: Reply, number: int) -> bool:
        """Send the reply. Whether the connection can take another request."""
        if reply.hang_until is not None and reply.hang_after is None:
            self._hang(reply.hang_until)
        frames, uncounted = self._framed(request, reply, number)
        streamed = reply.content_type == EVENT_STREAM if reply.body is not None else _wants_stream(request)
        content_type = JSON if reply.body is None and not streamed else reply.content_type
        # llama.cpp closes the connection after a refusal.
        closing = reply.status >= 400 or self.model_server.stopping.is_set()
        if streamed or reply.chunk_size or reply.cut_after is not None:
            head = _head(reply, content_type, "Transfer-Encoding: chunked", closing=closing)
            return self._send_chunks(head, frames, uncounted, reply) and not closing
        body = b"".join(frames)
        self.connection.sendall(_head(reply, content_type, f"Content-Length: {len(body)}", closing=closing) + body)
        return not closing

    def _framed(self, request: RecordedRequest, reply: Reply, number: int) -> tuple[Sequence[bytes], int]:
        """What to send one after the other, and how many of the first are no piece of the reply."""
        if reply.body is not None:
            size = reply.chunk_size or max(1, len(reply.body))
            return [reply.body[at : at + size] for at in range(0, len(reply.body), size)], 0
        completion = self._completion(request, reply, number)
        if _wants_stream(request):
            return completion.stream(), int(completion.chat)
        return (completion.whole(),), 0

    def _completion(self, request: RecordedRequest, reply: Reply, number: int) -> _Completion:
        options = (request.json or {}).get("stream_options") or {}
        counted = self.model_server.count_prompt(request) if reply.prompt_tokens is None else reply.prompt_tokens
        return _Completion(
            reply,
            chat=request.path.endswith("/chat/completions"),
            include_usage=bool(options.get("include_usage")),
            prompt_tokens=counted,
            number=number,
        )

    def _send_chunks(self, head: bytes, frames: Sequence[bytes], uncounted: int, reply: Reply) -> bool:
        if not (reply.delay_seconds or reply.chunk_size or reply.hang_until or reply.cut_after is not None):
            # An instant model: one system call.
            self.connection.sendall(head + b"".join(map(_chunk, frames)) + b"0\r\n\r\n")
            return True
        self.connection.sendall(head)
        for place, frame in enumerate((*frames, b"")):
            piece = place - uncounted
            if reply.hang_until is not None and piece == reply.hang_after:
                self._hang(reply.hang_until)
            if piece == reply.cut_after:
                return False
            if reply.delay_seconds and piece > 0 and frame:
                self._pause(reply.delay_seconds)
            self.connection.sendall(_chunk(frame))
        return True

    def _pause(self, seconds: float) -> None:
        """Wait, and notice if the client goes away meanwhile."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        if not readable:
            return
        if not self.connection.recv(1, socket.MSG_PEEK):
            raise ClientGone
        time.sleep(seconds)

    def _hang(self, until: threading.Event) -> None:
        while not until.wait(0) and not self.model_server.stopping.is_set():
            self._pause(_POLL_SECONDS)


def _wants_stream(request: RecordedRequest) -> bool:
    content = request.json
    return isinstance(content, dict) and content.get("stream") is True


def _chunk(frame: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(frame), frame)


def _head(reply: Reply, content_type: str, length: str, *, closing: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Status')}",
        "Server: llama.cpp",
        "Access-Control-Allow-Origin: ",
        f"Content-Type: {content_type}",
        length,
        *(f"{name}: {value}" for name, value in reply.headers.items()),
        "Connection: close" if closing else "Keep-Alive: timeout=5, max=100",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _read_request(stream: BufferedIOBase, connection: socket.socket) -> RecordedRequest | None:
    """The next request on the connection; None when there is none. Raises ConnectionError if it is cut off."""
    line = stream.readline()
    if not line:
        return None
    method, path, _version = line.decode("latin-1").split()
    headers = dict(_header_lines(stream))
    if headers.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    length = int(headers.get("content-length", 0))
    body = stream.read(length)
    if len(body) < length:
        raise ConnectionError
    return RecordedRequest(method, path, headers, body)


def _header_lines(stream: BufferedIOBase) -> Iterable[tuple[str, str]]:
    while line := stream.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        yield name.strip().lower(), value.strip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until the process is ended. The first line on standard output is the endpoint."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.model_server", description="A scripted model server.")
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    parser.add_argument("--reply", help="say this every time, in place of a numbered sentence")
    parser.add_argument("--delay-ms", type=float, default=0, help="between two pieces of a reply")
    parser.add_argument("--n-ctx", type=int, help="the window to tell; without it, none is told")
    chosen = parser.parse_args(arguments)

    def default(request: RecordedRequest, number: int) -> Reply:
        text = chosen.reply if chosen.reply is not None else numbered(request, number).text
        return Reply(text, delay_seconds=chosen.delay_ms / 1000)

    with ScriptedModelServer(default=default, n_ctx=chosen.n_ctx, port=chosen.port) as server:
        print(server.endpoint, flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
