"""Where the history begins: a floor that holds, steps to the low-water mark, and goes back only into new room."""

import pytest

from domain.prompt.floor import Floor, Kept, keep

TEN = range(1, 11)
HUNDREDS = [100] * 10


def floor_of(budget: int, earlier: Floor | None = None, *, depths: range = TEN, percent: int = 60) -> Kept:
    return keep(depths, [100] * len(depths), budget, earlier, percent)


def test_a_story_that_fits_whole_has_no_floor() -> None:
    assert floor_of(1000) == Kept(0, None, None)
    assert floor_of(1000, Floor(1, 1000)) == Kept(0, None, None)


def test_a_story_that_fits_whole_is_never_trimmed_whatever_the_floor_was() -> None:
    for earlier in (Floor(4, 900), Floor(4, 1000), Floor(4, 1200)):
        kept = floor_of(1000, earlier)
        assert (kept.first, kept.floor_depth) == (0, None)
        assert kept.moved is not None


def test_the_first_step_goes_to_the_low_water_mark_and_says_why() -> None:
    assert floor_of(999) == Kept(5, 6, "the story no longer fits whole")
    assert floor_of(999, Floor(1, 999)) == Kept(5, 6, "the story no longer fits whole")


@pytest.mark.parametrize(("percent", "first"), [(10, 9), (20, 9), (21, 8), (60, 5), (62, 4), (95, 1)])
def test_the_low_water_mark_is_a_share_of_the_budget_on_a_node_boundary(percent: int, first: int) -> None:
    assert floor_of(980, percent=percent).first == first


def test_the_floor_holds_while_the_history_fits_above_it() -> None:
    assert floor_of(700, Floor(4, 700)) == Kept(3, 4, None)
    assert floor_of(999, Floor(2, 999)) == Kept(1, 2, None)


def test_one_token_too_many_moves_it_once_and_then_it_holds_again() -> None:
    moved = floor_of(699, Floor(4, 699))
    assert moved == Kept(6, 7, "the history no longer fitted above the old floor")
    assert floor_of(699, Floor(7, 699)) == Kept(6, 7, None)


def test_a_smaller_budget_moves_the_floor_only_where_the_history_no_longer_fits() -> None:
    assert floor_of(700, Floor(4, 900)) == Kept(3, 4, None)
    assert floor_of(600, Floor(4, 900)) == Kept(7, 8, "the history no longer fitted above the old floor")


def test_a_budget_that_has_grown_is_used() -> None:
    assert floor_of(900, Floor(8, 400)) == Kept(5, 6, "the history budget has grown, so the floor was found anew")


def test_a_budget_that_has_grown_gives_nothing_up() -> None:
    """The continue hint comes and goes, and with it a few tokens of budget: a floor that moved for it would cost all."""
    assert floor_of(720, Floor(4, 700)) == Kept(3, 4, None)


def test_a_budget_that_has_grown_a_little_moves_nothing_back() -> None:
    """The low-water mark of 160 is at the last ten nodes; a sixteenth is what two of the cheap ones cost."""
    depths, prices = range(1, 102), [*[5] * 100, 50]
    assert keep(depths, prices, 160, Floor(93, 159), 60) == Kept(92, 93, None)
    assert keep(depths, prices, 160, Floor(94, 159), 60).floor_depth == 92
    assert keep(depths, prices, 160, Floor(94, 160), 60).floor_depth == 94


def test_a_grown_budget_that_is_still_too_small_moves_the_floor_forward() -> None:
    assert floor_of(620, Floor(4, 600)) == Kept(7, 8, "the history no longer fitted above the old floor")


def test_the_newest_node_is_kept_even_where_it_does_not_fit() -> None:
    assert keep([1], [500], 100, None, 60).first == 0
    assert keep([1, 2], [5, 500], 100, None, 60) == Kept(1, 2, "the story no longer fits whole")
    assert keep([1, 2], [500, 5], 100, None, 60) == Kept(1, 2, "the story no longer fits whole")


def test_the_same_prompt_again_does_not_move_the_floor() -> None:
    """A retry of an action that fills the whole window."""
    assert keep([7, 8, 9], [5, 5, 500], 100, Floor(9, 100), 60) == Kept(2, 9, None)


def test_a_line_that_is_loaded_down_to_the_floor_is_enough() -> None:
    whole = floor_of(700, Floor(4, 700))
    part = floor_of(700, Floor(4, 700), depths=range(4, 11))
    assert (part.floor_depth, part.moved) == (whole.floor_depth, whole.moved) == (4, None)
    assert part.first == 0


def test_a_line_that_is_loaded_as_far_as_can_fit_is_enough() -> None:
    for earlier in (None, Floor(1, 550), Floor(3, 550), Floor(3, 500)):
        whole = floor_of(550, earlier)
        part = floor_of(550, earlier, depths=range(5, 11))
        assert (part.floor_depth, part.moved) == (whole.floor_depth, whole.moved)


def test_after_an_undo_the_floor_may_stand_below_what_is_left() -> None:
    assert floor_of(300, Floor(9, 300), depths=range(7, 11)) == Kept(2, 9, None)


def test_a_floor_beyond_the_end_of_the_line_counts_as_none() -> None:
    assert floor_of(300, Floor(12, 300)).first == 9


def test_nodes_without_a_price_are_kept_with_their_neighbours() -> None:
    assert keep([1, 2, 3], [0, 0, 10], 10, None, 60) == Kept(0, None, None)
