"""Extraction, whatever the reply: exact, never an error; a proposal survives its wrapping, and a story its look-alikes."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.extraction.case_texts import case_texts
from domain.extraction.extractors import EXTRACTORS, extract
from domain.narrative.vocabulary import EVENT_TYPES
from domain.prompt import texts
from tests.extraction_cases import assert_exact, events_of

TEXTS = case_texts()
BLOCK = json.dumps({"events": [{"type": "set_possession", "item": "lamp", "owner": "oren"}]})

SCRAPS = (
    *TEXTS.values(), BLOCK, json.dumps(BLOCK), "```state", "```json", "```", "````", "`", "```python", "\n", "\n\n", "\r\n",
    "> ", ">", " ", "  ", "\t", "{", "}", "[", "]", '"', "\\", "“", "”", ",", ":", '{"events": [', '{"events"', '"type": "add_fact"',
    "State", "**State:**", "## ", "<think>", "</think>", "set_possession(lamp)", "Create_entity (", "Scene: below", "(at The hold)",
    "It rains.", "Then we wait.", "\u2028", "\0", "\ufeff", "\x1c", "\u00a0", "😀", "NaN", "1e999", "null", "Reminder:", "Hard limit:",
)  # fmt: skip

anything = st.text() | st.lists(st.sampled_from(SCRAPS), max_size=14).map("".join)
shreds = st.builds(lambda text, start, end: text[start:end], anything, st.integers(0, 40), st.integers(0, 400))


@settings(deadline=None, max_examples=400)
@given(anything | shreds | st.text(alphabet='`{}[]">, \n\\aS:', max_size=60))
@example("```state\n\n```state\n")
@example("> ```state\n> \n>```")
@example("> ```state\n>")
def test_any_reply_is_read_exactly(raw: str) -> None:
    for version in EXTRACTORS:
        extraction = extract(raw, version)
        assert_exact(raw, extraction)
        assert extraction == extract(raw, version)
        assert (extraction.block is None) is (extraction.proposal == "absent")


words = st.text(alphabet="abcdefgh ijklmnop’,—é漢😀", min_size=1, max_size=40).map(str.strip).filter(bool)
sentences = words.map(lambda said: f"{said.capitalize()}.")
stories = st.lists(st.lists(sentences, min_size=1, max_size=3).map("\n".join), min_size=1, max_size=3).map("\n\n".join)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6
)
events = st.lists(
    st.builds(lambda kind, fields: {"type": kind, **fields}, st.sampled_from(sorted(EVENT_TYPES)), st.dictionaries(
        st.text(max_size=8).filter(lambda name: name != "type"), values, max_size=3
    )),
    max_size=3,
)  # fmt: skip


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def fenced(label: str, payload: str) -> str:
    return f"```{label}\n{payload}\n```"


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "state": lambda payload: fenced("state", payload),
    "STATE": lambda payload: fenced("STATE", payload),
    "json": lambda payload: fenced("json", payload),
    "bare": lambda payload: fenced("", payload),
    "quoted": lambda payload: quoted(fenced("state", payload)),
    "inline": lambda payload: f"```state{payload}```",
    "not closed": lambda payload: f"```state\n{payload}",
    "escaped": lambda payload: fenced("state", json.dumps(payload)),
    "object": lambda payload: payload,
    "object, quoted": quoted,
    "below a heading": lambda payload: f"**State:**\n\n{payload}",
    "above an echo": lambda payload: f"{payload}\n\n{TEXTS['REMINDER']}",
}


@settings(deadline=None, max_examples=300)
@given(stories, events, st.sampled_from(sorted(WRAPPINGS)), st.sampled_from([None, 1]), st.booleans())
def test_a_proposal_survives_its_wrapping_and_the_story_stays(
    story: str, proposed: list[Any], wrapping: str, indent: int | None, escaped: bool
) -> None:
    payload = json.dumps({"events": proposed}, indent=indent, ensure_ascii=escaped)
    extraction = extract(f"{story}\n\n{WRAPPINGS[wrapping](payload)}")
    assert extraction.prose == story
    assert json.dumps(events_of(extraction)) == json.dumps(proposed)


@settings(deadline=None, max_examples=200)
@given(
    stories, stories, events, st.sampled_from(["state", "STATE", "json", "bare", "quoted", "object", "object, quoted"])
)
def test_a_proposal_in_the_middle_leaves_a_blank_line(
    before: str, after: str, proposed: list[Any], wrapping: str
) -> None:
    payload = json.dumps({"events": proposed}, indent=1)
    extraction = extract(f"{before}\n{WRAPPINGS[wrapping](payload)}\n\n\n{after}")
    assert extraction.prose == f"{before}\n\n{after}"
    assert json.dumps(events_of(extraction)) == json.dumps(proposed)


NEAR_MISSES = (
    "The manual mentions a ```state block in passing, Vesna says.",
    "You check the <state> of the door.",
    "State of the realm: fragile.",
    "> You open the hatch.",
    '> {"name": "Vesna"}',
    '{"name": "Vesna", "events": "none"}',
    'She types {"events": []} on the wall.',
    '```python\n{"events": []}\nset_possession(lamp)\n```',
    "```\nrun\nset_possession(lamp)\n```",
    "open_door(north)",
    "create_entity is a terrible name.",
    "He says set_possession(lamp) aloud.",
    "[Hard limit: forty days, no extensions]",
    "[The sign reads: Closed]",
    "[To be continued",
    "Scene: the docks at dawn.",
    "Scene: the docks. (at The harbour)",
    f"{texts.HEADING_HELD} nobody.",
    f"{texts.HEADING_FACTS}\nnothing at all.",
    TEXTS["CONTINUE_SENTENCE"],
    "Reminder: the hatch is sealed.",
    "{ the rest is smudged",
    "}",
    "NaN",
    "  an indented line",
    "`code`",
    "“Output only story text,” the machine says.",
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from(NEAR_MISSES), max_size=8), st.sampled_from(["\n\n", "\n\n\n", "\nIt rains.\n"]), sentences
)
def test_a_story_of_look_alikes_is_not_touched(lines: list[str], between: str, last: str) -> None:
    story = between.join(["It rains.", *lines, last])
    for version in EXTRACTORS:
        extraction = extract(story, version)
        assert extraction.prose == story
        assert extraction.proposal == "absent"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(NEAR_MISSES), max_size=6), events, sentences)
def test_a_story_of_look_alikes_keeps_all_of_itself_but_the_block(
    lines: list[str], proposed: list[Any], last: str
) -> None:
    story = "\n\n".join(["It rains.", *lines, last])
    payload = json.dumps({"events": proposed})
    extraction = extract(f"{story}\n\n{fenced('state', payload)}")
    assert extraction.prose == story
    assert json.dumps(events_of(extraction)) == json.dumps(proposed)


PROTOCOL = ("REMINDER", "REMINDER_CUT", "CONTINUE_HINT", "LENGTH_HINT", "PASTED_STATE")
TAILS = (
    *(TEXTS[name] for name in PROTOCOL),
    fenced("state", BLOCK),
    BLOCK,
    quoted(BLOCK),
    "set_possession(lamp)",
    ">",
    "State",
)


@settings(deadline=None, max_examples=300)
@given(stories, st.lists(st.sampled_from(TAILS), min_size=1, max_size=6), st.sampled_from(["\n", "\n\n", "\r\n\r\n"]))
def test_protocol_at_the_end_comes_off_in_any_order(story: str, tail: list[str], between: str) -> None:
    """Closed brackets and blocks in any order; what was cut off hides nothing above it."""
    extraction = extract(between.join([story, *tail]))
    assert extraction.prose == story


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from((*NEAR_MISSES, *TAILS)) | sentences, min_size=1, max_size=7),
    st.sampled_from(["\n", "\n\n"]),
    st.sampled_from(["1", "2"]),
)
def test_what_is_left_holds_nothing_more_to_take(lines: list[str], between: str, version: str) -> None:
    prose = extract(between.join(lines), version).prose
    assert extract(prose, version).prose == prose
