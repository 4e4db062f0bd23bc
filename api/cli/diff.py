"""`fabula diff`: how two places of a story differ, in a terminal or on a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from api.cli.output import console, print_json, remark, table
from api.cli.stores import existing_store
from api.cli.terminal_text import harmless
from api.config import Config
from api.pages.difference import difference_page
from api.use_cases.difference import difference
from api.use_cases.stories import newest_campaign
from api.wiring import Store
from domain.errors import InvalidInput

SHOWN_NODES = 12
"""How many nodes of each side are shown, the first ones; the page and the JSON have all."""


def show_difference(
    config: Config, left: str, right: str, *, campaign: str | None, page: Path | None, as_json: bool
) -> None:
    """Prints the difference, or writes it as a page. Raises UnknownCampaign, UnknownNode, InvalidInput, NoStore."""
    with existing_store(config) as store:
        named, places = _named(store, campaign, (left, right))
        answer = difference(store, named, *places)
        settings = store.log.campaign(named).settings
    if as_json:
        print_json(answer)
    elif page is not None:
        page.write_text(difference_page(answer, settings.title if settings else named), encoding="utf-8")
        remark(f"The difference is shown in {page}.")
    else:
        print_difference(answer, console())


def _named(store: Store, campaign: str | None, references: Sequence[str]) -> tuple[str, list[str]]:
    """The campaign that the references are of, and what they name in it: `c_…:12`, or `12` of the given campaign."""
    split = [
        reference.partition(":") if reference.startswith("c_") else ("", "", reference) for reference in references
    ]
    named = {head for head, _, _ in split if head} | ({campaign} if campaign else set())
    if len(named) > 1:
        raise InvalidInput({"places": "both places must be of one story"})
    found = named.pop() if named else newest_campaign(store)
    if found is None:
        raise InvalidInput({"campaign": "there is no story in this store yet; `fabula play` begins one"})
    return found, [rest or "head" for _, _, rest in split]


def print_difference(answer: dict[str, Any], screen: Console) -> None:
    """Prints where the two parted, how their words differ, and what each took since."""
    common = answer["common"]
    screen.print(
        Text(f"They share the story to moment {common['moment']} (node {common['node']}).", "dim"), soft_wrap=True
    )
    for take in answer["text"]["takes"]:
        screen.print(Text(f"\nWhere they part: node {take['left']} and node {take['right']}", "bold"))
        screen.print(_words(take["words"]), soft_wrap=not screen.is_terminal)
    screen.print()
    screen.print(_sides(answer))
    if answer["prompts"]["sections"]:
        screen.print(Text("\nWhat the narrator was sent last", "bold"))
        screen.print(_sections(answer["prompts"]["sections"]))
    screen.print(Text("\nAccounts since they parted", "bold"))
    screen.print(_accounts(answer["accounts"]))


def _words(stretches: Sequence[dict[str, Any]]) -> Text:
    text = Text()
    for stretch in stretches:
        match stretch["side"]:
            case "same":
                text.append(harmless(stretch["left"]))
            case "left":
                text.append(f"[-{harmless(stretch['left'])}-]", "red")
            case _:
                text.append(f"{{+{harmless(stretch['right'])}+}}", "green")
    return text


def _sides(answer: dict[str, Any]) -> Table:
    sides = [answer["left"], answer["right"]]
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=False)
    for side in sides:
        drawn.add_column(Text(f"{side['reference']}: moment {side['moment']}, {side['moments_since']} since"), ratio=1)
    nodes = [answer["text"]["left"][:SHOWN_NODES], answer["text"]["right"][:SHOWN_NODES]]
    for at in range(max(len(side) for side in nodes)):
        drawn.add_row(*(_node(side[at]) if at < len(side) else "" for side in nodes))
    if any(side["moments_since"] > SHOWN_NODES for side in sides):
        drawn.add_row(*("…" if side["moments_since"] > SHOWN_NODES else "" for side in sides))
    return drawn


def _node(node: dict[str, Any]) -> Text:
    return Text(f"{node['moment']}  ", "dim").append(
        harmless(node["text"]), "bold" if node["kind"] != "narration" else "not dim"
    )


def _sections(sections: Sequence[dict[str, Any]]) -> Table:
    rows = [(section["label"], section["left_tokens"], section["right_tokens"]) for section in sections]
    return table(("section", "left", "right"), rows, right=("left", "right"))


def _accounts(accounts: dict[str, Any]) -> Table:
    rows = [(name.replace("_", " "), value, accounts["right"][name]) for name, value in accounts["left"].items()]
    return table(("", "left", "right"), rows, right=("left", "right"))
