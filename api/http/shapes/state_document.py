"""The document of a state, and how people read it."""

from typing import Any, Literal

from pydantic import BaseModel

from api.http.shapes.schema import with_examples

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
DOCUMENT: dict[str, Any] = {
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

    model_config = with_examples(DOCUMENT)

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
        {"document": DOCUMENT, "groups": [_GROUP], "duplicate_names": [_DUPLICATE], "at": 3, "moment": 3}
    )

    document: DocumentShape
    groups: list[GroupShape]
    duplicate_names: list[DuplicateNameShape]
    at: int
    moment: int
