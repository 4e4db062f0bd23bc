"""JSON as narrators write it: what is parsed, what is repaired, what is refused."""

import json

import pytest

from domain.extraction.payload import MOST_NESTED, Undecodable, decode, decode_repaired, repaired
from domain.extraction.proposals import proposed, proposed_in_state_fence, understood
from domain.narrative.vocabulary import EVENT_TYPES

KNOWN = {"type": "set_possession", "item": "lamp", "owner": "oren"}
UNKNOWN = {"type": "explode"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": [true, false, null, -2.5e3]}', {"a": 1, "b": [True, False, None, -2500.0]}),
        (' \t\r\n{"a": 1}\n', {"a": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud83d"', "\ufffd"),
        ('{"\\udc00": ["\\udfff"]}', {"\ufffd": ["\ufffd"]}),
        ('"a\u2028b\u0085c"', "a\u2028b\u0085c"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775809", -(2.0**63)),
        ("1" + "0" * 300, 1e300),
    ],
)
def test_json_is_decoded(text: str, value: object) -> None:
    assert decode(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "{'a': 1}", "{a: 1}", "NaN", "-Infinity", "[Infinity]", "1e400", "-1e400", "9" * 5_000, "[1,]", '{"a": 1}}',
        '"a\nb"', '"a\tb"', "01", "\ufeff{}", "{}\0", "[1] // one", "None", "[" * 100_000, "[" * 2_000 + "]" * 2_000,
    ],
)  # fmt: skip
def test_what_is_no_json_or_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(Undecodable):
        decode(text)


def test_nesting_is_bounded_at_the_same_depth_wherever_it_is_asked() -> None:
    deepest = "[" * MOST_NESTED + "]" * MOST_NESTED
    assert decode(deepest)
    with pytest.raises(Undecodable, match="too deep"):
        decode(f"[{deepest}]")
    with pytest.raises(Undecodable, match="too deep"):
        decode('{"a":' * (MOST_NESTED + 1) + "1" + "}" * (MOST_NESTED + 1))
    assert decode(json.dumps([[]] * 1_000)) == [[]] * 1_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1,]", [1]),
        ("[1, ]", [1]),
        ('{"a": [1,\n],\n}', {"a": [1]}),
        ('{"a": [1]', {"a": [1]}),
        ('{"a": [{"b": 1}}', {"a": [{"b": 1}]}),
        ('{"a": {"b": [1}}', {"a": {"b": [1]}}),
        ("{“a”: “b”}", {"a": "b"}),
        ("{“a“: „b“}", {"a": "b"}),
        ('{“a”: “say "b"”}', {"a": 'say "b"'}),
        ('{“a”: "“b”"}', {"a": "“b”"}),
        ('["wait,]", "b,}",]', ["wait,]", "b,}"]),
        ('["see https://x.example/y",]', ["see https://x.example/y"]),
        ('["a\\"],",]', ['a"],']),
        ("[1],", [1]),
    ],
)  # fmt: skip
def test_a_slip_is_repaired(text: str, value: object) -> None:
    assert decode_repaired(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "{",
        '{"a": [',
        '{"a": [1',
        "[1,,2]",
        "{'a': 1}",
        '{"a" 1}',
        '{"a": “b}',
        '["a',
        "[1]]",
        "{]",
        "[}",
        "[1}",
        "",
    ],
)
def test_what_is_no_slip_is_not_repaired(text: str) -> None:
    with pytest.raises(Undecodable):
        decode_repaired(text)


def test_what_is_sound_is_not_changed() -> None:
    sound = '{"a": ["“x”, [1,]", {"b": "c\\\\"}], "d": -1.5e3}'
    assert repaired(sound) == sound


@pytest.mark.parametrize(
    ("value", "fenced", "state"),
    [
        ({"events": []}, (), ()),
        ({"events": [UNKNOWN]}, (UNKNOWN,), (UNKNOWN,)),
        ({"events": [1, "a"]}, (1, "a"), (1, "a")),
        ({"events": [KNOWN], "note": "x"}, (KNOWN,), (KNOWN,)),
        ([KNOWN], (KNOWN,), (KNOWN,)),
        ([UNKNOWN], None, (UNKNOWN,)),
        ([KNOWN, UNKNOWN], None, (KNOWN, UNKNOWN)),
        ([], None, ()),
        ([1], None, None),
        ([{"item": "lamp"}], None, None),
        (KNOWN, None, (KNOWN,)),
        (UNKNOWN, None, (UNKNOWN,)),
        ({"response": {"events": [KNOWN]}}, (KNOWN,), (KNOWN,)),
        ({"a": {"b": [KNOWN]}}, (KNOWN,), (KNOWN,)),
        ({"a": KNOWN}, None, (KNOWN,)),
        ({"a": 1, "b": {"events": []}}, None, None),
        ({"events": {"events": []}}, (), ()),
        ({"events": "none"}, None, None),
        ({"events": None}, None, None),
        ({}, None, None),
        ({"name": "Vesna"}, None, None),
        ({"type": 3}, None, None),
        ("events", None, None),
        (None, None, None),
        (3, None, None),
    ],
)
def test_what_a_proposal_is(value: object, fenced: object, state: object) -> None:
    assert proposed(value, EVENT_TYPES) == fenced
    assert proposed_in_state_fence(value) == state


def test_json_within_a_json_string_is_understood_once() -> None:
    block = json.dumps({"events": [KNOWN]})
    assert understood(json.dumps(block), EVENT_TYPES, state=True) == (KNOWN,)
    assert understood(json.dumps(block), EVENT_TYPES, state=False) == (KNOWN,)
    assert understood(json.dumps(json.dumps(block)), EVENT_TYPES, state=True) is None
