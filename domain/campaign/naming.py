"""Names for places: save points and branches. One name names one thing of a story."""

from unicodedata import category, normalize

from domain.campaign.checks import known_node, started
from domain.campaign.commands import NameBranch, RemoveSavePoint, SetSavePoint
from domain.campaign.events import BranchNamed, SavePointRemoved, SavePointSet
from domain.campaign.facts import CampaignFacts, StoryEvent
from domain.errors import InvalidInput, NameTaken, UnknownBranch, UnknownSavePoint

Events = tuple[StoryEvent, ...]

NAME_CHARACTERS = 200
POSITION_PREFIX = "position:"
"""How a place is named by a log position, hence no other name's beginning."""

PLACES = ("head", "tip")
"""What places are called that every story has, hence no other name."""

_NO_PART_OF_A_LINE = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""The categories of Unicode that break a line, command a terminal or cannot be seen; with the two below, what no XML may hold."""
_JOINERS = "\u200c\u200d"
"""Not seen by themselves, and yet part of words and of emoji."""
_NO_CHARACTERS = ("\ufffe", "\uffff")


def set_save_point(facts: CampaignFacts, command: SetSavePoint) -> Events:
    """A name for a node, or for the head."""
    started(facts)
    node = known_node(facts, facts.head if command.node is None else command.node)
    name = _good_name(command.name)
    if not name:
        raise InvalidInput({"name": "a save point needs a name"})
    _free(facts, name)
    point = SavePointSet(node=node.node, branch=node.branch, depth=node.depth, save_point=command.save_point, name=name)
    return (point,)


def remove_save_point(facts: CampaignFacts, command: RemoveSavePoint) -> Events:
    """The save point goes, its place stays."""
    started(facts)
    if command.save_point not in facts.save_points:
        raise UnknownSavePoint(facts.campaign, command.save_point)
    return (SavePointRemoved(save_point=command.save_point),)


def name_branch(facts: CampaignFacts, command: NameBranch) -> Events:
    """A name for a branch; an empty one takes its name away."""
    started(facts)
    if not 1 <= command.branch <= facts.last_branch:
        raise UnknownBranch(facts.campaign, command.branch)
    name = _good_name(command.name)
    if name == facts.branch_names.get(command.branch, ""):
        return ()
    if name:
        _free(facts, name, but_for=command.branch)
    return (BranchNamed(branch=command.branch, name=name),)


def folded(name: str) -> str:
    """What two names have in common that look the same: but for case, white space around them, and ways of encoding."""
    return normalize("NFKC", name).strip().casefold()


def _good_name(name: str) -> str:
    name = name.strip()
    if len(name) > NAME_CHARACTERS:
        raise InvalidInput({"name": f"a name has {NAME_CHARACTERS} characters at most, and this one {len(name):,}"})
    if any(_is_no_part(sign) for sign in name) or (name and not name.strip(_JOINERS)):
        raise InvalidInput(
            {"name": "a name is one line of plain text that can be seen, without tabs, breaks or control characters"}
        )
    if name.isdecimal() or folded(name) in PLACES or folded(name).startswith(POSITION_PREFIX):
        raise InvalidInput(
            {"name": "a number, `head`, `tip`, or what begins with `position:`, already means another place"}
        )
    return name


def _is_no_part(sign: str) -> bool:
    return sign in _NO_CHARACTERS or (category(sign) in _NO_PART_OF_A_LINE and sign not in _JOINERS)


def _free(facts: CampaignFacts, name: str, but_for: int | None = None) -> None:
    for point in facts.save_points.values():
        if folded(point.name) == folded(name):
            raise NameTaken(facts.campaign, name, "a save point")
    for branch, taken in facts.branch_names.items():
        if folded(taken) == folded(name) and branch != but_for:
            raise NameTaken(facts.campaign, name, f"branch {branch}")
