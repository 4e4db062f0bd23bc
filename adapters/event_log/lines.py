"""Reading lines of the story tree: a handful of range reads, whatever the length of the story."""

from collections.abc import Iterator, Sequence

import orjson
from sqlalchemy import Connection, and_, bindparam, literal, select

from adapters.event_log.prepared import Prepared
from adapters.event_log.tables import branch, event, node, turn
from domain.campaign.facts import NodeFacts
from domain.extraction.extraction import Removal, prose_of
from domain.log import Segment
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode
from domain.prompt.stored_body import Words

# From a branch up through those it grew from, until one that begins at or above the depth asked for.
_ROOT = select(branch.c.branch, branch.c.parent_branch, branch.c.fork_depth).where(
    branch.c.campaign == bindparam("of"), branch.c.branch == bindparam("start")
)
_ABOVE = _ROOT.cte("above", recursive=True)
_LINEAGE = Prepared(
    select(
        _ABOVE.union_all(
            select(branch.c.branch, branch.c.parent_branch, branch.c.fork_depth).where(
                branch.c.campaign == bindparam("of"),
                branch.c.branch == _ABOVE.c.parent_branch,
                _ABOVE.c.fork_depth >= bindparam("down_to"),
            )
        )
    )
)
_READING = event.alias("reading")
_STRETCH = Prepared(
    select(node.c.node, node.c.depth, node.c.kind, event.c.payload, _READING.c.payload.label("reading"))
    .join(event, event.c.position == node.c.text_at)
    .outerjoin(_READING, _READING.c.position == node.c.reread_at)
    .where(
        node.c.campaign == bindparam("of"),
        node.c.branch == bindparam("in_branch"),
        node.c.depth >= bindparam("first"),
        node.c.depth <= bindparam("last"),
    )
    .order_by(node.c.depth.desc())
    .limit(bindparam("most"))
)
_FLOOR = Prepared(
    select(node.c.parent, turn.c.floor_depth, turn.c.history_budget)
    .outerjoin(turn, and_(turn.c.campaign == node.c.campaign, turn.c.turn == node.c.turn))
    .where(node.c.campaign == bindparam("of"), node.c.node == bindparam("at"))
)
# The children by what their index holds, then what kind each is: asked at once, SQLite would go through the whole story.
_CHILD = node.alias("child")
_TAKES = Prepared(
    select(node.c.node)
    .join(_CHILD, and_(_CHILD.c.campaign == node.c.campaign, _CHILD.c.node == node.c.node))
    .where(
        _CHILD.c.campaign == bindparam("of"),
        _CHILD.c.parent == bindparam("under"),
        node.c.kind == literal("narration"),
    )
    .order_by(_CHILD.c.parent, _CHILD.c.node)
)


_WORDS = (
    select(event.c.version, event.c.payload)
    .join(node, node.c.text_at == event.c.position)
    .where(node.c.campaign == bindparam("of"), node.c.node.in_(bindparam("nodes", expanding=True)))
    .order_by(node.c.node)
)
_PAYLOADS = select(event.c.version, event.c.payload).where(
    event.c.stream == bindparam("of"), event.c.version.in_(bindparam("versions", expanding=True))
)


def segments(connection: Connection, campaign: str, end: NodeFacts, down_to: int) -> list[Segment]:
    """The line that ends at a node, newest segment first, cut at depth `down_to`."""
    rows = _LINEAGE.rows(connection, {"of": campaign, "start": end.branch, "down_to": down_to})
    found, last = [], end.depth
    for row in sorted(rows, key=lambda row: -row["branch"]):
        found.append(Segment(row["branch"], max(row["fork_depth"] + 1, down_to), last))
        last = row["fork_depth"]
    return [segment for segment in found if segment.first <= segment.last]


def newest(
    connection: Connection, campaign: str, line: Sequence[Segment], limit: int, before: int | None
) -> list[HistoryNode]:
    """The newest nodes of a line, oldest first."""
    return list(_newest(connection, campaign, line, limit, before))[::-1]


def _newest(
    connection: Connection, campaign: str, line: Sequence[Segment], limit: int, before: int | None
) -> Iterator[HistoryNode]:
    left = limit
    for segment in line:
        last = segment.last if before is None else min(segment.last, before - 1)
        if left <= 0 or last < segment.first:
            continue
        stretch = {"of": campaign, "in_branch": segment.branch, "first": segment.first, "last": last, "most": left}
        for row in _STRETCH.rows(connection, stretch):
            left -= 1
            yield HistoryNode(row["node"], row["depth"], row["kind"], text_in(row["payload"], row["reading"]))


def text_in(payload: bytes, reading: bytes | None = None) -> str:
    """The story text that an event holds: an opening, a player's words, or the prose of a narration as it is read now."""
    data = orjson.loads(payload)
    if "raw_reply" in data:
        if reading is not None:
            return str(orjson.loads(reading)["prose"])
        return prose_of(data["raw_reply"], tuple(Removal.model_validate(removal) for removal in data["removals"]))
    return str(data["text"] if "text" in data else data["opening"])


def takes(connection: Connection, campaign: str, at: NodeFacts) -> list[int]:
    """The narrations with the node's parent; for what is no narration, the node itself."""
    if at.kind != "narration":
        return [at.node]
    return [row["node"] for row in _TAKES.rows(connection, {"of": campaign, "under": at.parent})]


def floor_near(connection: Connection, campaign: str, at: int | None) -> Floor | None:
    """The floor of the newest prompt record at the node or up to two above: its action, and the narration before."""
    for _ in range(3):
        row = _FLOOR.row(connection, {"of": campaign, "at": at})
        if row is None:
            return None
        if row["floor_depth"] is not None:
            return Floor(row["floor_depth"], row["history_budget"])
        at = row["parent"]
    return None


def words_of(connection: Connection, campaign: str, nodes: Sequence[int]) -> list[Words]:
    """The events that hold the texts of these nodes, in order of node."""
    rows = connection.execute(_WORDS, {"of": campaign, "nodes": list(nodes)})
    return [Words(row.version, row.payload) for row in rows]


def payloads(connection: Connection, stream: str, versions: Sequence[int]) -> bytes:
    """The stored payloads of these events of a stream, in this order, joined."""
    if not versions:
        return b""
    rows = connection.execute(_PAYLOADS, {"of": stream, "versions": list(versions)})
    found = {row.version: row.payload for row in rows}
    return b"".join(found.get(version, b"") for version in versions)
