"""The story for reading: one row a node, with its text, found by its place on a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    RowMapping,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    delete,
    literal,
    select,
    update,
)

from domain.campaign.events import (
    CampaignDeleted,
    CampaignStarted,
    NarrationAccepted,
    NodeKind,
    NodeRevised,
    PlayerActed,
    TextCorrected,
)
from domain.campaign.facts import OPENING
from domain.event import LogEntry
from domain.extraction.extraction import prose_of
from domain.log import Segment
from domain.narrative.events import NarrationReread, ProposalJudged
from domain.narrative.judging import Outcome
from domain.prompt.events import AccountingStatus, ReplyAccounted
from domain.prompt.sections import HistoryNode
from projections.projection import Position, Projection, whole
from projections.rows import RowWriter, change

metadata = MetaData()

node = Table(
    "node",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("parent", Integer),
    Column("kind", Text, nullable=False),
    Column("branch", Integer, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("turn", Text),
    Column("text", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("finish_reason", Text),
    # What became of the narration's proposal.
    Column("outcome", Text),
    Column("accounting", Text),
    Column("late", Boolean, nullable=False),
    Column("made_at", Position, nullable=False),
    UniqueConstraint("campaign", "branch", "depth"),
    Index("node_by_parent", "campaign", "parent", "node"),
)

correction = Table(
    "correction",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("position", Position, primary_key=True, autoincrement=False),
    # What stood there before: how the story read until this position of the log.
    Column("replaced", Text, nullable=False),
    # Whether an adopted extractor read the narration anew, instead of the player mending it.
    Column("reading", Boolean, nullable=False),
)

EXPORT_NODES = 500
"""How many nodes of a whole line are in memory at once."""


@dataclass(frozen=True)
class StoryNode:
    """A node as a reader sees it.

    `depth` is its moment on the line. `accounting` is the status of the account of the narration's request. `takes` are
    the narrations with the same parent, in order of creation; for what is no narration, the node itself. `made_at` is
    the log position at which the node was made.
    """

    node: int
    parent: int | None
    kind: NodeKind
    branch: int
    depth: int
    turn: str | None
    text: str
    at: str
    finish_reason: str | None
    outcome: str | None
    accounting: AccountingStatus | None
    late: bool
    made_at: int
    takes: tuple[int, ...]


@dataclass(frozen=True)
class StoryPage:
    """Nodes of a line, oldest first. `next` is the node before which older ones stand, None at the opening."""

    nodes: tuple[StoryNode, ...]
    next: int | None


_SHOWN = select(*[column for column in node.columns if column.name != "campaign"]).where(
    node.c.campaign == bindparam("of")
)
_ONE = _SHOWN.where(node.c.node == bindparam("numbered"))
_STRETCH = _SHOWN.where(
    node.c.branch == bindparam("in_branch"), node.c.depth.between(bindparam("first"), bindparam("last"))
).order_by(node.c.depth)
_WORDS = (
    select(node.c.node, node.c.depth, node.c.kind, node.c.text)
    .where(
        node.c.campaign == bindparam("of"),
        node.c.branch == bindparam("in_branch"),
        node.c.depth.between(bindparam("first"), bindparam("last")),
    )
    .order_by(node.c.depth)
)
_NARRATIONS = (
    select(node.c.node, node.c.text)
    .where(node.c.campaign == bindparam("of"), node.c.kind == literal("narration"))
    .order_by(node.c.node)
)
_TAKES = (
    select(node.c.parent, node.c.node, node.c.made_at)
    .where(
        node.c.campaign == bindparam("of"),
        node.c.parent.in_(bindparam("parents", expanding=True)),
        node.c.kind == literal("narration"),
    )
    .order_by(node.c.parent, node.c.node)  # as the index has them
)
_WRITE = RowWriter(node)
_ACCOUNT = (
    update(node)
    .where(node.c.campaign == bindparam("of"), node.c.node == bindparam("numbered"))
    .values(accounting=bindparam("status"))
)
_OUTCOME = (
    update(node)
    .where(node.c.campaign == bindparam("of"), node.c.node == bindparam("numbered"))
    .values(outcome=bindparam("to_outcome"))
)
_FORGET = delete(node).where(node.c.campaign == bindparam("of"))
_FORGET_CORRECTIONS = delete(correction).where(correction.c.campaign == bindparam("of"))
_TEXTS = select(node.c.campaign, node.c.node, node.c.text).where(
    node.c.campaign.in_(bindparam("campaigns", expanding=True)), node.c.node.in_(bindparam("nodes", expanding=True))
)
_CORRECT = RowWriter(correction)
_RETEXT = (
    update(node)
    .where(node.c.campaign == bindparam("of"), node.c.node == bindparam("numbered"))
    .values(text=bindparam("to_text"))
)
_MENDED = (
    select(correction.c.campaign, correction.c.node)
    .where(
        correction.c.campaign.in_(bindparam("campaigns", expanding=True)),
        correction.c.node.in_(bindparam("nodes", expanding=True)),
        correction.c.reading.is_(False),
    )
    .distinct()
)
_READ_ANEW = (
    select(correction.c.node, correction.c.replaced, correction.c.reading)
    .where(correction.c.campaign == bindparam("of"), correction.c.node.in_(bindparam("nodes", expanding=True)))
    .order_by(correction.c.position.desc())
)
_ALL_CORRECTED_SINCE = (
    select(correction.c.node)
    .where(correction.c.campaign == bindparam("of"), correction.c.position > bindparam("position"))
    .distinct()
    .order_by(correction.c.node)
)
_CORRECTED_SINCE = (
    select(correction.c.node, correction.c.replaced)
    .where(
        correction.c.campaign == bindparam("of"),
        correction.c.node.in_(bindparam("nodes", expanding=True)),
        correction.c.position > bindparam("position"),
    )
    .order_by(correction.c.position.desc())
)


def page(
    connection: Connection,
    campaign: str,
    segments: Sequence[Segment],
    *,
    limit: int,
    before_depth: int | None = None,
    as_of: int | None = None,
    recorded: bool = False,
) -> StoryPage:
    """The `limit` newest nodes of the line, of those above `before_depth`; as they read at the log position `as_of`, or
    with the prose as it was `recorded`.

    A line has one node at each depth, so a page is a range of depths: one range read for each segment in it.
    """
    newest = _newest(segments)
    last = newest if before_depth is None else min(newest, before_depth - 1)
    nodes = _between(connection, campaign, segments, last - limit + 1, last)
    if as_of is not None:
        nodes = as_read_at(connection, campaign, nodes, as_of)
    if recorded:
        nodes = as_recorded(connection, campaign, nodes)
    older = bool(nodes) and nodes[0].depth > 1
    return StoryPage(nodes, nodes[0].node if older else None)


def since(
    connection: Connection, campaign: str, segments: Sequence[Segment], first: int, *, as_of: int | None = None
) -> tuple[StoryNode, ...]:
    """The nodes of the line from depth `first` on, oldest first; as they read at the log position `as_of`."""
    nodes = _between(connection, campaign, segments, first, _newest(segments))
    return nodes if as_of is None else as_read_at(connection, campaign, nodes, as_of)


def corrected_since(
    connection: Connection, campaign: str, segments: Sequence[Segment], last: int, position: int
) -> tuple[StoryNode, ...]:
    """The nodes of the line, down to depth `last`, whose texts were corrected after a log position, as they read now."""
    since = {"of": campaign, "position": position}
    found = [one(connection, campaign, at) for at in connection.execute(_ALL_CORRECTED_SINCE, since).scalars()]
    return tuple(node for node in found if node is not None and node.depth <= last and _is_on(segments, node))


def _is_on(segments: Sequence[Segment], node: StoryNode) -> bool:
    return any(part.branch == node.branch and part.first <= node.depth <= part.last for part in segments)


def _newest(segments: Sequence[Segment]) -> int:
    return max((segment.last for segment in segments), default=0)


def as_read_at(
    connection: Connection, campaign: str, nodes: tuple[StoryNode, ...], position: int
) -> tuple[StoryNode, ...]:
    """The nodes without what came after a position: later takes, and the corrections of their texts."""
    later = {"of": campaign, "nodes": [node.node for node in nodes], "position": position}
    # In falling order of position: the first correction after the position is the last to be noted.
    texts = {row.node: row.replaced for row in connection.execute(_CORRECTED_SINCE, later)}
    return tuple(
        replace(
            node,
            text=texts.get(node.node, node.text),
            takes=_made_by(connection, campaign, node, position),
        )
        for node in nodes
    )


def as_recorded(connection: Connection, campaign: str, nodes: tuple[StoryNode, ...]) -> tuple[StoryNode, ...]:
    """The nodes with the prose that was recorded with them, whatever extractor was adopted since.

    What the player mended stays as they wrote it.
    """
    texts: dict[int, str] = {}
    mended: set[int] = set()
    # In falling order of position: the first reading is the last to be noted.
    for row in connection.execute(_READ_ANEW, {"of": campaign, "nodes": [node.node for node in nodes]}):
        if not row.reading:
            mended.add(row.node)
        elif row.node not in mended:
            texts[row.node] = row.replaced
    return tuple(replace(node, text=texts.get(node.node, node.text)) for node in nodes)


def _made_by(connection: Connection, campaign: str, node: StoryNode, position: int) -> tuple[int, ...]:
    if len(node.takes) == 1:
        return node.takes
    takes = connection.execute(_TAKES, {"of": campaign, "parents": [node.parent]})
    return tuple(take.node for take in takes if take.made_at <= position)


def line(connection: Connection, campaign: str, segments: Sequence[Segment]) -> Iterator[StoryNode]:
    """The whole line, oldest first. Reads a stretch of it at a time, as it is consumed."""
    newest = _newest(segments)
    for first in range(1, newest + 1, EXPORT_NODES):
        yield from _between(connection, campaign, segments, first, min(newest, first + EXPORT_NODES - 1))


def words(connection: Connection, campaign: str, segments: Sequence[Segment]) -> list[HistoryNode]:
    """The words of the whole line and no more of it, oldest first."""
    found: list[HistoryNode] = []
    for segment in sorted(segments, key=lambda segment: segment.first):
        stretch = {"of": campaign, "in_branch": segment.branch, "first": segment.first, "last": segment.last}
        found += [HistoryNode(*row) for row in connection.execute(_WORDS, stretch).all()]
    return found


def narrations(connection: Connection, campaign: str) -> Iterator[tuple[int, str]]:
    """Every narration of a story with its prose, on every branch, in order of creation; read as it is consumed."""
    rows = connection.execution_options(yield_per=EXPORT_NODES).execute(_NARRATIONS, {"of": campaign})
    yield from ((row.node, row.text) for row in rows)


def one(connection: Connection, campaign: str, at: int) -> StoryNode | None:
    """One node, None when there is no such node."""
    row = connection.execute(_ONE, {"of": campaign, "numbered": at}).mappings().one_or_none()
    return None if row is None else _with_takes(connection, campaign, [row])[0]


def _between(
    connection: Connection, campaign: str, segments: Sequence[Segment], first: int, last: int
) -> tuple[StoryNode, ...]:
    """The nodes of the line from depth `first` to depth `last`, oldest first."""
    rows: list[RowMapping] = []
    for segment in sorted(segments, key=lambda segment: segment.first):
        of = {"of": campaign, "in_branch": segment.branch}
        stretch = {"first": max(segment.first, first), "last": min(segment.last, last)}
        if stretch["first"] <= stretch["last"]:
            rows += connection.execute(_STRETCH, of | stretch).mappings()
    return _with_takes(connection, campaign, rows)


def _with_takes(connection: Connection, campaign: str, rows: Sequence[RowMapping]) -> tuple[StoryNode, ...]:
    takes: dict[int, list[int]] = {}
    parents = [row["parent"] for row in rows if row["kind"] == "narration"]
    for take in connection.execute(_TAKES, {"of": campaign, "parents": parents}):
        takes.setdefault(take.parent, []).append(take.node)
    return tuple(StoryNode(**row, takes=_takes_of(row, takes)) for row in rows)


def _takes_of(row: RowMapping, takes: dict[int, list[int]]) -> tuple[int, ...]:
    return tuple(takes[row["parent"]]) if row["kind"] == "narration" else (row["node"],)


class JudgementOutline(BaseModel):
    """Of a judged proposal: what became of it."""

    node: int
    outcome: Outcome


class ReadingOutline(BaseModel):
    """Of a narration that was read anew: its prose, and what became of its proposal."""

    node: int
    prose: str
    outcome: Outcome


_Rows = dict[tuple[str, int], dict[str, Any]]


@dataclass
class _Changes:
    """What a page of events does to the table: campaigns to drop, rows to add, accounts to note on rows from before."""

    dropped: list[str] = field(default_factory=list)
    added: _Rows = field(default_factory=dict)
    accounts: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    corrected: list[LogEntry] = field(default_factory=list)


def fold(connection: Connection, entries: Sequence[LogEntry]) -> None:
    """Adds the nodes that the events made, notes their accounts, and drops deleted campaigns."""
    changes = _Changes()
    for entry in entries:
        _change(changes, entry)
    if changes.dropped:
        change(connection, _FORGET, [{"of": name} for name in changes.dropped])
        change(connection, _FORGET_CORRECTIONS, [{"of": name} for name in changes.dropped])
    corrections = _corrections(connection, changes)
    if changes.added:
        _WRITE.add(connection, changes.added.values())
    if changes.accounts:
        change(connection, _ACCOUNT, changes.accounts)
    if changes.outcomes:
        change(connection, _OUTCOME, changes.outcomes)
    if corrections:
        _CORRECT.add(connection, corrections)


def _corrections(connection: Connection, changes: _Changes) -> list[dict[str, Any]]:
    """The rows of the corrections, each with the text before it; the texts themselves are mended.

    What the player mended, a reading leaves as it is.
    """
    if not changes.corrected:
        return []
    texts, by_player = _texts_before(connection, changes), _mended_before(connection, changes)
    rows, mended = [], {}
    for entry in changes.corrected:
        key, text, reading = _corrected(entry)
        if not reading:
            by_player.add(key)
        if text != texts[key] and not (reading and key in by_player):
            place = {"campaign": entry.stream, "node": key[1], "position": entry.position}
            rows.append(place | {"replaced": texts[key], "reading": reading})
            texts[key] = mended[key] = text
    _mend(connection, changes, mended)
    return rows


def _corrected(entry: LogEntry) -> tuple[tuple[str, int], str, bool]:
    """Which node has which text from now on, and whether that is a reading."""
    match entry.event:
        case TextCorrected(node=at, text=text):
            return (entry.stream, at), text, False
        case ReadingOutline(node=at, prose=prose):
            return (entry.stream, at), prose, True
        case _:
            raise TypeError(f"{entry.topic} corrects no text")


def _mended_before(connection: Connection, changes: _Changes) -> set[tuple[str, int]]:
    """Those of the nodes that the player mended before these events."""
    keys = {_corrected(entry)[0] for entry in changes.corrected}
    stored = {"campaigns": sorted({name for name, _ in keys}), "nodes": sorted({node for _, node in keys})}
    return {(row.campaign, row.node) for row in connection.execute(_MENDED, stored)}


def _texts_before(connection: Connection, changes: _Changes) -> dict[tuple[str, int], str]:
    """The texts of the corrected nodes as they stand, in the view or among the rows to add."""
    nodes = {_corrected(entry)[0] for entry in changes.corrected}
    stored = {"campaigns": sorted({name for name, _ in nodes}), "nodes": sorted({node for _, node in nodes})}
    texts = {(row.campaign, row.node): row.text for row in connection.execute(_TEXTS, stored)}
    return texts | {key: row["text"] for key, row in changes.added.items() if key in nodes}


def _mend(connection: Connection, changes: _Changes, mended: dict[tuple[str, int], str]) -> None:
    stored = []
    for (name, numbered), text in mended.items():
        if (name, numbered) in changes.added:
            changes.added[name, numbered]["text"] = text
        else:
            stored.append({"of": name, "numbered": numbered, "to_text": text})
    if stored:
        change(connection, _RETEXT, stored)


def _change(changes: _Changes, entry: LogEntry) -> None:
    match entry.event:
        case CampaignDeleted() as event:
            _drop(changes, event.campaign)
        case ReplyAccounted(node=int() as at, accounting=account, purpose="narration"):
            _note(changes, entry.stream, at, "accounting", account.status)
        case JudgementOutline(node=at, outcome=outcome):
            _note(changes, entry.stream, at, "outcome", outcome)
        case TextCorrected():
            changes.corrected.append(entry)
        case ReadingOutline(node=at, outcome=outcome):
            changes.corrected.append(entry)
            _note(changes, entry.stream, at, "outcome", outcome)
        case CampaignStarted() | PlayerActed() | NarrationAccepted() | NodeRevised():
            row = _row(entry)
            changes.added[entry.stream, row["node"]] = row
        case _:
            pass


def _drop(changes: _Changes, campaign: str) -> None:
    changes.dropped.append(campaign)
    changes.added = {key: row for key, row in changes.added.items() if key[0] != campaign}
    changes.accounts = [account for account in changes.accounts if account["of"] != campaign]
    changes.outcomes = [outcome for outcome in changes.outcomes if outcome["of"] != campaign]
    changes.corrected = [entry for entry in changes.corrected if entry.stream != campaign]


def _note(changes: _Changes, campaign: str, at: int, column: Literal["accounting", "outcome"], value: str) -> None:
    if (campaign, at) in changes.added:
        changes.added[campaign, at][column] = value
    elif column == "accounting":  # the page begins between a narration and what belongs to it
        changes.accounts.append({"of": campaign, "numbered": at, "status": value})
    else:
        changes.outcomes.append({"of": campaign, "numbered": at, "to_outcome": value})


def _row(entry: LogEntry) -> dict[str, Any]:
    return {
        "campaign": entry.stream,
        "parent": None,
        "turn": entry.turn,
        "at": entry.at,
        "finish_reason": None,
        "outcome": None,
        "accounting": None,
        "late": False,
        "made_at": entry.position,
    } | _told(entry)


def _told(entry: LogEntry) -> dict[str, Any]:
    match entry.event:
        case CampaignStarted() as event:
            return {"node": OPENING, "kind": "opening", "branch": 1, "depth": 1, "text": event.opening}
        case (PlayerActed() | NodeRevised()) as event:
            return _place(event) | {"kind": event.kind, "text": event.text}
        case NarrationAccepted() as event:
            told = {"text": prose_of(event.raw_reply, event.removals), "finish_reason": event.finish_reason}
            return _place(event) | told | {"kind": "narration", "late": event.late}
        case _:
            raise TypeError(f"{entry.topic} makes no node")


def _place(event: PlayerActed | NarrationAccepted | NodeRevised) -> dict[str, Any]:
    return {"node": event.node, "parent": event.parent, "branch": event.branch, "depth": event.depth}


STORY = Projection(
    name="story",
    version=3,
    tables=metadata,
    reads={
        **whole(
            CampaignStarted, CampaignDeleted, PlayerActed, NarrationAccepted, NodeRevised, TextCorrected, ReplyAccounted
        ),
        ProposalJudged.topic: JudgementOutline,
        NarrationReread.topic: ReadingOutline,
    },
    fold=fold,
    sources=(__name__, "domain.extraction.extraction"),
)
