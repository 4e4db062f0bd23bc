"""How two documents differ, and the leaves of one."""

import time
from collections.abc import Callable

import pytest

from domain.narrative.changes import changes, covers, escaped, leaf, leaves
from domain.narrative.document import EMPTY, Document, Entity, Fact
from tests.unit.test_narrative_sample import STATE, accepted, event


def shown(before: Document, after: Document) -> list[dict[str, object]]:
    return [change.to_json() for change in changes(before, after)]


def test_a_change_is_a_leaf_before_and_after() -> None:
    after = accepted(STATE, event("set_possession", item="lamp", owner="vale"))
    assert shown(STATE, after) == [{"path": "possessions.lamp", "before": None, "after": "vale"}]
    assert shown(after, STATE) == [{"path": "possessions.lamp", "before": "vale", "after": None}]


def test_a_document_does_not_differ_from_itself_nor_from_its_copy() -> None:
    assert changes(STATE, STATE) == ()
    assert changes(STATE, Document.from_bytes(STATE.to_bytes())) == ()


def test_changes_come_by_section_then_in_the_order_of_the_documents() -> None:
    after = accepted(
        STATE,
        event("set_scene", summary="Night."),
        event("add_fact", predicate="x"),
        event("create_entity", entity="aa", entity_type="item", name="A"),
        event("set_entity_status", entity="vale", status="awake"),
        event("rename_entity", entity="imani", name="Imani"),
    )
    assert [change.path for change in changes(STATE, after)] == [
        "entities.imani.name",
        "entities.vale.status",
        "entities.aa.type",
        "entities.aa.name",
        "facts.f5.predicate",
        "facts.f5.status",
        "scene.summary",
        "scene.location",
        "scene.present",
    ]


def test_order_alone_is_no_difference() -> None:
    there = accepted(
        STATE, event("set_possession", item="crystal", owner=None), event("set_possession", item="lamp", owner="vale")
    )
    again = accepted(there, event("set_possession", item="crystal", owner="imani"))
    plain = accepted(STATE, event("set_possession", item="lamp", owner="vale"))
    assert list(again.possessions) != list(plain.possessions)
    assert changes(again, plain) == ()


def test_the_empty_fields_of_what_is_new_are_no_news() -> None:
    created = accepted(STATE, event("create_entity", entity="moth", entity_type="creature", name="Moth"))
    assert [change.path for change in changes(STATE, created)] == ["entities.moth.type", "entities.moth.name"]


def test_an_empty_field_that_was_not_empty_is() -> None:
    bare = accepted(STATE, event("set_entity_status", entity="vale", status=""))
    assert shown(STATE, bare) == [{"path": "entities.vale.status", "before": "asleep", "after": ""}]


@pytest.mark.parametrize("value", ["", 0, False])
def test_an_empty_attribute_or_value_is_news_all_the_same(value: str | float | bool) -> None:
    without = Document(entities={"vale": Entity("character", "Vale")}, facts={"f1": Fact("count")})
    with_it = Document(
        entities={"vale": Entity("character", "Vale", attributes={"x": value})},
        facts={"f1": Fact("count", value=value)},
    )
    assert [change.path for change in changes(without, with_it)] == ["entities.vale.attributes.x", "facts.f1.value"]


def test_numbers_and_truth_values_are_told_apart() -> None:
    def of(value: float | bool) -> Document:
        return Document(facts={"f1": Fact("count", value=value)})

    assert len(changes(of(1), of(True))) == len(changes(of(1), of(1.0))) == len(changes(of(False), of(0))) == 1
    assert changes(of(1), of(1)) == ()


@pytest.mark.parametrize(("name", "path"), [("rank", "rank"), ("a.b", "a~1b"), ("a~1b", "a~01b"), ("~.", "~0~1")])
def test_a_dot_in_the_name_of_an_attribute_is_escaped(name: str, path: str) -> None:
    assert escaped(name) == path
    document = accepted(STATE, event("set_entity_attribute", entity="vale", attribute=name, value=7))
    assert leaf(document, f"entities.vale.attributes.{path}") == 7


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("entities.imani.location", "ceres"),
        ("entities.imani.aliases", ["Imani"]),
        ("entities.imani.attributes.rank", 3),
        ("entities.lamp.status", ""),
        ("possessions.crystal", "imani"),
        ("facts.f1.status", "active"),
        ("facts.f3.locked", True),
        ("facts.f1.value", None),
        ("relationships.r1.type", "distrusts"),
        ("threads.missing-log.status", "open"),
        ("scene.summary", "Rain on the dome."),
        ("scene.present", ["imani", "vale"]),
        # Where there is no leaf.
        ("possessions.lamp", None),
        ("possessions.crystal.imani", None),
        ("entities.imani", None),
        ("entities.oren.name", None),
        ("entities", None),
        ("scene", None),
        ("", None),
        (".", None),
        ("entities..name", None),
        ("corrected", None),
    ],
)
def test_a_leaf_is_found_by_its_path(path: str, value: object) -> None:
    assert leaf(STATE, path) == value
    assert dict(leaves(STATE)).get(path) == value


@pytest.mark.parametrize("under", ["", "entities", "entities.imani", "entities.imani.attributes", "scene", "facts.f1"])
def test_the_leaves_under_a_path_are_those_that_it_covers(under: str) -> None:
    expected = [(path, value) for path, value in leaves(STATE) if covers(under, path)]
    assert list(leaves(STATE, under)) == expected != []


@pytest.mark.parametrize("under", ["entities.ima", "entitie", "scene.summary.x", "nothing", "facts.f9"])
def test_there_are_no_leaves_under_what_does_not_exist(under: str) -> None:
    assert list(leaves(STATE, under)) == []


def test_no_two_leaves_have_one_path() -> None:
    paths = [path for path, _ in leaves(STATE)]
    assert len(paths) == len(set(paths))


def test_the_empty_document_has_the_leaves_of_its_scene() -> None:
    assert dict(leaves(EMPTY)) == {"scene.summary": "", "scene.location": None, "scene.present": []}


def least(act: Callable[[], object]) -> float:
    def once() -> float:
        began = time.perf_counter()
        act()
        return time.perf_counter() - began

    return min(once() for _ in range(5))


def test_a_leaf_and_a_change_of_a_large_document_are_found_without_reading_it() -> None:
    large = Document(
        entities={f"e{number}": Entity("item", f"E {number}") for number in range(10_000)},
        facts={f"f{number}": Fact("x") for number in range(10_000)},
    )
    whole = least(lambda: list(leaves(large)))
    after = accepted(large, event("rename_entity", entity="e9", name="x"))
    assert least(lambda: leaf(large, "entities.e9000.name")) < whole / 100
    assert least(lambda: changes(large, after)) < whole / 5
