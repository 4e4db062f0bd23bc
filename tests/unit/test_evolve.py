"""What is so after each event."""

from dataclasses import replace
from functools import reduce

import pytest

from domain.campaign.events import FailureStage
from domain.campaign.facts import CampaignFacts, NodeFacts, StoryEvent, TurnFacts, coordinate_under, evolve
from domain.campaign.settings import CampaignSettings, Persona
from domain.narrative.document import EMPTY, Document, Entity
from domain.narrative.visual_profile import VisualProfile
from tests.fakes.sample_story import (
    CAMPAIGN,
    PROCESS,
    accounted,
    acted,
    adopted,
    be,
    cancel_requested,
    corrected_state,
    create,
    failed,
    judged,
    looks,
    narrated,
    opened,
    prompted,
    reread,
    revised,
    started,
    told,
)


def after(*events: StoryEvent) -> CampaignFacts:
    return reduce(evolve, events, CampaignFacts(CAMPAIGN))


TELLING = (started(), opened("t_1", parent=2), acted("t_1", 2, parent=1, at=(1, 2), text="Climb."))
TOLD = (*TELLING, *told("t_1", 3, parent=2, at=(1, 3), text="The stairs creak."))


def test_a_story_that_was_never_started_has_no_settings() -> None:
    assert after() == CampaignFacts(CAMPAIGN, settings=None)


def test_a_start_makes_the_opening_the_head_and_the_tip() -> None:
    facts = after(started(title="The Lighthouse"))
    assert facts.settings == CampaignSettings(title="The Lighthouse")
    assert (facts.head, facts.tip, facts.last_node, facts.last_branch) == (1, 1, 1, 1)
    assert facts.nodes == {1: NodeFacts(1, None, "opening", branch=1, depth=1)}


def test_a_revision_changes_what_it_names_and_nothing_else() -> None:
    facts = after(started(title="Old", canon=("A",)), revised(title="New", persona=Persona(name="Ada")))
    assert facts.settings == CampaignSettings(title="New", canon=("A",), persona=Persona(name="Ada"))


def test_a_revision_to_nothing_empties_a_setting() -> None:
    facts = after(started(canon=("A",), memory_enabled=True), revised(canon=(), memory_enabled=False))
    assert facts.settings == CampaignSettings()


def test_an_opened_turn_runs() -> None:
    facts = after(started(), opened("t_1", parent=1, kind="continue"))
    assert facts.open_turn == "t_1"
    assert facts.turns["t_1"] == TurnFacts("t_1", "turn", "continue", 1, None, PROCESS, "asked")


def test_an_opened_turn_is_found_by_its_key() -> None:
    assert after(started(), opened("t_1", parent=1, idempotency_key="k")).keys == {"k": "t_1"}
    assert after(started(), opened("t_1", parent=1, idempotency_key="")).keys == {"": "t_1"}
    assert after(started(), opened("t_1", parent=1)).keys == {}


def test_words_become_the_head_and_the_tip_and_are_remembered() -> None:
    facts = after(*TELLING)
    assert (facts.head, facts.tip, facts.last_node) == (2, 2, 2)
    assert facts.nodes[2] == NodeFacts(2, 1, "do", branch=1, depth=2, turn="t_1", said="Climb.")
    assert facts.nodes[1].children == 1
    assert facts.turns["t_1"].player_node == 2


def test_a_narration_becomes_the_head_and_ends_its_turn() -> None:
    facts = after(*TOLD)
    assert (facts.head, facts.tip, facts.last_node, facts.open_turn) == (3, 3, 3, None)
    assert facts.nodes[3] == NodeFacts(3, 2, "narration", branch=1, depth=3, turn="t_1")
    assert (facts.turns["t_1"].ended, facts.turns["t_1"].narration) == ("accepted", 3)


def test_a_second_take_is_the_head_and_the_first_stays() -> None:
    facts = after(
        *TOLD,
        opened("t_2", parent=2, operation="retry", retry_of=3),
        narrated("t_2", 4, parent=2, at=(2, 3), text="The stairs hold.", retry_of=3),
    )
    assert (facts.head, facts.last_node, facts.last_branch) == (4, 4, 2)
    assert facts.nodes[2].children == 2
    assert {3, 4} <= facts.nodes.keys()


def test_a_late_narration_is_a_take_and_leaves_the_head_where_it_is() -> None:
    interrupted = (*TELLING, failed("t_1", "interrupted"))
    facts = after(*interrupted, narrated("t_1", 3, parent=2, at=(1, 3), text="Fog.", late=True))
    assert (facts.head, facts.tip, facts.last_node) == (2, 2, 3)
    assert facts.turns["t_1"].ended == "accepted"


def test_a_late_narration_does_not_end_the_turn_that_runs_meanwhile() -> None:
    meanwhile = (*TELLING, failed("t_1", "interrupted"), opened("t_2", parent=2))
    facts = after(*meanwhile, narrated("t_1", 3, parent=2, at=(1, 3), text="Fog.", late=True))
    assert facts.open_turn == "t_2"
    assert facts.turns["t_2"].ended is None


@pytest.mark.parametrize("stage", ["prompt", "sending", "model", "reply", "interrupted", "cancelled"])
def test_a_failed_turn_ends_and_its_words_stay_the_head(stage: FailureStage) -> None:
    facts = after(*TELLING, failed("t_1", stage))
    assert (facts.head, facts.tip, facts.open_turn) == (2, 2, None)
    assert (facts.turns["t_1"].ended, facts.turns["t_1"].narration) == (stage, None)


def test_a_prompt_and_a_wish_to_stop_are_noted_with_their_turn() -> None:
    facts = after(*TELLING, prompted("t_1"), cancel_requested("t_1"))
    assert (facts.turns["t_1"].prompt_sent, facts.turns["t_1"].cancel_requested) == (True, True)
    assert facts.open_turn == "t_1"


def test_every_event_is_counted() -> None:
    assert [after(*TOLD[:some]).version for some in range(len(TOLD) + 1)] == [0, 1, 2, 3, 4, 5]


def test_an_account_changes_nothing_but_the_count_of_events() -> None:
    accounted_for = after(*TOLD, accounted("t_1", at=(3, 1, 3)))
    assert accounted_for == replace(after(*TOLD), version=len(TOLD) + 1)


LAMP = Document(entities={"lamp": Entity("item", "Lamp")})
JUDGED = judged("t_1", 3, at=(1, 3), outcome="applied", accepted=(create("lamp"),))


def test_a_judgement_changes_the_state_at_its_node_alone() -> None:
    facts = after(*TELLING, narrated("t_1", 3, parent=2, at=(1, 3), text="Fog."), JUDGED)
    assert facts.states == {1: EMPTY, 2: EMPTY, 3: LAMP}


def test_a_correction_changes_the_state_at_its_node_and_marks_it_as_the_players() -> None:
    facts = after(*TELLING, corrected_state(1, create("lamp"), be("lamp", "lit"), at=(1, 1)))
    assert facts.states[1].entities == {"lamp": Entity("item", "Lamp", status="lit")}
    assert "entities.lamp.status" in facts.states[1].corrected
    assert facts.states[2] == EMPTY


def test_a_reading_is_not_in_force_before_its_extractor_is_adopted() -> None:
    read = (*TOLD, reread(3, create("lamp"), at=(1, 3), raw="The stairs creak."))
    assert after(*read).states == after(*TOLD).states
    assert after(*read, adopted("2")).states == {1: EMPTY, 2: EMPTY, 3: LAMP}
    assert after(*read, adopted("2")).extractor == "2"


def test_an_extractor_that_is_adopted_from_now_on_leaves_every_state() -> None:
    facts = after(*TOLD, adopted("2", "from_now"))
    assert (facts.states, facts.extractor) == (after(*TOLD).states, "2")


def test_the_newest_look_of_an_entity_holds() -> None:
    facts = after(*TOLD, looks("lamp", style_notes="Ink."), looks("keeper"), looks("lamp"))
    assert facts.profiles == {"lamp": VisualProfile(), "keeper": VisualProfile()}


def test_what_was_so_before_is_not_touched() -> None:
    before = after(*TELLING)
    nodes, turns = dict(before.nodes), dict(before.turns)
    evolve(before, narrated("t_1", 3, parent=2, at=(1, 3), text="Fog."))
    assert (before.nodes, before.turns, before.open_turn) == (nodes, turns, "t_1")


def test_a_slice_without_the_parent_and_the_turn_still_moves_its_head() -> None:
    whole = after(*TELLING)
    slice_of_it = CampaignFacts(**{**vars(whole), "nodes": {}, "turns": {}})
    moved = evolve(slice_of_it, narrated("t_1", 3, parent=2, at=(1, 3), text="Fog."))
    assert (moved.head, moved.tip, moved.last_node, moved.open_turn) == (3, 3, 3, None)
    assert moved.turns == {}


def test_only_the_players_nodes_are_the_players() -> None:
    players = {node.kind: node.is_player for node in after(*TOLD).nodes.values()}
    assert players == {"opening": False, "do": True, "narration": False}


@pytest.mark.parametrize(("children", "coordinate"), [(0, (3, 8)), (1, (6, 8)), (4, (6, 8))])
def test_a_first_child_stays_on_the_branch_and_others_begin_the_next(
    children: int, coordinate: tuple[int, int]
) -> None:
    parent = NodeFacts(9, 8, "do", branch=3, depth=7, children=children)
    assert coordinate_under(parent, last_branch=5) == coordinate
