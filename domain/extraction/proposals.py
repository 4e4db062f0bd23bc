"""What is a proposal: JSON that names state events."""

import re
from collections.abc import Set as AbstractSet
from typing import Any

from domain.extraction.payload import Undecodable, decode, decode_repaired

EVENTS = "events"
TYPE = "type"

Events = tuple[object, ...]

_QUOTE_MARKS = re.compile(r"^[ \t]*+(?:>[ \t]*+)++", re.MULTILINE)


def unquoted(text: str) -> str:
    """The text without the quote marks that its lines begin with."""
    return _QUOTE_MARKS.sub("", text)


def proposed(value: Any, event_types: AbstractSet[str]) -> Events | None:
    """The events of a proposal: an object with a list of events, a list of known events, or an object that holds one.

    None for anything else, such as a character's own JSON.
    """
    value = _unwrapped(value)
    if isinstance(value, dict):
        return tuple(value[EVENTS])
    return tuple(value) if value and _are_events(value, event_types) else None


def proposed_in_state_fence(value: Any) -> Events | None:
    """As `proposed`, of any types, in a fence that says that it is one: an empty list and a single event count too."""
    value = _unwrapped(value, single=True)
    if isinstance(value, dict):
        return tuple(value[EVENTS]) if _names_events(value) else (value,)
    return tuple(value) if value is not None and all(map(_is_event, value)) else None


def understood(text: str, event_types: AbstractSet[str], *, state: bool) -> Events | None:
    """The events of what a fence holds, with the repair, as JSON or as JSON within a JSON string."""
    try:
        value = decode_repaired(text)
        if isinstance(value, str):
            value = decode_repaired(value)
    except Undecodable:
        return None
    return proposed_in_state_fence(value) if state else proposed(value, event_types)


def understood_unfenced(text: str, event_types: AbstractSet[str]) -> Events | None:
    """The events of an object outside a fence, without any repair. Raises Undecodable when it is no JSON."""
    return proposed(decode(text), event_types)


def _unwrapped(value: Any, *, single: bool = False) -> dict[str, Any] | list[Any] | None:
    """The object with events, the list, or where it counts the `single` event, that the only values lead to."""
    while isinstance(value, dict) and not _names_events(value) and not (single and _is_event(value)):
        value = next(iter(value.values())) if len(value) == 1 else None
    return value if isinstance(value, dict | list) else None


def _names_events(value: dict[str, Any]) -> bool:
    return isinstance(value.get(EVENTS), list)


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get(TYPE), str)


def _are_events(values: list[Any], event_types: AbstractSet[str]) -> bool:
    return all(_is_event(value) and value[TYPE] in event_types for value in values)


def is_json(text: str) -> bool:
    """Whether a text can be read as it stands, whatever it says."""
    try:
        decode(text)
    except Undecodable:
        return False
    return True
