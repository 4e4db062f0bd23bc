"""`fabula doctor --leaks`: protocol that stayed in stored narrations."""

from typing import Any

import typer
from rich.table import Table

from api.cli.exits import NOT_SO
from api.cli.output import console, messages, print_json, say
from api.cli.stores import existing_store
from api.cli.terminal_text import harmless
from api.config import Config
from api.use_cases.leaks import CampaignLeaks, campaign_leaks

_NODES = 8
"""How many nodes are named in the terminal; JSON names all."""


def count_leaks(config: Config, *, as_json: bool) -> None:
    """Prints what was found, story by story. Ends with 1 when there is anything."""
    with existing_store(config) as store, messages().status("Reading the narrations…"):
        found = list(campaign_leaks(store))
    leaking = [each for each in found if each.nodes]
    if as_json:
        print_json({"ok": not leaking, "campaigns": [as_plain(each) for each in found]})
    elif leaking:
        console().print(_table(leaking))
    narrations = sum(each.narrations for each in found)
    if not as_json:
        say(f"{sum(len(each.nodes) for each in found)} of {narrations} narrations hold what reads like protocol.")
    if leaking:
        raise typer.Exit(NOT_SO)


def as_plain(each: CampaignLeaks) -> dict[str, Any]:
    """What was found in a story, as plain JSON values."""
    return {**vars(each), "leaks": dict(each.leaks)}


def _table(leaking: list[CampaignLeaks]) -> Table:
    table = Table("story", "title", "narrations", "leaks", "nodes", box=None)
    for each in leaking:
        kinds = ", ".join(f"{kind} {count}" for kind, count in each.leaks.most_common())
        nodes = ", ".join(map(str, each.nodes[:_NODES])) + (" …" if len(each.nodes) > _NODES else "")
        table.add_row(each.campaign, harmless(each.title), str(each.narrations), kinds, nodes)
    return table
