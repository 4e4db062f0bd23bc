"""The JSON schema of a block that a server holds a narrator to when it is asked a second time, for the changes alone.

Written for servers that turn a schema into a grammar, llama.cpp's `json_schema_to_grammar` above all. It takes `anyOf`,
`const`, `enum`, `required`, `minLength`, `maxLength`, `maxItems` and references to `$defs` at the root; it does not take
`anyOf` beside `properties`, references within `$defs`, `not`, or patterns without anchors, and it skips silently what it
does not know. So nothing else is used. Keys come in the order of `properties`.

References are the ids that exist, so whatever follows the grammar refers to something; what has nothing to refer to is
left out. Things that the same block creates cannot be referred to.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from domain.narrative.document import Document, Section
from domain.narrative.schema import Schema
from domain.narrative.vocabulary import VOCABULARY, EventType, Field

MOST_PROPOSED = 12
"""The most events that are asked for at once."""

MOST_OFFERED = 100
"""The most ids of a section that are offered, the newest."""

TEXT_CHARACTERS = 200
"""Texts are kept shorter than an event may hold: a grammar counts each character."""

LIST_ENTRIES = 8


def proposal_schema(document: Document) -> Schema:
    """The schema of `{"events": […]}` for what may be proposed on this document."""
    offered = {section: ids for section, ids in _offered(document).items() if ids}
    kinds = [_event(kind, offered) for kind in VOCABULARY.values() if _possible(kind, offered)]
    events = {"type": "array", "items": {"anyOf": kinds}, "maxItems": MOST_PROPOSED}
    return {
        "type": "object",
        "properties": {"events": events},
        "required": ["events"],
        "additionalProperties": False,
        "$defs": {section: {"type": "string", "enum": ids} for section, ids in offered.items()},
    }


_Offered = Mapping[Section, list[str]]


def _offered(document: Document) -> _Offered:
    """The newest ids that an event can refer to without breaking a rule that the document alone decides."""
    facts = (key for key, fact in document.facts.items() if fact.status == "active" and not fact.locked)
    relationships = (key for key, each in document.relationships.items() if each.status == "active")
    threads = (key for key, thread in document.threads.items() if thread.status == "open")
    return {
        "entities": _newest(document.entities),
        "facts": _newest(facts),
        "relationships": _newest(relationships),
        "threads": _newest(threads),
    }


def _newest(ids: Iterable[str]) -> list[str]:
    return list(ids)[-MOST_OFFERED:]


def _possible(kind: EventType, offered: _Offered) -> bool:
    return all(field.refers_to is None or field.refers_to in offered for field in kind.required)


def _event(kind: EventType, offered: _Offered) -> Schema:
    fields = [field for field in kind.fields if _askable(field, offered)]
    return {
        "type": "object",
        "properties": {"type": {"const": kind.name}, **{field.name: _field(field) for field in fields}},
        "required": ["type", *(field.name for field in kind.required)],
        "additionalProperties": False,
    }


def _askable(field: Field, offered: _Offered) -> bool:
    """Whether it can be filled in well: with something that exists, or freely. Ids that may be left out are given later."""
    if field.refers_to is not None:
        return field.refers_to in offered
    return not (field.form == "slug" and field.optional)


def _field(field: Field) -> Schema:
    if field.entries is not None:
        return {"type": "array", "items": _single(field), "maxItems": min(field.entries, LIST_ENTRIES)}
    return {"anyOf": [_single(field), {"type": "null"}]} if field.nullable else _single(field)


def _single(field: Field) -> dict[str, Any]:
    if field.refers_to is not None:
        return {"$ref": f"#/$defs/{field.refers_to}"}
    if field.form == "slug":
        return {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,31}$"}
    return {"type": "string", "minLength": 1, "maxLength": min(field.most, TEXT_CHARACTERS)}
