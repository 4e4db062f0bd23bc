"""What holds of every state, whatever is proposed on it."""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.event import canonical_json
from domain.narrative.applying import applied
from domain.narrative.changes import Change, changes, leaves
from domain.narrative.document import EMPTY, Document
from domain.narrative.judging import judge
from domain.narrative.proposal_schema import proposal_schema
from domain.narrative.refusal_note import refusal_note
from domain.narrative.refusals import CODES, Refused
from domain.narrative.rendering import render
from domain.narrative.rules import By
from domain.narrative.schema import event_schema
from domain.narrative.shape import misshapen
from domain.narrative.vocabulary import VOCABULARY, Field
from domain.prompt import texts

OFTEN = settings(max_examples=60, deadline=None)

IDS = st.sampled_from(["a", "b", "c", "f1", "f2", "r1", "x.y", "Bad id", "x" * 65])
WORDS = st.sampled_from(["", " ", "lit", "Lit", "is at", "x\ny", "é\u2028", "\ud800", "a.b", "a~b", "x" * 700])
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 2**60, float("nan")]) | WORDS
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
BY = st.sampled_from(["narrator", "player"])


def of_field(field: Field) -> st.SearchStrategy[Any]:
    """Mostly such as the field may hold."""
    single = {"slug": IDS, "text": WORDS, "value": SCALARS}[field.form]
    return single if field.entries is None else st.lists(single, max_size=3)


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """Events of the vocabulary, some of them with a field too few or too many."""
    kind = draw(st.sampled_from(list(VOCABULARY.values())))
    left_out = draw(st.sets(st.sampled_from(kind.optional))) if kind.optional else set()
    fields = {field.name: draw(of_field(field)) for field in kind.fields if field not in left_out}
    return {"type": kind.name, **fields}


@st.composite
def likely(draw: st.DrawFn) -> dict[str, Any]:
    """Events that a document may well accept: so that documents grow."""
    key, other = draw(st.sampled_from("abc")), draw(st.sampled_from("abc"))
    word = draw(st.sampled_from(["lit", "Lit", "x\ny", "a.b", "a~b"]))
    value = draw(st.sampled_from([None, 0, 1, 1.0, True, False, "", "lit"]))
    return draw(
        st.sampled_from(
            [
                {"type": "create_entity", "entity": key, "entity_type": "item", "name": word},
                {"type": "create_entity", "entity": other, "entity_type": "character", "name": word, "aliases": [word]},
                {"type": "rename_entity", "entity": key, "name": word},
                {"type": "set_entity_attribute", "entity": key, "attribute": word, "value": value},
                {"type": "set_possession", "item": key, "owner": draw(st.sampled_from([None, other]))},
                {"type": "set_current_location", "entity": key, "location": other},
                {"type": "add_fact", "subject": key, "predicate": word, "value": value},
                {"type": "add_fact", "predicate": word, "fact_id": draw(st.sampled_from(["f1", "f2", "f3"]))},
                {"type": "invalidate_fact", "fact_id": draw(st.sampled_from(["f1", "f2", "f3"])), "reason": word},
                {"type": "set_relationship", "source": key, "relationship": word, "target": other},
                {"type": "end_relationship", "relationship_id": draw(st.sampled_from(["r1", "r2"]))},
                {"type": "open_thread", "thread": key, "title": word},
                {"type": "resolve_thread", "thread": key, "outcome": word},
                {"type": "set_scene", "summary": word, "location": other, "present": [key, other]},
            ]
        )
    )


BLOCKS = st.lists(likely() | likely() | events() | JSON, max_size=12)
STEPS = st.lists(st.tuples(BLOCKS, BY), max_size=4)
Steps = list[tuple[list[Any], By]]


def grown(steps: Steps) -> Document:
    document = EMPTY
    for block, by in steps:
        document = judge(document, block, by=by).document
    return document


DOCUMENTS = STEPS.map(grown)


@OFTEN
@given(DOCUMENTS, BLOCKS, BY)
def test_any_json_is_judged_and_a_refused_event_changes_nothing(document: Document, block: list[Any], by: By) -> None:
    stood = document.to_bytes()
    judgement = judge(document, block, by=by)
    assert len(judgement.accepted) + len(judgement.refused) == len(block)
    assert {refused.code for refused in judgement.refused} <= set(CODES)
    assert all(refused.detail.encode() for refused in judgement.refused)
    assert document.to_bytes() == stood
    assert applied(document, judgement.accepted, by=by).to_bytes() == judgement.document.to_bytes()


@OFTEN
@given(STEPS)
def test_a_block_is_judged_as_its_events_one_by_one(steps: Steps) -> None:
    at = EMPTY
    for block, by in steps:
        whole, singly = judge(at, block, by=by), at
        refused: list[Refused] = []
        for event in block:
            one = judge(singly, [event], by=by)
            singly, refused = one.document, [*refused, *one.refused]
        assert singly.to_bytes() == whole.document.to_bytes()
        assert [each.code for each in refused] == [each.code for each in whole.refused]
        at = singly


@OFTEN
@given(DOCUMENTS)
def test_a_document_comes_back_from_its_bytes(document: Document) -> None:
    again = Document.from_bytes(document.to_bytes())
    assert again.to_bytes() == document.to_bytes()
    assert render(again) == render(document)
    assert changes(document, again) == ()


@OFTEN
@given(DOCUMENTS, DOCUMENTS)
def test_the_changes_between_two_documents_make_the_one_of_the_other(before: Document, after: Document) -> None:
    found = changes(before, after)
    assert len({change.path for change in found}) == len(found)
    there = {change.path: change for change in found}
    assert said(with_changes(dict(leaves(before)), found)) == said(dict(leaves(after)))
    back = {change.path: change for change in changes(after, before)}
    assert {path: (change.after, change.before) for path, change in there.items()} == {
        path: (change.before, change.after) for path, change in back.items()
    }


def with_changes(at: dict[str, Any], found: tuple[Change, ...]) -> dict[str, Any]:
    return {**at, **{change.path: change.after for change in found}}


def said(leaves_of: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """The leaves that say something, each with its type, so that 1 is not true; empty is as absent, but for values."""
    exact = {path: value for path, value in leaves_of.items() if ".attributes." in path or path.endswith(".value")}
    return {
        path: (type(value).__name__, value)
        for path, value in leaves_of.items()
        if value is not None and (path in exact or value not in ("", [], False))
    }


@OFTEN
@given(DOCUMENTS, BLOCKS)
def test_the_narrator_never_changes_what_the_player_has_locked(document: Document, block: list[Any]) -> None:
    after = judge(document, block, by="narrator").document
    assert {key: after.facts[key] for key, fact in document.facts.items() if fact.locked} == {
        key: fact for key, fact in document.facts.items() if fact.locked
    }


@OFTEN
@given(DOCUMENTS, BLOCKS, BY)
def test_nothing_is_taken_out_and_whatever_is_referred_to_exists(document: Document, block: list[Any], by: By) -> None:
    after = judge(document, block, by=by).document
    for section in ("entities", "facts", "relationships", "threads"):
        assert getattr(document, section).keys() <= getattr(after, section).keys()
    scene, facts, related = after.scene, after.facts.values(), after.relationships.values()
    named = {
        *after.possessions,
        *after.possessions.values(),
        *(entity.location for entity in after.entities.values()),
        *(fact.subject for fact in facts),
        *(fact.object for fact in facts),
        *(each.source for each in related),
        *(each.target for each in related),
        *scene.present,
        scene.location,
    }
    assert named - {None} <= after.entities.keys()


@OFTEN
@given(DOCUMENTS)
def test_a_rendering_is_headings_with_entries_below_and_bounded(document: Document) -> None:
    lines = render(document).splitlines()
    headings = [line for line in lines if not line.startswith("  ")]
    if headings and headings[0].startswith(texts.SCENE_LABEL):
        headings = headings[1:]
    assert headings == [heading for heading in texts.STATE_HEADINGS if heading in headings]
    assert not any(line.endswith(" ") or len(line) > 1200 for line in lines)
    for heading in headings:
        assert lines[lines.index(heading) + 1].startswith("  ")


@OFTEN
@given(st.lists(JSON | events(), max_size=10))
def test_any_refusals_are_told_in_a_short_note(block: list[Any]) -> None:
    refused = judge(EMPTY, block, by="narrator").refused
    note = refusal_note(refused)
    assert bool(note) == bool(refused)
    assert len(note) < 10_000
    assert note.encode("utf-8") or not refused


def is_json(event: dict[str, Any]) -> bool:
    """Whether it can be sent: a schema cannot be asked about half of a character, or what is not a number."""
    try:
        canonical_json(event)
    except ValueError:
        return False
    return True


SCHEMAS = {kind.name: jsonschema_rs.validator_for(event_schema(kind)) for kind in VOCABULARY.values()}


@OFTEN
@given(events().filter(is_json))
def test_the_schema_and_the_judgement_of_the_shape_agree(event: dict[str, Any]) -> None:
    assert SCHEMAS[event["type"]].is_valid(event) == (misshapen(event) is None)


@OFTEN
@given(DOCUMENTS)
def test_the_proposal_schema_is_a_schema_that_takes_a_block_without_events(document: Document) -> None:
    assert jsonschema_rs.validator_for(proposal_schema(document)).is_valid({"events": []})
