"""What a picture or a sound of this moment would be made from. Derived from a state document, and drawn by nothing here."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from domain.event import canonical_json
from domain.narrative.document import Document
from domain.narrative.visual_profile import VisualProfile

Profiles = Mapping[str, VisualProfile]
"""Entity to how it looks, for those that have a profile."""

NO_PERSONS = ("location", "item", "vehicle", "organization", "concept")
"""The types of which nobody is. Whoever is present and of another type is a character of the scene."""

PERSONS = ("character", "creature")
"""The types of which nothing is that merely stands about."""


class Shown(BaseModel):
    """What is shown of any entity."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    name: str
    type: str
    visual_profile: VisualProfile | None


class ShownObject(Shown):
    """Something that is there and that nobody holds."""

    status: str


class ShownCharacter(Shown):
    """Somebody who is there, with what they hold."""

    status: str
    holds: tuple[Shown, ...]


class ScenePacket(BaseModel):
    """The scene, with the looks of all that is in it. `location` is None for a scene that is nowhere in particular."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scene_id: str
    summary: str
    location: Shown | None
    characters: tuple[ShownCharacter, ...]
    objects: tuple[ShownObject, ...]


def scene_packet(document: Document, profiles: Profiles) -> ScenePacket:
    """The packet of a document's scene.

    Characters are the persons among those present, in the scene's order. Objects are the others present, then what is at
    the scene's location and neither a person nor held by anybody.
    """
    scene = document.scene
    persons = [key for key in scene.present if document.entities[key].type not in NO_PERSONS]
    objects = dict.fromkeys(key for key in _things(document) if key != scene.location)
    return ScenePacket(
        scene_id=scene_id(document),
        summary=scene.summary,
        location=None if scene.location is None else Shown(**_shown(document, profiles, scene.location)),
        characters=tuple(_character(document, profiles, key) for key in persons),
        objects=tuple(_object(document, profiles, key) for key in objects if key not in persons),
    )


def scene_id(document: Document) -> str:
    """`s_` and 16 hexadecimal digits, the same for the same summary, location and presence."""
    scene = document.scene
    told = canonical_json([scene.summary, scene.location, list(scene.present)])
    return f"s_{hashlib.sha256(told).hexdigest()[:16]}"


def _things(document: Document) -> Iterator[str]:
    scene = document.scene
    yield from (key for key in scene.present if document.entities[key].type in NO_PERSONS)
    if scene.location is not None:
        at_it = ((key, each) for key, each in document.entities.items() if each.location == scene.location)
        yield from (key for key, each in at_it if each.type not in PERSONS and key not in document.possessions)


def _character(document: Document, profiles: Profiles, key: str) -> ShownCharacter:
    held = (item for item, owner in document.possessions.items() if owner == key)
    holds = tuple(Shown(**_shown(document, profiles, item)) for item in held)
    return ShownCharacter(**_shown(document, profiles, key), status=document.entities[key].status, holds=holds)


def _object(document: Document, profiles: Profiles, key: str) -> ShownObject:
    return ShownObject(**_shown(document, profiles, key), status=document.entities[key].status)


def _shown(document: Document, profiles: Profiles, key: str) -> dict[str, Any]:
    entity = document.entities[key]
    return {"key": key, "name": entity.name, "type": entity.type, "visual_profile": profiles.get(key)}
