"""The state document: what is established at one place in a story.

Its JSON is the one of the design page, with two additions, both absent where they have nothing to say: a fact has a
`value` when the event that established it gave one, and `corrected` lists the leaves whose value is the player's word.
A fact that the player established, confirmed or withdrew is `locked` instead of being listed there.

Order carries meaning, so the JSON must be kept in its order (never with sorted keys). Entities, possessions,
relationships and threads stand in the order of their creation. Active facts stand in the order in which they were
established; one that is withdrawn moves to the end, so that withdrawn facts stand in the order of their withdrawal.

Nothing is ever taken out of a document but possessions and attributes, so a generated id is never given twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, TypeVar

import orjson

Scalar = str | int | float | bool
"""What an attribute or a fact may be said to be."""

Section = Literal["entities", "facts", "relationships", "threads"]
"""What has ids of its own. Ids are told apart only within a section: an entity may be called as a fact is."""

FactStatus = Literal["active", "withdrawn"]
RelationshipStatus = Literal["active", "ended"]
ThreadStatus = Literal["open", "resolved"]


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that exists. `location` is the id of another entity, or None."""

    type: str
    name: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    status: str = ""
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """Something established, or no longer so. `subject` and `object` are ids of entities; `reason` is why it was withdrawn."""

    predicate: str
    subject: str | None = None
    object: str | None = None
    value: Scalar | None = None
    status: FactStatus = "active"
    locked: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Relationship:
    """What one entity is to another, by their ids."""

    source: str
    type: str
    target: str
    status: RelationshipStatus = "active"


@dataclass(frozen=True, slots=True)
class Thread:
    """A question that the story has raised."""

    title: str
    status: ThreadStatus = "open"
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where the story stands: in words, at which entity, and which entities are there."""

    summary: str = ""
    location: str | None = None
    present: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """What is established, by ids. `possessions` maps an item to who holds it; `corrected` holds paths of leaves."""

    entities: Mapping[str, Entity] = field(default_factory=dict)
    possessions: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)
    relationships: Mapping[str, Relationship] = field(default_factory=dict)
    threads: Mapping[str, Thread] = field(default_factory=dict)
    scene: Scene = field(default_factory=Scene)
    corrected: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """The document as the page shows it, in plain values."""
        shown: dict[str, Any] = {
            "entities": {key: _entity_json(entity) for key, entity in self.entities.items()},
            "possessions": dict(self.possessions),
            "facts": [_fact_json(key, fact) for key, fact in self.facts.items()],
            "relationships": [_relationship_json(key, each) for key, each in self.relationships.items()],
            "threads": {key: _thread_json(thread) for key, thread in self.threads.items()},
            "scene": {
                "summary": self.scene.summary,
                "location": self.scene.location,
                "present": list(self.scene.present),
            },
        }
        return {**shown, "corrected": sorted(self.corrected)} if self.corrected else shown

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> "Document":
        """The document that `to_json` gave. KeyError or TypeError for what is none."""
        scene = shown["scene"]
        return cls(
            entities={key: _entity(each) for key, each in shown["entities"].items()},
            possessions=dict(shown["possessions"]),
            facts={each["id"]: Fact(**_without_id(each)) for each in shown["facts"]},
            relationships={each["id"]: Relationship(**_without_id(each)) for each in shown["relationships"]},
            threads={key: Thread(**each) for key, each in shown["threads"].items()},
            scene=Scene(**{**scene, "present": tuple(scene["present"])}),
            corrected=frozenset(shown.get("corrected", ())),
        )

    def to_bytes(self) -> bytes:
        """The document as it is stored: compact JSON in the document's own order. Equal bytes are equal documents."""
        return orjson.dumps(self.to_json())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Document":
        """The document that `to_bytes` gave."""
        return cls.from_json(orjson.loads(stored))


EMPTY = Document()
"""The document of a story in which nothing is established."""

_Entry = TypeVar("_Entry")


def free_id(letter: str, taken: Mapping[str, _Entry]) -> str:
    """The id that a new entry gets: its letter and its number in order, or the next number that is free."""
    return next(name for number in count(len(taken) + 1) if (name := f"{letter}{number}") not in taken)


def _entity_json(entity: Entity) -> dict[str, Any]:
    return {
        "type": entity.type,
        "name": entity.name,
        "description": entity.description,
        "aliases": list(entity.aliases),
        "status": entity.status,
        "attributes": dict(entity.attributes),
        "location": entity.location,
    }


def _entity(shown: Mapping[str, Any]) -> Entity:
    return Entity(**{**shown, "aliases": tuple(shown["aliases"]), "attributes": dict(shown["attributes"])})


def _fact_json(key: str, fact: Fact) -> dict[str, Any]:
    value = {} if fact.value is None else {"value": fact.value}
    return {
        "id": key,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        **value,
        "status": fact.status,
        "locked": fact.locked,
        "reason": fact.reason,
    }


def _relationship_json(key: str, each: Relationship) -> dict[str, Any]:
    return {"id": key, "source": each.source, "type": each.type, "target": each.target, "status": each.status}


def _thread_json(thread: Thread) -> dict[str, Any]:
    return {"title": thread.title, "status": thread.status, "outcome": thread.outcome}


def _without_id(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "id"}
