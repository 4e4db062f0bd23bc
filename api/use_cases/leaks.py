"""Counting protocol that stayed in stored narrations."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from api.use_cases.stories import list_campaigns
from api.wiring import Store
from domain.extraction.leaks import leaks
from projections import story

_PAGE = 100


@dataclass
class CampaignLeaks:
    """What was found in the narrations of a story: how many there are, the leaks by kind, and the nodes that have some."""

    campaign: str
    title: str
    narrations: int = 0
    leaks: Counter[str] = field(default_factory=Counter)
    nodes: list[int] = field(default_factory=list)


def campaign_leaks(store: Store) -> Iterator[CampaignLeaks]:
    """The count of each story, newest first. Raises ViewBehind."""
    after: int | None = None
    while True:
        page = list_campaigns(store, _PAGE, after)
        for listed in page["campaigns"]:
            yield _counted(store, listed["id"], listed["title"])
        after = page["next"]
        if after is None:
            return


def _counted(store: Store, campaign: str, title: str) -> CampaignLeaks:
    found = CampaignLeaks(campaign, title)
    with store.views.reading("story") as connection:
        for node, prose in story.narrations(connection, campaign):
            found.narrations += 1
            here = leaks(prose)
            found.leaks.update(here)
            if here:
                found.nodes.append(node)
    return found
