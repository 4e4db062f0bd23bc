"""What a person sees of a tree: the line that is read, the way Redo goes, names that are cut and do not overlap."""

import io
import re
from itertools import combinations

import pytest
from rich.cells import cell_len
from rich.console import Console

from api.cli.tree import print_tree
from api.pages.tree_svg import LETTER, LONGEST, tree_svg
from api.use_cases.tree import Drawing, Lane, Mark, drawing
from domain.campaign.commands import CampaignCommand, MoveHead, NameBranch, SetSavePoint, Undo
from tests.fakes.event_log import MemoryEventLog
from tests.fakes.sample_story import CAMPAIGN, accept, retry, start, take_turn
from tests.fakes.time_and_names import NumberedNames, TickingClock


def told(*turns: str) -> list[CampaignCommand]:
    return [command for turn in turns for command in (take_turn(turn, "do", "On."), accept(turn, "Told."))]


def drawn(*commands: CampaignCommand) -> Drawing:
    log = MemoryEventLog(TickingClock(), NumberedNames())
    for command in (start(), *commands):
        log.execute(command)
    return drawing(log, CAMPAIGN)


def parted() -> Drawing:
    """1–5, left after 3 for another take of its turn (6) and two turns more (7–10), the last two undone."""
    return drawn(
        *told("t_1", "t_2"),
        MoveHead(CAMPAIGN, 3),
        retry("t_3"),
        accept("t_3", "Otherwise."),
        *told("t_4", "t_5"),
        SetSavePoint(CAMPAIGN, "s_1", "The fork", 2),
        NameBranch(CAMPAIGN, 2, "Otherwise"),
        Undo(CAMPAIGN),
    )


def printed(tree: Drawing, width: int = 80) -> list[str]:
    out = io.StringIO()
    print_tree(tree, Console(file=out, width=width, force_terminal=True, color_system=None, markup=False, emoji=False))
    return out.getvalue().splitlines()


class TestTheDrawing:
    def test_knows_the_way_to_the_later_story_apart_from_the_line_that_is_read(self) -> None:
        assert [(lane.branch, lane.active, lane.ahead) for lane in parted().lanes] == [(1, 2, 2), (2, 5, 7)]

    def test_has_no_such_way_without_later_story(self) -> None:
        assert [lane.ahead for lane in drawn(*told("t_1")).lanes] == [0]

    def test_knows_where_the_reader_is(self) -> None:
        tree = parted()
        assert (tree.here, tree.reader.called) == (5, "Otherwise")


class TestATerminal:
    def test_sees_lines_that_join_where_the_story_forks(self) -> None:
        assert printed(parted()) == [
            "━━◆─▾────      branch 1, moments 1–5, takes at 3",
            "  ┃            ◆ The fork, moment 2",
            "  ┗━━━━━●╌╌╌◌  Otherwise, moments 3–7",
            "               ← you are here, moment 5",
            "               ◌ later story, moment 7",
            "",
            "You are at moment 5, on Otherwise.",
            "━\xa0the\xa0story\xa0you\xa0read   ╌\xa0later\xa0story:\xa0Redo\xa0goes\xa0there   ─\xa0left\xa0for\xa0now",
            "◆\xa0save\xa0point   ▾\xa0several\xa0takes",
        ]

    @pytest.mark.parametrize("width", [30, 80, 160])
    def test_has_no_line_wider_than_itself(self, width: int) -> None:
        marks = (Mark(3, "save", "塔" * 90), Mark(900, "head"))
        lanes = (Lane(1, "long " * 40, 0, None, 1, 900, 900, 900, marks), Lane(2, "", 1, 1, 5, 1000, 996, 0, ()))
        assert max(map(cell_len, printed(Drawing(lanes, 1000), width))) <= width

    def test_sees_every_one_of_300_branches(self) -> None:
        lanes = [Lane(1, "", 0, None, 1, 2000, 2000, 2000, (Mark(2000, "head"),))]
        lanes += [Lane(n, f"Way {n}", n - 1, 1, 2000 - 6 * n, 2010 - 6 * n, 11, 0, ()) for n in range(2, 301)]
        lines = printed(Drawing(tuple(lanes), 2000))
        assert [f"Way {n}" for n in range(2, 301)] == [m[0] for line in lines if (m := re.search(r"Way \d+", line))]


class TestAPicture:
    def test_tells_apart_what_is_read_what_is_ahead_and_what_was_left(self) -> None:
        seen = tree_svg(parted(), "A tree")
        for style in ("line", "ahead", "active"):
            assert f'<path class="{style}" d="M' in seen
        assert 'class="ahead" d="M1' in tree_svg(drawn(*told("t_1", "t_2"), Undo(CAMPAIGN)), "A tree")

    def test_says_where_the_reader_is_above_and_beside_the_place(self) -> None:
        seen = tree_svg(parted(), "A tree")
        assert "at moment 5 on Otherwise; 2 branches, 7 moments at the longest" in seen
        assert "you are here, moment 5" in seen

    def test_cuts_what_is_too_long_and_keeps_it_whole_in_a_tooltip(self) -> None:
        long = "A name that goes on and on, and then goes on some more"
        seen = tree_svg(Drawing((Lane(1, long, 0, None, 1, 3, 3, 3, (Mark(3, "head"),)),), 3), "A tree")
        assert f"<title>{long}</title>{long[: LONGEST - 1].rstrip()}…" in seen

    def test_writes_the_names_of_neighbouring_save_points_above_each_other(self) -> None:
        marks = tuple(Mark(moment, "save", f"A place with a name {moment}") for moment in range(2, 12))
        seen = tree_svg(Drawing((Lane(1, "", 0, None, 1, 12, 12, 12, (*marks, Mark(12, "head"))),), 12), "A tree")
        names = re.findall(r'<text class="saved" x="([\d.]+)" y="([\d.]+)">([^<]+)<', seen)
        assert len(names) == len(marks)
        for (x, y, name), (other_x, other_y, other) in combinations(names, 2):
            apart = float(x) + LETTER * len(name) < float(other_x) or float(other_x) + LETTER * len(other) < float(x)
            assert apart or abs(float(y) - float(other_y)) >= 15

    def test_has_its_colours_for_light_and_dark(self) -> None:
        assert "@media (prefers-color-scheme: dark)" in tree_svg(parted(), "A tree")
