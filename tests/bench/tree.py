"""Moving about in a large tree, and reading of it: no work may grow with the tree beyond what it answers.

`python -m tests.bench.tree` builds trees of 100, 1,000 and 10,000 nodes and prints, for each thing to do, its median
time, the rows that SQLite handed over, and the steps of SQLite's virtual machine, which do not depend on the machine.
Two branches of each tree hold a fifth of its nodes each; the others grow from anywhere.
"""

import argparse
import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path
from random import Random
from time import perf_counter

import orjson
import structlog
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

from adapters.event_log import slices
from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames
from api.config import Config
from api.pages.tree_svg import tree_svg
from api.use_cases import places
from api.use_cases.answers import position_of
from api.use_cases.difference import difference
from api.use_cases.stories import story_page
from api.use_cases.tree import drawing, tree_answer
from api.wiring import Store, open_store
from domain.campaign.commands import AcceptNarration, CampaignCommand, MoveHead, NameBranch, OpenTurn, SetSavePoint
from domain.campaign.decide import decide
from domain.extraction.extraction import extract_plain
from tests.bench.counting import Work, counted
from tests.bench.prose import SEED, Prose
from tests.bench.stories import ACCOUNT, CAMPAIGN, HALF_TURN, Teller, opened_log, start
from tests.bench.table import Figure, at_most, p50, told

GROWTH = 1.25
"""How much more work the largest tree may ask for than the one before it, for the same answer."""

DIFFERENCE_SECONDS = 1.0

_PAGE = 50
_TRUNK_TURNS = 5
_DIFFERENT = 400
_AT_ONCE = 200


@dataclass(frozen=True)
class Size:
    """How large a tree is. A `side` is the turns of each of its two long branches."""

    nodes: int
    branches: int
    side: int


SIZES = (Size(100, 3, 10), Size(1_000, 30, 100), Size(10_000, 300, 1_000))


@dataclass(frozen=True)
class Places:
    """Where to go in a tree: the ends of its long branches, the first node of the second, and an earlier position."""

    left: int
    right: int
    right_foot: int
    position: int


# Building


class _Grower:
    """Grows a tree out of a seed, many turns in a transaction."""

    def __init__(self, log: SqlEventLog, prose: Prose) -> None:
        self._log, self._prose = log, prose
        self._texts = cycle([prose.text(HALF_TURN) for _ in range(_DIFFERENT)])
        self._names = RandomNames()
        self.last = 1
        self.inner: list[int] = []

    def turns(self, many: int, *, at: int | None = None) -> int:
        """Tells so many turns from a node on, or from the head; the node at their end."""
        if at is not None:
            self._do([MoveHead(CAMPAIGN, at)])
        for first in range(0, many, _AT_ONCE):
            some = range(first, min(many, first + _AT_ONCE))
            self._do([command for _ in some for command in self._turn()])
        ends = range(self.last + 2, self.last + 2 * many + 1, 2)
        self.last += 2 * many
        self.inner += ends[:-1]
        return self.last

    def recorded_turn(self, *, at: int) -> int:
        """As `turns`, for one that has a prompt record, as every turn that is played."""
        self._do([MoveHead(CAMPAIGN, at)])
        Teller(self._log, self._prose).turn()
        self.last += 2
        return self.last

    def name(self, save_points: int, branches: int) -> None:
        """Names for so many places, spread over the tree, and for so many branches."""
        spread = self.inner[:: max(1, len(self.inner) // save_points)][:save_points]
        self._do([SetSavePoint(CAMPAIGN, f"s_{at}", f"Save point {at}", node) for at, node in enumerate(spread)])
        self._do([NameBranch(CAMPAIGN, branch, f"Branch number {branch}") for branch in range(1, branches + 1)])

    def _turn(self) -> Iterator[CampaignCommand]:
        turn, reply = self._names.new("t"), next(self._texts)
        yield OpenTurn(CAMPAIGN, turn, "do", next(self._texts), "p_bench", "0" * 32)
        yield AcceptNarration(CAMPAIGN, turn, reply, "", extract_plain(reply), "stop", ACCOUNT)

    def _do(self, commands: Sequence[CampaignCommand]) -> None:
        def done(connection: Connection) -> None:
            for command in commands:
                facts = slices.load(connection, command)
                self._log._append(connection, command.campaign, decide(facts, command))

        self._log._write(done)


def build(home: Path, size: Size) -> Places:
    """A tree of this size in a data directory, and where to go in it."""
    random, prose = Random(SEED), Prose()
    with opened_log(home, durable=False) as log:
        start(log, prose)
        grower = _Grower(log, prose)
        fork = grower.turns(_TRUNK_TURNS)
        left = grower.recorded_turn(at=grower.turns(size.side - 1))
        position = log.max_position()
        foot = grower.last + 1
        right = grower.recorded_turn(at=grower.turns(size.side - 1, at=fork))
        _grow_branches(grower, size, random)
        grower.name(size.branches // 3 + 1, size.branches)
        assert len(log.tree(CAMPAIGN).branches) == size.branches
        assert log.campaign(CAMPAIGN).last_node == grower.last
    return Places(left, right, foot, position)


def _grow_branches(grower: _Grower, size: Size, random: Random) -> None:
    """The other branches, each from anywhere in what there is, until the tree has its size."""
    more = size.branches - 2
    left = (size.nodes - grower.last) // 2
    cuts = [0, *(left * number // more for number in range(1, more)), left]
    for first, last in pairwise(cuts):
        grower.turns(last - first, at=random.choice(grower.inner))


# What there is to do


@dataclass(frozen=True)
class Deed:
    """Something to do in a tree. `answers` counts what comes back, where that grows with the tree; else it is 1."""

    name: str
    do: Callable[[Store, Places], object]
    first: Callable[[Store, Places], object] = lambda _store, _places: None
    answers: Callable[[Size], int] = lambda _size: 1
    times: int = 30
    below: str = ""


def _to(store: Store, node: int) -> object:
    return places.move_head(store.log, CAMPAIGN, node, None)


def _to_left(store: Store, at: Places) -> object:
    return _to(store, at.left)


def _to_right(store: Store, at: Places) -> object:
    return _to(store, at.right)


def _undone(store: Store, at: Places) -> object:
    _to_left(store, at)
    return places.undo(store.log, CAMPAIGN)


def _difference(store: Store, at: Places) -> object:
    return difference(store, CAMPAIGN, str(at.left), str(at.right))


def _svg(store: Store, _at: Places) -> object:
    return tree_svg(drawing(store.log, CAMPAIGN), "A tree")


DEEDS = (
    Deed("restore across the tree", _to_right, _to_left),
    Deed("undo", lambda store, _: places.undo(store.log, CAMPAIGN), _to_left),
    Deed("redo", lambda store, _: places.redo(store.log, CAMPAIGN), _undone),
    Deed("the position", lambda store, _: position_of(store.log, CAMPAIGN), _to_left),
    Deed(f"a story page of {_PAGE}", lambda store, _: story_page(store, CAMPAIGN, _PAGE), _to_left),
    Deed("a page as of a node", lambda store, at: story_page(store, CAMPAIGN, _PAGE, at=at.right), _to_left),
    Deed(
        "a page as of a log position",
        lambda store, at: story_page(store, CAMPAIGN, _PAGE, position=at.position),
        _to_right,
    ),
    Deed("find a save point by its name", lambda store, _: places.place_named(store.log, CAMPAIGN, "save point 0")),
    Deed("find a branch by its name", lambda store, _: places.place_named(store.log, CAMPAIGN, "branch number 2")),
    Deed("set a save point", lambda store, at: _save(store, at.left), lambda store, _: _unsave(store)),
    Deed(
        "name a branch",
        lambda store, _: places.name_branch(store.log, CAMPAIGN, 2, "Another name"),
        lambda store, _: places.name_branch(store.log, CAMPAIGN, 2, "Branch number 2"),
    ),
    Deed(
        "restore above many branches",
        lambda store, at: _to(store, at.right_foot),
        _to_left,
        lambda size: size.branches,
        below="a branch",
    ),
    Deed(
        "difference of the two long branches", _difference, answers=lambda size: 4 * size.side, times=5, below="a node"
    ),
    Deed(
        "the tree as JSON",
        lambda store, _: orjson.dumps(tree_answer(store.log, CAMPAIGN)),
        answers=lambda size: size.nodes,
        times=5,
        below="a node",
    ),
    Deed("the tree as SVG", _svg, answers=lambda size: size.nodes, times=5, below="a node"),
)


def _save(store: Store, node: int) -> object:
    return places.set_save_point(store.log, RandomNames(), CAMPAIGN, "Just now", node)


def _unsave(store: Store) -> None:
    for point in store.log.save_points(CAMPAIGN):
        if point.name == "Just now":
            places.remove_save_point(store.log, CAMPAIGN, point.save_point)


# Measuring


@dataclass(frozen=True)
class Found:
    """What one deed took in one tree."""

    milliseconds: float
    work: Work


def measured(deed: Deed, store: Store, at: Places) -> Found:
    """The median time, and the work of one more."""
    seconds = []
    for _ in range(deed.times):
        deed.first(store, at)
        begun = perf_counter()
        deed.do(store, at)
        seconds.append(perf_counter() - begun)
    deed.first(store, at)
    with counted() as work:
        deed.do(store, at)
    return Found(p50(seconds), work)


def compared(home: Path, sizes: Sequence[Size]) -> dict[str, list[Found]]:
    """Every deed in trees of these sizes."""
    with ExitStack() as stack:
        trees = []
        for size in sizes:
            at = build(home / str(size.nodes), size)
            store = stack.enter_context(open_store(Config(home=home / str(size.nodes))))
            for view in ("campaigns", "story", "prompts"):
                store.views.at_least(view, store.log.max_position(), timeout=120)
            trees.append((store, at))
        return {deed.name: [measured(deed, store, at) for store, at in trees] for deed in DEEDS}


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """How the work grows from each tree to the largest."""
    sizes = SIZES[:2] if quick else SIZES
    found = compared(home, sizes)
    return [figure for deed in DEEDS for figure in _figures(deed, found[deed.name], sizes)]


def _figures(deed: Deed, found: Sequence[Found], sizes: Sequence[Size]) -> Iterator[Figure]:
    each = "   ".join(f"{size.nodes:,}: {one.milliseconds:.2f}" for size, one in zip(sizes, found, strict=True))
    yield told(f"{deed.name}: ms by nodes", each)
    of = f" for {deed.below}" if deed.below else ""
    yield at_most(f"{deed.name}: growth of the work{of}", growth(deed, found, sizes), GROWTH)


def growth(deed: Deed, found: Sequence[Found], sizes: Sequence[Size]) -> float:
    """How many times the steps for each thing answered that the largest tree asks for, of the next largest."""
    smaller, largest = (one.work.steps / deed.answers(size) for size, one in zip(sizes[-2:], found[-2:], strict=True))
    return largest / smaller


def main() -> None:
    """Prints every deed in every tree."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.tree", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the largest tree")
    sizes = SIZES[:2] if parser.parse_args().quick else SIZES
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    console = Console(width=140, highlight=False)
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as directory:
        found = compared(Path(directory), sizes)
    console.print(_table(found, sizes))


def _table(found: dict[str, list[Found]], sizes: Sequence[Size]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("\nwhat")
    for size in sizes:
        title = f"{size.nodes:,} nodes, {size.branches} branches"
        table.add_column(f"{title}\nms   rows   steps", justify="right")
    table.add_column("work,\nlargest / before", justify="right")
    for deed in DEEDS:
        cells = [f"{one.milliseconds:.2f} {one.work.rows:6,} {one.work.steps:8,}" for one in found[deed.name]]
        of = f" for {deed.below}" if deed.below else ""
        table.add_row(deed.name, *cells, f"{growth(deed, found[deed.name], sizes):.2f}{of}")
    return table


if __name__ == "__main__":
    main()
