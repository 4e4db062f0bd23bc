"""Text as it enters the log."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.text import REPLACEMENT, without_lone_surrogates

ANY = st.text(st.characters(codec=None) | st.characters(categories=["Cs"]))


@pytest.mark.parametrize("text", ["", "It rains.", "a\0b", "😀 \U0010ffff", "\ufffd", "\ud7ff\ue000"])
def test_text_that_can_be_written_is_left_alone(text: str) -> None:
    assert without_lone_surrogates(text) == (text, 0)


@pytest.mark.parametrize(
    ("text", "clean", "count"),
    [
        ("\ud800", "\ufffd", 1),
        ("a\udfffb", "a\ufffdb", 1),
        ("\udc00\ud800", "\ufffd\ufffd", 2),
        (json.loads('"\\ud83d\\ude00 \\ud83d"'), "😀 \ufffd", 1),
    ],
)
def test_each_lone_surrogate_is_replaced_and_counted(text: str, clean: str, count: int) -> None:
    assert without_lone_surrogates(text) == (clean, count)


@settings(deadline=None)
@given(ANY)
def test_what_comes_out_can_be_written_and_is_as_long(text: str) -> None:
    clean, count = without_lone_surrogates(text)
    assert clean.encode().decode() == clean
    assert len(clean) == len(text)
    assert count == sum("\ud800" <= character <= "\udfff" for character in text)
    assert all(now in (before, REPLACEMENT) for now, before in zip(clean, text, strict=True))
    assert without_lone_surrogates(clean) == (clean, 0)
