"""The tree of a whole story, for those who hold all of it: lines, what lies ahead, the tip that goes with a place.

The decision tables answer the same questions by ranges of (branch, depth), without holding the story.
"""

from dataclasses import replace

from domain.campaign.commands import CampaignCommand, MoveHead, Redo
from domain.campaign.facts import CampaignFacts, NodeFacts

AHEAD = 2
"""How many nodes ahead of the head a step forward looks: an action and its narration."""


def looked_ahead(facts: CampaignFacts, command: CampaignCommand) -> CampaignFacts:
    """The facts with what a slice of them holds for a move: the way ahead, or the tip at the place that is named."""
    if isinstance(command, Redo) and facts.nodes:
        return replace(facts, ahead=ahead_of_head(facts))
    if isinstance(command, MoveHead):
        point = facts.save_points.get(command.save_point or "")
        place = command.node if point is None else point.node
        if place is not None and place in facts.nodes:
            return replace(facts, tip_there=tip_at(facts, place))
    return facts


def line_to(facts: CampaignFacts, node: int) -> list[NodeFacts]:
    """The nodes from the opening to this one."""
    line: list[NodeFacts] = []
    at: int | None = node
    while at is not None:
        line.append(facts.nodes[at])
        at = facts.nodes[at].parent
    return line[::-1]


def ahead_of_head(facts: CampaignFacts) -> tuple[int, ...]:
    """The next nodes on the way from the head to the tip, two at most."""
    depth = facts.nodes[facts.head].depth
    return tuple(node.node for node in line_to(facts, facts.tip)[depth : depth + AHEAD])


def tip_at(facts: CampaignFacts, node: int) -> int:
    """The tip that goes with a place: the tip if it lies below, else the leaf below that was head last, else the place."""
    if _is_on_line(facts, node, facts.tip):
        return facts.tip
    below = [leaf for leaf, at in facts.nodes.items() if at.children == 0 and _is_on_line(facts, node, leaf)]
    headed = [leaf for leaf in below if leaf in facts.headed]
    return max(headed, key=lambda leaf: facts.headed[leaf]) if headed else node


def _is_on_line(facts: CampaignFacts, node: int, end: int) -> bool:
    return any(at.node == node for at in line_to(facts, end))
