"""The whole tree of a story: compact for programs, and laid out in lanes for drawing."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.log import BranchRow, EventLog, Tree


def tree_answer(log: EventLog, campaign: str) -> dict[str, Any]:
    """Nodes, branches with names and tips, save points, head. Raises UnknownCampaign."""
    tree = log.tree(campaign)
    return {
        "nodes": [vars(node) for node in tree.nodes],
        "branches": [
            {
                "branch": row.branch,
                "parent_branch": row.parent_branch,
                "fork_depth": row.fork_depth,
                "tip": row.leaf,
                "tip_moment": row.leaf_depth,
                "name": row.name,
            }
            for row in tree.branches
        ],
        "save_points": [{"id": point.save_point, "name": point.name, "node": point.node} for point in tree.save_points],
        "head": tree.head,
        "tip": tree.tip,
    }


@dataclass(frozen=True)
class Mark:
    """Something to show at a moment of a branch: `head`, `tip`, `save`, or `takes` (several narrations of one action)."""

    moment: int
    kind: str
    label: str = ""


@dataclass(frozen=True)
class Lane:
    """A branch in a drawing: its row, the moments that it spans, and what stands on it.

    `active` is the moment down to which the branch is on the line that is being read, and `ahead` the one down to which
    it is on the way to the later story that Redo walks, if there is any; each 0 where it is not.
    """

    branch: int
    name: str
    row: int
    parent: int | None
    first: int
    last: int
    nodes: int
    active: int
    marks: tuple[Mark, ...]
    ahead: int = 0

    @property
    def called(self) -> str:
        """Its name, or its number."""
        return self.name or f"branch {self.branch}"


@dataclass(frozen=True)
class Drawing:
    """A tree, laid out: lanes from the top down, each below the one it grew from."""

    lanes: tuple[Lane, ...]
    moments: int

    @property
    def here(self) -> int:
        """The moment at which the reader is."""
        return self.reader.active

    @property
    def reader(self) -> Lane:
        """The branch that the reader is on."""
        return max(self.lanes, key=lambda lane: lane.active)


def drawing(log: EventLog, campaign: str) -> Drawing:
    """The tree of a story, laid out for drawing. Raises UnknownCampaign."""
    tree = log.tree(campaign)
    active = _line(log, campaign, tree.head)
    ahead = {} if tree.tip == tree.head else _line(log, campaign, tree.tip)
    marks = _marks(tree)
    lanes = tuple(
        Lane(
            branch=row.branch,
            name=row.name,
            row=at,
            parent=row.parent_branch,
            first=row.fork_depth + 1,
            last=row.leaf_depth,
            nodes=row.leaf_depth - row.fork_depth,
            active=active.get(row.branch, 0),
            marks=tuple(marks.get(row.branch, ())),
            ahead=ahead.get(row.branch, 0),
        )
        for at, row in enumerate(_in_order(tree.branches))
    )
    return Drawing(lanes, max(lane.last for lane in lanes))


def _line(log: EventLog, campaign: str, end: int) -> dict[int, int]:
    """For each branch of the line to a node, the moment down to which it belongs to it."""
    return {segment.branch: segment.last for segment in log.line(campaign, end)}


def _in_order(branches: Sequence[BranchRow]) -> list[BranchRow]:
    """Each branch followed by those that grew from it, the latest fork first, so that no connection crosses a lane."""
    grown: Mapping[int | None, list[BranchRow]] = defaultdict(list)
    for row in branches:
        grown[row.parent_branch].append(row)
    ordered: list[BranchRow] = []
    waiting = list(grown[None])
    while waiting:
        row = waiting.pop()
        ordered.append(row)
        waiting += sorted(grown[row.branch], key=lambda child: (child.fork_depth, -child.branch))
    return ordered


def _marks(tree: Tree) -> dict[int, list[Mark]]:
    places = {node.node: (node.branch, node.depth) for node in tree.nodes}
    marks: dict[int, list[Mark]] = defaultdict(list)
    for point in tree.save_points:
        branch, depth = places[point.node]
        marks[branch].append(Mark(depth, "save", point.name))
    for branch, depth, takes in _several_takes(tree):
        marks[branch].append(Mark(depth, "takes", str(takes)))
    if tree.tip != tree.head:
        branch, depth = places[tree.tip]
        marks[branch].append(Mark(depth, "tip"))
    branch, depth = places[tree.head]
    marks[branch].append(Mark(depth, "head"))
    return marks


def _several_takes(tree: Tree) -> list[tuple[int, int, int]]:
    """Where an action has several narrations: the place of the first of them, and how many there are."""
    takes: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for node in tree.nodes:
        if node.kind == "narration":
            takes[node.parent].append((node.branch, node.depth))
    return [(*found[0], len(found)) for found in takes.values() if len(found) > 1]
