"""The tree laid out in lanes, drawn as a picture and in a terminal; the difference as a page. Hostile names stay names."""

import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from api.cli.diff import print_difference
from api.cli.tree import print_tree
from api.pages.difference import difference_page
from api.pages.tree_svg import tree_svg
from api.use_cases.tree import Drawing, Lane, Mark, drawing, tree_answer
from domain.campaign.commands import CampaignCommand
from domain.errors import UnknownCampaign
from tests.fakes.event_log import MemoryEventLog
from tests.fakes.sample_story import (
    CAMPAIGN,
    accept,
    go,
    name_branch,
    retry,
    rewrite,
    save,
    start,
    take_turn,
    undo,
)
from tests.fakes.time_and_names import NumberedNames, TickingClock

HOSTILE = "</text><script>alert('x')</script>&amp;\"]]>-->"
ODD = "abc [bold red]x[/] :smile: é\U0001f5fc"
WIDTHS = (40, 80, 200)


def played(*commands: CampaignCommand) -> MemoryEventLog:
    log = MemoryEventLog(TickingClock(), NumberedNames())
    for command in (start(), *commands):
        log.execute(command)
    return log


def turns(*names: str) -> list[CampaignCommand]:
    return [command for name in names for command in (take_turn(name, text=f"Step {name}."), accept(name, "Told."))]


def forest() -> MemoryEventLog:
    """Three turns 2–7; a retake 8 of the second; a way aside 9, 10 from the first; the third undone."""
    return played(
        *turns("t_1", "t_2", "t_3"),
        go(5), retry("t_4"), accept("t_4", "Another."),
        go(3), *turns("t_5"),
        save("s_1", HOSTILE, 8), save("s_2", ODD, 3), name_branch(3, f"{HOSTILE}{HOSTILE}"), name_branch(2, f"{ODD} aside"),
        go(7), undo(),
    )  # fmt: skip


def laid_out(log: MemoryEventLog) -> Drawing:
    return drawing(log, CAMPAIGN)


# Lanes and marks


def test_an_opening_alone_is_one_lane_with_the_reader_on_it() -> None:
    drawn = laid_out(played())
    (lane,) = drawn.lanes
    assert (lane.branch, lane.row, lane.parent, lane.first, lane.last, lane.active) == (1, 0, None, 1, 1, 1)
    assert (lane.marks, drawn.moments) == ((Mark(1, "head"),), 1)


def test_each_branch_has_a_lane_below_the_one_it_grew_from_the_latest_fork_first() -> None:
    drawn = laid_out(forest())
    assert [(lane.branch, lane.row, lane.parent, lane.first, lane.last, lane.nodes) for lane in drawn.lanes] == [
        (1, 0, None, 1, 7, 7),
        (2, 1, 1, 5, 5, 1),
        (3, 2, 1, 4, 5, 2),
    ]
    assert drawn.moments == 7


def test_the_line_that_is_read_is_active_down_to_where_it_leaves() -> None:
    log = forest()
    assert [lane.active for lane in laid_out(log).lanes] == [5, 0, 0]
    log.execute(go(8))
    assert [lane.active for lane in laid_out(log).lanes] == [4, 5, 0]


def test_marks_show_where_one_is_what_is_ahead_what_is_saved_and_where_there_are_takes() -> None:
    marks = {lane.branch: lane.marks for lane in laid_out(forest()).lanes}
    assert marks[1] == (Mark(3, "save", ODD), Mark(5, "takes", "2"), Mark(7, "tip"), Mark(5, "head"))
    assert marks[2] == (Mark(5, "save", HOSTILE),)
    assert marks[3] == ()


def test_an_action_written_anew_is_no_take() -> None:
    marks = [mark for lane in laid_out(played(*turns("t_1"), rewrite(2, "Stay."))).lanes for mark in lane.marks]
    assert marks == [Mark(2, "head")]


def test_lanes_of_nested_forks_cross_no_connection() -> None:
    """Between a lane and the one it grew from stand only lanes that grew later on that one, or on its own kin."""
    log = played(*turns("t_1", "t_2", "t_3", "t_4"))
    for number, node in enumerate((3, 7, 5, 11, 3, 13, 9)):
        log.execute(go(node))
        for command in turns(f"u_{number}"):
            log.execute(command)
    lanes = laid_out(log).lanes
    rows = {lane.branch: lane for lane in lanes}
    assert [lane.row for lane in lanes] == list(range(len(lanes)))
    for lane in lanes:
        if lane.parent is not None:
            between = lanes[rows[lane.parent].row + 1 : lane.row]
            assert all(other.first >= lane.first for other in between), lane


def test_a_story_that_is_not_there_has_no_tree() -> None:
    log = MemoryEventLog(TickingClock(), NumberedNames())
    for asked in (drawing, tree_answer):
        with pytest.raises(UnknownCampaign):
            asked(log, "c_nowhere")


# The picture


def picture(drawn: Drawing, title: str = HOSTILE) -> ET.Element:
    return ET.fromstring(tree_svg(drawn, title))  # noqa: S314  # what the program itself has drawn


def test_a_picture_is_well_formed_and_hostile_names_are_text() -> None:
    root = picture(laid_out(forest()))
    said = " ".join(root.itertext())
    for name in (HOSTILE, ODD, "you are here", "later story", "2 takes"):
        assert name in said
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "path", "circle", "text", "tspan", "g", "rect", "line", "desc"}
    assert not [name for element in root.iter() for name in element.attrib if name.lower().startswith("on")]


@pytest.mark.parametrize("title", ["a\x00b\x1b[31m", "\ufffe\uffff", "\x0b\x0c", "tab\tand\nline"])
def test_a_picture_is_well_formed_whatever_the_story_is_called(title: str) -> None:
    lane = Lane(1, title, 0, None, 1, 3, 3, 3, (Mark(2, "save", title), Mark(3, "head")))
    assert picture(Drawing((lane,), 3), title).tag.endswith("svg")


def test_a_picture_has_every_lane_within_its_frame() -> None:
    drawn = laid_out(forest())
    root = picture(drawn)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    shifted = {id(inner) for group in root.iter() if "transform" in group.attrib for inner in group.iter()}
    for element in (element for element in root.iter() if id(element) not in shifted):
        for name, most in (("cx", width), ("x", width), ("cy", height), ("y", height)):
            if name in element.attrib and not element.attrib[name].endswith("%"):
                assert 0 <= float(element.attrib[name]) <= most


def test_a_picture_of_thousands_of_moments_stays_within_a_page() -> None:
    lanes = (
        Lane(1, "", 0, None, 1, 5000, 5000, 5000, (Mark(5000, "head"),)),
        Lane(2, "aside", 1, 1, 4000, 9000, 5001, 0, ()),
    )
    root = picture(Drawing(lanes, 9000))
    assert float(root.attrib["width"]) <= 2000


# The terminal


def printed(drawn: Drawing, width: int, *, terminal: bool = True) -> str:
    out = io.StringIO()
    screen = Console(
        file=out, width=width, force_terminal=terminal, color_system=None, markup=False, emoji=False, highlight=False
    )
    print_tree(drawn, screen)
    return out.getvalue()


def test_a_terminal_shows_lanes_names_and_where_one_is() -> None:
    seen = printed(laid_out(forest()), 120)
    assert seen.count("← you are here") == 1
    assert "moments 1–7, takes at 5" in seen
    for name in (HOSTILE, "[bold red]x[/] :smile: é\U0001f5fc"):
        assert name in seen


def test_a_terminal_is_shown_nothing_that_it_would_obey() -> None:
    lane = Lane(
        1, "a\x1b]0;owned\x07b\x9b31m\rc", 0, None, 1, 3, 3, 3, (Mark(2, "save", "x\x1b[2J\x00"), Mark(3, "head"))
    )
    seen = printed(Drawing((lane,), 3), 80)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", seen)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_lane_is_as_wide_as_the_terminal_at_most(width: int) -> None:
    lanes = (
        Lane(1, "", 0, None, 1, 900, 900, 900, (Mark(900, "head"), Mark(450, "takes", "2"))),
        Lane(2, "", 1, 1, 400, 1000, 601, 0, ()),
    )
    drawn = printed(Drawing(lanes, 1000), width).splitlines()[:2]
    for line in drawn:
        assert len(line.rpartition("  ")[0]) <= width


@pytest.mark.parametrize("moments", [1, 2, 3, 50, 10_000])
def test_any_number_of_moments_is_drawn(moments: int) -> None:
    lane = Lane(1, "", 0, None, 1, moments, moments, moments, (Mark(moments, "head"), Mark(1, "save", "first")))
    for width in WIDTHS:
        assert "←" in printed(Drawing((lane,), moments), width)


# The page and the terminal's difference


def a_difference(text: str) -> dict[str, Any]:
    place = {"reference": text, "node": 3, "moment": 3, "branch": 1, "moments_since": 1}
    account = {
        "turns": 1,
        "prompt_tokens": 2,
        "completion_tokens": 3,
        "cached_tokens": 0,
        "truncation_suspected": 0,
        "unknown": 0,
    }
    words = [
        {"side": "same", "left": text, "right": text},
        {"side": "left", "left": text, "right": ""},
        {"side": "right", "left": "", "right": text},
    ]
    section = {"name": "canon", "label": text, "left_tokens": 1, "right_tokens": 2, "words": words}
    node = {"node": 3, "moment": 3, "kind": "narration", "text": text}
    return {
        "left": place,
        "right": place,
        "common": {"node": 2, "moment": 2, "branch": 1, "text": text},
        "text": {
            "left": [node],
            "right": [node],
            "takes": [{"parent": 2, "left": 3, "right": 4, "words": words}],
            "corrected": [],
        },
        "state": {"changes": []},
        "memory": {"left": [], "right": [], "summaries": {"left": None, "right": None}},
        "prompts": {"left": "t_1", "right": "t_2", "sections": [section, {**section, "words": None}]},
        "accounts": {"left": account, "right": account},
    }


class _Seen(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", [HOSTILE, "<img src=x onerror=alert(1)>", "{{ 7 * 7 }}{% raw %}", "a\x00b", ODD])
def test_a_page_shows_hostile_text_as_text(text: str) -> None:
    seen = _Seen(difference_page(a_difference(text), text))
    assert seen.tags.isdisjoint({"script", "img", "iframe", "object", "embed", "link", "form", "base", "svg"})
    assert text in seen.text
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "href", "srcdoc")]


def test_a_page_lets_nothing_in_and_stands_alone() -> None:
    page = difference_page(a_difference("plain"), "Plain")
    policy = [value for name, value in _Seen(page).attributes if name == "content" and value and "default-src" in value]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert not re.search(r"https?:|@import|url\(", page)


def test_a_terminal_shows_a_difference_without_obeying_it() -> None:
    out = io.StringIO()
    screen = Console(file=out, width=60, force_terminal=True, color_system=None, markup=False, emoji=False)
    print_difference(a_difference("x\x1b[2J\x07[bold]\x9b31my\r"), screen)
    seen = out.getvalue()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", seen)
    assert "[-x␛[2J␇[bold]�31my" in seen.replace("\n", "")
    assert all(cell_len(line) <= 60 for line in seen.splitlines())
