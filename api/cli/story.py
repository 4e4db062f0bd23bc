"""`fabula story`: the active line, for reading."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from api.cli.output import console, print_json, reading_width
from api.cli.stores import existing_store
from api.cli.terminal_text import wrapped
from api.config import Config
from api.use_cases.stories import story_page
from api.wiring import Store
from domain.prompt.sections import HistoryNode
from domain.prompt.wording import as_prompted


def read(config: Config, campaign: str, *, limit: int | None, before: int | None, as_json: bool) -> None:
    """Prints the newest nodes of the line, or with no limit all of it. Raises UnknownCampaign, UnknownNode."""
    with existing_store(config) as store:
        page = story_page(store, campaign, limit or _whole(store, campaign), before)
    if as_json:
        print_json(page)
    else:
        _print(page)


def _whole(store: Store, campaign: str) -> int:
    """How many nodes the line has."""
    return store.log.node(campaign, store.log.campaign(campaign).head).depth


def _print(page: dict[str, Any]) -> None:
    screen = console()
    width = reading_width(screen)
    if page["next"] is not None:
        screen.print(f"There is more before this: --before {page['next']}, or --all.\n", style="dim")
    for node in page["nodes"]:
        screen.print(Text(_heading(node), "dim"))
        told = HistoryNode(node["node"], node["moment"], node["kind"], node["text"])
        screen.print(Text(wrapped(as_prompted(told), width), "bold" if told.is_player else ""), soft_wrap=True)
        screen.print()
    screen.print(Text(page["position"]["label"], "dim"))


def _heading(node: dict[str, Any]) -> str:
    return " · ".join(_heading_parts(node))


def _heading_parts(node: dict[str, Any]) -> Iterator[str]:
    yield f"Moment {node['moment']}"
    yield f"node {node['node']}"
    if len(node["takes"]) > 1:
        yield f"take {node['takes'].index(node['node']) + 1} of {len(node['takes'])}"
    if node["accounting"] in ("truncation_suspected", "exceeded"):
        yield f"{node['accounting']}: see `fabula audit`"
