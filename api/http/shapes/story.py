"""The story for reading."""

from typing import Any

from pydantic import BaseModel

from api.http.shapes.position import POSITION, PositionShape
from api.http.shapes.schema import with_examples

_NODE: dict[str, Any] = {
    "node": 3,
    "kind": "narration",
    "moment": 3,
    "parent": 2,
    "text": "The door gives. Behind it there is no room, only the sound of water.",
    "takes": [3],
    "outcome": None,
    "accounting": "fits",
    "turn": "t_4m2kq7xw3a",
    "at": "2026-11-30T18:03:44.870112Z",
}


class StoryNode(BaseModel):
    """A node of the active line. `accounting` is the status of the account of the narration's request."""

    model_config = with_examples(_NODE)

    node: int
    kind: str
    moment: int
    parent: int | None
    text: str
    takes: list[int]
    outcome: str | None
    accounting: str | None
    turn: str | None
    at: str


class StoryShape(BaseModel):
    """A page of the active line, oldest first. `next` is what `before` takes for the page before it."""

    model_config = with_examples({"nodes": [_NODE], "next": 3, "position": POSITION})

    nodes: list[StoryNode]
    next: int | None
    position: PositionShape
