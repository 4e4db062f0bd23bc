"""The player's hand in what was told: a node written anew beside the old one, or a typo mended in place."""

from domain.campaign import narrative
from domain.campaign.checks import known_node, not_during_a_turn, some_text, started
from domain.campaign.commands import CorrectText, ReviseNode
from domain.campaign.events import NodeRevised, TextCorrected
from domain.campaign.facts import CampaignFacts, StoryEvent, coordinate_under
from domain.errors import InvalidInput

Events = tuple[StoryEvent, ...]


def revise(facts: CampaignFacts, command: ReviseNode) -> Events:
    """A sibling with the new text, which becomes the head; the later story stays below the original."""
    started(facts)
    original = known_node(facts, command.node)
    some_text(command.text)
    if original.kind == "opening" or original.parent is None:
        raise InvalidInput({"node": "the opening has no sibling; mend it in place, or begin another story"})
    not_during_a_turn(facts)
    branch, depth = coordinate_under(facts.nodes[original.parent], facts.last_branch)
    revised = NodeRevised(
        node=facts.last_node + 1,
        branch=branch,
        depth=depth,
        parent=original.parent,
        kind=original.kind,
        text=command.text,
        revises=original.node,
        replaced_surrogates=command.replaced_surrogates,
    )
    return (revised, narrative.judged_again(facts, command, revised)) if revised.kind == "narration" else (revised,)


def correct(facts: CampaignFacts, command: CorrectText) -> Events:
    """The text of a node mended in place."""
    started(facts)
    node = known_node(facts, command.node)
    some_text(command.text)
    not_during_a_turn(facts)
    corrected = TextCorrected(
        node=node.node,
        branch=node.branch,
        depth=node.depth,
        text=command.text,
        replaced_surrogates=command.replaced_surrogates,
    )
    return (corrected,)
