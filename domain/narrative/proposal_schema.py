"""The JSON schema of a block that a server holds a narrator to when it is asked a second time, for the changes alone.

Written for servers that turn a schema into a grammar, those of llama.cpp above all. Its own converter takes `anyOf`,
`const`, `enum`, `required`, `minLength`, `maxLength`, `maxItems`, anchored patterns, and references to `$defs` at the
root. It takes no `anyOf` beside `properties`, no references within `$defs`, no `not`, and it skips silently what it does
not know. So nothing else is used here. Keys come in the order of `properties`, the type first.

References are the ids that exist, so whatever follows the grammar refers to something; what has nothing to refer to is
left out. What the same block creates cannot be referred to.
"""

from collections.abc import Iterable, Mapping

from domain.narrative.document import Document
from domain.narrative.schema import Schema
from domain.narrative.vocabulary import SUGGESTED_TYPES, VOCABULARY, EventType, Field

MOST_PROPOSED = 3
"""The most events that are asked for at once. A small model that finds no end is cut off by the reply's limit, and then
nothing of its block counts: so as many are allowed as surely fit, texts and lists included."""

MOST_OFFERED = 100
"""The most ids of a kind that are offered, the newest."""

TEXT_CHARACTERS = 60
"""Texts are kept shorter than an event may hold, for the same reason."""

LIST_ENTRIES = 2

_Offered = Mapping[str, list[str]]
"""What there is to choose from: the ids of each section, and `types`, the types of entities."""


def proposal_schema(document: Document) -> Schema:
    """The schema of `{"events": […]}` for what may be proposed on this document."""
    offered = {name: choices for name, choices in _offered(document).items() if choices}
    kinds = [_event(kind, offered) for kind in VOCABULARY.values() if _possible(kind, offered)]
    events = {"type": "array", "items": {"anyOf": kinds}, "maxItems": MOST_PROPOSED}
    return {
        "type": "object",
        "properties": {"events": events},
        "required": ["events"],
        "additionalProperties": False,
        "$defs": {name: {"type": "string", "enum": choices} for name, choices in offered.items()},
    }


def _offered(document: Document) -> _Offered:
    """What an event can choose without breaking a rule that the document alone decides."""
    facts = (key for key, fact in document.facts.items() if fact.status == "active" and not fact.locked)
    relationships = (key for key, each in document.relationships.items() if each.status == "active")
    threads = (key for key, thread in document.threads.items() if thread.status == "open")
    types = dict.fromkeys((*(entity.type for entity in document.entities.values()), *SUGGESTED_TYPES))
    return {
        "entities": _newest(document.entities),
        "facts": _newest(facts),
        "relationships": _newest(relationships),
        "threads": _newest(threads),
        "types": _newest(types),
    }


def _newest(ids: Iterable[str]) -> list[str]:
    return list(ids)[-MOST_OFFERED:]


def _choice(field: Field) -> str | None:
    """The name of what is offered for a field; None where it is filled in freely."""
    return "types" if field.name == "entity_type" else field.refers_to


def _possible(kind: EventType, offered: _Offered) -> bool:
    return all(_choice(field) is None or _choice(field) in offered for field in kind.required)


def _event(kind: EventType, offered: _Offered) -> Schema:
    fields = [field for field in kind.fields if _askable(field, offered)]
    return {
        "type": "object",
        "properties": {"type": {"const": kind.name}, **{field.name: _field(field) for field in fields}},
        "required": ["type", *(field.name for field in kind.required)],
        "additionalProperties": False,
    }


def _askable(field: Field, offered: _Offered) -> bool:
    """Whether it can be filled in well. An id that may be left out is better left out: a good one is given then."""
    choice = _choice(field)
    return choice in offered if choice is not None else not (field.form == "slug" and field.optional)


def _field(field: Field) -> Schema:
    if field.entries is not None:
        return {"type": "array", "items": _single(field), "maxItems": min(field.entries, LIST_ENTRIES)}
    return {"anyOf": [_single(field), {"type": "null"}]} if field.nullable else _single(field)


def _single(field: Field) -> Schema:
    choice = _choice(field)
    if choice is not None:
        return {"$ref": f"#/$defs/{choice}"}
    if field.form == "slug":
        return {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$"}
    return {"type": "string", "minLength": 1, "maxLength": min(field.most, TEXT_CHARACTERS)}
