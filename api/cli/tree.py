"""`fabula tree`: the story tree in a terminal, or as a picture."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from api.cli.output import console, print_json, remark
from api.cli.stores import existing_store
from api.cli.terminal_text import harmless
from api.config import Config
from api.pages.tree_svg import tree_svg
from api.use_cases.tree import Drawing, Lane, Mark, drawing, tree_answer

NAME_WIDTH = 24
NARROWEST = 20
_RANK = {"takes": 0, "save": 1, "tip": 2, "head": 3}
_SIGN = {"takes": "▾", "save": "◆", "tip": "◌", "head": "●"}
_STYLE = {"takes": "", "save": "yellow", "tip": "cyan", "head": "bold red"}
_LEGEND = "● you are here   ◌ later story   ◆ save point   ▾ several takes   ━ the line you read   ─ left for now"


def show_tree(config: Config, campaign: str, *, svg: Path | None, as_json: bool) -> None:
    """Prints the tree, or writes its picture. Raises UnknownCampaign, NoStore."""
    with existing_store(config) as store:
        answer = tree_answer(store.log, campaign)
        drawn = drawing(store.log, campaign)
    if as_json:
        print_json(answer)
    elif svg is not None:
        svg.write_text(tree_svg(drawn, f"The tree of {campaign}"), encoding="utf-8")
        remark(f"The tree is drawn in {svg}.")
    else:
        print_tree(drawn, console())


def print_tree(drawn: Drawing, screen: Console) -> None:
    """Draws a lane a branch, moments from left to right, names at the right."""
    width = min(screen.width, 160) if screen.is_terminal else 100
    columns = max(NARROWEST, width - NAME_WIDTH - 4)
    scale = _Scale(drawn.moments, columns)
    for lane in drawn.lanes:
        screen.print(_line(lane, scale), soft_wrap=True)
        for mark in lane.marks:
            if mark.kind == "save":
                screen.print(
                    Text(f"{' ' * scale.column(mark.moment)}◆ {harmless(mark.label)}", "yellow"), soft_wrap=True
                )
    screen.print(Text(_LEGEND, "dim"), soft_wrap=True)


class _Scale:
    """Moments to columns: one each while they fit, else in proportion."""

    def __init__(self, moments: int, columns: int) -> None:
        self._moments = moments
        self._columns = min(columns, max(1, 2 * moments - 1))
        self.width = self._columns

    def column(self, moment: int) -> int:
        if self._moments <= 1:
            return 0
        return (moment - 1) * (self._columns - 1) // (self._moments - 1)


def _line(lane: Lane, scale: _Scale) -> Text:
    first, last = scale.column(lane.first), scale.column(lane.last)
    cells = [" "] * scale.width
    styles = [""] * scale.width
    fork = scale.column(lane.first - 1) if lane.parent is not None else first
    for column in range(fork, last + 1):
        on_line = bool(lane.active) and column <= scale.column(lane.active)
        cells[column] = "━" if on_line else "─"
        styles[column] = "bold blue" if on_line else "dim"
    if lane.parent is not None:
        cells[fork] = "└"
    for mark in sorted(lane.marks, key=lambda mark: _RANK[mark.kind]):
        column = scale.column(mark.moment)
        cells[column], styles[column] = _SIGN[mark.kind], _STYLE[mark.kind]
    text = Text()
    for cell, style in zip(cells, styles, strict=True):
        text.append(cell, style)
    return text.append(f"  {_caption(lane)}", "" if lane.active else "dim")


def _caption(lane: Lane) -> str:
    name = harmless(lane.name) if lane.name else f"branch {lane.branch}"
    here = " ← you are here" if any(mark.kind == "head" for mark in lane.marks) else ""
    return f"{name}, moments {lane.first}–{lane.last}{_takes(lane.marks)}{here}"


def _takes(marks: tuple[Mark, ...]) -> str:
    several = [mark for mark in marks if mark.kind == "takes"]
    return f", takes at {', '.join(str(mark.moment) for mark in several[:4])}" if several else ""
