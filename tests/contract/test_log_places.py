"""What every log says of the places of a story: the tree, names, the head as it was, lines through what was written anew."""

import pytest

from domain.campaign.facts import SavePointFacts
from domain.errors import UnknownBranch, UnknownCampaign, UnknownNode
from domain.log import BranchRow, EventLog, Segment
from tests.fakes.sample_story import (
    CAMPAIGN,
    accept,
    correct,
    go,
    name_branch,
    redo,
    rewrite,
    save,
    start,
    take_turn,
    undo,
    unsave,
)

OTHER = "c_harbour"


@pytest.fixture
def moved(log: EventLog) -> EventLog:
    """Two turns; back over the second; action 6 and narration 7 in its place; narration 3 written anew as 8; back to 7.

    1 ─ 2 ┬ 3 ┬ 4 ─ 5
          │   └ 6 ─ 7
          └ 8
    """
    log.execute(start())
    for turn in ("t_1", "t_2"):
        log.execute(take_turn(turn, text=f"Step {turn}."))
        log.execute(accept(turn, f"Told {turn}."))
    log.execute(save("s_1", "The End"))
    log.execute(undo())
    log.execute(take_turn("t_3", text="Aside."))
    log.execute(accept("t_3", "Told aside."))
    log.execute(name_branch(2, "Aside"))
    log.execute(rewrite(3, "Mine."))
    log.execute(correct(2, "Mended."))
    log.execute(go(7))
    return log


def test_the_tree_has_every_branch_with_its_leaf_and_its_name(moved: EventLog) -> None:
    tree = moved.tree(CAMPAIGN)
    assert [(one.node, one.parent, one.branch, one.depth) for one in tree.nodes] == [
        (1, None, 1, 1),
        (2, 1, 1, 2),
        (3, 2, 1, 3),
        (4, 3, 1, 4),
        (5, 4, 1, 5),
        (6, 3, 2, 4),
        (7, 6, 2, 5),
        (8, 2, 3, 3),
    ]
    assert list(tree.branches) == [
        BranchRow(1, None, 0, 5, 5, ""),
        BranchRow(2, 1, 3, 7, 5, "Aside"),
        BranchRow(3, 1, 2, 8, 3, ""),
    ]
    assert [moved.branch(CAMPAIGN, row.branch) for row in tree.branches] == list(tree.branches)
    assert (list(tree.save_points), tree.head, tree.tip) == ([SavePointFacts("s_1", "The End", 5)], 7, 7)


def test_the_head_as_it_was_is_found_at_every_position(moved: EventLog) -> None:
    heads = [(one.topic.partition(".")[2], moved.head_at(CAMPAIGN, one.position)) for one in moved.read(0, 100)]
    assert heads == [
        ("started", 1),
        ("turn_opened", 1),
        ("player_acted", 2),
        ("narration_accepted", 3),
        ("proposal_judged", 3),
        ("turn_opened", 3),
        ("player_acted", 4),
        ("narration_accepted", 5),
        ("proposal_judged", 5),
        ("save_point_set", 5),
        ("head_moved", 3),
        ("turn_opened", 3),
        ("player_acted", 6),
        ("narration_accepted", 7),
        ("proposal_judged", 7),
        ("branch_named", 7),
        ("node_revised", 8),
        ("proposal_judged", 8),
        ("text_corrected", 8),
        ("head_moved", 7),
    ]
    assert moved.head_at(CAMPAIGN, 10**15) == 7


def test_between_the_events_of_other_stories_the_head_is_what_it_was_before(moved: EventLog) -> None:
    moved.execute(start(campaign=OTHER))
    began = moved.max_position()
    moved.execute(undo())
    assert (moved.head_at(CAMPAIGN, began), moved.head_at(OTHER, began)) == (7, 1)
    with pytest.raises(UnknownCampaign, match=f"began after position {began - 1} of the log"):
        moved.head_at(OTHER, began - 1)
    with pytest.raises(UnknownCampaign, match="There is no campaign"):
        moved.head_at("c_nowhere", began)


def test_places_are_called_by_their_names_in_any_case(moved: EventLog) -> None:
    called = ("s_1", "The End", "the end", " THE END ", "aside", "Aside", "", "s_2", "S_1", "end")
    assert [moved.place_called(CAMPAIGN, name) for name in called] == [5, 5, 5, 5, 7, 7, None, None, None, None]
    moved.execute(unsave("s_1"))
    moved.execute(name_branch(2, ""))
    assert [moved.place_called(CAMPAIGN, name) for name in ("s_1", "The End", "Aside")] == [None, None, None]


def test_a_branchs_name_leads_to_its_end_wherever_that_is_by_then(moved: EventLog) -> None:
    moved.execute(take_turn("t_4", text="On."))
    moved.execute(accept("t_4", "Told on."))
    assert moved.place_called(CAMPAIGN, "Aside") == 10
    moved.execute(undo())
    assert moved.place_called(CAMPAIGN, "Aside") == 10


def test_names_are_those_of_their_own_story(moved: EventLog) -> None:
    moved.execute(start(campaign=OTHER))
    assert moved.place_called(OTHER, "The End") is None
    moved.execute(save("s_1", "The End", campaign=OTHER))
    assert (moved.place_called(OTHER, "The End"), moved.place_called(CAMPAIGN, "The End")) == (1, 5)
    moved.delete_campaign(OTHER)
    assert list(moved.save_points(CAMPAIGN)) == [SavePointFacts("s_1", "The End", 5)]
    moved.execute(start(campaign=OTHER))
    assert list(moved.save_points(OTHER)) == []


def test_save_points_stand_in_the_order_in_which_they_were_set(moved: EventLog) -> None:
    for number, name in ((3, "b"), (2, "z"), (4, "a")):
        moved.execute(save(f"s_{number}", name, number))
    assert [point.name for point in moved.save_points(CAMPAIGN)] == ["The End", "b", "z", "a"]


def test_what_was_written_anew_and_mended_is_on_its_lines(moved: EventLog) -> None:
    line = [(one.node, one.kind, one.text) for one in moved.end_of_line(CAMPAIGN, 8, limit=9)][1:]
    assert line == [(2, "do", "Mended."), (8, "narration", "Mine.")]
    assert [one.text for one in moved.end_of_line(CAMPAIGN, 7, limit=9)][1:] == [
        "Mended.",
        "Told t_1.",
        "Aside.",
        "Told aside.",
    ]
    assert (list(moved.takes(CAMPAIGN, 8)), list(moved.takes(CAMPAIGN, 3))) == ([3, 8], [3, 8])
    assert list(moved.line(CAMPAIGN, 8)) == [Segment(3, 3, 3), Segment(1, 1, 2)]


def test_moves_are_decided_alike(moved: EventLog) -> None:
    trail = []
    for command in (
        undo(),
        undo(),
        redo(),
        redo(),
        go(8),
        go(3),
        redo(),
        go(4),
        redo(),
        go(8),
        go(save_point="s_1"),
        go(2),
    ):
        moved.execute(command)
        facts = moved.campaign(CAMPAIGN)
        trail.append((facts.head, facts.tip))
    assert trail == [
        *[(3, 7), (1, 7), (3, 7), (7, 7)],
        *[(8, 8), (3, 7), (7, 7)],  # below 3, the story was read last at 7
        *[(4, 5), (5, 5)],  # 5 is the only leaf below 4, and was the head once
        *[(8, 8), (5, 5), (2, 5)],
    ]


def test_what_is_not_there_is_refused(moved: EventLog) -> None:
    for branch in (0, 4, 10**15):
        with pytest.raises(UnknownBranch):
            moved.branch(CAMPAIGN, branch)
    with pytest.raises(UnknownNode):
        moved.node(CAMPAIGN, 10**15)
    for asked in (moved.tree, moved.save_points):
        with pytest.raises(UnknownCampaign):
            asked("c_nowhere")
    for name in ("The End", ""):
        with pytest.raises(UnknownCampaign):
            moved.place_called("c_nowhere", name)
    with pytest.raises(UnknownCampaign):
        moved.branch("c_nowhere", 1)
