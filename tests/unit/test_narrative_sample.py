"""The state that tests of the narrative begin with, how they ask of it, and that it holds something of everything."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.narrative.document import EMPTY, Document
from domain.narrative.judging import Judgement, judge
from domain.narrative.refusals import RefusalCode
from domain.narrative.rules import By
from domain.narrative.vocabulary import EventType, Field

Event = Mapping[str, Any]


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


TOLD = (
    event("create_entity", entity="imani", entity_type="character", name="Captain Imani", aliases=["Imani"]),
    event("create_entity", entity="vale", entity_type="character", name="Vale", description="Keeps to himself."),
    event("create_entity", entity="ceres", entity_type="location", name="Ceres"),
    event("create_entity", entity="crystal", entity_type="item", name="The crystal"),
    event("create_entity", entity="lamp", entity_type="item", name="Lamp"),
    event("set_current_location", entity="imani", location="ceres"),
    event("set_current_location", entity="lamp", location="ceres"),
    event("set_entity_status", entity="vale", status="asleep"),
    event("set_entity_attribute", entity="imani", attribute="rank", value=3),
    event("set_possession", item="crystal", owner="imani"),
    event("add_fact", subject="crystal", predicate="belongs to", object="imani"),
    event("add_fact", subject="lamp", predicate="is lit"),
    event("invalidate_fact", fact_id="f2", reason="The oil ran out."),
    event("set_relationship", source="imani", relationship="distrusts", target="vale"),
    event("set_relationship", source="vale", relationship="owes", target="imani"),
    event("end_relationship", relationship_id="r2"),
    event("open_thread", thread="missing-log", title="Who erased the log"),
    event("open_thread", thread="old-debt", title="What Vale owes"),
    event("resolve_thread", thread="old-debt", outcome="Paid."),
    event("set_scene", summary="Rain on the dome.", location="ceres", present=["imani", "vale"]),
)
"""What the narrator has told."""

ENTERED = (
    event("add_fact", subject="vale", predicate="was born on", object="ceres"),
    event("add_fact", predicate="the docks are closed"),
    event("invalidate_fact", fact_id="f4"),
    event("rename_entity", entity="vale", name="Doctor Vale"),
)
"""What the player has corrected after that."""


def accepted(document: Document, *events: Event, by: By = "narrator") -> Document:
    """The document after events of which none is refused."""
    judgement = judge(document, events, by=by)
    assert judgement.refused == ()
    return judgement.document


STATE = accepted(accepted(EMPTY, *TOLD), *ENTERED, by="player")

IDENTIFIERS = frozenset({*STATE.entities, *STATE.threads})
"""The ids that this sample gives. What Fabula says to a narrator may hold none of them."""


@dataclass(frozen=True)
class Asked:
    """Events, asked of a document."""

    before: Document
    judgement: Judgement

    def then_refused(self, code: RefusalCode) -> None:
        assert [refused.code for refused in self.judgement.refused] == [code]
        assert self.judgement.outcome == "refused"
        assert self.judgement.document is self.before
        assert self.judgement.changes == ()

    def then(self, **leaves: Any) -> None:
        """All are accepted, and these leaves alone change; `__` stands for the dot of a path."""
        assert self.judgement.refused == ()
        changed = {change.path: change.after for change in self.judgement.changes}
        assert changed == {path.replace("__", "."): value for path, value in leaves.items()}

    def then_nothing(self) -> None:
        assert self.judgement.refused == ()
        assert self.judgement.outcome == "empty"
        assert self.judgement.changes == ()


@dataclass(frozen=True)
class Given:
    """A document as its events have made it."""

    document: Document

    def when(self, *events: Any, by: By = "narrator") -> Asked:
        return Asked(self.document, judge(self.document, events, by=by))


def given(*events: Event, by: By = "narrator", after: Document = STATE) -> Given:
    return Given(accepted(after, *events, by=by))


EXISTING = {"entities": "lamp", "facts": "f1", "relationships": "r1", "threads": "missing-log"}


def filled(field: Field, offset: int = 0) -> Any:
    """A good value of a field: something that exists, or as much text as it takes, or `offset` more than that."""
    single = EXISTING[field.refers_to] if field.refers_to else "x" * (field.most + offset)
    return single if field.entries is None else [single] * (field.entries + offset)


def whole(kind: EventType) -> dict[str, Any]:
    """An event with all of its fields, which breaks no rule of the sample."""
    other = {"owner": "imani", "location": "vale"}
    return event(kind.name, **{field.name: other.get(field.name, filled(field)) for field in kind.fields})


def test_the_sample_holds_something_of_everything() -> None:
    assert {fact.status for fact in STATE.facts.values()} == {"active", "withdrawn"}
    assert {fact.locked for fact in STATE.facts.values()} == {True, False}
    assert {each.status for each in STATE.relationships.values()} == {"active", "ended"}
    assert {thread.status for thread in STATE.threads.values()} == {"open", "resolved"}
    assert STATE.possessions
    assert STATE.scene.location
    assert STATE.corrected == {"entities.vale.name"}
