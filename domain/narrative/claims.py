"""What facts and relationships say, and when two of them say the same or contradict each other.

Facts of one subject with one predicate are about one thing; the predicate is compared without regard to case and to the
amount of white space. They say the same when object and value are the same too, and contradict each other when not.
That a predicate may hold of several things at once (to know somebody) cannot be told from its words: where the player
has established one of them, the narrator cannot add another under the same predicate.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from domain.narrative.document import Document, Fact


def claimed(event: Mapping[str, Any]) -> Fact:
    """The fact that an `add_fact` would establish."""
    return Fact(event["predicate"], event.get("subject"), event.get("object"), event.get("value"))


def established_as(document: Document, claim: Fact) -> str | None:
    """The id of an active fact that says the same."""
    return next(
        (key for key, fact in _about_the_same(document, claim) if fact.status == "active" and _same(fact, claim)), None
    )


def locked_against(document: Document, claim: Fact) -> str | None:
    """The id of a fact by which the player has ruled the claim out: an active one against it, or the same withdrawn."""
    return next(
        (key for key, fact in _about_the_same(document, claim) if fact.locked and _rules_out(fact, claim)), None
    )


def related_as(document: Document, source: str, relationship: str, target: str) -> str | None:
    """The id of an active relationship that is this one."""
    wanted, between = folded(relationship), (source, target, "active")
    related = document.relationships.items()
    return next(
        (key for key, r in related if (r.source, r.target, r.status) == between and folded(r.type) == wanted), None
    )


def folded(text: str) -> str:
    """Text as it is compared: without regard to case and to the amount of white space."""
    return " ".join(text.casefold().split())


def _about_the_same(document: Document, claim: Fact) -> Iterator[tuple[str, Fact]]:
    subject, predicate = claim.subject, folded(claim.predicate)
    for key, fact in document.facts.items():
        if fact.subject == subject and folded(fact.predicate) == predicate:
            yield key, fact


def _rules_out(fact: Fact, claim: Fact) -> bool:
    return _same(fact, claim) == (fact.status == "withdrawn")


def _same(fact: Fact, claim: Fact) -> bool:
    return fact.object == claim.object and _comparable(fact.value) == _comparable(claim.value)


def _comparable(value: Any) -> tuple[type, Any]:
    return (str, folded(value)) if isinstance(value, str) else (type(value), value)
