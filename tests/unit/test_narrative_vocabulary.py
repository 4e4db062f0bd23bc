"""The table of state events, and that the schemas derived from it agree with what is accepted."""

import re
from typing import Any

import jsonschema_rs
import pytest

from domain.narrative.document import EMPTY, Document
from domain.narrative.judging import judge
from domain.narrative.proposal_schema import MOST_OFFERED, MOST_PROPOSED, proposal_schema
from domain.narrative.rule import compact
from domain.narrative.schema import event_schema, events_schema, vocabulary_table
from domain.narrative.shape import misshapen
from domain.narrative.vocabulary import EVENT_TYPES, VOCABULARY, EventType
from tests.unit.test_narrative_sample import EXISTING, STATE, event, filled, whole

KINDS = list(VOCABULARY.values())
by_type = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


class TestTheTable:
    def test_names_the_types_of_the_page(self) -> None:
        assert list(VOCABULARY) == [
            "create_entity",
            "rename_entity",
            "describe_entity",
            "set_entity_status",
            "set_entity_attribute",
            "set_possession",
            "set_current_location",
            "add_fact",
            "invalidate_fact",
            "set_relationship",
            "end_relationship",
            "open_thread",
            "resolve_thread",
            "set_scene",
        ]
        assert set(VOCABULARY) == EVENT_TYPES

    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            ("create_entity", "entity, entity_type, name, description?, aliases[]?"),
            ("rename_entity", "entity, name"),
            ("describe_entity", "entity, description"),
            ("set_entity_status", "entity, status"),
            ("set_entity_attribute", "entity, attribute, value"),
            ("set_possession", "item, owner"),
            ("set_current_location", "entity, location"),
            ("add_fact", "predicate, subject?, object?, value?, fact_id?"),
            ("invalidate_fact", "fact_id, reason?"),
            ("set_relationship", "source, relationship, target, relationship_id?"),
            ("end_relationship", "relationship_id, reason?"),
            ("open_thread", "thread, title"),
            ("resolve_thread", "thread, outcome?"),
            ("set_scene", "summary, location?, present[]?"),
        ],
    )
    def test_has_the_fields_of_the_page(self, kind: str, fields: str) -> None:
        row = next(row for row in vocabulary_table().splitlines() if row.startswith(f"| `{kind}` |"))
        assert re.sub(r" \([^)]*\)", "", row.split(" | ")[1]) == fields

    def test_is_written_as_a_table_with_a_row_a_type(self) -> None:
        rows = vocabulary_table().splitlines()
        assert len(rows) == len(VOCABULARY) + 2
        assert {row.count("|") for row in rows} == {4}

    @by_type
    def test_says_what_is_accepted(self, kind: EventType) -> None:
        assert judge(STATE, [whole(kind)], by="narrator").outcome == "applied"

    @by_type
    def test_says_which_fields_may_be_left_out_or_null(self, kind: EventType) -> None:
        for field in kind.fields:
            rest = {name: value for name, value in whole(kind).items() if name != field.name}
            without, null = misshapen(rest), misshapen({**rest, field.name: None})
            assert (without is None) == field.optional
            assert (null is None) == field.may_be_null

    @by_type
    def test_says_how_large_a_field_may_be(self, kind: EventType) -> None:
        for field in kind.fields:
            if field.entries is None and field.refers_to is not None:
                continue
            refusal = misshapen({**whole(kind), field.name: filled(field, 1)})
            assert refusal is not None
            assert refusal.code == "too_large"


class TestTheSchema:
    @by_type
    def test_of_a_type_takes_what_is_accepted_and_nothing_of_another_shape(self, kind: EventType) -> None:
        schema = jsonschema_rs.validator_for(event_schema(kind))
        good = whole(kind)
        wrong: list[Any] = [None, [], "x", {}, {**good, "type": "x"}, {**good, "extra": 1}]
        wrong += [{key: value for key, value in good.items() if key != field.name} for field in kind.required]
        wrong += [{**good, field.name: [{}]} for field in kind.fields]
        wrong += [
            {**good, field.name: filled(field, 1)}
            for field in kind.fields
            if field.refers_to is None or field.entries is not None
        ]
        assert schema.is_valid(good)
        assert [each for each in wrong if schema.is_valid(each)] == []
        assert [each for each in wrong if misshapen(each) is None] == []

    def test_of_a_block_takes_events_of_every_type(self) -> None:
        schema = jsonschema_rs.validator_for(events_schema())
        assert schema.is_valid([whole(kind) for kind in KINDS])
        assert schema.is_valid([])
        assert not schema.is_valid([7])


def cut(text: str) -> str:
    """An id that exists as it is, any other text short enough for the schema."""
    return text if text in EXISTING.values() else text[:30]


class TestTheProposalSchema:
    def test_takes_a_block_of_what_exists(self) -> None:
        schema = jsonschema_rs.validator_for(proposal_schema(STATE))
        assert schema.is_valid({"events": []})
        assert schema.is_valid({"events": [event("set_possession", item="lamp", owner=None)]})
        assert not schema.is_valid({"events": [event("set_possession", item="lamp", owner="oren")]})
        assert not schema.is_valid({"events": [{}] * (MOST_PROPOSED + 1)})
        assert not schema.is_valid([])

    def test_offers_what_can_be_withdrawn_ended_or_resolved(self) -> None:
        offered = {name: one["enum"] for name, one in proposal_schema(STATE)["$defs"].items()}
        assert offered == {
            "entities": ["imani", "vale", "ceres", "crystal", "lamp"],
            "facts": ["f1"],
            "relationships": ["r1"],
            "threads": ["missing-log"],
            "types": ["character", "location", "item", "vehicle", "organization", "creature", "concept"],
        }

    def test_of_an_empty_document_leaves_out_what_has_nothing_to_refer_to(self) -> None:
        schema = proposal_schema(EMPTY)
        kinds = {one["properties"]["type"]["const"]: one for one in schema["properties"]["events"]["items"]["anyOf"]}
        assert set(kinds) == {"create_entity", "add_fact", "open_thread", "set_scene"}
        assert set(kinds["add_fact"]["properties"]) == {"type", "predicate", "value"}
        assert set(kinds["set_scene"]["properties"]) == {"type", "summary"}

    def test_offers_so_many_ids_the_newest(self) -> None:
        many = Document(entities={f"e{number}": STATE.entities["lamp"] for number in range(1000)})
        offered = proposal_schema(many)["$defs"]["entities"]["enum"]
        assert offered == [f"e{number}" for number in range(1000 - MOST_OFFERED, 1000)]
        assert len(compact(proposal_schema(many))) < 8000

    @by_type
    def test_takes_events_that_are_accepted(self, kind: EventType) -> None:
        schema = jsonschema_rs.validator_for(proposal_schema(STATE))
        ids = {"fact_id", "relationship_id"} if kind.name in ("add_fact", "set_relationship") else set()
        short = {
            name: [cut(value[0])] if isinstance(value, list) else cut(value)
            for name, value in whole(kind).items()
            if name not in ids
        }
        short |= {"entity_type": "item"} if kind.name == "create_entity" else {}
        assert schema.is_valid({"events": [short]})
        assert judge(STATE, [short], by="narrator").outcome == "applied"

    @pytest.mark.parametrize("document", [EMPTY, STATE])
    def test_uses_what_grammars_are_made_of_and_nothing_else(self, document: Document) -> None:
        assert keywords(proposal_schema(document)) <= {
            *("type", "properties", "required", "additionalProperties", "items", "maxItems", "anyOf"),
            *("const", "enum", "minLength", "maxLength", "pattern", "$ref", "$defs"),
        }


def keywords(schema: Any) -> set[str]:
    """The keywords of a schema, those of the schemas within it included."""
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    inner += [schema["items"]] if "items" in schema else []
    return set(schema).union(*map(keywords, inner))
