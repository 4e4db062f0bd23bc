"""Going back, forth and aside in a story. Each move is one event that carries head and tip."""

from domain.campaign.checks import known_node, not_during_a_turn, started
from domain.campaign.commands import MoveHead
from domain.campaign.events import HeadMoved, MoveReason
from domain.campaign.facts import CampaignFacts, NodeFacts, StoryEvent
from domain.errors import InvalidInput, NothingToRedo, NothingToUndo, UnknownSavePoint

Events = tuple[StoryEvent, ...]


def undo(facts: CampaignFacts) -> Events:
    """To before the newest turn: its narration and its action together. An untold action is stepped back over alone."""
    started(facts)
    not_during_a_turn(facts)
    head = facts.nodes[facts.head]
    if head.parent is None:
        raise NothingToUndo(facts.campaign)
    parent = facts.nodes[head.parent]
    if head.is_player or not parent.is_player or parent.parent is None:
        return (_moved(facts, parent, facts.tip, "undo"),)
    return (_moved(facts, facts.nodes[parent.parent], facts.tip, "undo"),)


def redo(facts: CampaignFacts) -> Events:
    """One turn forward towards the tip: an action with its narration, or alone when it was never told on this way."""
    started(facts)
    not_during_a_turn(facts)
    if facts.head == facts.tip:
        raise NothingToRedo(facts.campaign)
    ahead = [facts.nodes[node] for node in facts.ahead]
    told = len(ahead) > 1 and ahead[0].is_player and not ahead[1].is_player
    return (_moved(facts, ahead[1] if told else ahead[0], facts.tip, "redo"),)


def move_head(facts: CampaignFacts, command: MoveHead) -> Events:
    """To a node or a save point. A take of the same action is selected, any other place restored."""
    started(facts)
    target = known_node(facts, _target(facts, command))
    not_during_a_turn(facts)
    if target.node == facts.head:
        return ()
    head = facts.nodes[facts.head]
    is_take = target.kind == "narration" and target.parent == head.parent
    return (_moved(facts, target, facts.tip_there, "select" if is_take else "restore"),)


def _target(facts: CampaignFacts, command: MoveHead) -> int:
    if (command.node is None) == (command.save_point is None):
        raise InvalidInput({"node": "name either a node or a save point"})
    if command.node is not None:
        return command.node
    point = facts.save_points.get(str(command.save_point))
    if point is None:
        raise UnknownSavePoint(facts.campaign, str(command.save_point))
    return point.node


def _moved(facts: CampaignFacts, to: NodeFacts, tip: int, reason: MoveReason) -> HeadMoved:
    return HeadMoved(from_node=facts.head, to_node=to.node, branch=to.branch, depth=to.depth, tip=tip, reason=reason)
