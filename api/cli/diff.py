"""`fabula diff`: how two places of a story differ, in a terminal or on a page."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from api.cli.output import console, print_json, remark, table, write_file
from api.cli.stores import existing_store, named_or_newest
from api.cli.terminal_text import harmless
from api.config import Config
from api.pages.difference import difference_page
from api.pages.state_values import said
from api.use_cases.difference import difference
from api.wiring import Store
from domain.errors import InvalidInput

SHOWN_NODES = 12
"""How many nodes of each side are shown, the first ones; the page and the JSON have all."""
SHOWN_LEAVES = 30
"""How many leaves of the state are shown; the page and the JSON have all."""
SHOWN_CHARACTERS = 400
"""How much of the last that both share is shown."""
UNKNOWN_WIDTH = 100
"""Columns where no terminal says how many it has."""
_STYLES = {"left": "red", "right": "green"}


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
        write_file(page, difference_page(answer, settings.title if settings else named))
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
    return named_or_newest(store, named.pop() if named else None), [rest or "head" for _, _, rest in split]


def print_difference(answer: dict[str, Any], screen: Console) -> None:
    """Prints where the two parted, how their words differ, and what each took since. No line is wider than the screen."""
    width = screen.width if screen.is_terminal else UNKNOWN_WIDTH
    for part in _parts(answer):
        screen.print(part, width=width)


def _parts(answer: dict[str, Any]) -> Iterator[Text | Table]:
    common = answer["common"]
    yield _columns(*(_place(answer[side], style) for side, style in _STYLES.items()))
    yield Text(f"\nThey share the story to moment {common['moment']} (node {common['node']}):", "dim")
    yield Text(harmless(_cut(common["text"])))
    for take in answer["text"]["takes"]:
        yield Text(f"\nWhere they part: node {take['left']} and node {take['right']}", "bold")
        yield _words(take["words"])
    for node in answer["text"]["corrected"]:
        yield Text(f"\nCorrected in between: node {node['node']}", "bold")
        yield _words(node["words"])
    if answer["text"]["left"] or answer["text"]["right"]:
        yield Text("\nThe story since they parted", "bold")
        yield _story(answer["text"])
    if answer["state"]["changes"]:
        yield Text("\nWhat is established", "bold")
        yield _state(answer["state"]["changes"])
    if answer["prompts"]["sections"]:
        yield Text("\nWhat the narrator was sent last, in tokens", "bold")
        yield _sections(answer["prompts"]["sections"])
    yield Text("\nAccounts since they parted", "bold")
    yield _accounts(answer["accounts"])


def _columns(*first: Text) -> Table:
    """Two columns, one a side, with their first row or none yet."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False, expand=True)
    for _ in _STYLES:
        drawn.add_column(ratio=1, overflow="fold")
    if first:
        drawn.add_row(*first)
    return drawn


def _place(side: dict[str, Any], style: str) -> Text:
    since = f"moment {side['moment']}, node {side['node']}, {side['moments_since']} since they parted"
    return Text(harmless(side["reference"]), f"bold {style}").append(f"\n{since}", "not bold dim default")


def _words(stretches: Sequence[dict[str, Any]]) -> Text:
    text = Text()
    for stretch in stretches:
        match stretch["side"]:
            case "same":
                text.append(harmless(stretch["left"]))
            case "left":
                text.append(f"[-{harmless(stretch['left'])}-]", _STYLES["left"])
            case _:
                text.append(f"{{+{harmless(stretch['right'])}+}}", _STYLES["right"])
    return text


def _story(text: dict[str, Any]) -> Table:
    """The first nodes of both sides, a moment a row."""
    drawn = _columns()
    sides = [[*map(_node, text[side][:SHOWN_NODES]), *_more(len(text[side]))] for side in _STYLES]
    for row in zip_longest(*sides, fillvalue=Text()):
        drawn.add_row(*row)
    return drawn


def _node(node: dict[str, Any]) -> Text:
    told = node["kind"] == "narration"
    return Text(f"{node['moment']}  ", "dim").append(harmless(node["text"]), "not dim" if told else "not dim italic")


def _more(nodes: int) -> list[Text]:
    return [Text(f"… and {nodes - SHOWN_NODES:,} more: --html shows all", "dim")] if nodes > SHOWN_NODES else []


def _cut(text: str) -> str:
    """The end of a text, which is where the other two begin."""
    return text if len(text) <= SHOWN_CHARACTERS else f"… {text[-SHOWN_CHARACTERS:].partition(' ')[2]}"


def _state(changes: Sequence[dict[str, Any]]) -> Table:
    """The first of the leaves in which the two differ."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading, style in (("", ""), *_STYLES.items()):
        drawn.add_column(heading, style=style, overflow="fold")
    for leaf in changes[:SHOWN_LEAVES]:
        drawn.add_row(*(Text(harmless(each)) for each in (leaf["path"], said(leaf["left"]), said(leaf["right"]))))
    if len(changes) > SHOWN_LEAVES:
        drawn.add_row(Text(f"… and {len(changes) - SHOWN_LEAVES:,} more: --html shows all", "dim"))
    return drawn


def _sections(sections: Sequence[dict[str, Any]]) -> Table:
    rows = [(section["label"], f"{section['left_tokens']:,}", f"{section['right_tokens']:,}") for section in sections]
    return table(("section", "left", "right"), rows, right=("left", "right"))


def _accounts(accounts: dict[str, Any]) -> Table:
    rows = [
        (name.replace("_", " "), f"{value:,}", f"{accounts['right'][name]:,}")
        for name, value in accounts["left"].items()
    ]
    return table(("", "left", "right"), rows, right=("left", "right"))
