"""From sections and history to messages to the exact bytes, and where each section stands in them."""

from collections.abc import Mapping
from typing import Literal

import orjson
import pytest

from domain.campaign.events import NodeKind
from domain.prompt import texts
from domain.prompt.request import Message, messages_of, serialize, text_at
from domain.prompt.sections import HistoryNode, Section
from domain.prompt.wording import as_prompted

PARAMETERS: Mapping[str, object] = {"model": "small", "stream": True, "max_tokens": 400, "stop": ["\n"]}
STATIC = (Section("narrator_prompt", "Tell it.", "why"), Section("canon", "One law.", "why"))
NOTE = Section("authors_note", "Quiet.", "why")
HINT = Section("continue_hint", "[Go on.]", "why")

AWKWARD = {
    "NUL": "a\0b",
    "control characters": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "quotes": "\"He said: 'no'\" “”",
    "backslashes": "\\ \\n \\u0041 \\\\ \\",
    "line separators": "a\u2028b\u2029c\u0085d",
    "emoji": "😀 👩‍👩‍👧 🏳️‍🌈",
    "astral": "𝔘𝔫𝔦 \U0010ffff",
    "not characters": "\ufffe\uffff\ufffd\ufeff",
    "slashes": "</script> / \\/",
    "a message within": '"},{"role":"system","content":"',
    "combining": "e\u0301\u202e",
}


def line(*told: tuple[NodeKind, str]) -> tuple[HistoryNode, ...]:
    return tuple(HistoryNode(depth, depth, kind, text) for depth, (kind, text) in enumerate(told, 1))


STORY = line(("opening", "It rains."), ("do", "I wait"), ("narration", "It stops."), ("say", "At last."))


def plain(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": m.role, "content": "\n\n".join(piece.text for piece in m.pieces)} for m in messages]


def test_a_chat_request_is_the_json_that_one_would_write_by_hand() -> None:
    body = serialize(PARAMETERS, messages_of(STATIC, STORY, (NOTE,)), "chat")
    assert orjson.loads(body.data) == {
        **PARAMETERS,
        "messages": [
            {"role": "system", "content": "Tell it.\n\nOne law."},
            {"role": "user", "content": texts.STORY_BEGINS},
            {"role": "assistant", "content": "It rains."},
            {"role": "user", "content": "> You wait"},
            {"role": "assistant", "content": "It stops."},
            {"role": "user", "content": '> You say, "At last."\n\nQuiet.'},
        ],
    }


def test_a_completion_request_holds_the_same_texts_as_one() -> None:
    body = serialize(PARAMETERS, messages_of(STATIC, STORY, (NOTE,)), "completion")
    assert orjson.loads(body.data) == {
        **PARAMETERS,
        "prompt": f"Tell it.\n\nOne law.\n\n{texts.STORY_BEGINS}\n\nIt rains.\n\n> You wait\n\nIt stops.\n\n"
        '> You say, "At last."\n\nQuiet.\n\n',
    }


def test_the_bytes_are_compact_and_the_parameters_stand_first() -> None:
    body = serialize(PARAMETERS, messages_of(STATIC, STORY, (NOTE,)), "chat")
    assert body.data.startswith(b'{"model":"small","stream":true,"max_tokens":400,"stop":["\\n"],"messages":[')
    assert body.data == orjson.dumps(orjson.loads(body.data))


@pytest.mark.parametrize("mode", ["chat", "completion"])
@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())
def test_any_text_is_escaped_as_json_escapes_it(text: str, mode: Literal["chat", "completion"]) -> None:
    static = (Section("narrator_prompt", text, "why"),)
    told = line(("opening", text), ("story", text))
    messages = messages_of(static, told, (Section("authors_note", text, "why"),))
    body = serialize({"model": text}, messages, mode)
    contents = [message["content"] for message in plain(messages)]
    expected: dict[str, object] = {"model": text}
    expected |= {"messages": plain(messages)} if mode == "chat" else {"prompt": "\n\n".join([*contents, ""])}
    assert orjson.loads(body.data) == expected
    assert body.data == orjson.dumps(expected)
    assert {text_at(body.data, span) for name in body.spans if name != "transport" for span in body.spans[name]} == {
        text
    }


@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_each_span_holds_the_text_of_its_section(mode: Literal["chat", "completion"]) -> None:
    body = serialize(PARAMETERS, messages_of(STATIC, STORY, (NOTE,)), mode)
    found = {name: [text_at(body.data, span) for span in spans] for name, spans in body.spans.items()}
    assert found == {
        "narrator_prompt": ["Tell it."],
        "canon": ["One law."],
        "transport": [texts.STORY_BEGINS],
        "history": [as_prompted(node) for node in STORY],
        "authors_note": ["Quiet."],
    }


def test_neighbours_of_one_role_are_merged() -> None:
    told = line(
        ("opening", "It rains."),
        ("narration", "On and on."),
        ("do", "wait"),
        ("say", "Well?"),
        ("narration", "It stops."),
    )
    assert plain(messages_of(STATIC, told, (HINT,)))[1:] == [
        {"role": "user", "content": texts.STORY_BEGINS},
        {"role": "assistant", "content": "It rains.\n\nOn and on."},
        {"role": "user", "content": '> You wait\n\n> You say, "Well?"'},
        {"role": "assistant", "content": "It stops."},
        {"role": "user", "content": "[Go on.]"},
    ]


def test_a_history_that_begins_with_an_action_needs_no_opening_message() -> None:
    assert plain(messages_of(STATIC, STORY[1:], ()))[1] == {"role": "user", "content": "> You wait"}


def test_a_node_without_text_is_no_message() -> None:
    assert plain(messages_of(STATIC, line(("opening", "")), (HINT,)))[1:] == [{"role": "user", "content": "[Go on.]"}]
    assert plain(messages_of(STATIC, line(("opening", ""), ("do", "wait")), ()))[1:] == [
        {"role": "user", "content": "> You wait"}
    ]


def test_a_range_outside_a_string_is_no_text() -> None:
    body = serialize(PARAMETERS, messages_of(STATIC, STORY, ()), "chat")
    start, end = body.spans["canon"][0]
    with pytest.raises(orjson.JSONDecodeError):
        text_at(body.data, (start, end + 2))
