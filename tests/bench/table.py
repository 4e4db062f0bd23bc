"""What a bench found, as lines of one table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Self

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, and of the processor, all threads of this process together."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> Self:
        """The two clocks."""
        return cls(perf_counter(), process_time())

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall + other.wall, self.processor + other.processor)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.wall - other.wall, self.processor - other.processor)


@dataclass(frozen=True)
class Figure:
    """One line: what was measured, what came out, and the target with whether it is met, where there is one."""

    what: str
    value: str
    target: str = ""
    met: bool | None = None


def at_most(what: str, value: float, bound: float, *, unit: str = "", note: str = "") -> Figure:
    """A figure that should not be larger than the bound."""
    return Figure(what, f"{value:.2f}{unit}{note}", f"≤ {bound:g}{unit}", value <= bound)


def at_least(what: str, value: float, bound: float, *, unit: str = "", note: str = "") -> Figure:
    """A figure that should not be smaller than the bound."""
    return Figure(what, f"{value:.2f}{unit}{note}", f"≥ {bound:g}{unit}", value >= bound)


def told(what: str, value: str) -> Figure:
    """A figure without a target."""
    return Figure(what, value)


def p50(seconds: Sequence[float]) -> float:
    """The median, in milliseconds."""
    return median(seconds) * 1000


def p99(seconds: Sequence[float]) -> float:
    """What 99 of 100 do not exceed, in milliseconds; of fewer than 100, close to the largest."""
    return quantiles(seconds, n=100, method="inclusive")[98] * 1000


def show(title: str, figures: Iterable[Figure], console: Console) -> None:
    """Prints the figures of one bench."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, width=118)
    table.add_column("figure", ratio=4, overflow="fold")
    table.add_column("value", ratio=3, overflow="fold")
    table.add_column("target", width=10)
    table.add_column("met", width=4)
    for figure in figures:
        met = "" if figure.met is None else "yes" if figure.met else "NO"
        table.add_row(figure.what, figure.value, figure.target, met)
    console.print(table, "")
