"""The state of a story: its document, what it came from, corrections, proposals."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from api.http.shapes.position import POSITION, PositionShape
from api.http.shapes.schema import request_with_examples, with_examples
from api.http.shapes.turns import StateChange
from domain.narrative.refusals import RefusalCode
from domain.narrative.rules import By
from domain.narrative.schema import events_schema
from domain.narrative.vocabulary import MOST_EVENTS

NOTE_CHARACTERS = 2000

_ENTITY: dict[str, Any] = {
    "type": "character",
    "name": "Captain Imani",
    "description": "",
    "aliases": [],
    "status": "",
    "attributes": {"rank": 3},
    "location": "ceres",
}
_FACT: dict[str, Any] = {
    "id": "f1",
    "subject": "crystal",
    "predicate": "belongs to",
    "object": "imani",
    "value": None,
    "status": "active",
    "locked": False,
    "reason": "",
}
_RELATIONSHIP: dict[str, Any] = {
    "id": "r1",
    "source": "imani",
    "type": "distrusts",
    "target": "vale",
    "status": "active",
}
_THREAD: dict[str, Any] = {"title": "Who erased the log", "status": "open", "outcome": ""}
_SCENE: dict[str, Any] = {"summary": "Rain on the dome.", "location": "ceres", "present": ["imani"]}
_DOCUMENT: dict[str, Any] = {
    "entities": {"imani": _ENTITY},
    "possessions": {"crystal": "imani"},
    "facts": [_FACT],
    "relationships": [_RELATIONSHIP],
    "threads": {"missing-log": _THREAD},
    "scene": _SCENE,
    "corrected": ["possessions.crystal"],
}
_CERES: dict[str, Any] = {"entity": "ceres", "name": "Ceres"}
_MEMBER: dict[str, Any] = {
    "entity": "imani",
    "name": "Captain Imani",
    "status": "",
    "description": "",
    "aliases": [],
    "attributes": {"rank": 3},
    "location": _CERES,
    "held_by": None,
    "holds": [{"entity": "crystal", "name": "The crystal"}],
    "here": [],
    "present": True,
    "corrected": False,
}
_GROUP: dict[str, Any] = {"type": "character", "label": "Characters", "entities": [_MEMBER]}
_DUPLICATE: dict[str, Any] = {"name": "Alice", "entities": ["alice", "alice-2"]}
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

Scalar = str | int | float | bool


class EntityShape(BaseModel):
    """Somebody or something that exists. `location` is another entity's id."""

    model_config = with_examples(_ENTITY)

    type: str
    name: str
    description: str
    aliases: list[str]
    status: str
    attributes: dict[str, Scalar]
    location: str | None


class FactShape(BaseModel):
    """Something established, or withdrawn with a reason. `value` is there where one was given."""

    model_config = with_examples(_FACT)

    id: str
    subject: str | None
    predicate: str
    object: str | None
    value: Scalar | None = None
    status: Literal["active", "withdrawn"]
    locked: bool
    reason: str


class RelationshipShape(BaseModel):
    """What one entity is to another."""

    model_config = with_examples(_RELATIONSHIP)

    id: str
    source: str
    type: str
    target: str
    status: Literal["active", "ended"]


class ThreadShape(BaseModel):
    """A question that the story has raised."""

    model_config = with_examples(_THREAD)

    title: str
    status: Literal["open", "resolved"]
    outcome: str


class SceneShape(BaseModel):
    """Where the story stands."""

    model_config = with_examples(_SCENE)

    summary: str
    location: str | None
    present: list[str]


class DocumentShape(BaseModel):
    """What is established, in the order in which it came about. `corrected` lists leaves that are the player's word."""

    model_config = with_examples(_DOCUMENT)

    entities: dict[str, EntityShape]
    possessions: dict[str, str]
    facts: list[FactShape]
    relationships: list[RelationshipShape]
    threads: dict[str, ThreadShape]
    scene: SceneShape
    corrected: list[str] = []


class NamedEntity(BaseModel):
    """An entity by its id and its name."""

    model_config = with_examples(_CERES)

    entity: str
    name: str


class MemberShape(BaseModel):
    """An entity of a group, with what it holds and what is at it."""

    model_config = with_examples(_MEMBER)

    entity: str
    name: str
    status: str
    description: str
    aliases: list[str]
    attributes: dict[str, Scalar]
    location: NamedEntity | None
    held_by: NamedEntity | None
    holds: list[NamedEntity]
    here: list[NamedEntity]
    present: bool
    corrected: bool


class GroupShape(BaseModel):
    """The entities of one type."""

    model_config = with_examples(_GROUP)

    type: str
    label: str
    entities: list[MemberShape]


class DuplicateNameShape(BaseModel):
    """A name that several entities bear."""

    model_config = with_examples(_DUPLICATE)

    name: str
    entities: list[str]


class StateShape(BaseModel):
    """The state at a node: the document, and how people read it."""

    model_config = with_examples(
        {"document": _DOCUMENT, "groups": [_GROUP], "duplicate_names": [_DUPLICATE], "at": 3, "moment": 3}
    )

    document: DocumentShape
    groups: list[GroupShape]
    duplicate_names: list[DuplicateNameShape]
    at: int
    moment: int


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
            "document": _DOCUMENT,
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
    turn: str
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
