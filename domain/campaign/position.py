"""Where the reader is: the answer that every move carries."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """The head, as a node and as the moment that a reader counts; what can be done there; and a line for people."""

    head: int
    moment: int
    label: str
    can_undo: bool
    can_redo: bool
    takes: tuple[int, ...]
    turn_in_progress: str | None


def position_at(
    head: int, moment: int, takes: Sequence[int], *, later_story: bool, turn_in_progress: str | None = None
) -> Position:
    """The position at a head that is the `moment`th node of its line, with later story ahead or not."""
    label = f"Moment {moment} · later story ahead" if later_story else f"Moment {moment}"
    return Position(head, moment, label, moment > 1, later_story, tuple(takes), turn_in_progress)
