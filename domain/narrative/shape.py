"""Whether an event has the shape that its type asks for. Looks at no document."""

from collections.abc import Iterable
from typing import Any, TypeGuard

from domain.narrative.refusals import Refusal, quoted
from domain.narrative.vocabulary import LARGEST_NUMBER, SLUG, VOCABULARY, EventType, Field
from domain.text import without_lone_surrogates


def is_known(event: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is an object with a type of the vocabulary."""
    return isinstance(event, dict) and isinstance(event.get("type"), str) and event["type"] in VOCABULARY


def misshapen(event: object) -> Refusal | None:
    """What is wrong with the type, the fields, their types or their sizes, in this order; None if nothing is.

    Total: takes any JSON value, however large or deep, and never looks deeper than a list of a field.
    """
    if not is_known(event):
        return Refusal("unknown_type", _unknown_type(event))
    kind = VOCABULARY[event["type"]]
    return _wrong_fields(kind, event) or _first(
        _wrong_value(field, event.get(field.name)) for field in _given(kind, event)
    )


def _first(refusals: Iterable[Refusal | None]) -> Refusal | None:
    return next((refusal for refusal in refusals if refusal is not None), None)


def _given(kind: EventType, event: dict[str, Any]) -> Iterable[Field]:
    return (field for field in kind.fields if field.name in event)


def _unknown_type(event: object) -> str:
    if not isinstance(event, dict):
        return "An event is a JSON object with a `type`. Send one of the vocabulary."
    if not isinstance(event.get("type"), str):
        return "It has no `type`, as a string. Name one of the vocabulary."
    return f"There is no event of type {quoted(event['type'])}. Name one of the vocabulary."


def _wrong_fields(kind: EventType, event: dict[str, Any]) -> Refusal | None:
    known = {"type", *(field.name for field in kind.fields)}
    unknown = next((name for name in event if name not in known), None)
    if unknown is not None:
        has = ", ".join(f"`{field.name}`" for field in kind.fields)
        return Refusal("unknown_field", f"`{kind.name}` has no field {quoted(unknown)}. Its fields are {has}.")
    missing = next((field.name for field in kind.required if field.name not in event), None)
    if missing is not None:
        return Refusal("missing_field", f"`{kind.name}` needs the field `{missing}`. Send it with one.")
    return None


def _wrong_value(field: Field, value: object) -> Refusal | None:
    if value is None:
        return None if field.may_be_null else _bad(field, "cannot be null; give it a value")
    if field.entries is None:
        return _wrong_single(field, value)
    if not isinstance(value, list):
        return _bad(field, "is a list; put square brackets around it")
    if len(value) > field.entries:
        return _large(field, f"has at most {field.entries} entries, not {len(value)}; send fewer")
    return _first(_wrong_single(field, each) for each in value)


def _wrong_single(field: Field, value: object) -> Refusal | None:
    if field.form == "value":
        return _wrong_scalar(field, value)
    if not isinstance(value, str):
        return _bad(field, "holds text; write it as a string")
    return _wrong_text(field, value) or (_wrong_slug(field, value) if field.form == "slug" else None)


def _wrong_scalar(field: Field, value: object) -> Refusal | None:
    if isinstance(value, str):
        return _wrong_text(field, value)
    if not isinstance(value, int | float) or value != value:  # noqa: PLR0124  # what is not a number differs from itself
        return _bad(field, "holds a string, a number, true or false")
    if abs(value) > LARGEST_NUMBER:
        return _large(field, f"is a number of at most {LARGEST_NUMBER} either way; write a larger one as a string")
    return None


def _wrong_text(field: Field, text: str) -> Refusal | None:
    if len(text) > field.most:
        return _large(field, f"has at most {field.most} characters, not {len(text)}; shorten it")
    if without_lone_surrogates(text)[1]:
        return _bad(field, "holds half of a character; write the whole one")
    if field.form == "text" and not field.blank and not text.strip():
        return _bad(field, "needs some text")
    return None


def _wrong_slug(field: Field, text: str) -> Refusal | None:
    if SLUG.fullmatch(text):
        return None
    return _bad(field, f"is made of lower-case letters (a-z), digits, - and _, unlike {quoted(text)}")


def _bad(field: Field, why: str) -> Refusal:
    return Refusal("bad_value", f"`{field.name}` {why}.")


def _large(field: Field, why: str) -> Refusal:
    return Refusal("too_large", f"`{field.name}` {why}.")
