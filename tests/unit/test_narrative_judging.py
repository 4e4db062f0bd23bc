"""What is refused, with which code, and that what differs from it in one thing is accepted."""

import pytest

from domain.narrative.document import EMPTY, Document
from domain.narrative.judging import Outcome, judge, unjudged
from domain.narrative.refusals import CODES, SENTENCES, RefusalCode
from domain.narrative.rules import By
from domain.narrative.vocabulary import (
    ALIASES,
    LARGEST_NUMBER,
    MOST_ATTRIBUTES,
    MOST_ENTRIES,
    MOST_EVENTS,
    NAME_CHARACTERS,
    PRESENT,
    SENTENCES_CHARACTERS,
    SLUG_CHARACTERS,
    VALUE_CHARACTERS,
)
from tests.unit.test_narrative_sample import ENTERED, STATE, TOLD, Event, event, given

A_NAME = event("rename_entity", entity="vale", name="x")

# Code, an event that is refused with it, and one that is nearly the same and accepted.
PAIRS: list[tuple[RefusalCode, object, Event]] = [
    ("unknown_type", None, A_NAME),
    ("unknown_type", "rename_entity", A_NAME),
    ("unknown_type", [A_NAME], A_NAME),
    ("unknown_type", 7, A_NAME),
    ("unknown_type", {}, A_NAME),
    ("unknown_type", {**A_NAME, "type": "Rename_Entity"}, A_NAME),
    ("unknown_type", {**A_NAME, "type": ["rename_entity"]}, A_NAME),
    ("unknown_type", {**A_NAME, "type": None}, A_NAME),
    ("unknown_type", {**A_NAME, "type": "rename_entity "}, A_NAME),
    ("unknown_type", {**A_NAME, "type": "x\ud800"}, A_NAME),
    ("unknown_field", {**A_NAME, "title": "x"}, A_NAME),
    ("unknown_field", {**A_NAME, "Name": "x"}, A_NAME),
    ("unknown_field", {**A_NAME, "": None}, A_NAME),
    ("missing_field", event("rename_entity", entity="vale"), A_NAME),
    ("missing_field", event("set_possession", item="crystal"), event("set_possession", item="crystal", owner=None)),
    (
        "missing_field",
        event("set_entity_attribute", entity="vale", attribute="age"),
        event("set_entity_attribute", entity="vale", attribute="age", value=40),
    ),
    ("missing_field", event("add_fact", subject="lamp"), event("add_fact", subject="lamp", predicate="hums")),
    ("missing_field", event("set_scene", location="ceres"), event("set_scene", location="ceres", summary="")),
    ("bad_value", {**A_NAME, "name": 7}, A_NAME),
    ("bad_value", {**A_NAME, "name": None}, A_NAME),
    ("bad_value", {**A_NAME, "name": ["x"]}, A_NAME),
    ("bad_value", {**A_NAME, "name": " \n"}, A_NAME),
    ("bad_value", {**A_NAME, "name": "x\ud800"}, A_NAME),
    ("bad_value", {**A_NAME, "entity": "Doctor Vale"}, A_NAME),
    ("bad_value", {**A_NAME, "entity": "vale\n"}, A_NAME),
    ("bad_value", {**A_NAME, "entity": ""}, A_NAME),
    ("bad_value", {**A_NAME, "entity": None}, A_NAME),
    (
        "bad_value",
        event("create_entity", entity="Oren", entity_type="character", name="Oren"),
        event("create_entity", entity="oren", entity_type="character", name="Oren"),
    ),
    (
        "bad_value",
        event("create_entity", entity="oren", entity_type="Character", name="Oren"),
        event("create_entity", entity="oren", entity_type="tide-reader_2", name="Oren"),
    ),
    (
        "bad_value",
        event("create_entity", entity="oren", entity_type="character", name="Oren", aliases="Ori"),
        event("create_entity", entity="oren", entity_type="character", name="Oren", aliases=["Ori"]),
    ),
    (
        "bad_value",
        event("create_entity", entity="oren", entity_type="character", name="Oren", aliases=[7]),
        event("create_entity", entity="oren", entity_type="character", name="Oren", aliases=None),
    ),
    (
        "bad_value",
        event("set_entity_attribute", entity="vale", attribute="age", value=[40]),
        event("set_entity_attribute", entity="vale", attribute="age", value="40"),
    ),
    (
        "bad_value",
        event("set_entity_attribute", entity="vale", attribute="age", value=float("nan")),
        event("set_entity_attribute", entity="vale", attribute="age", value=True),
    ),
    (
        "bad_value",
        event("set_current_location", entity="lamp", location=None),
        event("set_current_location", entity="lamp", location="vale"),
    ),
    ("bad_value", event("set_scene", summary="x", present="vale"), event("set_scene", summary="x", present=[])),
    ("bad_value", event("set_scene", summary="x", present=[None]), event("set_scene", summary="x", present=None)),
    ("too_large", {**A_NAME, "name": "x" * (NAME_CHARACTERS + 1)}, {**A_NAME, "name": "x" * NAME_CHARACTERS}),
    (
        "too_large",
        event("describe_entity", entity="vale", description="x" * (SENTENCES_CHARACTERS + 1)),
        event("describe_entity", entity="vale", description="x" * SENTENCES_CHARACTERS),
    ),
    (
        "too_large",
        event("create_entity", entity="x" * (SLUG_CHARACTERS + 1), entity_type="item", name="x"),
        event("create_entity", entity="x" * SLUG_CHARACTERS, entity_type="item", name="x"),
    ),
    (
        "too_large",
        event("create_entity", entity="oren", entity_type="character", name="Oren", aliases=["x"] * (ALIASES + 1)),
        event("create_entity", entity="oren", entity_type="character", name="Oren", aliases=["x"] * ALIASES),
    ),
    (
        "too_large",
        event("set_scene", summary="x", present=["vale"] * (PRESENT + 1)),
        event("set_scene", summary="x", present=["vale"] * PRESENT),
    ),
    (
        "too_large",
        event("set_entity_attribute", entity="vale", attribute="age", value=LARGEST_NUMBER + 1),
        event("set_entity_attribute", entity="vale", attribute="age", value=LARGEST_NUMBER),
    ),
    (
        "too_large",
        event("set_entity_attribute", entity="vale", attribute="age", value=float("-inf")),
        event("set_entity_attribute", entity="vale", attribute="age", value=-0.5),
    ),
    (
        "too_large",
        event("add_fact", predicate="reads", value="x" * (VALUE_CHARACTERS + 1)),
        event("add_fact", predicate="reads", value="x" * VALUE_CHARACTERS),
    ),
    ("unknown_reference", {**A_NAME, "entity": "oren"}, A_NAME),
    (
        "unknown_reference",
        event("set_possession", item="sock", owner="vale"),
        event("set_possession", item="lamp", owner="vale"),
    ),
    (
        "unknown_reference",
        event("set_possession", item="lamp", owner="oren"),
        event("set_possession", item="lamp", owner="ceres"),
    ),
    (
        "unknown_reference",
        event("set_current_location", entity="vale", location="mars"),
        event("set_current_location", entity="vale", location="lamp"),
    ),
    (
        "unknown_reference",
        event("add_fact", subject="oren", predicate="hums"),
        event("add_fact", subject=None, predicate="hums"),
    ),
    (
        "unknown_reference",
        event("add_fact", subject="lamp", predicate="lights", object="mars"),
        event("add_fact", subject="lamp", predicate="lights", object="ceres"),
    ),
    ("unknown_reference", event("invalidate_fact", fact_id="f9"), event("invalidate_fact", fact_id="f1")),
    (
        "unknown_reference",
        event("set_relationship", source="imani", relationship="knows", target="oren"),
        event("set_relationship", source="imani", relationship="knows", target="imani"),
    ),
    (
        "unknown_reference",
        event("end_relationship", relationship_id="r9"),
        event("end_relationship", relationship_id="r1"),
    ),
    ("unknown_reference", event("resolve_thread", thread="new"), event("resolve_thread", thread="missing-log")),
    (
        "unknown_reference",
        event("set_scene", summary="x", location="mars"),
        event("set_scene", summary="x", location="vale"),
    ),
    (
        "unknown_reference",
        event("set_scene", summary="x", present=["vale", "oren"]),
        event("set_scene", summary="x", present=["vale", "lamp"]),
    ),
    (
        "wrong_entity_type",
        event("set_possession", item="lamp", owner="f1"),
        event("set_possession", item="lamp", owner="ceres"),
    ),
    (
        "wrong_entity_type",
        event("set_possession", item="lamp", owner="lamp"),
        event("set_possession", item="lamp", owner="crystal"),
    ),
    (
        "wrong_entity_type",
        event("set_current_location", entity="lamp", location="lamp"),
        event("set_current_location", entity="lamp", location="crystal"),
    ),
    (
        "wrong_entity_type",
        event("set_current_location", entity="lamp", location="missing-log"),
        event("set_current_location", entity="lamp", location="imani"),
    ),
    ("wrong_entity_type", event("invalidate_fact", fact_id="r1"), event("invalidate_fact", fact_id="f1")),
    (
        "wrong_entity_type",
        event("end_relationship", relationship_id="f1"),
        event("end_relationship", relationship_id="r1"),
    ),
    ("wrong_entity_type", event("resolve_thread", thread="vale"), event("resolve_thread", thread="missing-log")),
    (
        "duplicate_entity",
        event("create_entity", entity="vale", entity_type="character", name="Another"),
        event("create_entity", entity="vale-2", entity_type="character", name="Doctor Vale"),
    ),
    (
        "duplicate_entity",
        event("add_fact", predicate="hums", fact_id="f1"),
        event("add_fact", predicate="hums", fact_id="r1"),
    ),
    (
        "duplicate_entity",
        event("add_fact", predicate="hums", fact_id="f2"),
        event("add_fact", predicate="hums", fact_id="f20"),
    ),
    (
        "duplicate_entity",
        event("add_fact", subject="crystal", predicate="Belongs  to", object="imani", fact_id="mine"),
        event("add_fact", subject="crystal", predicate="belonged to", object="imani", fact_id="mine"),
    ),
    (
        "duplicate_entity",
        event("set_relationship", source="imani", relationship="distrusts", target="vale", relationship_id="mine"),
        event("set_relationship", source="vale", relationship="distrusts", target="imani", relationship_id="mine"),
    ),
    (
        "duplicate_entity",
        event("open_thread", thread="missing-log", title="Who erased the log"),
        event("open_thread", thread="missing-key", title="Who erased the log"),
    ),
    ("already_resolved", event("invalidate_fact", fact_id="f2"), event("invalidate_fact", fact_id="f1")),
    ("already_resolved", event("invalidate_fact", fact_id="f4"), event("invalidate_fact", fact_id="f1")),
    (
        "already_resolved",
        event("end_relationship", relationship_id="r2"),
        event("end_relationship", relationship_id="r1"),
    ),
    ("already_resolved", event("resolve_thread", thread="old-debt"), event("resolve_thread", thread="missing-log")),
    (
        "already_resolved",
        event("open_thread", thread="old-debt", title="What Vale owes"),
        event("open_thread", thread="new-debt", title="What Vale owes"),
    ),
    ("locked", event("invalidate_fact", fact_id="f3"), event("invalidate_fact", fact_id="f1")),
    (
        "locked",
        event("add_fact", subject="vale", predicate="was born on", object="lamp"),
        event("add_fact", subject="vale", predicate="was raised on", object="lamp"),
    ),
    (
        "locked",
        event("add_fact", subject="vale", predicate="Was born  on", value="Mars"),
        event("add_fact", subject="imani", predicate="Was born  on", value="Mars"),
    ),
    (
        "locked",
        event("add_fact", predicate="The docks are closed"),
        event("add_fact", predicate="The docks are closed", value="at night"),
    ),
]


@pytest.mark.parametrize(("code", "refused", "_"), PAIRS)
def test_it_is_refused(code: RefusalCode, refused: object, _: Event) -> None:
    given().when(refused).then_refused(code)


@pytest.mark.parametrize(("_", "__", "nearly"), PAIRS)
def test_what_is_nearly_the_same_is_accepted(_: RefusalCode, __: object, nearly: Event) -> None:
    judgement = given().when(nearly).judgement
    assert (judgement.outcome, judgement.accepted, judgement.refused) == ("applied", (nearly,), ())


def test_every_code_is_refused_with_and_has_a_sentence() -> None:
    assert {code for code, _, _ in PAIRS} == set(CODES) == set(SENTENCES)
    assert len(CODES) == 10


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (event("no_such", entity="oren", extra=1), "unknown_type"),
        (event("rename_entity", entity=7, extra=1), "unknown_field"),
        (event("rename_entity", entity=7), "missing_field"),
        (event("rename_entity", entity="oren", name=7), "bad_value"),
        (event("set_possession", item="f1", owner="oren"), "unknown_reference"),
        (event("set_possession", item="f1", owner="f1"), "wrong_entity_type"),
        (event("open_thread", thread="missing-log", title=""), "bad_value"),
    ],
)
def test_of_several_reasons_the_first_in_order_is_given(wrong: Event, code: RefusalCode) -> None:
    given().when(wrong).then_refused(code)


@pytest.mark.parametrize(("_", "refused", "__"), PAIRS)
def test_a_refused_event_takes_no_good_one_with_it(_: RefusalCode, refused: object, __: Event) -> None:
    before, after = event("create_entity", entity="stool", entity_type="item", name="Stool"), A_NAME
    judgement = given().when(before, refused, after).judgement
    assert judgement.outcome == "partly_applied"
    assert judgement.accepted == (before, after)
    assert [each.event for each in judgement.refused] == [refused]
    assert judgement.document == given().when(before, after).judgement.document


@pytest.mark.parametrize(("_", "refused", "__"), PAIRS)
def test_the_detail_is_a_short_text_of_whole_sentences_on_one_line(_: RefusalCode, refused: object, __: Event) -> None:
    (only,) = given().when(refused).judgement.refused
    assert only.detail.endswith(".")
    assert only.detail.splitlines() == [only.detail]
    assert len(only.detail) < 300
    assert only.detail.encode()


def test_what_an_earlier_event_of_the_block_creates_exists() -> None:
    given(after=EMPTY).when(
        event("create_entity", entity="oren", entity_type="character", name="Oren"),
        event("create_entity", entity="hold", entity_type="vehicle", name="Hold"),
        event("set_current_location", entity="oren", location="hold"),
        event("add_fact", subject="oren", predicate="is ready", fact_id="ready"),
        event("invalidate_fact", fact_id="ready"),
    ).then(
        entities__oren__type="character",
        entities__oren__name="Oren",
        entities__oren__location="hold",
        entities__hold__type="vehicle",
        entities__hold__name="Hold",
        facts__ready__subject="oren",
        facts__ready__predicate="is ready",
        facts__ready__status="withdrawn",
    )


def test_what_a_refused_event_would_have_created_does_not_exist() -> None:
    created = event("create_entity", entity="oren", entity_type="character", name="")
    judgement = given().when(created, event("set_possession", item="lamp", owner="oren")).judgement
    assert [refused.code for refused in judgement.refused] == ["bad_value", "unknown_reference"]


OUTCOMES: list[tuple[Outcome, list[object]]] = [
    ("empty", []),
    ("empty", [event("add_fact", subject="crystal", predicate="belongs to", object="imani")]),
    ("empty", [event("set_possession", item="crystal", owner="imani")]),
    ("empty", [event("set_possession", item="lamp", owner="vale"), event("set_possession", item="lamp", owner=None)]),
    ("applied", [event("set_possession", item="crystal", owner=None)]),
    ("applied", [event("set_possession", item="crystal", owner="imani"), A_NAME]),
    ("partly_applied", [A_NAME, 7]),
    ("partly_applied", [event("set_possession", item="crystal", owner="imani"), 7]),
    ("refused", [7]),
]


@pytest.mark.parametrize(("outcome", "events"), OUTCOMES)
def test_the_outcome_says_what_became_of_the_block(outcome: Outcome, events: list[object]) -> None:
    assert given().when(*events).judgement.outcome == outcome


def test_a_reply_without_events_leaves_the_document() -> None:
    assert unjudged(STATE, "absent").document is STATE
    assert unjudged(STATE, "unparseable").outcome == "unparseable"


def test_the_player_may_do_to_a_locked_fact_what_the_narrator_may_not() -> None:
    for code, refused, _ in PAIRS:
        if code == "locked":
            assert given().when(refused, by="player").judgement.outcome == "applied"


def test_events_behind_the_most_of_a_block_are_refused() -> None:
    events = [event("rename_entity", entity="vale", name=f"{number}") for number in range(10_000)]
    judgement = judge(STATE, events, by="narrator")
    assert len(judgement.accepted) == MOST_EVENTS
    assert {refused.code for refused in judgement.refused} == {"too_large"}
    assert [refused.event for refused in judgement.refused] == events[MOST_EVENTS:]
    assert judgement.document.entities["vale"].name == f"{MOST_EVENTS - 1}"


@pytest.mark.parametrize(
    "one_more",
    [
        event("create_entity", entity="new", entity_type="item", name="x"),
        event("add_fact", predicate="hums"),
        event("set_relationship", source="vale", relationship="knows", target="imani"),
        event("open_thread", thread="new", title="x"),
    ],
)
def test_a_document_grows_so_far_and_no_further(one_more: Event) -> None:
    def grown(to: int) -> Document:
        fill = {f"x{number}": next(iter(STATE.entities.values())) for number in range(to)}
        facts = {f"x{number}": STATE.facts["f2"] for number in range(to)}
        related = {f"x{number}": STATE.relationships["r2"] for number in range(to)}
        threads = {f"x{number}": STATE.threads["old-debt"] for number in range(to)}
        return Document({**STATE.entities, **fill}, {}, facts, related, threads)

    given(after=grown(MOST_ENTRIES)).when(one_more).then_refused("too_large")
    assert given(after=grown(MOST_ENTRIES - 1 - len(STATE.entities))).when(one_more).judgement.outcome == "applied"


def test_an_entity_has_so_many_attributes_and_no_more() -> None:
    full = given(
        *(
            event("set_entity_attribute", entity="vale", attribute=f"a{number}", value=number)
            for number in range(MOST_ATTRIBUTES)
        )
    )
    full.when(event("set_entity_attribute", entity="vale", attribute="one more", value=1)).then_refused("too_large")
    full.when(event("set_entity_attribute", entity="vale", attribute="one more", value=None)).then_nothing()
    full.when(event("set_entity_attribute", entity="vale", attribute="a0", value=7)).then(
        entities__vale__attributes__a0=7
    )


@pytest.mark.parametrize("by", ["narrator", "player"])
def test_one_by_one_is_as_all_at_once(by: By) -> None:
    at = EMPTY
    for each in (*TOLD, *ENTERED):
        at = judge(at, [each], by=by).document
    assert at.to_bytes() == judge(EMPTY, [*TOLD, *ENTERED], by=by).document.to_bytes()
