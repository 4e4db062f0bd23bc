"""What each accepted event makes of a document."""

import pytest

from domain.narrative.applying import applied
from domain.narrative.document import EMPTY, Document, Fact, free_id
from tests.unit.test_narrative_sample import ENTERED, STATE, TOLD, accepted, event, given


class TestEntities:
    def test_are_created_with_what_is_said_of_them(self) -> None:
        said = {"entity_type": "creature", "name": "Moth", "description": "Grey.", "aliases": ["Mo", "Mo", "M"]}
        given().when(event("create_entity", entity="moth", **said)).then(
            entities__moth__type="creature",
            entities__moth__name="Moth",
            entities__moth__description="Grey.",
            entities__moth__aliases=["Mo", "M"],
        )

    def test_have_no_more_than_that(self) -> None:
        moth = accepted(STATE, event("create_entity", entity="moth", entity_type="creature", name="Moth"))
        assert moth.to_json()["entities"]["moth"] == {
            "type": "creature",
            "name": "Moth",
            "description": "",
            "aliases": [],
            "status": "",
            "attributes": {},
            "location": None,
        }

    def test_change_in_what_the_event_names(self) -> None:
        given().when(event("rename_entity", entity="lamp", name="The lamp")).then(entities__lamp__name="The lamp")
        given().when(event("describe_entity", entity="lamp", description="")).then_nothing()
        given().when(event("describe_entity", entity="lamp", description="Brass.")).then(
            entities__lamp__description="Brass."
        )
        given().when(event("set_entity_status", entity="vale", status="")).then(entities__vale__status="")
        given().when(event("set_current_location", entity="lamp", location="vale")).then(
            entities__lamp__location="vale"
        )

    def test_lose_an_attribute_by_null(self) -> None:
        given().when(event("set_entity_attribute", entity="imani", attribute="rank", value=None)).then(
            entities__imani__attributes__rank=None
        )
        given().when(event("set_entity_attribute", entity="imani", attribute="age", value=None)).then_nothing()

    @pytest.mark.parametrize("value", ["", "3", 3.5, 0, False, True])
    def test_have_attributes_of_every_scalar(self, value: object) -> None:
        given().when(event("set_entity_attribute", entity="imani", attribute="rank", value=value)).then(
            entities__imani__attributes__rank=value
        )

    def test_tell_one_from_true(self) -> None:
        true = given(event("set_entity_attribute", entity="vale", attribute="here", value=True))
        (change,) = true.when(event("set_entity_attribute", entity="vale", attribute="here", value=1)).judgement.changes
        assert (change.before, change.after) == (True, 1)
        assert type(change.after) is int


class TestPossessions:
    def test_have_one_holder(self) -> None:
        given().when(event("set_possession", item="crystal", owner="vale")).then(possessions__crystal="vale")

    def test_are_gone_when_nobody_holds_the_thing(self) -> None:
        given().when(event("set_possession", item="crystal", owner=None)).then(possessions__crystal=None)
        assert "crystal" not in accepted(STATE, event("set_possession", item="crystal", owner=None)).possessions


class TestFacts:
    def test_get_an_id_when_they_have_none(self) -> None:
        given().when(event("add_fact", predicate="it snows", value=3)).then(
            facts__f5__predicate="it snows", facts__f5__value=3, facts__f5__status="active"
        )

    def test_keep_the_id_that_is_given(self) -> None:
        given().when(event("add_fact", predicate="it snows", fact_id="snow")).then(
            facts__snow__predicate="it snows", facts__snow__status="active"
        )

    def test_never_get_an_id_that_was_given(self) -> None:
        given(event("add_fact", predicate="it snows", fact_id="f6")).when(event("add_fact", predicate="it thaws")).then(
            facts__f7__predicate="it thaws", facts__f7__status="active"
        )

    def test_that_are_said_again_are_not_added(self) -> None:
        said_again = event("add_fact", subject="crystal", predicate="Belongs\nTo", object="imani")
        given().when(said_again).then_nothing()

    def test_of_another_value_are_added(self) -> None:
        given(event("add_fact", predicate="count", value=1)).when(
            event("add_fact", predicate="count", value=True)
        ).then(facts__f6__predicate="count", facts__f6__value=True, facts__f6__status="active")

    def test_that_the_player_says_again_are_locked(self) -> None:
        said_again = event("add_fact", subject="crystal", predicate="belongs to", object="imani")
        given().when(said_again, by="player").then(facts__f1__locked=True)

    def test_of_the_player_are_locked(self) -> None:
        given().when(event("add_fact", predicate="it snows"), by="player").then(
            facts__f5__predicate="it snows", facts__f5__status="active", facts__f5__locked=True
        )

    def test_stay_when_they_are_withdrawn_with_the_reason(self) -> None:
        given().when(event("invalidate_fact", fact_id="f1", reason="Sold.")).then(
            facts__f1__status="withdrawn", facts__f1__reason="Sold."
        )

    def test_that_the_player_withdraws_are_locked(self) -> None:
        given().when(event("invalidate_fact", fact_id="f1"), by="player").then(
            facts__f1__status="withdrawn", facts__f1__locked=True
        )

    def test_that_the_narrator_withdrew_may_be_established_again(self) -> None:
        given().when(event("add_fact", subject="lamp", predicate="is lit")).then(
            facts__f5__subject="lamp", facts__f5__predicate="is lit", facts__f5__status="active"
        )

    def test_that_the_player_withdrew_and_established_again_may_be_said_again(self) -> None:
        closed = event("add_fact", predicate="the docks are closed")
        restored = accepted(STATE, closed, by="player")
        given(after=restored).when(closed).then_nothing()

    def test_stand_in_the_order_of_their_establishment_the_withdrawn_in_that_of_their_withdrawal(self) -> None:
        more = accepted(STATE, event("add_fact", predicate="x"), event("invalidate_fact", fact_id="f1"))
        assert [key for key, fact in more.facts.items() if fact.status == "active"] == ["f3", "f5"]
        assert [key for key, fact in more.facts.items() if fact.status == "withdrawn"] == ["f2", "f4", "f1"]


class TestRelationships:
    def test_get_an_id_when_they_have_none(self) -> None:
        given().when(event("set_relationship", source="vale", relationship="fears", target="imani")).then(
            relationships__r3__source="vale",
            relationships__r3__type="fears",
            relationships__r3__target="imani",
            relationships__r3__status="active",
        )

    def test_change_when_their_id_is_named(self) -> None:
        trusts = event("set_relationship", source="imani", relationship="trusts", target="vale", relationship_id="r1")
        given().when(trusts).then(relationships__r1__type="trusts")

    def test_that_ended_are_taken_up_again_by_their_id(self) -> None:
        owes = event("set_relationship", source="vale", relationship="owes", target="imani", relationship_id="r2")
        given().when(owes).then(relationships__r2__status="active")

    def test_that_are_said_again_are_not_added(self) -> None:
        given().when(
            event("set_relationship", source="imani", relationship="Distrusts", target="vale"),
            event("set_relationship", source="imani", relationship="distrusts", target="vale", relationship_id="r1"),
        ).then_nothing()

    def test_stay_when_they_end(self) -> None:
        given().when(event("end_relationship", relationship_id="r1", reason="Peace.")).then(
            relationships__r1__status="ended"
        )


class TestThreads:
    def test_are_open_until_they_are_resolved(self) -> None:
        opened = event("open_thread", thread="door", title="What is behind the door")
        given().when(opened).then(threads__door__title="What is behind the door", threads__door__status="open")
        given(opened).when(event("resolve_thread", thread="door", outcome="Nothing.")).then(
            threads__door__status="resolved", threads__door__outcome="Nothing."
        )
        given(opened).when(event("resolve_thread", thread="door")).then(threads__door__status="resolved")

    def test_are_opened_again_by_the_player(self) -> None:
        again = event("open_thread", thread="old-debt", title="What Vale owes")
        given().when(again, by="player").then(**{"threads.old-debt.status": "open", "threads.old-debt.outcome": ""})


class TestTheScene:
    def test_is_replaced_as_a_whole(self) -> None:
        given().when(event("set_scene", summary="Night.")).then(
            scene__summary="Night.", scene__location=None, scene__present=[]
        )

    def test_names_each_of_those_present_once(self) -> None:
        given().when(event("set_scene", summary="x", location="ceres", present=["vale", "vale"])).then(
            scene__summary="x", scene__present=["vale"]
        )


class TestWhatThePlayerCorrected:
    def test_is_marked(self) -> None:
        marked = accepted(STATE, event("set_possession", item="lamp", owner="vale"), by="player")
        assert marked.corrected == STATE.corrected | {"possessions.lamp"}

    def test_is_marked_also_where_it_takes_something_away(self) -> None:
        marked = accepted(STATE, event("set_possession", item="crystal", owner=None), by="player")
        assert "possessions.crystal" in marked.corrected

    def test_is_not_marked_where_nothing_changes(self) -> None:
        same = accepted(STATE, event("set_possession", item="crystal", owner="imani"), by="player")
        assert same.corrected == STATE.corrected

    def test_is_the_narrators_word_again_when_the_narrator_changes_it(self) -> None:
        given().when(event("rename_entity", entity="vale", name="Vale")).then(entities__vale__name="Vale")
        assert accepted(STATE, event("rename_entity", entity="vale", name="Vale")).corrected == frozenset()

    def test_stays_marked_when_the_narrator_says_the_same(self) -> None:
        same = accepted(STATE, event("rename_entity", entity="vale", name="Doctor Vale"))
        assert same.corrected == STATE.corrected

    def test_of_facts_is_said_by_their_lock_alone(self) -> None:
        assert accepted(STATE, event("add_fact", predicate="x"), by="player").corrected == STATE.corrected


def test_accepted_events_make_the_same_document_again() -> None:
    told = applied(EMPTY, TOLD, by="narrator")
    assert applied(told, ENTERED, by="player").to_bytes() == STATE.to_bytes()


def test_what_an_event_does_not_touch_is_shared() -> None:
    after = accepted(STATE, event("set_possession", item="lamp", owner="vale"))
    assert after.facts is STATE.facts
    assert after.entities is STATE.entities
    moved = accepted(STATE, event("set_current_location", entity="vale", location="ceres"))
    assert moved.entities["imani"] is STATE.entities["imani"]


@pytest.mark.parametrize(
    ("taken", "free"), [((), "f1"), (("f1",), "f2"), (("x",), "f2"), (("f2",), "f3"), (("f3", "f4"), "f5")]
)
def test_a_generated_id_is_the_number_in_order_or_the_next_one_free(taken: tuple[str, ...], free: str) -> None:
    assert free_id("f", {key: Fact("x") for key in taken}) == free


class TestTheDocument:
    def test_has_the_shape_of_the_page(self) -> None:
        shown = accepted(EMPTY, *TOLD[:4], *TOLD[9:11]).to_json()
        assert list(shown) == ["entities", "possessions", "facts", "relationships", "threads", "scene"]
        assert shown["possessions"] == {"crystal": "imani"}
        assert shown["facts"] == [
            {
                "id": "f1",
                "subject": "crystal",
                "predicate": "belongs to",
                "object": "imani",
                "status": "active",
                "locked": False,
                "reason": "",
            }
        ]
        assert shown["scene"] == {"summary": "", "location": None, "present": []}

    def test_has_relationships_and_threads_as_the_page(self) -> None:
        shown = STATE.to_json()
        assert shown["relationships"][0] == {
            "id": "r1",
            "source": "imani",
            "type": "distrusts",
            "target": "vale",
            "status": "active",
        }
        assert shown["threads"]["missing-log"] == {"title": "Who erased the log", "status": "open", "outcome": ""}

    def test_has_a_value_and_the_corrected_only_where_there_are_any(self) -> None:
        assert STATE.to_json()["corrected"] == ["entities.vale.name"]
        counted = accepted(EMPTY, event("add_fact", predicate="count", value=0)).to_json()
        assert counted["facts"][0]["value"] == 0
        assert "corrected" not in counted

    @pytest.mark.parametrize("document", [EMPTY, STATE])
    def test_comes_back_from_its_json_and_its_bytes(self, document: Document) -> None:
        assert Document.from_json(document.to_json()) == document
        assert Document.from_bytes(document.to_bytes()).to_bytes() == document.to_bytes()
