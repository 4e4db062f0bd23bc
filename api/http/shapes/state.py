"""What a state came from: corrections, proposals, why a leaf is what it is, and what it was."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from api.http.shapes.position import POSITION, PositionShape
from api.http.shapes.schema import request_with_examples, with_examples
from api.http.shapes.state_document import DOCUMENT, DocumentShape
from api.http.shapes.turns import StateChange
from domain.narrative.refusals import RefusalCode
from domain.narrative.rules import By
from domain.narrative.schema import events_schema
from domain.narrative.vocabulary import MOST_EVENTS

NOTE_CHARACTERS = 2000

_EVENT: dict[str, Any] = {"type": "set_possession", "item": "crystal", "owner": "imani"}
_REFUSED: dict[str, Any] = {
    "event": {"type": "set_possession", "item": "key", "owner": "imani"},
    "code": "unknown_reference",
    "detail": "“key”, for `item`, is not the id of an entity. Name one that the state lists, or make it first with "
    "`create_entity`.",
}
_CHANGE: dict[str, Any] = {"path": "possessions.crystal", "before": None, "after": "imani"}
_BLOCK = '{"events":[{"type":"set_possession","item":"crystal","owner":"imani"}]}'
_WORDS: dict[str, Any] = {
    "text": '{"type":"set_possession","item":"crystal","owner":"imani"}',
    "start": 62,
    "end": 120,
    "block": _BLOCK,
    "block_start": 51,
    "block_end": 122,
    "source": "reply",
}
_BROUGHT: dict[str, Any] = {
    "event": _EVENT,
    "by": "narrator",
    "turn": "t_4m2kq7xw3a",
    "node": 3,
    "moment": 3,
    "position": 41,
    "at": "2026-11-30T18:03:44.870112Z",
}
_PROPOSAL: dict[str, Any] = {
    "node": 3,
    "moment": 3,
    "turn": "t_4m2kq7xw3a",
    "outcome": "partly_applied",
    "accepted": [_EVENT],
    "refused": [_REFUSED],
    "block": _BLOCK,
    "source": "reply",
    "pass_error": None,
    "reread_by": None,
}


class RefusedShape(BaseModel):
    """An event that was refused, as it was given, and why."""

    model_config = with_examples(_REFUSED)

    event: Any
    code: RefusalCode
    detail: str


def _described() -> dict[str, Any]:
    schema = events_schema()
    anything = {"description": "Whatever else is sent as an event is refused, and the answer says why."}
    return {**schema, "items": {"anyOf": [*schema["items"]["anyOf"], anything]}, "minItems": 1}


class CorrectionRequest(BaseModel):
    """State events that the player enters, in order, and a note on why."""

    model_config = request_with_examples(
        {"events": [_EVENT], "note": "She never gave it away."},
        {"events": [{"type": "invalidate_fact", "fact_id": "f1", "reason": "It was a copy."}]},
    )

    events: Annotated[list[Any], Field(min_length=1, max_length=MOST_EVENTS), WithJsonSchema(_described())]
    note: Annotated[str, Field(max_length=NOTE_CHARACTERS)] = ""


class StateCorrectionShape(BaseModel):
    """The state after a correction: what was accepted, what was refused and why, and which leaves changed."""

    model_config = with_examples(
        {
            "document": DOCUMENT,
            "accepted": [_EVENT],
            "refused": [_REFUSED],
            "state_changes": [_CHANGE],
            "at": 3,
            "moment": 3,
            "position": POSITION,
        }
    )

    document: DocumentShape
    accepted: list[dict[str, Any]]
    refused: list[RefusedShape]
    state_changes: list[StateChange]
    at: int
    moment: int
    position: PositionShape


class WordsShape(BaseModel):
    """The narrator's words that hold an event, and the block that they are of.

    `start` to `end`, and `block_start` to `block_end`, are their places in the raw reply: code points, half open. They are
    null for a block that a second request brought (`state_pass`), which is in no reply of the story.
    """

    model_config = with_examples(_WORDS)

    text: str
    start: int | None
    end: int | None
    block: str
    block_start: int | None
    block_end: int | None
    source: Literal["reply", "state_pass"]


class WhyShape(BaseModel):
    """What gave a leaf its value. `prose` is the text of the node; `note` is the player's, of a correction.

    Everything but the value is null where nothing has set it, as with the scene when a story begins.
    """

    model_config = with_examples(
        {
            "path": "possessions.crystal",
            "value": "imani",
            **_BROUGHT,
            "note": None,
            "words": _WORDS,
            "prose": "She takes the crystal, and says nothing.",
        }
    )

    path: str
    value: Any
    event: dict[str, Any] | None
    by: By | None
    turn: str | None
    node: int | None
    moment: int | None
    position: int | None
    at: str | None
    note: str | None
    words: WordsShape | None
    prose: str | None


class LeafChange(BaseModel):
    """A leaf before and after an event, and the event's place in the story and in the log."""

    model_config = with_examples({**_CHANGE, **_BROUGHT})

    path: str
    before: Any
    after: Any
    event: dict[str, Any]
    by: By
    turn: str | None
    node: int
    moment: int
    position: int
    at: str


class LeafHistory(BaseModel):
    """The changes of what stands at or below a path, along the line to the node `at`, oldest first."""

    model_config = with_examples(
        {"path": "possessions.crystal", "at": 3, "moment": 3, "changes": [{**_CHANGE, **_BROUGHT}]}
    )

    path: str
    at: int
    moment: int
    changes: list[LeafChange]


class JudgedProposal(BaseModel):
    """What became of a narration's block; `reread_by` names the extractor that was adopted and reads it otherwise now."""

    model_config = with_examples(_PROPOSAL)

    node: int
    moment: int
    turn: str | None
    outcome: str
    accepted: list[dict[str, Any]]
    refused: list[RefusedShape]
    block: str | None
    source: Literal["reply", "state_pass"]
    pass_error: str | None
    reread_by: str | None


class ProposalList(BaseModel):
    """Proposals of the line, newest first. `next` is what `before` takes for older ones; null at the beginning."""

    model_config = with_examples({"proposals": [_PROPOSAL], "next": 3})

    proposals: list[JudgedProposal]
    next: int | None
