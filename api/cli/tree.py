"""`fabula tree`: the story tree in a terminal, or as a picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from textwrap import fill

from rich.console import Console
from rich.text import Text

from api.cli.output import console, print_json, remark, write_file
from api.cli.stores import existing_store
from api.cli.terminal_text import harmless
from api.config import Config
from api.pages.tree_svg import tree_svg
from api.use_cases.tree import Drawing, Lane, Mark, drawing, tree_answer

WIDEST = 160
UNKNOWN_WIDTH = 100
"""Columns where no terminal says how many it has."""
CAPTIONS = 0.45
"""How much of the width the captions have, at most."""
GAP = 2
MOST_TAKES = 4
"""How many places with several takes a caption names; the signs show them all."""

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LIGHT = " │││─┘┐┤─└┌├─┴┬┼"
_HEAVY = " ┃┃┃━┛┓┫━┗┏┣━┻┳╋"
_DOTTED = str.maketrans("─", "╌")
"""What a cell looks like, by the sum of the sides at which a line leaves it."""

_RANK = {"takes": 0, "save": 1, "tip": 2, "head": 3}
_SIGN = {"takes": "▾", "save": "◆", "tip": "◌", "head": "●"}
_STYLE = {"takes": "", "save": "yellow", "tip": "cyan", "head": "bold red"}
_LINES = ("dim", "blue", "bold blue")
"""How a line looks that was left, that Redo goes along, and that is read."""
_MEANINGS = (
    "━ the story you read",
    "╌ later story: Redo goes there",
    "─ left for now",
    "◆ save point",
    "▾ several takes",
)
_LEGEND = "   ".join(meaning.replace(" ", "\u00a0") for meaning in _MEANINGS)
"""Broken between the meanings, and in none of them."""


def show_tree(config: Config, campaign: str, *, svg: Path | None, as_json: bool) -> None:
    """Prints the tree, or writes its picture. Raises UnknownCampaign, NoStore."""
    with existing_store(config) as store:
        answer = tree_answer(store.log, campaign) if as_json else None
        drawn = drawing(store.log, campaign)
        settings = store.log.campaign(campaign).settings
    if answer is not None:
        print_json(answer)
    elif svg is not None:
        write_file(svg, tree_svg(drawn, settings.title if settings else campaign))
        remark(f"The tree is drawn in {svg}.")
    else:
        print_tree(drawn, console())


def print_tree(drawn: Drawing, screen: Console) -> None:
    """Draws a lane a branch, moments from left to right, captions at the right. No line is wider than the screen."""
    width = min(screen.width, WIDEST) if screen.is_terminal else UNKNOWN_WIDTH
    captions = [_caption(lane) for lane in drawn.lanes]
    longest = max(line.cell_len for caption in captions for line in caption)
    scale = _Scale(drawn.moments, width - GAP - min(longest, int(width * CAPTIONS)))
    for line in _lines(_Sheet(drawn.lanes, scale, captions), captions):
        line.truncate(width, overflow="ellipsis")
        screen.print(line, soft_wrap=True)
    screen.print()
    here = f"You are at moment {drawn.here:,}, on {harmless(drawn.reader.called)}."
    screen.print(Text(here, "bold", overflow="ellipsis", no_wrap=True), width=width)
    screen.print(Text(fill(_LEGEND, width), "dim"), soft_wrap=True)


class _Scale:
    """Moments to columns: two each while they fit, else in proportion."""

    def __init__(self, moments: int, columns: int) -> None:
        self._moments = moments
        self.width = max(1, min(columns, 2 * moments - 1))

    def column(self, moment: int) -> int:
        """The column of a moment, from 0 on."""
        if self._moments <= 1:
            return 0
        return (moment - 1) * (self.width - 1) // (self._moments - 1)


@dataclass
class _Cell:
    """A place on the sheet: the sides at which lines leave it, how the most important of them looks, a sign over it."""

    sides: int = 0
    look: int = 0
    sign: str = ""

    def cross(self, sides: int, look: int) -> None:
        """One more line through it."""
        self.sides |= sides
        self.look = max(self.look, look)

    def drawn(self) -> tuple[str, str]:
        """What to print, and how."""
        if self.sign:
            return _SIGN[self.sign], _STYLE[self.sign]
        shape = (_HEAVY if self.look == len(_LINES) - 1 else _LIGHT)[self.sides]
        return (shape.translate(_DOTTED) if self.look == 1 else shape), _LINES[self.look]


class _Sheet:
    """The lines of a tree. Each lane has a row, and more below it where its caption has more lines."""

    def __init__(self, lanes: Sequence[Lane], scale: _Scale, captions: Sequence[Sequence[Text]]) -> None:
        self._scale = scale
        self._rows: dict[int, int] = {}
        height = 0
        for lane, caption in zip(lanes, captions, strict=True):
            self._rows[lane.branch] = height
            height += len(caption)
        self._cells = [[_Cell() for _ in range(scale.width)] for _ in range(height)]
        for lane in lanes:
            self._draw(lane)
        for lane in lanes:
            self._mark(lane)

    def lines(self) -> Iterator[Text]:
        """Every row, as wide as the scale."""
        for row in self._cells:
            yield Text.assemble(*(cell.drawn() for cell in row))

    def _draw(self, lane: Lane) -> None:
        row = self._rows[lane.branch]
        start = self._scale.column(lane.first)
        if lane.parent is not None:
            fork = self._scale.column(lane.first - 1)
            look = 2 if lane.active else 1 if lane.ahead else 0
            self._down(fork, self._rows[lane.parent], row, look)
            self._along(row, fork, start, look)
        for moment, look in ((lane.last, 0), (lane.ahead, 1), (lane.active, 2)):
            if moment:
                self._along(row, start, self._scale.column(moment), look)

    def _down(self, column: int, top: int, bottom: int, look: int) -> None:
        self._cells[top][column].cross(_DOWN, look if look == 1 else 0)
        for row in range(top + 1, bottom):
            self._cells[row][column].cross(_UP | _DOWN, look)
        self._cells[bottom][column].cross(_UP, look)

    def _along(self, row: int, start: int, end: int, look: int) -> None:
        for column in range(start, end):
            self._cells[row][column].cross(_RIGHT, look)
            self._cells[row][column + 1].cross(_LEFT, look)
        if start == end:
            self._cells[row][start].cross(_LEFT, look)

    def _mark(self, lane: Lane) -> None:
        for mark in sorted(lane.marks, key=lambda mark: _RANK[mark.kind]):
            self._cells[self._rows[lane.branch]][self._scale.column(mark.moment)].sign = mark.kind


def _lines(sheet: _Sheet, captions: Sequence[Sequence[Text]]) -> Iterator[Text]:
    texts = (line for caption in captions for line in caption)
    for drawn, text in zip_longest(sheet.lines(), texts, fillvalue=Text()):
        yield Text.assemble(drawn, " " * GAP, text)


def _caption(lane: Lane) -> list[Text]:
    """The lane's name and moments; below that where the reader is, and each save point."""
    name = Text(harmless(lane.called), "bold" if lane.active else "" if lane.ahead else "dim")
    signs = sorted((mark for mark in lane.marks if mark.kind != "takes"), key=lambda mark: mark.moment)
    return [name.append(_moments(lane), "dim not bold"), *(_meaning(mark) for mark in signs)]


def _moments(lane: Lane) -> str:
    several = [str(mark.moment) for mark in lane.marks if mark.kind == "takes"]
    takes = f", takes at {', '.join(several[:MOST_TAKES])}" if several else ""
    span = f"moment {lane.last}" if lane.first == lane.last else f"moments {lane.first}–{lane.last}"
    return f", {span}{takes}"


def _meaning(mark: Mark) -> Text:
    sign = "←" if mark.kind == "head" else _SIGN[mark.kind]
    means = {"head": "you are here", "tip": "later story"}.get(mark.kind) or harmless(mark.label)
    return Text(f"{sign} {means}", _STYLE[mark.kind]).append(f", moment {mark.moment}", "dim not bold")
