"""A state document as people read it: what exists, by type, and which names are borne twice."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from domain.narrative.changes import covers
from domain.narrative.document import Document, Entity, Scalar
from domain.narrative.vocabulary import SUGGESTED_TYPES

_LABELS: Mapping[str, str] = {
    "character": "Characters",
    "location": "Locations",
    "item": "Items",
    "vehicle": "Vehicles",
    "organization": "Organizations",
    "creature": "Creatures",
    "concept": "Concepts",
}


@dataclass(frozen=True)
class Named:
    """An entity by its id and its name."""

    entity: str
    name: str


@dataclass(frozen=True)
class Member:
    """An entity of a group. `holds` and `here` list what it holds and what is at it.

    `present` says that it is in the scene, `corrected` that something of it is the player's word.
    """

    entity: str
    name: str
    status: str
    description: str
    aliases: tuple[str, ...]
    attributes: Mapping[str, Scalar]
    location: Named | None
    held_by: Named | None
    holds: tuple[Named, ...]
    here: tuple[Named, ...]
    present: bool
    corrected: bool


@dataclass(frozen=True)
class Group:
    """The entities of one type, in the order of their creation."""

    type: str
    label: str
    entities: tuple[Member, ...]


@dataclass(frozen=True)
class DuplicateName:
    """A name as its first bearer has it, and the entities that bear it, in the order of their creation."""

    name: str
    entities: tuple[str, ...]


def groups(document: Document) -> tuple[Group, ...]:
    """The entities by their types: the suggested types first, then the others in alphabetical order."""
    by_type: dict[str, list[str]] = defaultdict(list)
    for key, entity in document.entities.items():
        by_type[entity.type].append(key)
    holds = _inverted(document.possessions)
    here = _inverted({key: each.location for key, each in document.entities.items() if each.location is not None})
    return tuple(
        Group(kind, label_of(kind), tuple(_member(document, key, holds, here) for key in by_type[kind]))
        for kind in sorted(by_type, key=_rank)
    )


def label_of(entity_type: str) -> str:
    """A type as a heading for people."""
    return _LABELS.get(entity_type) or entity_type.replace("-", " ").replace("_", " ").strip().capitalize()


def duplicate_names(document: Document) -> tuple[DuplicateName, ...]:
    """The names that several entities bear, without regard to case and to white space around them."""
    bearers: dict[str, list[str]] = defaultdict(list)
    for key, entity in document.entities.items():
        bearers[entity.name.strip().casefold()].append(key)
    return tuple(
        DuplicateName(document.entities[keys[0]].name.strip(), tuple(keys))
        for keys in bearers.values()
        if len(keys) > 1
    )


def _rank(kind: str) -> tuple[int, str]:
    return (SUGGESTED_TYPES.index(kind) if kind in SUGGESTED_TYPES else len(SUGGESTED_TYPES), kind)


def _inverted(pairs: Mapping[str, str]) -> Mapping[str, list[str]]:
    inverted: dict[str, list[str]] = defaultdict(list)
    for key, value in pairs.items():
        inverted[value].append(key)
    return inverted


def _member(document: Document, key: str, holds: Mapping[str, list[str]], here: Mapping[str, list[str]]) -> Member:
    entity = document.entities[key]
    return Member(
        entity=key,
        name=entity.name,
        status=entity.status,
        description=entity.description,
        aliases=entity.aliases,
        attributes=entity.attributes,
        location=_named(document.entities, entity.location),
        held_by=_named(document.entities, document.possessions.get(key)),
        holds=_all_named(document.entities, holds.get(key, [])),
        here=_all_named(document.entities, here.get(key, [])),
        present=key in document.scene.present,
        corrected=any(covers(f"entities.{key}", path) for path in document.corrected),
    )


def _named(entities: Mapping[str, Entity], key: str | None) -> Named | None:
    return None if key is None else Named(key, entities[key].name)


def _all_named(entities: Mapping[str, Entity], keys: list[str]) -> tuple[Named, ...]:
    return tuple(Named(key, entities[key].name) for key in keys)
