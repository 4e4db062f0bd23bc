"""What the document has to say against an event of the right shape: references that lead nowhere, and broken rules.

- Where an entity is asked for, the id of a fact, a thread or a relationship is of the wrong type; so is the id of
  something else where one of those is asked for. Nothing holds itself or is at itself.
- An id is given once. Facts and relationships need none. Saying without an id what is established already is accepted
  and changes nothing (a player's saying so locks the fact); saying it under another id is a duplicate.
- `set_relationship` with the id of an existing one changes that one, and takes it up again where it had ended.
- A thread that is resolved can be opened again by the player only.
- A fact that the player established, confirmed or withdrew is locked: the narrator can neither withdraw nor contradict
  it, nor establish again what the player withdrew. Who holds what, and who is where, moves with the story and locks not.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from domain.narrative.claims import claimed, established_as, locked_against, related_as
from domain.narrative.document import Document, Section
from domain.narrative.refusals import Refusal, quoted
from domain.narrative.vocabulary import MOST_ATTRIBUTES, MOST_ENTRIES, VOCABULARY, Field

By = Literal["narrator", "player"]
"""Who asks for a change."""

Event = Mapping[str, Any]

_SECTIONS: tuple[Section, ...] = ("entities", "facts", "relationships", "threads")
_A: Mapping[Section, str] = {
    "entities": "an entity",
    "facts": "a fact",
    "relationships": "a relationship",
    "threads": "a thread",
}
_MADE_BY: Mapping[Section, str] = {
    "entities": "create_entity",
    "facts": "add_fact",
    "relationships": "set_relationship",
    "threads": "open_thread",
}


def unknown_reference(document: Document, event: Event) -> Refusal | None:
    """The first reference that leads to nothing at all."""
    for field, section, key in _references(event):
        if not any(key in getattr(document, each) for each in _SECTIONS):
            return Refusal(
                "unknown_reference",
                f"{quoted(key)}, for `{field.name}`, is not the id of {_A[section]}. Name one that the state lists, or make it "
                f"first with `{_MADE_BY[section]}`.",
            )
    return None


def broken_rule(document: Document, event: Event, by: By) -> Refusal | None:
    """The first rule that an event breaks whose references exist."""
    rule = _RULES.get(event["type"])
    return _wrong_kind(document, event) or (rule(document, event, by) if rule is not None else None)


def _references(event: Event) -> Iterator[tuple[Field, Section, str]]:
    for field in VOCABULARY[event["type"]].fields:
        value = event.get(field.name)
        if field.refers_to is not None and value is not None:
            for key in value if field.entries is not None else (value,):
                yield field, field.refers_to, key


def _wrong_kind(document: Document, event: Event) -> Refusal | None:
    for field, section, key in _references(event):
        if key not in getattr(document, section):
            is_one = next(_A[each] for each in _SECTIONS if key in getattr(document, each))
            return Refusal(
                "wrong_entity_type",
                f"{quoted(key)} is the id of {is_one}, and `{field.name}` needs that of {_A[section]}.",
            )
    return None


def _create_entity(document: Document, event: Event, _: By) -> Refusal | None:
    if event["entity"] in document.entities:
        return _duplicate("entities", event["entity"], "Change it with the other events, or choose another id")
    return _full(document, "entities")


def _set_attribute(document: Document, event: Event, _: By) -> Refusal | None:
    attributes = document.entities[event["entity"]].attributes
    if event["value"] is not None and event["attribute"] not in attributes and len(attributes) >= MOST_ATTRIBUTES:
        return Refusal(
            "too_large",
            f"{quoted(event['entity'])} has {MOST_ATTRIBUTES} attributes, which is the most. Remove one first, with null.",
        )
    return None


def _set_possession(_: Document, event: Event, __: By) -> Refusal | None:
    if event["item"] == event["owner"]:
        return Refusal(
            "wrong_entity_type", f"{quoted(event['item'])} cannot hold itself. Name another `owner`, or null."
        )
    return None


def _set_location(_: Document, event: Event, __: By) -> Refusal | None:
    if event["entity"] == event["location"]:
        return Refusal("wrong_entity_type", f"{quoted(event['entity'])} cannot be at itself. Name another `location`.")
    return None


def _add_fact(document: Document, event: Event, by: By) -> Refusal | None:
    claim, key = claimed(event), event.get("fact_id")
    if key in document.facts:
        return _duplicate("facts", str(key), "Leave `fact_id` out")
    same = established_as(document, claim)
    if same is not None:
        return _duplicate("facts", same, "It says the same; use its id") if key is not None else None
    against = locked_against(document, claim) if by == "narrator" else None
    if against is not None:
        return _locked(against)
    return _full(document, "facts")


def _invalidate_fact(document: Document, event: Event, by: By) -> Refusal | None:
    key = event["fact_id"]
    if document.facts[key].status == "withdrawn":
        return Refusal("already_resolved", f"The fact {quoted(key)} was withdrawn before. Leave it at that.")
    return _locked(key) if by == "narrator" and document.facts[key].locked else None


def _set_relationship(document: Document, event: Event, _: By) -> Refusal | None:
    key = event.get("relationship_id")
    same = related_as(document, event["source"], event["relationship"], event["target"])
    if same is not None:
        return _duplicate("relationships", same, "It says the same; use its id") if key not in (None, same) else None
    return None if key in document.relationships else _full(document, "relationships")


def _end_relationship(document: Document, event: Event, _: By) -> Refusal | None:
    key = event["relationship_id"]
    if document.relationships[key].status == "ended":
        return Refusal("already_resolved", f"The relationship {quoted(key)} ended before. Leave it at that.")
    return None


def _open_thread(document: Document, event: Event, by: By) -> Refusal | None:
    thread = document.threads.get(event["thread"])
    if thread is None:
        return _full(document, "threads")
    if thread.status == "open":
        return _duplicate("threads", event["thread"], "Resolve it, or choose another id for another thread")
    if by == "narrator":
        return Refusal(
            "already_resolved",
            f"The thread {quoted(event['thread'])} was resolved. Open another one, under another id.",
        )
    return None


def _resolve_thread(document: Document, event: Event, _: By) -> Refusal | None:
    if document.threads[event["thread"]].status == "resolved":
        return Refusal(
            "already_resolved", f"The thread {quoted(event['thread'])} was resolved before. Leave it at that."
        )
    return None


def _duplicate(section: Section, key: str, todo: str) -> Refusal:
    return Refusal(
        "duplicate_entity",
        f"There is {_A[section]} {quoted(key)} already. {todo}.",
    )


def _locked(key: str) -> Refusal:
    return Refusal(
        "locked", f"The player has settled this with the fact {quoted(key)}. Tell the story so that it holds."
    )


def _full(document: Document, section: Section) -> Refusal | None:
    if len(getattr(document, section)) < MOST_ENTRIES:
        return None
    return Refusal(
        "too_large", f"The state holds {MOST_ENTRIES} {section}, which is the most. Use those that there are."
    )


_RULES: Mapping[str, Callable[[Document, Event, By], Refusal | None]] = {
    "create_entity": _create_entity,
    "set_entity_attribute": _set_attribute,
    "set_possession": _set_possession,
    "set_current_location": _set_location,
    "add_fact": _add_fact,
    "invalidate_fact": _invalidate_fact,
    "set_relationship": _set_relationship,
    "end_relationship": _end_relationship,
    "open_thread": _open_thread,
    "resolve_thread": _resolve_thread,
}
