"""What holds of every story, whatever was asked of it."""

from contextlib import suppress
from functools import reduce
from typing import Any, TypeGuard

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.campaign.decide import decide
from domain.campaign.events import NarrationAccepted, NodeRevised
from domain.campaign.facts import OPENING, CampaignFacts, StoryEvent, evolve
from domain.campaign.story_tree import line_to, looked_ahead
from domain.errors import FabulaError
from domain.narrative.course import reread, states
from domain.narrative.events import ProposalJudged
from tests.property.steps import CAMPAIGNS, STORY, Ask, raws_of

OFTEN = settings(max_examples=20, deadline=None)


def events_of(story: list[Ask]) -> list[StoryEvent]:
    """What follows when all of this is asked of one story, one after another; what is refused is left out."""
    facts = CampaignFacts(CAMPAIGNS[0])
    happened: list[StoryEvent] = []
    for number, ask in enumerate(story):
        with suppress(FabulaError):
            command = ask.command(facts, f"t_{number}", raws_of(happened))
            events = decide(looked_ahead(facts, command), command)
            facts = reduce(evolve, events, facts)
            happened += events
    return happened


def folded(events: list[StoryEvent], facts: CampaignFacts | None = None) -> CampaignFacts:
    return reduce(evolve, events, facts or CampaignFacts(CAMPAIGNS[0]))


@OFTEN
@given(STORY, st.data())
def test_a_story_folded_in_two_pieces_is_the_story_folded_at_once(story: list[Ask], data: Any) -> None:
    events = events_of(story)
    cut = data.draw(st.integers(0, len(events)))
    assert folded(events[cut:], folded(events[:cut])) == folded(events)


@OFTEN
@given(STORY)
def test_the_tree_is_a_tree_whose_places_are_unique(story: list[Ask]) -> None:
    facts = folded(events_of(story))
    assert [node for node, each in facts.nodes.items() if each.parent is None] == [OPENING]
    assert sorted(facts.nodes) == list(range(1, facts.last_node + 1))
    assert len({(each.branch, each.depth) for each in facts.nodes.values()}) == len(facts.nodes)
    for each in facts.nodes.values():
        children = [child for child in facts.nodes.values() if child.parent == each.node]
        assert each.children == len(children)
        assert all(child.depth == each.depth + 1 and child.node > each.node for child in children)
        stay = [child.node for child in children if child.branch == each.branch]
        assert stay == [child.node for child in children[:1]]


@OFTEN
@given(STORY)
def test_a_branch_is_begun_once_and_in_order(story: list[Ask]) -> None:
    facts = folded(events_of(story))
    first_of: dict[int, int] = {}
    for node, each in sorted(facts.nodes.items()):
        first_of.setdefault(each.branch, node)
    assert list(first_of) == list(range(1, facts.last_branch + 1))


@OFTEN
@given(STORY)
def test_the_head_is_on_the_way_to_the_tip(story: list[Ask]) -> None:
    facts = folded(events_of(story))
    assert facts.nodes[facts.head] in line_to(facts, facts.tip)


@OFTEN
@given(STORY)
def test_at_most_one_turn_runs_and_each_has_one_end(story: list[Ask]) -> None:
    facts = folded(events_of(story))
    running = [turn.turn for turn in facts.turns.values() if turn.ended is None]
    assert running == ([facts.open_turn] if facts.open_turn is not None else [])
    for turn in facts.turns.values():
        assert (turn.narration is not None) == (turn.ended == "accepted")
        assert turn.narration is None or facts.nodes[turn.narration].turn == turn.turn
        assert turn.player_node is None or facts.nodes[turn.player_node].is_player
        assert turn.parent in facts.nodes


@OFTEN
@given(STORY)
def test_each_narration_is_of_a_turn_and_hangs_where_that_turn_said_or_beside_what_it_revises(story: list[Ask]) -> None:
    events = events_of(story)
    facts = folded(events)
    revised = {event.node: event.revises for event in events if isinstance(event, NodeRevised)}
    for node in facts.nodes.values():
        assert (node.turn is None) == (node.node in revised or node.node == OPENING)
        if node.node in revised:
            original = facts.nodes[revised[node.node]]
            assert (node.parent, node.kind, node.depth) == (original.parent, original.kind, original.depth)
        elif node.kind == "narration":
            assert facts.turns[str(node.turn)].parent == node.parent


@OFTEN
@given(STORY)
def test_the_states_that_came_about_step_by_step_are_those_of_the_whole_course(story: list[Ask]) -> None:
    facts = folded(events_of(story))
    at_once = states(reread(facts.course, facts.readings), OPENING) if facts.settings is not None else {}
    stored = {node: document.to_bytes() for node, document in facts.states.items()}
    assert stored == {node: document.to_bytes() for node, document in at_once.items()}


OUTCOMES = {
    (False, False): {"absent", "unparseable", "empty"},
    (True, False): {"applied", "empty"},
    (True, True): {"partly_applied"},
    (False, True): {"refused"},
}
"""What may become of a block, by whether something of it was accepted and whether something was refused."""


def is_narration(event: StoryEvent) -> TypeGuard[NarrationAccepted | NodeRevised]:
    """Whether it makes one: of the narrator, or of the player who wrote one anew."""
    return isinstance(event, NarrationAccepted) or (isinstance(event, NodeRevised) and event.kind == "narration")


@OFTEN
@given(STORY)
def test_each_narration_is_followed_by_what_became_of_its_block(story: list[Ask]) -> None:
    events = events_of(story)
    told = [(event, events[at + 1]) for at, event in enumerate(events) if is_narration(event)]
    for narration, judged in told:
        assert isinstance(judged, ProposalJudged)
        assert (judged.node, judged.turn) == (narration.node, getattr(narration, "turn", None))
        assert judged.outcome in OUTCOMES[bool(judged.accepted), bool(judged.refused)]
    assert len(told) == sum(isinstance(event, ProposalJudged) for event in events)
