"""A turn: what the player does, and what came of it."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from api.http.shapes.position import POSITION, PositionShape
from api.http.shapes.schema import with_examples
from domain.campaign.events import TurnKind
from domain.prompt.events import Accounting

ACCOUNTING: dict[str, Any] = {
    "status": "fits",
    "prompt_tokens": 431,
    "completion_tokens": 58,
    "estimate": 417,
    "exact": None,
    "difference": 14,
    "observed_margin": 3607,
    "safety_reserve": 256,
    "cached_tokens": 0,
    "window_verified": True,
    "detail": "The server read the whole prompt.",
}
_TURN: dict[str, Any] = {
    "turn": "t_4m2kq7xw3a",
    "player_node": 2,
    "node": 3,
    "prose": "The door gives. Behind it there is no room, only the sound of water.",
    "finish_reason": "stop",
    "position": POSITION,
    "state_changes": [],
    "proposal": {"outcome": "absent", "accepted": [], "refused": []},
    "accounting": ACCOUNTING,
}
_WITH_OR_WITHOUT_WORDS: Any = [
    {
        "required": ["text"],
        "properties": {"kind": {"enum": ["do", "say", "story"]}, "text": {"type": "string", "pattern": r"\S"}},
    },
    {"properties": {"kind": {"const": "continue"}, "text": {"type": "string", "maxLength": 0}}},
]


class TurnRequest(BaseModel):
    """The player's action: what they do, say, or tell; or `continue`, without text."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "anyOf": _WITH_OR_WITHOUT_WORDS,
            "examples": [
                {"kind": "do", "text": "I step through the door"},
                {"kind": "say", "text": "Is anybody there?"},
                {"kind": "story", "text": "Far away, a second door falls shut."},
                {"kind": "continue"},
            ],
        },
    )

    kind: TurnKind
    text: str = ""


class StateChange(BaseModel):
    """A leaf of the narrative state before and after."""

    model_config = with_examples({"path": "possessions.lamp", "before": None, "after": "oren"})

    path: str
    before: Any
    after: Any


class ProposalShape(BaseModel):
    """What the narrator proposed, and what became of it."""

    model_config = with_examples({"outcome": "absent", "accepted": [], "refused": []})

    outcome: str
    accepted: list[dict[str, Any]]
    refused: list[dict[str, Any]]


class AccountingShape(Accounting):
    """What the server said it read, and what that means. Tokens."""

    model_config = with_examples(ACCOUNTING)


class TurnShape(BaseModel):
    """The answer to a turn; also the data of a stream's `done`. `player_node` is null where no action was told."""

    model_config = with_examples(_TURN)

    turn: str
    player_node: int | None
    node: int
    prose: str
    finish_reason: str | None
    position: PositionShape
    state_changes: list[StateChange]
    proposal: ProposalShape
    accounting: AccountingShape | None


class CancelShape(BaseModel):
    """What became of a turn that was asked to stop: `cancelled`, or how it ended before that."""

    model_config = with_examples(
        {"turn": "t_4m2kq7xw3a", "ended": "cancelled", "position": POSITION | {"head": 2, "moment": 2}}
    )

    turn: str
    ended: str
    position: PositionShape
