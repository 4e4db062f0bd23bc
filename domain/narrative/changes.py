"""The leaves of a state document, and how two documents differ in them.

A path is the section, the id and the field, joined by dots: `entities.imani.location`, `facts.f1.status`,
`possessions.crystal`, `scene.summary`. A list is one leaf (`entities.imani.aliases`), an attribute is one each
(`entities.imani.attributes.rank`). Ids hold no dots; in the name of an attribute `~` is written `~0` and `.` is written
`~1`, as JSON Pointer (RFC 6901) does it with `/`.

What does not exist reads as null. So does, in a difference, an empty field (`""`, `[]`, false) of an entry that the
other document does not have: to be there and empty is no news beside being there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from domain.narrative.document import Document, Entity, Fact, Relationship, Scene, Thread

Leaves = Mapping[str, Any]
"""Field to value. The one leaf of a possession has an empty name."""

_NONE: Leaves = {}


@dataclass(frozen=True, slots=True)
class Change:
    """A leaf before and after, as JSON values; null where it does not exist."""

    path: str
    before: Any
    after: Any

    def to_json(self) -> dict[str, Any]:
        """The change as programs read it."""
        return {"path": self.path, "before": self.before, "after": self.after}


def changes(before: Document, after: Document) -> tuple[Change, ...]:
    """The leaves that differ: by section, then in the order of the entries before, then those that are new.

    What the two documents share in memory is not looked at, so the successor of a large document is compared quickly.
    """
    return tuple(_changes(before, after))


def leaves(document: Document, under: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves with their values, in the document's order; with `under`, the leaf of that path and those below it."""
    section, _, rest = under.partition(".")
    for name, leaves_of in _SECTIONS.items():
        if section in ("", name):
            yield from (pair for pair in _section_leaves(document, name, leaves_of, rest) if covers(under, pair[0]))


def leaf(document: Document, path: str) -> Any:
    """The value at a path, None where there is none. Takes the same time in a document of any size."""
    return next((value for found, value in leaves(document, path) if found == path), None)


def covers(prefix: str, path: str) -> bool:
    """Whether the path is the prefix or stands below it. The empty prefix covers all."""
    return prefix in ("", path) or path.startswith(f"{prefix}.")


def escaped(name: str) -> str:
    """The name of an attribute as it stands in a path."""
    return name.replace("~", "~0").replace(".", "~1")


def _changes(before: Document, after: Document) -> Iterator[Change]:
    for section, leaves_of in _SECTIONS.items():
        old, new = getattr(before, section), getattr(after, section)
        if old is not new:
            yield from _section_changes(section, _entries(old), _entries(new), leaves_of)


def _section_changes(
    section: str, old: Mapping[str, Any], new: Mapping[str, Any], leaves_of: Callable[[Any], Leaves]
) -> Iterator[Change]:
    touched = [key for key, entry in old.items() if new.get(key) is not entry]
    for key in (*touched, *(key for key in new if key not in old)):
        ours = leaves_of(old[key]) if key in old else _NONE
        theirs = leaves_of(new[key]) if key in new else _NONE
        yield from _entry_changes(_joined(section, key), ours, theirs)


def _entry_changes(path: str, ours: Leaves, theirs: Leaves) -> Iterator[Change]:
    for name in (*ours, *(name for name in theirs if name not in ours)):
        before, after = ours.get(name), theirs.get(name)
        if _differ(name, before, after):
            yield Change(_joined(path, name), before, after)


def _differ(name: str, before: Any, after: Any) -> bool:
    if name == _VALUE or name.startswith(_ATTRIBUTES):
        # Python takes 1, 1.0 and true for equal; JSON does not.
        return type(before) is not type(after) or bool(before != after)
    return bool(before != after) and not (before in _BLANK and after in _BLANK)


_ATTRIBUTES = "attributes."
_VALUE = "value"
_BLANK: tuple[Any, ...] = (None, "", [], False)


def _section_leaves(
    document: Document, section: str, leaves_of: Callable[[Any], Leaves], rest: str
) -> Iterator[tuple[str, Any]]:
    entries = _entries(getattr(document, section))
    key = rest.partition(".")[0]
    chosen = {key: entries[key]} if key in entries else {} if key and section != "scene" else entries
    for each, entry in chosen.items():
        for name, value in leaves_of(entry).items():
            yield _joined(section, each, name), value


def _entries(section: Any) -> Mapping[str, Any]:
    return {"": section} if isinstance(section, Scene) else section


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _of_entity(entity: Entity) -> Leaves:
    return {
        "type": entity.type,
        "name": entity.name,
        "description": entity.description,
        "aliases": list(entity.aliases),
        "status": entity.status,
        **{_ATTRIBUTES + escaped(name): value for name, value in entity.attributes.items()},
        "location": entity.location,
    }


def _of_possession(owner: str) -> Leaves:
    return {"": owner}


def _of_fact(fact: Fact) -> Leaves:
    return {
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        _VALUE: fact.value,
        "status": fact.status,
        "locked": fact.locked,
        "reason": fact.reason,
    }


def _of_relationship(each: Relationship) -> Leaves:
    return {"source": each.source, "type": each.type, "target": each.target, "status": each.status}


def _of_thread(thread: Thread) -> Leaves:
    return {"title": thread.title, "status": thread.status, "outcome": thread.outcome}


def _of_scene(scene: Scene) -> Leaves:
    return {"summary": scene.summary, "location": scene.location, "present": list(scene.present)}


_SECTIONS: Mapping[str, Callable[[Any], Leaves]] = {
    "entities": _of_entity,
    "possessions": _of_possession,
    "facts": _of_fact,
    "relationships": _of_relationship,
    "threads": _of_thread,
    "scene": _of_scene,
}
