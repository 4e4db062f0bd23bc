"""Text on its way to a terminal: harmless, and broken into lines as it comes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from api.cli.terminal_text import Wrapping, harmless, wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with\ttab\nand line", "plain, with\ttab\nand line"),
        ("\x1b[31mred", "␛[31mred"),
        ("nul\x00", "nul␀"),
        ("bell\x07 and delete\x7f", "bell␇ and delete␡"),
        ("C1 \x9b31m and \x85", "C1 \ufffd31m and \ufffd"),
        ("marks \u200e\u200f, \u202aembedded\u202b\u202c", "marks \ufffd\ufffd, \ufffdembedded\ufffd\ufffd"),
        ("overridden \u202d\u202egpj.exe", "overridden \ufffd\ufffdgpj.exe"),
        ("isolated \u2066\u2067\u2068\u2069", "isolated \ufffd\ufffd\ufffd\ufffd"),
        ("neighbours \u200d\u2029\u202f\u2065\u206a", "neighbours \u200d\u2029\u202f\u2065\u206a"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("日本 · é", "日本 · é"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_instead(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    assert not set(harmless(text)) & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}


def test_lines_break_between_words() -> None:
    assert wrapped("the quick brown fox jumps", 10) == "the quick\nbrown fox\njumps"


def test_a_word_is_held_back_until_it_is_whole() -> None:
    wrapping = Wrapping(20)

    assert [wrapping.add("The do"), wrapping.add("or op"), wrapping.add("ens."), wrapping.end()] == [
        "The",
        " door",
        "",
        " opens.",
    ]


def test_a_line_ending_that_comes_in_two_pieces_is_one() -> None:
    wrapping = Wrapping(20)

    assert wrapping.add("one\r") + wrapping.add("\ntwo") + wrapping.end() == "one\ntwo"


def test_wide_characters_break_anywhere() -> None:
    assert wrapped("日本語日本語", 8) == "日本語日\n本語"


def test_a_word_longer_than_a_line_is_broken() -> None:
    assert wrapped("abcdefghij", 4) == "abcd\nefgh\nij"


def test_indentation_and_empty_lines_stay() -> None:
    assert wrapped("  one\n\n  two", 20) == "  one\n\n  two"


def test_without_a_width_lines_stay_as_they_are() -> None:
    assert wrapped("a  b " * 50, None) == "a  b " * 50


@given(st.text(), st.lists(st.integers(0, 40)), st.integers(4, 30))
def test_it_does_not_matter_how_the_text_comes(text: str, cuts: list[int], width: int) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[first:last] for first, last in pairwise(places)]
    wrapping = Wrapping(width)

    assert "".join(map(wrapping.add, pieces)) + wrapping.end() == wrapped(text, width)


@given(st.text(), st.integers(4, 30))
def test_nothing_but_blanks_is_lost_and_no_line_is_too_long(text: str, width: int) -> None:
    lines = wrapped(text, width)

    assert lines.replace("\n", "").replace(" ", "") == harmless(text).replace("\n", "").replace(" ", "").replace(
        "\t", ""
    )
    assert all(cell_len(line.strip(" ")) <= width for line in lines.split("\n"))
