"""Extractor `0`: a reply is story as it stands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.extraction.extraction import RULE_WHITESPACE, Removal, extract_plain, prose_of


def removed(raw: str) -> list[tuple[int, int]]:
    return [(removal.start, removal.end) for removal in extract_plain(raw).removals]


@pytest.mark.parametrize(
    ("raw", "prose", "removals"),
    [
        ("It rains.", "It rains.", []),
        ("  It rains.", "It rains.", [(0, 2)]),
        ("It rains.\n\n", "It rains.", [(9, 11)]),
        ("\n It rains.\t", "It rains.", [(0, 2), (11, 12)]),
        ("One.\n\n  Two.", "One.\n\n  Two.", []),
        ("", "", []),
        (" \n\t ", "", [(0, 4)]),
        ("\u2003漢字😀\u00a0", "漢字😀", [(0, 1), (4, 5)]),
        ("\0", "\0", []),
    ],
)
def test_only_the_white_space_around_a_reply_is_taken_out(
    raw: str, prose: str, removals: list[tuple[int, int]]
) -> None:
    assert extract_plain(raw).prose == prose
    assert removed(raw) == removals


def test_each_removal_names_its_rule_and_the_extraction_its_extractor() -> None:
    extraction = extract_plain(" It rains. ")
    assert {removal.rule for removal in extraction.removals} == {RULE_WHITESPACE} == {"whitespace"}
    assert extraction.extractor == "0"


@settings(deadline=None)
@given(st.text() | st.text(alphabet=" \n\t\u2003\x1fa"))
def test_the_prose_is_the_reply_without_its_removals_and_nothing_else_is_lost(raw: str) -> None:
    extraction = extract_plain(raw)
    assert extraction.prose == raw.strip() == prose_of(raw, extraction.removals)
    assert all(raw[removal.start : removal.end].isspace() for removal in extraction.removals)
    assert len(extraction.prose) + sum(removal.end - removal.start for removal in extraction.removals) == len(raw)


@settings(deadline=None)
@given(st.text(), st.lists(st.integers(0, 40), max_size=12))
def test_removals_and_prose_put_back_in_place_are_the_reply(raw: str, cuts: list[int]) -> None:
    edges = sorted(min(cut, len(raw)) for cut in cuts)
    removals = tuple(
        Removal(rule="any", start=start, end=end) for start, end in zip(edges[::2], edges[1::2], strict=False)
    )
    prose, put_back, at = prose_of(raw, removals), "", 0
    for removal in removals:
        kept = removal.start - len(put_back)
        put_back += prose[at : at + kept] + raw[removal.start : removal.end]
        at += kept
    assert put_back + prose[at:] == raw


def test_a_removal_begins_at_no_negative_place() -> None:
    with pytest.raises(ValidationError):
        Removal(rule="any", start=-1, end=2)
