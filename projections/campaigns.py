"""The list of campaigns: one row each, newest first.

How far each has been played is in the log's own tables, where every append counts it: were it counted here, nearly all
events of the log would have to be read for a few rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import AliasPath, BaseModel, Field
from sqlalchemy import Column, Connection, MetaData, Table, Text, bindparam, delete, func, select, update

from domain.campaign.events import (
    CampaignDeleted,
    CampaignRevised,
    CampaignStarted,
)
from domain.campaign.settings import Name
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
)


@dataclass(frozen=True)
class CampaignRow:
    """A campaign as a list shows it.

    `created` is the log position of its start. Times are RFC 3339 in UTC.
    """

    campaign: str
    created: int
    title: str
    created_at: str
    revised_at: str


@dataclass(frozen=True)
class CampaignPage:
    """Campaigns, newest first. `next` is what to ask for as `after` to get those that follow, None at the end."""

    campaigns: tuple[CampaignRow, ...]
    next: int | None


class StartOutline(BaseModel):
    """Of a campaign's start: its title."""

    title: Name = Field(validation_alias=AliasPath("settings", "title"))


class RevisionOutline(BaseModel):
    """Of a campaign's revision: its new title, where it has one."""

    title: Name | None = Field(default=None, validation_alias=AliasPath("changes", "title"))


_Row = dict[str, Any]
_REVISE = (
    update(campaign)
    .where(campaign.c.campaign == bindparam("of"))
    .values(revised_at=bindparam("to_revised_at"), title=func.coalesce(bindparam("to_title"), campaign.c.title))
)
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
    begun: dict[str, _Row] = {}
    revised: dict[str, _Row] = {}
    gone: set[str] = set()
    for entry in entries:
        event: Any = entry.event
        if entry.topic == CampaignStarted.topic:
            begun[entry.stream] = _started(entry, event.title)
        elif entry.topic == CampaignRevised.topic:
            revised[entry.stream] = _revised(entry, event.title, revised.get(entry.stream))
        else:  # one of this name may be begun anew after it
            gone.add(event.campaign)
            begun.pop(event.campaign, None)
            revised.pop(event.campaign, None)
    change(connection, _FORGET, [{"of": name} for name in sorted(gone)])
    _WRITE.add(connection, begun.values())
    change(connection, _REVISE, list(revised.values()))


def _started(entry: LogEntry, title: str) -> _Row:
    times = {"created_at": entry.at, "revised_at": entry.at}
    return {"campaign": entry.stream, "created": entry.position, "title": title, **times}


def _revised(entry: LogEntry, title: str | None, before: _Row | None) -> _Row:
    """What is to be changed, with an earlier revision's title where this one names none."""
    earlier = before["to_title"] if before is not None else None
    return {"of": entry.stream, "to_revised_at": entry.at, "to_title": earlier if title is None else title}


CAMPAIGNS = Projection(
    name="campaigns",
    version=2,
    tables=metadata,
    reads={
        CampaignStarted.topic: StartOutline,
        CampaignRevised.topic: RevisionOutline,
        **whole(CampaignDeleted),
    },
    fold=fold,
    sources=(__name__,),
)
