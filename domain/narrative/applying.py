"""What an accepted event makes of a document."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

from domain.narrative.changes import changes
from domain.narrative.claims import claimed, established_as, related_as
from domain.narrative.document import Document, Entity, Relationship, Scene, Thread, free_id
from domain.narrative.rules import By, Event

_Entry = TypeVar("_Entry")


def applied(document: Document, accepted: Iterable[Event], *, by: By) -> Document:
    """The document after events that were accepted on it, in their order. Judges nothing, and is the same for ever.

    What the events do not touch is shared with the document before.
    """
    return reduce(lambda at, event: _marked(at, _APPLY[event["type"]](at, event, by), by), accepted, document)


def _marked(before: Document, after: Document, by: By) -> Document:
    """With the leaves that changed marked as the player's word, or no longer so. Of facts, `locked` says it."""
    if by == "narrator" and not before.corrected:
        return after
    changed = frozenset(change.path for change in changes(before, after) if not change.path.startswith("facts."))
    if by == "player":
        return replace(after, corrected=after.corrected | changed) if changed else after
    return replace(after, corrected=after.corrected - changed) if after.corrected & changed else after


def _create_entity(document: Document, event: Event, _: By) -> Document:
    entity = Entity(
        type=event["entity_type"],
        name=event["name"],
        description=event.get("description") or "",
        aliases=_distinct(event.get("aliases")),
    )
    return _with_entity(document, event["entity"], entity)


def _rename_entity(document: Document, event: Event, _: By) -> Document:
    return _changed_entity(document, event["entity"], name=event["name"])


def _describe_entity(document: Document, event: Event, _: By) -> Document:
    return _changed_entity(document, event["entity"], description=event["description"])


def _set_status(document: Document, event: Event, _: By) -> Document:
    return _changed_entity(document, event["entity"], status=event["status"])


def _set_attribute(document: Document, event: Event, _: By) -> Document:
    attributes = document.entities[event["entity"]].attributes
    return _changed_entity(document, event["entity"], attributes=_put(attributes, event["attribute"], event["value"]))


def _set_possession(document: Document, event: Event, _: By) -> Document:
    return replace(document, possessions=_put(document.possessions, event["item"], event["owner"]))


def _set_location(document: Document, event: Event, _: By) -> Document:
    return _changed_entity(document, event["entity"], location=event["location"])


def _add_fact(document: Document, event: Event, by: By) -> Document:
    claim = replace(claimed(event), locked=by == "player")
    same = established_as(document, claim)
    if same is not None:
        confirmed = replace(document.facts[same], locked=document.facts[same].locked or claim.locked)
        return replace(document, facts=_put(document.facts, same, confirmed))
    key = event.get("fact_id") or free_id("f", document.facts)
    return replace(document, facts=_put(document.facts, key, claim))


def _invalidate_fact(document: Document, event: Event, by: By) -> Document:
    key = event["fact_id"]
    fact = document.facts[key]
    withdrawn = replace(
        fact, status="withdrawn", reason=event.get("reason") or "", locked=fact.locked or by == "player"
    )
    return replace(document, facts=_put(_put(document.facts, key, None), key, withdrawn))


def _set_relationship(document: Document, event: Event, _: By) -> Document:
    if related_as(document, event["source"], event["relationship"], event["target"]) is not None:
        return document
    key = event.get("relationship_id") or free_id("r", document.relationships)
    set_now = Relationship(event["source"], event["relationship"], event["target"])
    return replace(document, relationships=_put(document.relationships, key, set_now))


def _end_relationship(document: Document, event: Event, _: By) -> Document:
    ended = replace(document.relationships[event["relationship_id"]], status="ended")
    return replace(document, relationships=_put(document.relationships, event["relationship_id"], ended))


def _open_thread(document: Document, event: Event, _: By) -> Document:
    return replace(document, threads=_put(document.threads, event["thread"], Thread(event["title"])))


def _resolve_thread(document: Document, event: Event, _: By) -> Document:
    thread = document.threads[event["thread"]]
    resolved = replace(thread, status="resolved", outcome=event.get("outcome") or "")
    return replace(document, threads=_put(document.threads, event["thread"], resolved))


def _set_scene(document: Document, event: Event, _: By) -> Document:
    scene = Scene(event["summary"], event.get("location"), _distinct(event.get("present")))
    return replace(document, scene=scene)


def _changed_entity(document: Document, key: str, **changed: Any) -> Document:
    return _with_entity(document, key, replace(document.entities[key], **changed))


def _with_entity(document: Document, key: str, entity: Entity) -> Document:
    return replace(document, entities=_put(document.entities, key, entity))


def _put(entries: Mapping[str, _Entry], key: str, entry: _Entry | None) -> Mapping[str, _Entry]:
    """With the entry where the one of its key was, else at the end; without one for None."""
    if entry is None:
        return {each: value for each, value in entries.items() if each != key}
    return {**entries, key: entry}


def _distinct(ids: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids or ()))


_APPLY: Mapping[str, Callable[[Document, Event, By], Document]] = {
    "create_entity": _create_entity,
    "rename_entity": _rename_entity,
    "describe_entity": _describe_entity,
    "set_entity_status": _set_status,
    "set_entity_attribute": _set_attribute,
    "set_possession": _set_possession,
    "set_current_location": _set_location,
    "add_fact": _add_fact,
    "invalidate_fact": _invalidate_fact,
    "set_relationship": _set_relationship,
    "end_relationship": _end_relationship,
    "open_thread": _open_thread,
    "resolve_thread": _resolve_thread,
    "set_scene": _set_scene,
}
