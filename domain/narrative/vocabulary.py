"""The state events that a narrator may propose and a player may correct with: one table, and the words for its parts.

Whatever knows of state events derives it from here: how events are checked, what the narrator is shown, the JSON
schemas, the reference. Sizes are in characters (code points) and in entries.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from domain.narrative.document import Section

SLUG = re.compile(r"[a-z0-9][a-z0-9_-]*")
"""What an id is made of: lower-case letters of ASCII, digits, `-` and `_`, the first a letter or a digit."""

SLUG_CHARACTERS = 64
LABEL_CHARACTERS = 64
NAME_CHARACTERS = 120
PHRASE_CHARACTERS = 200
VALUE_CHARACTERS = 300
SENTENCES_CHARACTERS = 600
ALIASES = 12
PRESENT = 40

LARGEST_NUMBER = 2**53 - 1
"""Numbers beyond it, either way, are not the same in every program that reads JSON."""

MOST_EVENTS = 200
"""The most events that are judged in one block; the rest is refused as `too_large`."""

MOST_ENTRIES = 10_000
"""The most entities, facts, relationships and threads, of each, that a document holds."""

MOST_ATTRIBUTES = 64
"""The most attributes that an entity has."""

SUGGESTED_TYPES = ("character", "location", "item", "vehicle", "organization", "creature", "concept")
"""Types of entities that are suggested; any other slug is one as well."""

Form = Literal["slug", "text", "value"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an event.

    `most` is its largest size; `refers_to` the section that the slug must be found in, None for a slug that need not
    exist; `blank` whether a text may hold nothing but white space; `entries` makes it a list of at most so many. A
    `value` is a string of at most `most` characters, a number or a boolean. An optional field may be null, which is as
    if it were absent; a required one only if it is `nullable`.
    """

    name: str
    form: Form
    most: int
    refers_to: Section | None = None
    optional: bool = False
    nullable: bool = False
    blank: bool = False
    entries: int | None = None

    @property
    def may_be_null(self) -> bool:
        """Whether null is a value of it."""
        return self.optional or self.nullable


@dataclass(frozen=True, slots=True)
class EventType:
    """A kind of state event: its fields in the order in which they are shown and checked, and what it does."""

    name: str
    fields: tuple[Field, ...]
    does: str

    @property
    def required(self) -> tuple[Field, ...]:
        """The fields that each event of the type has."""
        return tuple(field for field in self.fields if not field.optional)

    @property
    def optional(self) -> tuple[Field, ...]:
        """The fields that it may have."""
        return tuple(field for field in self.fields if field.optional)


def _slug(name: str, *, refers_to: Section | None = None, optional: bool = False) -> Field:
    return Field(name, "slug", SLUG_CHARACTERS, refers_to, optional=optional)


def _entity(name: str, *, optional: bool = False, nullable: bool = False) -> Field:
    return Field(name, "slug", SLUG_CHARACTERS, "entities", optional=optional, nullable=nullable)


def _text(name: str, most: int, *, optional: bool = False, blank: bool = False) -> Field:
    return Field(name, "text", most, optional=optional, blank=blank)


_REASON = _text("reason", PHRASE_CHARACTERS, optional=True, blank=True)

_EVENTS = (
    EventType(
        "create_entity",
        (
            _slug("entity"),
            _slug("entity_type"),
            _text("name", NAME_CHARACTERS),
            _text("description", SENTENCES_CHARACTERS, optional=True, blank=True),
            Field("aliases", "text", NAME_CHARACTERS, optional=True, entries=ALIASES),
        ),
        f"something new exists; types: {', '.join(SUGGESTED_TYPES)} or another word",
    ),
    EventType("rename_entity", (_entity("entity"), _text("name", NAME_CHARACTERS)), "it has another name"),
    EventType(
        "describe_entity",
        (_entity("entity"), _text("description", SENTENCES_CHARACTERS, blank=True)),
        "what it is like",
    ),
    EventType(
        "set_entity_status",
        (_entity("entity"), _text("status", PHRASE_CHARACTERS, blank=True)),
        "what state it is in",
    ),
    EventType(
        "set_entity_attribute",
        (
            _entity("entity"),
            _text("attribute", LABEL_CHARACTERS),
            Field("value", "value", VALUE_CHARACTERS, nullable=True),
        ),
        "a trait or figure of it; null removes it",
    ),
    EventType("set_possession", (_entity("item"), _entity("owner", nullable=True)), "who holds it; null: nobody"),
    EventType("set_current_location", (_entity("entity"), _entity("location")), "where it is now"),
    EventType(
        "add_fact",
        (
            _text("predicate", PHRASE_CHARACTERS),
            _entity("subject", optional=True),
            _entity("object", optional=True),
            Field("value", "value", VALUE_CHARACTERS, optional=True),
            _slug("fact_id", optional=True),
        ),
        "something is established",
    ),
    EventType("invalidate_fact", (_slug("fact_id", refers_to="facts"), _REASON), "it is no longer true"),
    EventType(
        "set_relationship",
        (
            _entity("source"),
            _text("relationship", PHRASE_CHARACTERS),
            _entity("target"),
            _slug("relationship_id", optional=True),
        ),
        "what source is to target",
    ),
    EventType("end_relationship", (_slug("relationship_id", refers_to="relationships"), _REASON), "it is over"),
    EventType("open_thread", (_slug("thread"), _text("title", PHRASE_CHARACTERS)), "a question is raised"),
    EventType(
        "resolve_thread",
        (
            _slug("thread", refers_to="threads"),
            _text("outcome", SENTENCES_CHARACTERS, optional=True, blank=True),
        ),
        "it is settled",
    ),
    EventType(
        "set_scene",
        (
            _text("summary", SENTENCES_CHARACTERS, blank=True),
            _entity("location", optional=True),
            Field("present", "slug", SLUG_CHARACTERS, "entities", optional=True, entries=PRESENT),
        ),
        "the scene, whole: what goes on, where, who is there",
    ),
)

VOCABULARY: Mapping[str, EventType] = {event.name: event for event in _EVENTS}
"""The events by their type, in the order in which they are shown."""

EVENT_TYPES: frozenset[str] = frozenset(VOCABULARY)
