"""What was sent for each turn, and how the turn ended: where to find the record, not the record itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel
from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    select,
)

from domain.campaign.events import CampaignDeleted, FailureStage, NarrationAccepted, PlayerActed, TurnFailed, TurnOpened
from domain.campaign.facts import TurnEnd
from domain.event import LogEntry
from domain.prompt.events import Accounting, PromptSent, Purpose, ReplyAccounted
from projections.projection import Position, Projection, whole
from projections.rows import RowWriter, change

metadata = MetaData()

prompt = Table(
    "prompt",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("turn", Text, primary_key=True),
    Column("purpose", Text, primary_key=True),
    Column("opened", Position, nullable=False),
    Column("opened_at", Text, nullable=False),
    Column("position", Position),
    Column("player_node", Integer),
    Column("node", Integer),
    Column("ended", Text),
    Column("error", Text),
    Column("closed_at", Text),
    Column("accounting", Text),
    Index("prompt_by_opening", "campaign", "opened"),
    Index("prompt_by_node", "campaign", "node"),
    Index("prompt_by_player_node", "campaign", "player_node"),
)


@dataclass(frozen=True)
class PromptRow:
    """A turn's request.

    `opened` is the log position of the turn's opening, `position` that of its `prompt.sent`, None when the turn ended
    before that. `node` is the narration, `player_node` what the player wrote in this turn. `ended` is `accepted`, or the
    stage at which the turn failed with `error`; None while it runs. `accounting` is JSON of a
    `domain.prompt.events.Accounting`. Times are RFC 3339 in UTC.
    """

    campaign: str
    turn: str
    purpose: Purpose
    opened: int
    opened_at: str
    position: int | None = None
    player_node: int | None = None
    node: int | None = None
    ended: TurnEnd | None = None
    error: str | None = None
    closed_at: str | None = None
    accounting: str | None = None


@dataclass(frozen=True)
class PromptPage:
    """Rows of a campaign, newest first. `next` is what to ask for as `before` to get those that follow."""

    prompts: tuple[PromptRow, ...]
    next: int | None


_OF_CAMPAIGN = select(prompt).where(prompt.c.campaign == bindparam("of"))
_OF_TURN = _OF_CAMPAIGN.where(prompt.c.turn == bindparam("named"), prompt.c.purpose == bindparam("purpose"))
_OF_NARRATION = _OF_CAMPAIGN.where(prompt.c.node == bindparam("numbered"), prompt.c.purpose == bindparam("purpose"))
_OF_ACTION = _OF_CAMPAIGN.where(prompt.c.player_node == bindparam("numbered"), prompt.c.purpose == bindparam("purpose"))
_NEWEST = _OF_CAMPAIGN.order_by(prompt.c.opened.desc()).limit(bindparam("most"))
# Not pairs of them: for those SQLite would read the whole table.
_BY_TURNS = select(prompt).where(
    prompt.c.campaign.in_(bindparam("campaigns", expanding=True)), prompt.c.turn.in_(bindparam("turns", expanding=True))
)
_ACCOUNTS = select(prompt.c.accounting).where(
    prompt.c.campaign == bindparam("of"),
    prompt.c.node.in_(bindparam("nodes", expanding=True)),
    prompt.c.accounting.is_not(None),
)
_AT_ONCE = 500
"""How many nodes are asked for in one statement."""
_FORGET_TURN = delete(prompt).where(prompt.c.campaign == bindparam("of"), prompt.c.turn == bindparam("named"))
_FORGET = delete(prompt).where(prompt.c.campaign == bindparam("of"))
_WRITE = RowWriter(prompt)


def by_turn(connection: Connection, campaign: str, turn: str, purpose: Purpose = "narration") -> PromptRow | None:
    """The row of a turn, None when there is no such turn."""
    row = connection.execute(_OF_TURN, {"of": campaign, "named": turn, "purpose": purpose}).one_or_none()
    return None if row is None else PromptRow(*row)


def by_node(connection: Connection, campaign: str, node: int, purpose: Purpose = "narration") -> PromptRow | None:
    """The row of the turn that made the node: told it, or opened with it. None for the opening, and for no node."""
    of = {"of": campaign, "numbered": node, "purpose": purpose}
    for query in (_OF_NARRATION, _OF_ACTION):  # with an OR, SQLite would read all rows of the campaign
        row = connection.execute(query, of).one_or_none()
        if row is not None:
            return PromptRow(*row)
    return None


def page(connection: Connection, campaign: str, *, limit: int, before: int | None = None) -> PromptPage:
    """The `limit` newest turns of a campaign, of those older than `before`, which is the `next` of an earlier page."""
    query = _NEWEST if before is None else _NEWEST.where(prompt.c.opened < before)
    rows = [PromptRow(*row) for row in connection.execute(query, {"of": campaign, "most": limit + 1})]
    return PromptPage(tuple(rows[:limit]), rows[limit - 1].opened if len(rows) > limit else None)


def accounts_of(connection: Connection, campaign: str, nodes: Sequence[int]) -> list[Accounting]:
    """The accounts of these narrations, of those that have one."""
    found: list[Accounting] = []
    for first in range(0, len(nodes), _AT_ONCE):
        some = {"of": campaign, "nodes": list(nodes[first : first + _AT_ONCE])}
        found += [Accounting.model_validate_json(stored) for stored in connection.execute(_ACCOUNTS, some).scalars()]
    return found


class NodeOutline(BaseModel):
    """Of what made a node: its number."""

    node: int


class FailureOutline(BaseModel):
    """Of a failed turn: where it ended, and by which error."""

    stage: FailureStage
    error: str


class AccountOutline(BaseModel):
    """Of an account: the account, which is kept as it is, and of which request it is."""

    purpose: Purpose = "narration"
    accounting: dict[str, Any]


_Turn = tuple[str, str]
_Rows = dict[_Turn, dict[str, Any]]


def fold(connection: Connection, entries: Sequence[LogEntry]) -> None:
    """Brings the rows of the turns that occur among the entries up to date, and drops deleted campaigns."""
    rows = _stored(connection, _turns_from_before(entries))
    stale, dropped = set(rows), set()
    for entry in entries:
        turn = entry.stream, str(entry.turn)
        if entry.topic == _OPENED:
            rows[turn] = _opened(entry)
        elif isinstance(entry.event, CampaignDeleted):
            dropped.add(entry.event.campaign)
            rows = {turn: row for turn, row in rows.items() if turn[0] != entry.event.campaign}
        else:
            _change(rows[turn], entry)
    _store(connection, dropped, stale, list(rows.values()))


def _turns_from_before(entries: Sequence[LogEntry]) -> set[_Turn]:
    opened = {(entry.stream, str(entry.turn)) for entry in entries if entry.topic == _OPENED}
    return {(entry.stream, entry.turn) for entry in entries if entry.turn is not None} - opened


_OPENED = TurnOpened.topic
_EMPTY = vars(PromptRow("", "", "narration", 0, ""))


def _opened(entry: LogEntry) -> dict[str, Any]:
    turn = {"campaign": entry.stream, "turn": entry.turn, "opened": entry.position, "opened_at": entry.at}
    return _EMPTY | turn


def _change(row: dict[str, Any], entry: LogEntry) -> None:
    """Changes the row in place."""
    topic = entry.topic
    event: Any = entry.event
    if topic == PromptSent.topic:  # where it stands says enough
        row["position"] = entry.position
    elif topic == PlayerActed.topic:
        row["player_node"] = event.node
    elif topic == NarrationAccepted.topic:  # also late, after the turn was closed as interrupted
        row["node"], row["ended"], row["error"], row["closed_at"] = event.node, "accepted", None, entry.at
    elif topic == ReplyAccounted.topic and event.purpose == "narration":
        row["accounting"] = orjson.dumps(event.accounting).decode()
    elif topic == TurnFailed.topic:
        row["ended"], row["error"], row["closed_at"] = event.stage, event.error, entry.at


def _stored(connection: Connection, turns: set[_Turn]) -> _Rows:
    campaigns, named = sorted({campaign for campaign, _ in turns}), sorted({turn for _, turn in turns})
    found = connection.execute(_BY_TURNS, {"campaigns": campaigns, "turns": named}).mappings()
    rows = {(row["campaign"], row["turn"]): dict(row) for row in found}
    return {turn: row for turn, row in rows.items() if turn in turns}


def _store(connection: Connection, dropped: set[str], stale: set[_Turn], rows: list[dict[str, Any]]) -> None:
    if dropped:
        change(connection, _FORGET, [{"of": name} for name in sorted(dropped)])
    if stale:
        change(connection, _FORGET_TURN, [{"of": name, "named": turn} for name, turn in sorted(stale)])
    if rows:
        _WRITE.add(connection, rows)


PROMPTS = Projection(
    name="prompts",
    version=3,
    tables=metadata,
    reads={
        **whole(CampaignDeleted),
        TurnOpened.topic: None,
        PlayerActed.topic: NodeOutline,
        PromptSent.topic: None,
        NarrationAccepted.topic: NodeOutline,
        TurnFailed.topic: FailureOutline,
        ReplyAccounted.topic: AccountOutline,
    },
    fold=fold,
    sources=(__name__,),
)
