"""The vocabulary as JSON schema (draft 2020-12, as OpenAPI 3.1 takes it) and as a table for people."""

from collections.abc import Mapping
from typing import Any

from domain.narrative.vocabulary import LARGEST_NUMBER, MOST_EVENTS, SLUG, VOCABULARY, EventType, Field

Schema = dict[str, Any]


def event_schema(kind: EventType) -> Schema:
    """What an event of the type looks like. Whether what it refers to exists is for a document to say."""
    return {
        "type": "object",
        "description": f"{kind.does[0].upper()}{kind.does[1:]}.",
        "properties": {"type": {"const": kind.name}, **{field.name: _field_schema(field) for field in kind.fields}},
        "required": ["type", *(field.name for field in kind.required)],
        "additionalProperties": False,
    }


def events_schema() -> Schema:
    """A block's list of events."""
    kinds = [event_schema(kind) for kind in VOCABULARY.values()]
    return {"type": "array", "items": {"anyOf": kinds}, "maxItems": MOST_EVENTS}


def vocabulary_table() -> str:
    """The vocabulary as a table in Markdown: a row a type, `?` for an optional field, `[]` for a list."""
    rows = (
        f"| `{kind.name}` | {', '.join(map(_described, kind.fields))} | {kind.does} |" for kind in VOCABULARY.values()
    )
    return "\n".join(("| type | fields | what it does |", "| --- | --- | --- |", *rows))


def _described(field: Field) -> str:
    return f"{field.name}{'[]' if field.entries is not None else ''}{'?' if field.optional else ''} ({_kind(field)})"


def _kind(field: Field) -> str:
    what = _REFERRED[field.refers_to] if field.refers_to is not None else _FORMS[field.form]
    size = f", ≤ {field.most}" if field.form == "text" else ""
    entries = f", ≤ {field.entries} entries" if field.entries is not None else ""
    return f"{what}{size}{entries}{' or null' if field.nullable else ''}"


_FORMS: Mapping[str, str] = {"slug": "slug", "text": "text", "value": "text, number, true or false"}
_REFERRED: Mapping[str, str] = {
    "entities": "an entity's id",
    "facts": "a fact's id",
    "relationships": "a relationship's id",
    "threads": "a thread's id",
}


def _field_schema(field: Field) -> Schema:
    single = _single_schema(field)
    whole = {"type": "array", "items": single, "maxItems": field.entries} if field.entries is not None else single
    return {"anyOf": [whole, {"type": "null"}]} if field.may_be_null else whole


def _single_schema(field: Field) -> Schema:
    text = {"type": "string", "maxLength": field.most}
    if field.form == "slug":
        return {**text, "pattern": f"^{SLUG.pattern}$"}
    if field.form == "text":
        return text if field.blank else {**text, "pattern": r"\S"}
    number = {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER}
    return {"anyOf": [text, number, {"type": "boolean"}]}
