"""The list of campaigns: one row each, newest first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, bindparam, delete, insert, select

from domain.campaign.events import (
    CampaignDeleted,
    CampaignRevised,
    CampaignStarted,
    NarrationAccepted,
    NodeRevised,
    PlayerActed,
    TurnOpened,
)
from domain.event import Recorded
from projections.projection import Projection

metadata = MetaData()

campaign = Table(
    "campaign",
    metadata,
    Column("campaign", Text, primary_key=True),
    Column("created", Integer, nullable=False, unique=True),
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


_BY_NAME = select(campaign).where(campaign.c.campaign.in_(bindparam("names", expanding=True)))
_FORGET = delete(campaign).where(campaign.c.campaign == bindparam("of"))
_WRITE = insert(campaign)
_NEWEST = select(campaign).order_by(campaign.c.created.desc()).limit(bindparam("most"))


def page(connection: Connection, *, limit: int, after: int | None = None) -> CampaignPage:
    """The `limit` newest campaigns, of those older than `after`, which is the `next` of an earlier page."""
    query = _NEWEST if after is None else _NEWEST.where(campaign.c.created < after)
    rows = [CampaignRow(*row) for row in connection.execute(query, {"most": limit + 1})]
    return CampaignPage(tuple(rows[:limit]), rows[limit - 1].created if len(rows) > limit else None)


def fold(connection: Connection, events: Sequence[Recorded]) -> None:
    """Brings the rows of the campaigns that occur among the events up to date."""
    rows = _stored(connection, {recorded.stream for recorded in events})
    stale = set(rows)
    for recorded in events:
        if isinstance(recorded.event, CampaignDeleted):
            stale.add(recorded.event.campaign)
            rows.pop(recorded.event.campaign, None)
        elif isinstance(recorded.event, CampaignStarted):
            rows[recorded.stream] = _started(recorded, recorded.event)
        else:
            rows[recorded.stream] = _after(rows[recorded.stream], recorded)
    _store(connection, stale, rows.values())


def _started(recorded: Recorded, event: CampaignStarted) -> CampaignRow:
    return CampaignRow(recorded.stream, recorded.position, event.settings.title, recorded.at, recorded.at)


def _after(row: CampaignRow, recorded: Recorded) -> CampaignRow:
    match recorded.event:
        case CampaignRevised(changes=changes):
            title = row.title if changes.title is None else changes.title
            return replace(row, title=title, revised_at=recorded.at)
        case TurnOpened():
            return replace(row, played_at=recorded.at)
        case PlayerActed() | NodeRevised():
            return replace(row, nodes=row.nodes + 1)
        case NarrationAccepted():
            return replace(row, nodes=row.nodes + 1, turns=row.turns + 1)
        case _:
            return row


def _stored(connection: Connection, names: set[str]) -> dict[str, CampaignRow]:
    rows = (CampaignRow(*row) for row in connection.execute(_BY_NAME, {"names": sorted(names)}))
    return {row.campaign: row for row in rows}


def _store(connection: Connection, stale: set[str], rows: Iterable[CampaignRow]) -> None:
    if stale:
        connection.execute(_FORGET, [{"of": name} for name in sorted(stale)])
    if fresh := [vars(row) for row in rows]:
        connection.execute(_WRITE, fresh)


CAMPAIGNS = Projection(
    name="campaigns",
    version=1,
    tables=metadata,
    topics=tuple(
        event.topic
        for event in (
            CampaignStarted,
            CampaignRevised,
            CampaignDeleted,
            TurnOpened,
            PlayerActed,
            NarrationAccepted,
            NodeRevised,
        )
    ),
    fold=fold,
    sources=(__name__,),
)
