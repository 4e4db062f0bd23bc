"""Where the history begins: a floor that holds, and steps when it must.

A floor that moved a little every turn would change the prompt near its front every turn, and a server that caches a
prompt by its prefix would read all of it anew each time. So the floor stands while the history fits, and when it does
not, moves once, to where the history fills only the low-water share of its budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass


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

    The newest node is always kept. `depths` may begin above 1 when everything older is known not to fit.
    """
    grown = earlier is not None and budget > earlier.budget
    holds_at = 1 if earlier is None or grown else earlier.depth
    stands = _index_of(depths, holds_at)
    if depths[0] <= holds_at and sum(prices[stands:]) <= budget:
        return Kept(stands, depths[stands] if stands > 0 or depths[0] > 1 else None, None)
    first = max(stands, _low_water(prices, budget * low_water_percent // 100))
    return Kept(first, depths[first], _reason(earlier, grown=grown))


def _index_of(depths: Sequence[int], depth: int) -> int:
    return next((index for index, at in enumerate(depths) if at >= depth), len(depths) - 1)


def _low_water(prices: Sequence[int], mark: int) -> int:
    first, filled = len(prices) - 1, prices[-1]
    while first > 0 and filled + prices[first - 1] <= mark:
        first -= 1
        filled += prices[first]
    return first


def _reason(earlier: Floor | None, *, grown: bool) -> str:
    if grown:
        return "the history budget has grown, so the floor was found anew"
    if earlier is None or earlier.depth == 1:
        return "the story no longer fits whole"
    return "the history no longer fitted above the old floor"
