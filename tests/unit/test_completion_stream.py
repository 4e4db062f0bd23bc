"""Streams as they really are."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.completion_stream import ReplyReader, ServerError, usage_in
from adapters.event_stream import EventDecoder
from adapters.server_refusal import MAX_CHARACTERS, refusal_text
from domain.errors import ModelReplyIncomplete
from domain.ports import Ended, Said, Usage

# Bytes, since the text of a case holds U+2028, at which str.splitlines would tear it.
CASES = [
    json.loads(line) for line in (Path(__file__).parent.parent / "cases" / "streams.jsonl").read_bytes().splitlines()
]
STOP = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = "data: [DONE]\n\n"


def delta(**members: object) -> str:
    chunk = {"choices": [{"index": 0, "delta": members, "finish_reason": None}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


def cut(body: bytes, size: int) -> Iterator[bytes]:
    step = size or max(1, len(body))
    return (body[at : at + step] for at in range(0, len(body), step))


def read(chunks: Iterable[bytes], reader: ReplyReader | None = None) -> tuple[str, str, Ended]:
    """The text, the reasoning and the end of a reply that comes in these chunks."""
    reader = reader or ReplyReader()
    said = [piece for chunk in chunks for piece in reader.feed(chunk)]
    said += reader.finish()
    ended = reader.ended()
    assert (reader.text, reader.reasoning) == _joined(said)
    return reader.text, reader.reasoning, ended


def _joined(said: Iterable[Said]) -> tuple[str, str]:
    pieces = list(said)
    return "".join(piece.text for piece in pieces), "".join(piece.reasoning for piece in pieces)


def read_text(body: str) -> str:
    return read([body.encode()])[0]


def check(case: dict[str, Any], chunks: Iterable[bytes]) -> None:
    want, reader = case["want"], ReplyReader()
    if not want["complete"]:
        failure = ServerError if "error" in want else ModelReplyIncomplete
        with pytest.raises(failure, match=want.get("error")):
            read(chunks, reader)
        assert (reader.text, reader.complete) == (want["text"], False)
        return
    text, reasoning, ended = read(chunks, reader)
    assert (text, reasoning) == (want["text"], want.get("reasoning", ""))
    assert ended.finish_reason == want.get("finish", "stop")
    assert ended.usage.prompt_tokens == want.get("prompt_tokens")
    assert ended.usage.cached_tokens == want.get("cached_tokens")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize("size", [None, 0, 1, 2, 7])
def test_each_case_is_read_however_it_is_cut(case: dict[str, Any], size: int | None) -> None:
    check(case, cut(case["body"].encode(), case["cut"] if size is None else size))


@given(
    texts=st.lists(st.text(), max_size=6),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    escaped=st.booleans(),
    cuts=st.lists(st.integers(0, 2000), max_size=30),
)
def test_any_text_survives_any_line_end_and_any_cut(
    texts: list[str], line_end: str, escaped: bool, cuts: list[int]
) -> None:
    events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    lines = [f"data: {json.dumps(event, ensure_ascii=escaped)}" for event in events]
    body = "".join(line + line_end * 2 for line in (*lines, "data: [DONE]")).encode()
    places = sorted({0, len(body), *(place for place in cuts if place < len(body))})
    chunks = [body[start:end] for start, end in pairwise(places)]
    assert read(chunks)[0] == "".join(texts)


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_any_bytes_are_read_or_refused(chunks: list[bytes]) -> None:
    for opening in (b"", b"{", b"data: "):
        with suppress(ModelReplyIncomplete, ServerError):
            read([opening, *chunks])


MEMBERS = [
    "choices",
    "delta",
    "message",
    "content",
    "text",
    "usage",
    "error",
    "detail",
    "msg",
    "index",
    "object",
    "finish_reason",
    "prompt_tokens",
    "prompt_tokens_details",
    "cached_tokens",
    "reasoning_content",
]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(JSON_VALUES, max_size=4), st.booleans())
def test_any_json_is_read_or_refused(documents: list[object], streamed: bool) -> None:
    if streamed:
        body = "".join(f"data: {json.dumps(document)}\n\n" for document in documents)
    else:
        body = json.dumps({"choices": documents, "usage": documents, "error": documents[-1:]})
    with suppress(ModelReplyIncomplete, ServerError):
        read([body.encode()])


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_only_cr_and_lf_end_a_line(separator: str) -> None:
    decoder = EventDecoder()
    (event,) = decoder.feed(f"data: one{separator}two\n\n".encode())
    assert event.data == (f"one{separator}two".encode(),)


def test_crlf_split_between_chunks_is_one_line_end() -> None:
    decoder = EventDecoder()
    events = [
        event
        for chunk in (b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n", b"data: c\r\r")
        for event in decoder.feed(chunk)
    ]
    assert [event.data for event in events] == [(b"a", b"b"), (b"c",)]


def test_done_without_a_finish_reason_is_complete() -> None:
    assert read([(delta(content="Hi") + DONE).encode()])[2] == Ended(None, Usage())


def test_done_needs_no_empty_line_after_it() -> None:
    assert read([(delta(content="Hi") + "data: [DONE]").encode()])[2].finish_reason is None


def test_what_comes_after_done_is_not_read() -> None:
    assert read_text(delta(content="Hi") + DONE + "data: {broken\n\n" + delta(content="!")) == "Hi"


def test_an_empty_finish_reason_is_none() -> None:
    body = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":""}]}\n\n'
    with pytest.raises(ModelReplyIncomplete, match="without a finish reason"):
        read_text(body)


def test_a_reply_that_reads_as_nothing_asks_about_the_path() -> None:
    for body in ("", "\n\n", "<html><body>It works!</body></html>", ": ping\n\n: ping\n\n"):
        with pytest.raises(ModelReplyIncomplete, match="path"):
            read_text(body)


def test_the_completion_mode_says_text() -> None:
    body = 'data: {"choices":[{"text":"Once","index":0,"logprobs":null,"finish_reason":null}]}\n\n'
    last = (
        'data: {"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],'
        '"usage":{"completion_tokens":1,"prompt_tokens":2}}\n\n'
    )
    assert read([(body + last + DONE).encode()]) == ("Once", "", Ended("length", Usage(2, 1)))


@pytest.mark.parametrize(
    ("choice", "text", "reasoning"),
    [
        ({"finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}, "Hi", ""),
        ({"finish_reason": "stop", "message": {"content": "Hi", "reasoning_content": "hm"}}, "Hi", "hm"),
        ({"finish_reason": "stop", "text": "Hi", "index": 0}, "Hi", ""),
    ],
)
def test_a_reply_that_is_not_streamed_is_read_too(choice: dict[str, object], text: str, reasoning: str) -> None:
    content = {"choices": [choice], "usage": {"prompt_tokens": 32, "completion_tokens": 3}}
    body = json.dumps(content, indent=2).encode()
    for size in (0, 1, 10):
        assert read(cut(body, size)) == (text, reasoning, Ended("stop", Usage(32, 3)))


def test_a_whole_reply_that_was_cut_off_is_not_complete() -> None:
    with pytest.raises(ModelReplyIncomplete, match="not JSON"):
        read_text('{"choices":[{"message":{"content":"Hi')


def test_reasoning_under_both_names_is_said_once() -> None:
    body = delta(reasoning_content="hm", reasoning="hm") + delta(content="Hi") + STOP
    assert read([body.encode()])[:2] == ("Hi", "hm")


def chunk(**members: object) -> str:
    return f"data: {json.dumps(members)}\n\n"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param("\ufeff" + delta(content="Hi") + STOP, "Hi", id="byte order mark"),
        pytest.param((delta(content="Hi") + STOP).replace("data: ", "data:\t"), "Hi", id="a tab after the colon"),
        pytest.param("id: 7\nretry: 10\nevent: message\n" + delta(content="Hi") + STOP, "Hi", id="other fields"),
        pytest.param(
            'data: {"choices":\ndata: [{"delta":\ndata: {"content":"Hi"}}]}\n\n' + STOP, "Hi", id="many lines"
        ),
        pytest.param('data: {"choices":[],"choices":[{"delta":{"content":"Hi"}}]}\n\n' + STOP, "Hi", id="twice a key"),
        pytest.param('data: {"n":1e999,"choices":[{"delta":{"content":"Hi"}}]}\n\n' + STOP, "Hi", id="infinite"),
        pytest.param(f'data: {{"n":{"9" * 9000},"choices":[{{"text":"Hi"}}]}}\n\n' + STOP, "Hi", id="9,000 digits"),
        pytest.param('data: {"n":[NaN,-Infinity],"choices":[{"delta":{"content":"Hi"}}]}\n\n' + STOP, "Hi", id="NaN"),
        pytest.param(delta(content="x" * 5_000_000) + STOP, "x" * 5_000_000, id="a very long event"),
        pytest.param(chunk(choices=None) + chunk(choices={}) + delta(content="Hi") + STOP, "Hi", id="choices null"),
        pytest.param(chunk(choices=[{"delta": None}, None, 5]) + delta(content="Hi") + STOP, "Hi", id="delta null"),
        pytest.param(STOP + delta(content="Hi") + DONE, "Hi", id="the finish reason before the last words"),
        pytest.param(delta(content="Hi") + STOP + DONE + DONE + delta(content="!"), "Hi", id="[DONE] twice, and more"),
        pytest.param(chunk(choices=[{"index": "0", "delta": {"content": "Hi"}}]) + STOP, "Hi", id="an index in quotes"),
        pytest.param(chunk(error={}, choices=[{"delta": {"content": "Hi"}}]) + STOP, "Hi", id="an empty error"),
        pytest.param(delta(content="H\u0000i") + STOP, "H\u0000i", id="NUL"),
        pytest.param(delta(content=7) + delta(content={"text": "no"}) + STOP, "", id="no text at all"),
    ],
)
@pytest.mark.parametrize("size", [0, 3, 4096])
def test_each_oddity_is_survived(body: str, text: str, size: int) -> None:
    if size == 3 and len(body) > 100_000:
        size = 1000
    assert read(cut(body.encode(), size))[0] == text


def test_content_may_be_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "Once "}, {"type": "image_url"}, None, {"type": "text", "text": None}]
    body = delta(content=parts) + delta(content=[{"type": "text", "text": "upon"}]) + STOP
    assert read_text(body) == "Once upon"
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]
    assert read([(delta(content=thinking) + STOP).encode()])[:2] == ("Hi", "hm")
    assert read([(delta(content=[{"type": "thinking", "thinking": "hm"}]) + STOP).encode()])[:2] == ("", "hm")


def test_tool_calls_alone_are_no_words() -> None:
    calls = delta(content=None, tool_calls=[{"index": 0, "function": {"name": "roll", "arguments": "{}"}}])
    last = chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "tool_calls"}])
    assert read([(calls + last).encode()]) == ("", "", Ended("tool_calls", Usage()))


def test_a_refusal_in_place_of_words_is_told_as_one() -> None:
    with pytest.raises(ServerError, match=r"^I cannot tell that\.$"):
        read_text(delta(refusal="I cannot ") + delta(content=None, refusal="tell that.") + STOP)
    assert read_text(delta(content="Hi", refusal=None) + delta(refusal="hm") + STOP) == "Hi"


def test_only_the_first_choice_is_told() -> None:
    body = 'data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}\n\n'
    assert read_text(body + STOP) == "yes"


def test_ping_events_are_not_heard() -> None:
    reader = ReplyReader()
    assert list(reader.feed(b"event: ping\ndata: 12:30\n\n: ping\n\ndata:\n\nevent: ping\ndata: {}\n\n")) == []
    assert reader.heard == 0


def test_events_without_empty_lines_between_them_are_told_apart() -> None:
    assert read_text((delta(content="a") + delta(content="b") + STOP + DONE).replace("\n\n", "\n")) == "ab"


def test_a_character_in_two_halves_is_put_together() -> None:
    halves = 'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude00!"}}]}\n\n'
    assert read_text(halves + STOP) == "😀!"
    alone = 'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"x"}}]}\n\n'
    assert read_text(alone + STOP) == "\ufffdx"


def test_broken_utf8_in_content_is_replaced() -> None:
    body = b'data: {"choices":[{"delta":{"content":"a\xffb"}}]}\n\n' + STOP.encode()
    assert read([body])[0] == "a\ufffdb"


def test_malformed_json_is_an_incomplete_reply_and_keeps_what_was_said() -> None:
    reader = ReplyReader()
    with pytest.raises(ModelReplyIncomplete, match="not JSON"):
        read([(delta(content="Hi") + "data: {broken\n\n").encode()], reader)
    assert reader.text == "Hi"
    for body in ("data: [1]\n\n", "data: 5\n\n", f"data: {'[' * 100_000}\n\n"):
        with pytest.raises(ModelReplyIncomplete):
            read_text(body)


def test_a_torn_event_after_the_end_is_let_go() -> None:
    assert read_text(delta(content="Hi") + STOP + 'data: {"choices":[],"usa') == "Hi"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            'data: {"error":{"code":500,"message":"model crashed","type":"server_error"}}\n\n',
            "model crashed",
        ),  # llama.cpp
        ('error: {"code":400,"message":"too long","type":"invalid_request_error"}\n\n', "too long"),  # llama.cpp, 2025
        ('data: {"error":"out of memory"}\n\n', "out of memory"),  # Ollama
        ('data: {"object":"error","message":"bad","type":"BadRequestError","code":400}\n\n', "bad"),  # vLLM, FastChat
        ('event: error\ndata: {"message":"boom"}\n\n', "boom"),
        ('data: {"detail":"no such model"}\n\n', "no such model"),
        ('data: "bare words"\n\n', "bare words"),
        ('{"error":{"code":400,"message":"passed on as it was"}}', "passed on as it was"),  # a proxy, no event at all
        (': ping\n\n{"error":{"message":"in the middle"}}', "in the middle"),
        ('data: {"error":{"message":"with choices"},"choices":[]}\n\n', "with choices"),  # OpenRouter
        (
            'data: {"choices":[{"finish_reason":"error","error":{"message":"in a choice"}}]}\n\n',
            "in a choice",
        ),  # likewise
        ('data: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n', "busy"),  # Anthropic
        ('data: {"type":"error","message":"flat"}\n\n', "flat"),
        ('data: {"error":true,"message":"a mere flag"}\n\n', "a mere flag"),
        ('data: {"error":{"code":500}}\n\n', '{"code":500}'),
        ('data: {"error":{"message":null,"code":"x"}}\n\n', '{"message":null,"code":"x"}'),
        ('data: {"error":{"message":"","code":7}}\n\n', '{"message":"","code":7}'),
    ],
)
def test_each_style_of_error_within_a_stream_is_told(body: str, reason: str) -> None:
    with pytest.raises(ServerError, match=f"^{re.escape(reason)}$"):
        read_text(body)


def test_an_error_member_that_is_null_is_none() -> None:
    body = 'data: {"error":null,"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    assert read_text(body) == "Hi"


def feed_often(reader: ReplyReader, chunk: bytes) -> None:
    for _ in range(300):
        list(reader.feed(chunk))


@pytest.mark.parametrize("chunk", [b"data: " + b"x" * 94, b"data: " + b"x" * 94 + b"\n", b"data:\ndata:" + b"x" * 94])
def test_an_event_without_end_is_bounded(chunk: bytes) -> None:
    with pytest.raises(ModelReplyIncomplete, match="one event of it is longer than 1,000 bytes"):
        feed_often(ReplyReader(event_limit=1000), chunk)


def test_a_document_without_end_is_bounded() -> None:
    with pytest.raises(ModelReplyIncomplete, match="it is longer than 1,000 bytes"):
        feed_often(ReplyReader(event_limit=1000), b"{          ")


def test_a_stream_without_end_is_bounded() -> None:
    with pytest.raises(ModelReplyIncomplete, match="it is longer than 1,000 bytes"):
        feed_often(ReplyReader(reply_limit=1000), b": ping\n\n")


@pytest.mark.parametrize("value", [True, False, 0, -1, 1.5, "12", None, [], {}, 2**64])
def test_a_count_that_is_no_positive_integer_counts_as_not_told(value: object) -> None:
    usage = {"prompt_tokens": value, "completion_tokens": value}
    assert usage_in(usage) == Usage()
    assert usage_in(value) == Usage()
    assert usage_in({"prompt_tokens_details": value}) == Usage()


def test_that_nothing_was_cached_is_told() -> None:
    assert usage_in({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}) == Usage(9, None, 0)
    for value in (True, -1, "0", None, 0.0):
        assert usage_in({"prompt_tokens_details": {"cached_tokens": value}}) == Usage()


def test_of_repeated_counts_the_later_wins_and_null_takes_nothing_away() -> None:
    counts = ('{"prompt_tokens":50,"completion_tokens":1}', '{"prompt_tokens":50,"completion_tokens":2}', "null")
    body = "".join(f'data: {{"choices":[],"usage":{usage}}}\n\n' for usage in counts)
    assert read([(body + STOP).encode()])[2].usage == Usage(50, 2)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"error":{"message":"no such model","type":"not_found_error","code":404}}', "no such model"),
        ('{"error":"model \'x\' not found"}', "model 'x' not found"),
        ('{"detail":"Not Found"}', "Not Found"),
        ('{"detail":[{"loc":["body"],"msg":"field required"},{"msg":"and this"}]}', "field required; and this"),
        ('{"message":"nope"}', "nope"),
        ('{"error":{"code":500}}', '{"code":500}'),
        ("Service\n  Unavailable\x1b[31m", "Service Unavailable [31m"),
        ("", ""),
        ("[" * 3000, "[" * 1999 + "…"),
    ],
)
def test_the_reason_of_a_refusal_is_found(body: str, reason: str) -> None:
    assert refusal_text(body.encode()) == reason


def refused(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}})


TOO_LONG = {
    "llama.cpp": refused(
        "request (3031 tokens) exceeds the available context size (512 tokens), try increasing it",
        code=400,
        type="exceed_context_size_error",
        n_prompt_tokens=3031,
        n_ctx=512,
    ),
    "llama.cpp 2025": refused(
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        code=500,
        type="exceed_context_size_error",
        n_prompt_tokens=3031,
        n_ctx=512,
    ),
    "llama.cpp 500": refused("Context size has been exceeded.", code=500, type="server_error"),
    "llama-cpp-python": refused("Requested tokens (2285) exceed context window of 2048", type="internal_server_error"),
    "vLLM": json.dumps(
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4488 in the "
            "messages, 512 in the completion). Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "code": 400,
        }
    ),
    "vLLM's decoder": refused(
        "The decoder prompt (length 5951) is longer than the maximum model length of 4096. Make sure that `max_model_len` "
        "is no smaller than the number of text tokens.",
        type="BadRequestError",
    ),
    "vLLM 2025": refused(
        "The prompt (total length 5938) is too long to fit into the model (context length 4096). Make sure that "
        "`max_model_len` is no smaller than the number of text tokens plus multimodal tokens."
    ),
    "vLLM's cap": refused(
        "'max_tokens' or 'max_completion_tokens' is too large: 400. This model's maximum context length is 4096 tokens and "
        "your request has 3800 input tokens (400 > 4096 - 3800)."
    ),
    "SGLang": refused("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    "TabbyAPI": json.dumps({"detail": "Prompt length 5000 is greater than max_seq_len 4096"}),
    "TabbyAPI with the cap": refused("Request length 4000 + 400 is greater than max_seq_len 4096", trace=None),
    "LM Studio": refused(
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length "
        "of only 4096 tokens, which is not enough. Try to load the model with a larger context length."
    ),
    "LM Studio 2026": json.dumps(
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length "
            "(n_keep: 5453>= n_ctx: 4096)."
        }
    ),
    "Ollama": json.dumps({"error": "the input length exceeds the context length"}),
    "Ollama 2026": json.dumps({"error": "prompt too long; exceeded max context length by 904 tokens"}),
    "a code alone": refused("Bad request", code="context_length_exceeded"),
    "no words": json.dumps({"error": {"code": "context_length_exceeded"}}),
    "a long one": "x" * 1900 + " exceeds the context size",
}
OTHERS = (
    "model 'x' not found",
    "out of memory",
    "failed to allocate the cache: not enough memory for a context size of 131072, which is larger than what is left",
    "loading the model, its context length is 4096",
    "the image is too large",
    "Rate limit reached: too many requests",
)


@pytest.mark.parametrize("server", TOO_LONG)
def test_a_refusal_for_the_window_is_explained(server: str) -> None:
    told = refusal_text(TOO_LONG[server].encode())
    assert "The prompt is longer than the server's window" in told
    assert "lower `context_budget`" in told
    assert len(told) <= MAX_CHARACTERS


@pytest.mark.parametrize("server", ["llama.cpp", "llama.cpp 2025"])
def test_the_two_numbers_are_told(server: str) -> None:
    assert "window, 3031 tokens against 512:" in refusal_text(TOO_LONG[server].encode())


@pytest.mark.parametrize("server", [server for server in TOO_LONG if server != "a long one"])
def test_a_refusal_for_the_window_is_explained_within_a_stream_too(server: str) -> None:
    with pytest.raises(ServerError, match="lower `context_budget`"):
        read_text(f"event: error\ndata: {TOO_LONG[server]}\n\n")


@pytest.mark.parametrize("said", OTHERS)
def test_another_refusal_is_told_as_it_is(said: str) -> None:
    assert refusal_text(refused(said, code=500).encode()) == said
