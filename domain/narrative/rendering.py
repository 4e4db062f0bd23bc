"""The state as the narrator reads it in a prompt.

Every entry is one line: its id, then what it says, with the ids of what it is about. Entries stand in the document's
order, so that what is new comes last and one change touches one line. White space in what a model wrote is collapsed,
so no text can begin a line of its own.

What the player corrected carries a mark behind its id. The scene line alone is never marked: its form is fixed, since
the extractor knows a pasted state by it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from domain.narrative.document import Document, Entity, Fact, Scalar
from domain.prompt import texts

MOST_ACTIVE_FACTS = 30
MOST_WITHDRAWN_FACTS = 30
MOST_RELATIONSHIPS = 20
MOST_THREADS = 12

MOST_ENTITIES = 60
"""Those of the scene always, and the newest others. What is left out is counted in a last line."""

MOST_HELD = 60

ENTITY_CHARACTERS = 600
"""The most characters that are said of an entity; more ends in an ellipsis. Other entries are short by what they hold."""

CORRECTED = "(corrected by the player)"
"""Marks what is the player's word."""

_Entry = TypeVar("_Entry")
_Marks = frozenset[tuple[str, str]]
"""Section and id of what the player corrected."""


def render(document: Document) -> str:
    """The state as text, without a line break at its end; the same bytes for the same document, "" for an empty one."""
    marks = _marks(document)
    sections = (
        (texts.HEADING_ENTITIES, _entities(document, marks)),
        (texts.HEADING_HELD, _held(document, marks)),
        (texts.HEADING_FACTS, _facts(document, marks)),
        (texts.HEADING_WITHDRAWN, _withdrawn(document, marks)),
        (texts.HEADING_RELATIONSHIPS, _relationships(document, marks)),
        (texts.HEADING_THREADS, _threads(document, marks)),
    )
    lines = [line for heading, entries in sections for line in _under(heading, entries)]
    return "\n".join((*_scene(document), *lines))


def _marks(document: Document) -> _Marks:
    corrected = (path.split(".") for path in document.corrected)
    locked = (("facts", key) for key, fact in document.facts.items() if fact.locked)
    return frozenset((*((section, key) for section, key, *_ in corrected), *locked))


def _under(heading: str, entries: Iterable[str]) -> list[str]:
    listed = [f"  {_line(entry)}" for entry in entries]
    return [heading, *listed] if listed else []


def _scene(document: Document) -> list[str]:
    scene = document.scene
    at = f"(at {document.entities[scene.location].name})" if scene.location is not None else ""
    said = _line(f"{scene.summary} {at}")
    return [f"{texts.SCENE_LABEL} {said}"] if said else []


def _entities(document: Document, marks: _Marks) -> Iterator[str]:
    entities, present = document.entities, document.scene.present
    here = {*present, document.scene.location} & entities.keys()
    others = _newest(entities, MOST_ENTITIES - len(here), lambda key, _: key not in here)
    shown = here | others.keys()
    for key in filter(shown.__contains__, entities):
        yield f"{_id(marks, 'entities', key)}: {_entity(entities[key], present=key in present)}"
    yield from _more(len(entities) - len(shown))


def _entity(entity: Entity, *, present: bool) -> str:
    parts = (
        f"{entity.name} ({entity.type})",
        "present" if present else "",
        f"at {entity.location}" if entity.location is not None else "",
        entity.status,
        f"also called {', '.join(entity.aliases)}" if entity.aliases else "",
        *(f"{name}: {_said(value)}" for name, value in entity.attributes.items()),
        entity.description,
    )
    said = _line("; ".join(part for part in parts if part.strip()))
    return said if len(said) <= ENTITY_CHARACTERS else f"{said[: ENTITY_CHARACTERS - 1]}…"


def _held(document: Document, marks: _Marks) -> Iterator[str]:
    """Who holds what; and what nobody holds, where that is the player's word."""
    freed = sorted(key for section, key in marks if section == "possessions" and key not in document.possessions)
    holders = {**document.possessions, **dict.fromkeys(freed, "nobody")}
    for key, holder in _newest(holders, MOST_HELD).items():
        yield f"{_id(marks, 'possessions', key)}: held by {holder}"
    yield from _more(len(holders) - MOST_HELD)


def _facts(document: Document, marks: _Marks) -> Iterator[str]:
    active = _newest(document.facts, MOST_ACTIVE_FACTS, lambda _, fact: fact.status == "active")
    return (f"{_id(marks, 'facts', key)}: {_claim(fact)}" for key, fact in active.items())


def _withdrawn(document: Document, marks: _Marks) -> Iterator[str]:
    withdrawn = _newest(document.facts, MOST_WITHDRAWN_FACTS, lambda _, fact: fact.status == "withdrawn")
    for key, fact in withdrawn.items():
        reason = f" (reason: {fact.reason})" if fact.reason.strip() else ""
        yield f"{_id(marks, 'facts', key)}: {_claim(fact)}{reason}"


def _claim(fact: Fact) -> str:
    parts = (fact.subject, fact.predicate, fact.object, None if fact.value is None else _said(fact.value))
    return " ".join(part for part in parts if part is not None)


def _relationships(document: Document, marks: _Marks) -> Iterator[str]:
    active = _newest(document.relationships, MOST_RELATIONSHIPS, lambda _, each: each.status == "active")
    for key, each in active.items():
        yield f"{_id(marks, 'relationships', key)}: {each.source} {each.type} {each.target}"


def _threads(document: Document, marks: _Marks) -> Iterator[str]:
    unresolved = _newest(document.threads, MOST_THREADS, lambda _, thread: thread.status == "open")
    return (f"{_id(marks, 'threads', key)}: {thread.title}" for key, thread in unresolved.items())


def _newest(
    entries: Mapping[str, _Entry], most: int, chosen: Callable[[str, _Entry], bool] = lambda *_: True
) -> dict[str, _Entry]:
    """The newest of the chosen entries, in their order."""
    newest_first = (pair for pair in reversed(list(entries.items())) if chosen(*pair))
    return dict(reversed(list(islice(newest_first, max(most, 0)))))


def _more(left_out: int) -> tuple[str, ...]:
    return (f"… and {left_out} more",) if left_out > 0 else ()


def _id(marks: _Marks, section: str, key: str) -> str:
    return f"{key} {CORRECTED}" if (section, key) in marks else key


def _said(value: Scalar) -> str:
    """A value as it reads: true and false as JSON writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line(text: str) -> str:
    return " ".join(text.split())
