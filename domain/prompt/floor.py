"""Where the history begins: a floor that holds, and steps when it must.

A floor that moved a little every turn would change the prompt near its front every turn, and a server that caches a
prompt by its prefix would read all of it anew each time. So the floor stands while the history fits, and when it does
not, moves once, to where the history fills only the low-water share of its budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_GROWN = "the history budget has grown, so the floor was found anew"

_WORTH = 16
"""The floor moves back for no less than a sixteenth of the budget.

What stands around the history changes in size, the continue hint to begin with, so its budget goes up and down a little
all the time; a floor that followed it would cost the server's cache each time.
"""


@dataclass(frozen=True)
class Floor:
    """The oldest depth that an earlier prompt of this line held, and the history budget it had, in tokens."""

    depth: int
    budget: int


@dataclass(frozen=True)
class Kept:
    """What of the priced nodes is kept: the newest from index `first`; and the reason when the floor moved."""

    first: int
    floor_depth: int | None
    moved: str | None


def keep(
    depths: Sequence[int], prices: Sequence[int], budget: int, earlier: Floor | None, low_water_percent: int
) -> Kept:
    """Which nodes of a line (oldest first, with their prices in tokens) the prompt holds.

    The newest node is always kept. `depths` may begin above 1 when everything older is known not to fit, or when it
    reaches down to the earlier floor.
    """
    if depths[0] == 1 and sum(prices) <= budget:
        return Kept(0, None, _GROWN if earlier is not None and earlier.depth > 1 else None)
    anew = _low_water(prices, budget * low_water_percent // 100)
    stands = _standing(depths, prices, budget, earlier)
    if stands is not None and not (_grown(budget, earlier) and sum(prices[anew:stands]) * _WORTH >= budget):
        return Kept(stands, depths[stands], None)
    return Kept(anew, depths[anew], _reason(depths[anew], earlier))


def _standing(depths: Sequence[int], prices: Sequence[int], budget: int, earlier: Floor | None) -> int | None:
    """The index of the earlier floor, where it is loaded and the history still fits above it."""
    if earlier is None or not depths[0] <= earlier.depth <= depths[-1]:
        return None
    at = next(index for index, depth in enumerate(depths) if depth >= earlier.depth)
    return at if sum(prices[at:]) <= budget else None


def _grown(budget: int, earlier: Floor | None) -> bool:
    """Whether there is more room than there was, so that the floor may move back. Forward it never moves for that."""
    return earlier is not None and budget > earlier.budget


def _low_water(prices: Sequence[int], mark: int) -> int:
    first, filled = len(prices) - 1, prices[-1]
    while first > 0 and filled + prices[first - 1] <= mark:
        first -= 1
        filled += prices[first]
    return first


def _reason(depth: int, earlier: Floor | None) -> str | None:
    if earlier is None or earlier.depth == 1:
        return "the story no longer fits whole"
    if depth == earlier.depth:
        return None
    return _GROWN if depth < earlier.depth else "the history no longer fitted above the old floor"
