"""Which event set a leaf, and the life of a leaf."""

from collections.abc import Mapping
from typing import Any

import pytest

from domain.narrative.changes import leaves
from domain.narrative.course import Accepted, Told
from domain.narrative.document import EMPTY
from domain.narrative.history import Setting, cause_of, settings
from domain.narrative.rules import By
from tests.unit.test_narrative_sample import ENTERED, STATE, TOLD, event

COURSE = (Told(3, TOLD[:8], "narrator", 5), Told(5, TOLD[8:], "narrator", 9), Told(5, ENTERED, "player", 11))


def course(*blocks: Accepted, by: Mapping[int, By] | None = None) -> list[Told]:
    """Blocks at the nodes 3, 5, 7…, told by the narrator where `by` names nobody else."""
    nodes = range(3, 3 + 2 * len(blocks), 2)
    told_by = by or {}
    return [Told(node, block, told_by.get(node, "narrator"), node) for node, block in zip(nodes, blocks, strict=True)]


def life(told: list[Told], path: str) -> list[tuple[Any, ...]]:
    return [(each.told.node, each.before, each.after) for each in settings(told, path) if each.changed]


def cause(told: list[Told], path: str) -> Setting:
    found = cause_of(told, path)
    assert found is not None
    return found


MADE = (
    event("create_entity", entity="a", entity_type="item", name="A"),
    event("create_entity", entity="b", entity_type="character", name="B"),
)


@pytest.mark.parametrize("path", [path for path, _ in leaves(STATE)])
def test_every_leaf_has_the_event_that_gave_it_its_value(path: str) -> None:
    found = cause(list(COURSE), path)
    assert found.after == dict(leaves(STATE))[path]
    assert found.event in found.told.accepted


@pytest.mark.parametrize(
    ("path", "kind", "at"),
    [
        ("entities.imani.name", "create_entity", 5),
        ("entities.imani.description", "create_entity", 5),
        ("entities.vale.name", "rename_entity", 11),
        ("entities.vale.status", "set_entity_status", 5),
        ("entities.imani.location", "set_current_location", 5),
        ("entities.ceres.location", "create_entity", 5),
        ("entities.imani.attributes.rank", "set_entity_attribute", 9),
        ("possessions.crystal", "set_possession", 9),
        ("facts.f1.predicate", "add_fact", 9),
        ("facts.f2.predicate", "add_fact", 9),
        ("facts.f2.status", "invalidate_fact", 9),
        ("facts.f2.reason", "invalidate_fact", 9),
        ("facts.f3.locked", "add_fact", 11),
        ("facts.f4.locked", "add_fact", 11),
        ("facts.f4.status", "invalidate_fact", 11),
        ("relationships.r2.type", "set_relationship", 9),
        ("relationships.r2.status", "end_relationship", 9),
        ("threads.old-debt.outcome", "resolve_thread", 9),
        ("threads.missing-log.outcome", "open_thread", 9),
        ("scene.summary", "set_scene", 9),
    ],
)
def test_the_newest_that_changed_it(path: str, kind: str, at: int) -> None:
    found = cause(list(COURSE), path)
    assert (found.event["type"], found.told.at) == (kind, at)
    assert found.told.by == ("player" if at == 11 else "narrator")


def test_what_says_so_again_sets_nothing() -> None:
    held = event("set_possession", item="a", owner="b")
    told = course((*MADE, held), (held,), (held,), by={7: "player"})
    assert cause(told, "possessions.a").told.node == 3
    assert life(told, "possessions.a") == [(3, None, "b")]


def test_of_two_events_of_one_block_the_later_one() -> None:
    block = (
        *MADE,
        event("set_entity_status", entity="a", status="x"),
        event("set_entity_status", entity="a", status="y"),
    )
    found = cause(course(block), "entities.a.status")
    assert (found.number, found.before, found.after) == (3, "x", "y")
    assert found.document == EMPTY
    assert [each.number for each in settings(course(block), "entities.a.status")] == [0, 2, 3]


def test_what_a_block_changed_and_changed_back_was_set_by_it() -> None:
    held = event("set_possession", item="a", owner="b")
    told = course((*MADE, held), (event("set_possession", item="a", owner=None), held))
    assert life(told, "possessions.a") == [(3, None, "b"), (5, "b", None), (5, None, "b")]
    assert cause(told, "possessions.a").told.node == 5
    status = [event("set_entity_status", entity="a", status=each) for each in ("x", "y", "x")]
    assert cause(course((*MADE, status[0]), tuple(status[1:])), "entities.a.status").told.node == 5


def test_a_leaf_that_is_gone_was_taken_away_by_something() -> None:
    block = (
        *MADE,
        event("set_possession", item="a", owner="b"),
        event("set_entity_attribute", entity="a", attribute="x.y", value=1),
    )
    freed = (
        event("set_possession", item="a", owner=None),
        event("set_entity_attribute", entity="a", attribute="x.y", value=None),
    )
    told = course(block, freed, by={5: "player"})
    assert life(told, "possessions.a") == [(3, None, "b"), (5, "b", None)]
    assert life(told, "entities.a.attributes.x~1y") == [(3, None, 1), (5, 1, None)]
    assert cause(told, "possessions.a").event == freed[0]


def test_values_are_told_apart_as_json_does() -> None:
    said = [(event("set_entity_attribute", entity="a", attribute="n", value=value),) for value in (1, True, True, 1.0)]
    assert life(course(MADE, *said), "entities.a.attributes.n") == [(5, None, 1), (7, 1, True), (11, True, 1.0)]


def test_the_scene_is_as_every_story_begins_until_something_says_how_it_is() -> None:
    assert cause_of(course(MADE), "scene.location") is None
    told = course(MADE, (event("set_scene", summary="Rain."),), (event("set_scene", summary="Rain.", present=["b"]),))
    assert cause(told, "scene.location").told.node == 5
    assert cause(told, "scene.summary").told.node == 5
    assert cause(told, "scene.present").told.node == 7
    assert life(told, "scene.location") == []
    assert life(told, "scene") == [(5, "", "Rain."), (7, [], ["b"])]


def test_a_confirmation_locks_and_sets_nothing_else() -> None:
    fact = event("add_fact", subject="a", predicate="is old")
    told = course((*MADE, fact), (fact,), by={5: "player"})
    assert cause(told, "facts.f1.locked").told.by == "player"
    assert cause(told, "facts.f1.predicate").told.by == "narrator"


def test_a_path_covers_what_is_below_it_and_no_more() -> None:
    told = course((*MADE, event("create_entity", entity="a-b", entity_type="item", name="C")))
    assert {each.path.split(".")[1] for each in settings(told, "entities.a")} == {"a"}
    assert {each.path.split(".")[1] for each in settings(told)} == {"a", "a-b", "b"}
    assert not list(settings(told, "possessions"))


def test_what_no_longer_stands_on_anything_has_set_nothing() -> None:
    """As when the narration that made an entity was reread without it."""
    told = course((MADE[0],), (event("set_possession", item="a", owner="b"),))
    assert cause_of(told, "possessions.a") is None
