"""The difference of two places as a person sees it, on a page and in a terminal."""

import io
import re
from html import unescape
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from api.cli.diff import SHOWN_LEAVES, SHOWN_NODES, print_difference
from api.pages.difference import difference_page
from api.pages.state_values import said

ACCOUNT = {"turns": 1, "prompt_tokens": 9500, "completion_tokens": 400, "truncation_suspected": 0}
WORDS = [
    {"side": "same", "left": "The door", "right": "The door"},
    {"side": "left", "left": " creaks.", "right": ""},
    {"side": "right", "left": "", "right": " opens."},
]


def node(number: int, text: str = "The door creaks.", kind: str = "narration") -> dict[str, Any]:
    return {"node": number, "moment": number, "kind": kind, "text": text}


def difference(left: list[dict[str, Any]], right: list[dict[str, Any]], *, ends: tuple[int, int] = (3, 4)) -> Any:
    def place(reference: str, end: int, since: int) -> dict[str, Any]:
        return {"reference": reference, "node": end, "moment": 3, "branch": 1, "moments_since": since}

    return {
        "left": place("head", ends[0], len(left)),
        "right": place("The other way", ends[1], len(right)),
        "common": {"node": 2, "moment": 2, "branch": 1, "text": "You knock."},
        "text": {
            "left": left,
            "right": right,
            "takes": [{"parent": 2, "left": 3, "right": 4, "words": WORDS}] if left and right else [],
            "corrected": [],
        },
        "state": {"changes": []},
        "memory": {"left": [], "right": [], "summaries": {"left": None, "right": None}},
        "prompts": {"left": "t_1", "right": "t_2", "sections": []},
        "accounts": {"left": ACCOUNT, "right": ACCOUNT},
    }


def in_the_state(*leaves: tuple[str, Any, Any]) -> Any:
    """The difference of two places whose states differ in these leaves."""
    changes = [{"path": path, "left": left, "right": right} for path, left, right in leaves]
    return difference([node(3)], [node(4)]) | {"state": {"changes": changes}}


def words_of(page: str) -> str:
    """The page without its tags."""
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)).split())


def printed(answer: Any, width: int, *, terminal: bool = True) -> str:
    out = io.StringIO()
    print_difference(
        answer,
        Console(file=out, width=width, force_terminal=terminal, color_system=None, markup=False, emoji=False),
    )
    return out.getvalue()


class TestAPage:
    def test_names_both_places_and_what_each_has_of_its_own(self) -> None:
        seen = words_of(difference_page(difference([node(3)], [node(4)]), "The lighthouse"))
        assert "head moment 3, node 3 · 1 of its own since the two parted" in seen
        assert "The other way moment 3, node 4 · 1 of its own since the two parted" in seen

    def test_says_which_place_the_other_only_goes_on_from(self) -> None:
        seen = words_of(difference_page(difference([], [node(4)]), "The lighthouse"))
        assert seen.count("nothing of its own: the other goes on from here") == 1
        assert "Nothing since." in seen

    def test_says_when_both_are_the_same_place(self) -> None:
        seen = words_of(difference_page(difference([], [], ends=(3, 3)), "The lighthouse"))
        assert "The same place" in seen
        assert "The story since they parted" not in seen

    def test_marks_the_words_of_either_side(self) -> None:
        page = difference_page(difference([node(3)], [node(4)]), "The lighthouse")
        assert "The door<del> creaks.</del><ins> opens.</ins>" in page

    def test_keeps_the_breaks_and_signs_of_a_text(self) -> None:
        page = difference_page(difference([node(3, "One\n\n  <two> & “three”")], [node(4)]), "The lighthouse")
        assert "One\n\n  &lt;two&gt; &amp; “three”" in page

    def test_lists_the_leaves_of_the_state_that_differ(self) -> None:
        page = difference_page(
            in_the_state(("possessions.lamp", "<oren>", None), ("scene.present", [], ["a", "b"])), "T"
        )
        assert "What is established in the state left right possessions.lamp <oren> – scene.present – a, b" in words_of(
            page
        )
        assert "<oren>" not in page
        assert "What is established" not in difference_page(in_the_state(), "T")

    def test_begins_as_a_document_does(self) -> None:
        assert difference_page(difference([], []), "The lighthouse").lstrip().startswith("<!doctype html>")


class TestATerminal:
    @pytest.mark.parametrize("width", [40, 80, 200])
    def test_has_both_sides_within_its_width(self, width: int) -> None:
        answer = difference([node(3, "wort " * 80)], [node(4, "塔" * 200)])
        lines = printed(answer, width).splitlines()
        assert max(map(cell_len, lines)) <= width
        assert any("head" in line and "The other" in line for line in lines)

    def test_that_is_none_gets_lines_of_a_hundred_columns(self) -> None:
        lines = printed(difference([node(3, "wort " * 80)], [node(4)]), 9_999, terminal=False).splitlines()
        assert max(map(cell_len, lines)) <= 100

    def test_is_told_how_much_more_there_is(self) -> None:
        many = [node(number) for number in range(3, 3 + SHOWN_NODES + 5)]
        assert "… and 5 more" in printed(difference(many, [node(4)]), 80)

    def test_lists_the_leaves_of_the_state_that_differ(self) -> None:
        seen = printed(in_the_state(("possessions.lamp", "\x1bred", None)), 80).split("What is established")[1]
        assert seen.splitlines()[2].split() == ["possessions.lamp", "␛red", "–"]
        many = in_the_state(*((f"possessions.l{number}", "a", "b") for number in range(SHOWN_LEAVES + 2)))
        assert "… and 2 more" in printed(many, 80)
        assert (
            max(map(cell_len, printed(in_the_state(("scene.summary", "塔" * 300, "x" * 300)), 60).splitlines())) <= 60
        )
        assert "What is established" not in printed(in_the_state(), 80)

    def test_sees_the_words_of_either_side_without_colours_too(self) -> None:
        assert "The door[- creaks.-]{+ opens.+}" in printed(difference([node(3)], [node(4)]), 80)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, "–"),
        ("", "–"),
        ([], "–"),
        (["a", "b"], "a, b"),
        (True, "true"),
        (3, "3"),
        (0, "0"),
        (False, "false"),
        ("x", "x"),
    ],
)
def test_a_value_reads_as_a_person_says_it(value: Any, seen: str) -> None:
    assert said(value) == seen
