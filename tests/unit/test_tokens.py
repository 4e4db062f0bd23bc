"""Counting tokens with the table that is installed."""

import time
from collections.abc import Callable
from threading import Thread

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.tokens import ENCODING, LONGEST_TOKEN, PIECE, TiktokenCounter
from domain.ports import TokenCounter

MEGA = 1_000_000
FRAGMENTS = st.lists(
    st.sampled_from(
        ["a", " ", "\n", "!", "'ll", "123", "é", "漢", "😀", "\u0301", "Hello", " world", "\r\n", "<|endoftext|>"]
    )
    | st.characters(codec="utf-8"),
    max_size=40,
).map("".join)


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return TiktokenCounter()


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello world", 2), ("It rains.", 3), ("a" * 8, 1), ("😀", 2), ("\0\0", 2)]
)
def test_text_is_counted_as_the_table_counts_it(counter: TokenCounter, text: str, tokens: int) -> None:
    assert counter.count(text) == tokens


def test_special_tokens_are_counted_as_the_plain_text_that_they_are(counter: TokenCounter) -> None:
    assert counter.count("<|endoftext|>") > 1
    assert counter.tail("<|endoftext|>", 100) == "<|endoftext|>"


def test_a_lone_surrogate_is_counted_and_not_refused(counter: TokenCounter) -> None:
    assert counter.count("a\ud800b") > 1


def test_no_token_is_longer_than_the_longest() -> None:
    values = tiktoken.get_encoding(ENCODING).token_byte_values()
    assert max(len(value.decode("utf-8", errors="ignore")) for value in values) == LONGEST_TOKEN


@pytest.mark.parametrize(
    ("text", "tokens", "tail"),
    [
        ("one two three", 2, " two three"),
        ("one two three", 3, "one two three"),
        ("one two three", 99, "one two three"),
        ("one two three", 0, ""),
        ("one two three", -1, ""),
        ("", 5, ""),
        ("漢字😀", 1, ""),
        ("漢字😀", 2, "😀"),
        ("漢字😀", 3, "字😀"),
    ],
)
def test_the_tail_is_the_end_that_has_so_many_tokens(counter: TokenCounter, text: str, tokens: int, tail: str) -> None:
    assert counter.tail(text, tokens) == tail


def test_an_end_that_is_parted_otherwise_than_the_whole_is_still_short_enough(counter: TokenCounter) -> None:
    """The last three tokens of this text, read alone, are four."""
    assert counter.count(counter.tail("</_AAVMLINUX", 3)) <= 3


@settings(deadline=None)
@example("\U0001a340'll", 5)
@given(FRAGMENTS, st.integers(0, 60))
def test_a_tail_is_an_end_that_fits_and_little_shorter_than_it_could_be(text: str, tokens: int) -> None:
    counter = TiktokenCounter()
    tail = counter.tail(text, tokens)
    assert text.endswith(tail)
    assert counter.count(tail) <= tokens
    # One character more would use up the tokens, if it fitted at all.
    assert tail == text or counter.count(text[-len(tail) - 1 :]) >= tokens


def test_a_long_text_is_counted_about_as_it_would_be_at_once(counter: TokenCounter) -> None:
    text = "The rain falls on the roofs, and nobody minds it. " * (3 * PIECE // 50)
    at_once = len(tiktoken.get_encoding(ENCODING).encode(text))
    assert at_once <= counter.count(text) <= at_once + 2 * (len(text) // PIECE + 1)


HUGE: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "blanks": lambda size: " " * size,
    "blanks, and then a letter": lambda size: " " * size + "a",
    "line breaks": lambda size: "\n" * size,
    "line breaks, and then a letter": lambda size: "\n" * size + "a",
    "no-break spaces": lambda size: "\u00a0" * size,
    "emoji": lambda size: "😀" * (size // 4),
    "joined emoji": lambda size: "👩‍" * (size // 7),
    "digits": lambda size: "1" * size,
    "dots": lambda size: "." * size,
    "accents": lambda size: "e" + "\u0301" * (size // 2),
    "quotes": lambda size: "'" * size,
    "NUL": lambda size: "\0" * size,
}


@pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE.keys())
def test_a_megabyte_of_repetition_is_counted_and_cut_in_time(counter: TokenCounter, huge: Callable[[int], str]) -> None:
    text = huge(MEGA)
    began = time.process_time()
    tokens = counter.count(text)
    tail = counter.tail(text, 14_000)
    assert time.process_time() - began < 2.0
    assert tokens >= len(text) // LONGEST_TOKEN
    assert text.endswith(tail)
    assert 0 < counter.count(tail) <= 14_000


def test_several_threads_may_count_at_once(counter: TokenCounter) -> None:
    counts: list[int] = []
    threads = [Thread(target=lambda: counts.append(counter.count("It rains. " * 500))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 4
    assert len(set(counts)) == 1
