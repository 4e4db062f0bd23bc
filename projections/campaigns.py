"""The list of campaigns: one row each, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, bindparam, delete, select

from domain.campaign.events import (
    CampaignDeleted,
    CampaignRevised,
    CampaignStarted,
    NarrationAccepted,
    NodeRevised,
    PlayerActed,
    TurnOpened,
)
from domain.event import LogEntry
from projections.projection import Position, Projection, whole
from projections.rows import RowWriter, change

metadata = MetaData()

campaign = Table(
    "campaign",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("created", Position, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("revised_at", Text, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("played_at", Text),
)


@dataclass(frozen=True)
class CampaignRow:
    """A campaign as a list shows it.

    `created` is the log position of its start. `turns` counts accepted narrations, `nodes` all nodes, the opening
    included. Times are RFC 3339 in UTC; `played_at` is when its newest turn was opened, None before the first.
    """

    campaign: str
    created: int
    title: str
    created_at: str
    revised_at: str
    turns: int = 0
    nodes: int = 1
    played_at: str | None = None


@dataclass(frozen=True)
class CampaignPage:
    """Campaigns, newest first. `next` is what to ask for as `after` to get those that follow, None at the end."""

    campaigns: tuple[CampaignRow, ...]
    next: int | None


_Row = dict[str, Any]
_BY_NAME = select(campaign).where(campaign.c.campaign.in_(bindparam("names", expanding=True)))
_FORGET = delete(campaign).where(campaign.c.campaign == bindparam("of"))
_WRITE = RowWriter(campaign)
_NEWEST = select(campaign).order_by(campaign.c.created.desc()).limit(bindparam("most"))


def page(connection: Connection, *, limit: int, after: int | None = None) -> CampaignPage:
    """The `limit` newest campaigns, of those older than `after`, which is the `next` of an earlier page."""
    query = _NEWEST if after is None else _NEWEST.where(campaign.c.created < after)
    rows = [CampaignRow(*row) for row in connection.execute(query, {"most": limit + 1})]
    return CampaignPage(tuple(rows[:limit]), rows[limit - 1].created if len(rows) > limit else None)


def fold(connection: Connection, entries: Sequence[LogEntry]) -> None:
    """Brings the rows of the campaigns that occur among the entries up to date."""
    rows = _stored(connection, {entry.stream for entry in entries})
    stale = set(rows)
    for entry in entries:
        if isinstance(entry.event, CampaignDeleted):
            stale.add(entry.event.campaign)
            rows.pop(entry.event.campaign, None)
        elif isinstance(entry.event, CampaignStarted):
            rows[entry.stream] = vars(_started(entry, entry.event))
        else:
            _note(rows[entry.stream], entry)
    _store(connection, stale, list(rows.values()))


def _started(entry: LogEntry, event: CampaignStarted) -> CampaignRow:
    return CampaignRow(entry.stream, entry.position, event.settings.title, entry.at, entry.at)


def _note(row: _Row, entry: LogEntry) -> None:
    """Changes the row in place: of hundreds of thousands of events most are noted here."""
    match entry.topic:
        case TurnOpened.topic:
            row["played_at"] = entry.at
        case PlayerActed.topic | NodeRevised.topic:
            row["nodes"] += 1
        case NarrationAccepted.topic:
            row["nodes"] += 1
            row["turns"] += 1
        case CampaignRevised.topic if isinstance(entry.event, CampaignRevised):
            title = entry.event.changes.title
            row |= {"revised_at": entry.at} | ({} if title is None else {"title": title})
        case _:
            pass


def _stored(connection: Connection, names: set[str]) -> dict[str, _Row]:
    rows = connection.execute(_BY_NAME, {"names": sorted(names)}).mappings()
    return {row["campaign"]: dict(row) for row in rows}


def _store(connection: Connection, stale: set[str], rows: list[_Row]) -> None:
    if stale:
        change(connection, _FORGET, [{"of": name} for name in sorted(stale)])
    if rows:
        _WRITE.add(connection, rows)


CAMPAIGNS = Projection(
    name="campaigns",
    version=1,
    tables=metadata,
    reads={
        **whole(CampaignStarted, CampaignRevised, CampaignDeleted),
        # That they happened is enough.
        **dict.fromkeys((TurnOpened.topic, PlayerActed.topic, NarrationAccepted.topic, NodeRevised.topic)),
    },
    fold=fold,
    sources=(__name__,),
)
