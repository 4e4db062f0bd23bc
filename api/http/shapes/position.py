"""Where the reader is: in every answer that moves the head."""

from typing import Any

from pydantic import BaseModel

from api.http.shapes.schema import with_examples

POSITION: dict[str, Any] = {
    "head": 3,
    "moment": 3,
    "label": "Moment 3",
    "can_undo": True,
    "can_redo": False,
    "takes": [3],
    "turn_in_progress": None,
}


class PositionShape(BaseModel):
    """Where the reader is. `takes` are the narrations of the same action as the head, in order of creation."""

    model_config = with_examples(POSITION)

    head: int
    moment: int
    label: str
    can_undo: bool
    can_redo: bool
    takes: list[int]
    turn_in_progress: str | None
