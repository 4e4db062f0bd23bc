"""Where two lines of a story parted."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.log import Segment


@dataclass(frozen=True)
class Parting:
    """The last place that two lines share, by its coordinate."""

    branch: int
    depth: int


def parting(left: Sequence[Segment], right: Sequence[Segment]) -> Parting:
    """The deepest place on both lines. Two lines of one story share at least the opening.

    Where both pass through a branch, they share it down to where the first of them leaves it.
    """
    ends = {segment.branch: segment.last for segment in left}
    shared = [
        Parting(segment.branch, min(ends[segment.branch], segment.last)) for segment in right if segment.branch in ends
    ]
    return max(shared, key=lambda place: place.depth)
