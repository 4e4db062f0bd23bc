"""Places in the story tree, in the decision tables: what lies ahead, the tip that goes with a place, names.

Every question is answered by rows of branches and by ranges of (branch, depth); no node is walked one by one.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    and_,
    bindparam,
    cast,
    delete,
    insert,
    literal,
    outerjoin,
    select,
    update,
)

from adapters.event_log import lines
from adapters.event_log.prepared import Prepared
from adapters.event_log.tables import NUMBER, branch, node, save_point
from domain.campaign.events import BranchNamed, HeadMoved, SavePointRemoved, SavePointSet
from domain.campaign.facts import NodeFacts, SavePointFacts
from domain.campaign.naming import folded
from domain.campaign.story_tree import AHEAD
from domain.event import Recorded
from domain.log import BranchRow, Segment, TreeNode

_IN_BRANCH = (
    select(node.c.node)
    .where(
        node.c.campaign == bindparam("of"),
        node.c.branch == bindparam("in_branch"),
        node.c.depth.between(bindparam("first"), bindparam("last")),
    )
    .order_by(node.c.depth)
)
# A place's own branch, those that grew from it at or below the place, and all that grew from those: by number, which is
# in the index. Their rows are read after that; in one step, SQLite would go through every branch for each.
_PLACE = select(
    cast(bindparam("from_branch"), NUMBER).label("branch"), cast(bindparam("depth"), NUMBER).label("down_from")
).cte("below", recursive=True)
_BELOW = _PLACE.union_all(
    select(branch.c.branch, literal(0, NUMBER)).where(
        branch.c.campaign == bindparam("of"),
        branch.c.parent_branch == _PLACE.c.branch,
        branch.c.fork_depth >= _PLACE.c.down_from,
    )
)
_HEADED_LAST = Prepared(
    select(branch.c.leaf)
    .select_from(
        outerjoin(_BELOW, branch, and_(branch.c.campaign == bindparam("of"), branch.c.branch == _BELOW.c.branch))
    )
    .where(branch.c.headed_at > 0)
    .order_by(branch.c.headed_at.desc())
    .limit(1)
)
_POINT = select(save_point).where(
    save_point.c.campaign == bindparam("of"), save_point.c.save_point == bindparam("named")
)
_POINTS_CALLED = select(save_point).where(
    save_point.c.campaign == bindparam("of"), save_point.c.folded == bindparam("called")
)
_ALL_POINTS = select(save_point).where(save_point.c.campaign == bindparam("of")).order_by(save_point.c.set_at)
_BRANCHES_CALLED = select(branch.c.branch, branch.c.name).where(
    branch.c.campaign == bindparam("of"), branch.c.folded == bindparam("called")
)
_NAME_OF = select(branch.c.name).where(branch.c.campaign == bindparam("of"), branch.c.branch == bindparam("numbered"))
_LEAF_CALLED = select(branch.c.leaf).where(branch.c.campaign == bindparam("of"), branch.c.folded == bindparam("called"))
_BRANCH = select(branch).where(branch.c.campaign == bindparam("of"), branch.c.branch == bindparam("numbered"))
_ALL_BRANCHES = select(branch).where(branch.c.campaign == bindparam("of")).order_by(branch.c.branch)
_ALL_NODES = (
    select(node.c.node, node.c.parent, node.c.kind, node.c.branch, node.c.depth)
    .where(node.c.campaign == bindparam("of"))
    .order_by(node.c.node)
)


def ahead(connection: Connection, campaign: str, head: NodeFacts, tip: NodeFacts) -> tuple[int, ...]:
    """The next nodes on the way from the head to the tip, two at most."""
    first, last = head.depth + 1, head.depth + AHEAD
    found: list[int] = []
    for segment in reversed(lines.segments(connection, campaign, tip, first)):
        if segment.first <= last and segment.last >= first:
            stretch = {"first": max(segment.first, first), "last": min(segment.last, last)}
            found += connection.execute(_IN_BRANCH, {"of": campaign, "in_branch": segment.branch, **stretch}).scalars()
    return tuple(found)


def tip_at(connection: Connection, campaign: str, place: NodeFacts, tip: NodeFacts) -> int:
    """The tip that goes with a place: the tip if it lies below, else the leaf below that was head last, else the place."""
    if _is_on_line(place, lines.segments(connection, campaign, tip, place.depth)):
        return tip.node
    below = {"of": campaign, "from_branch": place.branch, "depth": place.depth}
    leaf: int | None = _HEADED_LAST.value(connection, below)
    return place.node if leaf is None else leaf


def _is_on_line(place: NodeFacts, line: Sequence[Segment]) -> bool:
    return any(segment.branch == place.branch and segment.first <= place.depth <= segment.last for segment in line)


def save_point_named(connection: Connection, campaign: str, named: str) -> SavePointFacts | None:
    """One save point."""
    row = connection.execute(_POINT, {"of": campaign, "named": named}).one_or_none()
    return None if row is None else SavePointFacts(row.save_point, row.name, row.node)


def save_points_called(connection: Connection, campaign: str, name: str) -> dict[str, SavePointFacts]:
    """The save points of this name, whatever its case."""
    rows = connection.execute(_POINTS_CALLED, {"of": campaign, "called": folded(name)})
    return {row.save_point: SavePointFacts(row.save_point, row.name, row.node) for row in rows}


def all_save_points(connection: Connection, campaign: str) -> list[SavePointFacts]:
    """Every save point, in the order in which they were set."""
    rows = connection.execute(_ALL_POINTS, {"of": campaign})
    return [SavePointFacts(row.save_point, row.name, row.node) for row in rows]


def branches_called(connection: Connection, campaign: str, name: str) -> dict[int, str]:
    """The branches of this name, whatever its case."""
    rows = connection.execute(_BRANCHES_CALLED, {"of": campaign, "called": folded(name)})
    return {row.branch: row.name for row in rows}


def name_of_branch(connection: Connection, campaign: str, numbered: int) -> dict[int, str]:
    """The name of one branch, when it has one."""
    name = connection.execute(_NAME_OF, {"of": campaign, "numbered": numbered}).scalar()
    return {numbered: name} if name else {}


def place_called(connection: Connection, campaign: str, name: str) -> int | None:
    """The node of a save point, by its id or name, or the end of a branch of this name."""
    point = save_point_named(connection, campaign, name)
    called = save_points_called(connection, campaign, name)
    for found in (point, *called.values()):
        if found is not None:
            return found.node
    leaf: int | None = connection.execute(_LEAF_CALLED, {"of": campaign, "called": folded(name)}).scalar()
    return leaf


def one_branch(connection: Connection, campaign: str, numbered: int) -> BranchRow | None:
    """One branch."""
    row = connection.execute(_BRANCH, {"of": campaign, "numbered": numbered}).one_or_none()
    return None if row is None else _branch_row(row)


def all_branches(connection: Connection, campaign: str) -> list[BranchRow]:
    """Every branch."""
    return [_branch_row(row) for row in connection.execute(_ALL_BRANCHES, {"of": campaign})]


def _branch_row(row: Row[Any]) -> BranchRow:
    return BranchRow(row.branch, row.parent_branch, row.fork_depth, row.leaf, row.leaf_depth, row.name or "")


def all_nodes(connection: Connection, campaign: str) -> list[TreeNode]:
    """Every node, without its text."""
    return [TreeNode(*row) for row in connection.execute(_ALL_NODES, {"of": campaign})]


_SET = insert(save_point)
_REMOVE = delete(save_point).where(
    save_point.c.campaign == bindparam("of"), save_point.c.save_point == bindparam("named")
)
_THIS_BRANCH = and_(branch.c.campaign == bindparam("of"), branch.c.branch == bindparam("numbered"))
_NAME = update(branch).where(_THIS_BRANCH).values(name=bindparam("to_name"), folded=bindparam("to_folded"))
_HEADED = update(branch).where(_THIS_BRANCH, branch.c.leaf == bindparam("at_leaf")).values(headed_at=bindparam("now"))


def fold_move(connection: Connection, recorded: Recorded, happened: HeadMoved) -> None:
    """Notes when a leaf was last the head."""
    place = {"of": recorded.stream, "numbered": happened.branch, "at_leaf": happened.to_node}
    connection.execute(_HEADED, {**place, "now": recorded.position})


def fold_name(
    connection: Connection, recorded: Recorded, happened: SavePointSet | SavePointRemoved | BranchNamed
) -> None:
    """Sets, removes and changes names."""
    match happened:
        case SavePointSet():
            row = {"save_point": happened.save_point, "name": happened.name, "node": happened.node}
            named = {"folded": folded(happened.name), "set_at": recorded.position}
            connection.execute(_SET, {"campaign": recorded.stream, **row, **named})
        case SavePointRemoved():
            connection.execute(_REMOVE, {"of": recorded.stream, "named": happened.save_point})
        case BranchNamed():
            name = {"to_name": happened.name or None, "to_folded": folded(happened.name) or None}
            connection.execute(_NAME, {"of": recorded.stream, "numbered": happened.branch, **name})
