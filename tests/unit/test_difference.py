"""Where two lines parted, and which words two texts share."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.difference import words
from domain.difference.ancestor import Parting, parting
from domain.difference.words import Stretch, word_difference
from domain.log import Segment

TEXTS = st.lists(
    st.sampled_from(["a", "b", "c", "the", "A", "é", "\U0001f5fc"]).flatmap(
        lambda word: st.sampled_from(["", " ", "  ", "\n", "\u3000"]).map(lambda space: space + word)
    ),
    max_size=25,
).map("".join) | st.text(max_size=40)


def longest_common(left: list[str], right: list[str]) -> int:
    """The length of a longest common subsequence, by the textbook's table."""
    lengths = [0] * (len(right) + 1)
    for one in left:
        above = lengths[:]
        for at, other in enumerate(right, start=1):
            lengths[at] = above[at - 1] + 1 if one == other else max(above[at], lengths[at - 1])
    return lengths[-1]


@given(TEXTS, TEXTS)
def test_each_side_is_its_text_again(left: str, right: str) -> None:
    stretches = word_difference(left, right)
    assert "".join(stretch.left for stretch in stretches) == left
    assert "".join(stretch.right for stretch in stretches) == right


@given(TEXTS, TEXTS)
def test_what_is_the_same_is_a_longest_common_subsequence(left: str, right: str) -> None:
    same = [stretch for stretch in word_difference(left, right) if stretch.side == "same"]
    assert all(stretch.left.split() == stretch.right.split() for stretch in same)
    shared = sum(len(stretch.left.split()) for stretch in same)
    assert shared == longest_common(left.split(), right.split())


@given(TEXTS, TEXTS)
def test_stretches_alternate_and_the_left_stands_before_the_right(left: str, right: str) -> None:
    stretches = word_difference(left, right)
    for stretch in stretches:
        assert (bool(stretch.left), bool(stretch.right)) == (stretch.side != "right", stretch.side != "left")
    sides = [stretch.side for stretch in stretches]
    assert not [pair for pair in pairwise(sides) if pair[0] == pair[1] or pair == ("right", "left")]


@given(TEXTS)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert word_difference(text, text) == ((Stretch("same", text, text),) if text else ())


@pytest.mark.parametrize(
    ("left", "right", "sides"),
    [
        ("", "", []),
        ("a", "", ["left"]),
        ("", "a b", ["right"]),
        ("a b c", "a x c", ["same", "left", "right", "same"]),
        ("a b c", "a c", ["same", "left", "same"]),
        ("a c", "a b c", ["same", "right", "same"]),
        ("a b", "c d", ["left", "right"]),
        ("A", "a", ["left", "right"]),
        ("The door gives.", "The door  gives.", ["same"]),
        ("The door", "The door\n", ["same", "right"]),
        (" \n", "\t", ["same"]),
    ],
)
def test_words_differ_as_a_reader_sees_it(left: str, right: str, sides: list[str]) -> None:
    assert [stretch.side for stretch in word_difference(left, right)] == sides


def test_twenty_thousand_words_take_moments() -> None:
    """Chosen at random, so that nothing is trimmed at the ends: the dearest case there is of this length."""
    chance = random.Random(7)
    left, right = (" ".join(chance.choices("abcdefgh", k=20_000)) for _ in range(2))
    began = time.perf_counter()
    stretches = word_difference(left, right)
    assert time.perf_counter() - began < 5  # a table of them all would take minutes
    assert "".join(stretch.left for stretch in stretches) == left
    assert sum(len(stretch.left.split()) for stretch in stretches if stretch.side == "same") > 10_000


def test_texts_beyond_all_measure_are_told_apart_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MOST_PAIRS", 3)
    assert word_difference("a b c z", "a x b z") == (
        Stretch("same", "a", "a"),
        Stretch("left", " b c", ""),
        Stretch("right", "", " x b"),
        Stretch("same", " z", " z"),
    )


def test_a_megabyte_against_another_is_answered_at_once() -> None:
    left, right = "a b " * 250_000, "b c " * 250_000
    began = time.perf_counter()
    stretches = word_difference(left, right)
    assert time.perf_counter() - began < 10
    assert "".join(stretch.right for stretch in stretches) == right


# Where two lines parted

MAIN = [Segment(1, 1, 20)]
ASIDE = [Segment(2, 11, 30), Segment(1, 1, 10)]
FURTHER = [Segment(5, 16, 18), Segment(2, 11, 15), Segment(1, 1, 10)]
EARLY = [Segment(3, 4, 9), Segment(1, 1, 3)]


@pytest.mark.parametrize(
    ("left", "right", "where"),
    [
        (MAIN, MAIN, Parting(1, 20)),
        (MAIN, ASIDE, Parting(1, 10)),
        (ASIDE, FURTHER, Parting(2, 15)),
        (MAIN, FURTHER, Parting(1, 10)),
        (FURTHER, EARLY, Parting(1, 3)),
        (MAIN, [Segment(1, 1, 5)], Parting(1, 5)),
        (ASIDE, [Segment(2, 11, 12), Segment(1, 1, 10)], Parting(2, 12)),
        (EARLY, [Segment(4, 4, 4), Segment(1, 1, 3)], Parting(1, 3)),
        ([Segment(1, 1, 1)], FURTHER, Parting(1, 1)),
    ],
)
def test_two_lines_part_where_the_first_leaves_what_they_share(
    left: list[Segment], right: list[Segment], where: Parting
) -> None:
    assert parting(left, right) == parting(right, left) == where
