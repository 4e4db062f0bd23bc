"""Reading out of the views: pages of the line, the list of stories, how far the views are."""

from collections.abc import Sequence
from typing import Any

from api.use_cases.answers import position_answer, position_of
from api.use_cases.views import health_detail, projections_answer
from api.wiring import VERSION, Store
from domain.errors import InvalidInput
from domain.log import Activity, EventLog
from domain.prompt.sections import HistoryNode
from projections import campaigns, prompts, story
from projections.campaigns import CampaignRow
from projections.story import StoryNode


def story_page(
    store: Store,
    campaign: str,
    limit: int,
    before: int | None = None,
    *,
    at: int | None = None,
    position: int | None = None,
    recorded: bool = False,
) -> dict[str, Any]:
    """A page of a line, oldest first; `before` is a node, of which older ones are wanted.

    The line is the active one; or the one that ends at the node `at`; or the one that was active at a log `position`,
    and then it reads as it did there. `recorded`: with the prose that was recorded with each narration, whatever
    extractor was adopted since. Raises UnknownCampaign, UnknownNode, InvalidInput, ViewBehind.
    """
    log = store.log
    end = _end(log, campaign, at, position)
    before_depth = None if before is None else log.node(campaign, before).depth
    newest = log.node(campaign, end).depth if before_depth is None else before_depth - 1
    segments = log.line(campaign, end, down_to=max(1, newest - limit + 1))
    with store.views.reading("story") as connection:
        page = story.page(
            connection, campaign, segments, limit=limit, before_depth=before_depth, as_of=position, recorded=recorded
        )
    return {
        "nodes": [_node_answer(node) for node in page.nodes],
        "next": page.next,
        "position": position_answer(position_of(log, campaign)),
    }


def _end(log: EventLog, campaign: str, at: int | None, position: int | None) -> int:
    """The node at which the wanted line ends."""
    if at is not None and position is not None:
        raise InvalidInput({"position": "name either a node or a position"})
    if at is not None:
        return log.node(campaign, at).node
    return log.campaign(campaign).head if position is None else log.head_at(campaign, position)


def _node_answer(node: StoryNode) -> dict[str, Any]:
    return {
        "node": node.node,
        "kind": node.kind,
        "moment": node.depth,
        "parent": node.parent,
        "text": node.text,
        "takes": list(node.takes),
        "outcome": node.outcome,
        "accounting": node.accounting,
        "turn": node.turn,
        "at": node.at,
    }


def whole_line(store: Store, campaign: str, at: int | None = None) -> Sequence[HistoryNode]:
    """The active line from its opening, for reading, or the one that ends at a node.

    Raises UnknownCampaign, UnknownNode, ViewBehind.
    """
    segments = store.log.line(campaign, _end(store.log, campaign, at, None))
    with store.views.reading("story") as connection:
        return story.words(connection, campaign, segments)


def list_campaigns(store: Store, limit: int, after: int | None = None) -> dict[str, Any]:
    """A page of the stories, newest first; `after` is the `next` of the page before. Raises ViewBehind."""
    with store.views.reading("campaigns") as connection:
        page = campaigns.page(connection, limit=limit, after=after)
    activity = store.log.activity([row.campaign for row in page.campaigns])
    # One that was deleted since the view was read is left out.
    rows = [_listed(row, activity[row.campaign]) for row in page.campaigns if row.campaign in activity]
    return {"campaigns": rows, "next": page.next}


def _listed(row: CampaignRow, activity: Activity) -> dict[str, Any]:
    times = {"created_at": row.created_at, "revised_at": row.revised_at}
    return {"id": row.campaign, "title": row.title, **times, **vars(activity)}


def newest_campaign(store: Store) -> str | None:
    """The story that was created last, None in an empty store."""
    rows = list_campaigns(store, 1)["campaigns"]
    return str(rows[0]["id"]) if rows else None


def turns_answer(store: Store, campaign: str, limit: int, before: int | None = None) -> dict[str, Any]:
    """A page of a story's turns, newest first, with what each sent and how it ended. Raises UnknownCampaign."""
    store.log.campaign(campaign)
    with store.views.reading("prompts") as connection:
        page = prompts.page(connection, campaign, limit=limit, before=before)
    return {"turns": [vars(row) for row in page.prompts], "next": page.next}


def health_answer(store: Store) -> dict[str, Any]:
    """Whether the store answers and the views have caught up. Raises a StoreFailure."""
    views = projections_answer(store.views)
    caught_up = all(view["state"] == "current" for view in views)
    return {
        "status": "ready" if caught_up else "catching_up",
        "version": VERSION,
        "position": store.log.max_position(),
        "public_endpoint": store.settings.in_force().public_endpoint,
        "projections": views,
        "detail": health_detail(store.views),
    }
