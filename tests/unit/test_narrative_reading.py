"""What people and programs read of a state beside the document: groups, names borne twice, the scene packet."""

import pytest
from pydantic import ValidationError

from domain.narrative.document import EMPTY, Document, Entity
from domain.narrative.groups import DuplicateName, Named, duplicate_names, groups, label_of
from domain.narrative.scene_packet import scene_id, scene_packet
from domain.narrative.visual_profile import DESCRIPTORS, FEATURES, VisualProfile
from tests.unit.test_narrative_sample import STATE, accepted, event

CERES, IMANI = Named("ceres", "Ceres"), Named("imani", "Captain Imani")


class TestGroups:
    def test_are_by_type_the_suggested_ones_first(self) -> None:
        more = accepted(
            STATE,
            event("create_entity", entity="song", entity_type="sea-song", name="Song"),
            event("create_entity", entity="idea", entity_type="concept", name="Idea"),
            event("create_entity", entity="air", entity_type="air", name="Air"),
        )
        assert [(group.label, [each.entity for each in group.entities]) for group in groups(more)] == [
            ("Characters", ["imani", "vale"]),
            ("Locations", ["ceres"]),
            ("Items", ["crystal", "lamp"]),
            ("Concepts", ["idea"]),
            ("Air", ["air"]),
            ("Sea song", ["song"]),
        ]

    def test_say_of_each_entity_what_it_has_to_do_with_others(self) -> None:
        members = {each.entity: each for group in groups(STATE) for each in group.entities}
        assert members["imani"].holds == (Named("crystal", "The crystal"),)
        assert members["imani"].location == CERES
        assert members["imani"].attributes == {"rank": 3}
        assert members["crystal"].held_by == IMANI
        assert members["ceres"].here == (IMANI, Named("lamp", "Lamp"))
        assert [key for key, each in members.items() if each.present] == ["imani", "vale"]
        assert [key for key, each in members.items() if each.corrected] == ["vale"]

    def test_of_nothing_are_none(self) -> None:
        assert groups(EMPTY) == ()

    @pytest.mark.parametrize(("kind", "label"), [("item", "Items"), ("sea-song", "Sea song"), ("x_1", "X 1")])
    def test_have_a_label_for_people(self, kind: str, label: str) -> None:
        assert label_of(kind) == label


def test_names_borne_twice_are_told_without_regard_to_case_and_white_space_around_them() -> None:
    named = {"a": " Alice", "b": "Bob", "c": "ALICE\n", "d": "Strasse", "e": "Straße", "f": "Al ice"}
    document = Document(entities={key: Entity("character", name) for key, name in named.items()})
    assert duplicate_names(document) == (DuplicateName("Alice", ("a", "c")), DuplicateName("Strasse", ("d", "e")))
    assert duplicate_names(STATE) == ()


class TestTheScenePacket:
    def test_shows_who_is_there_and_what_they_hold(self) -> None:
        grey = VisualProfile(descriptors={"hair": "grey"})
        packet = scene_packet(STATE, {"imani": grey, "crystal": grey, "ceres": grey}).model_dump(mode="json")
        looks = grey.model_dump(mode="json")
        assert packet == {
            "scene_id": scene_id(STATE),
            "summary": "Rain on the dome.",
            "location": {"key": "ceres", "name": "Ceres", "type": "location", "visual_profile": looks},
            "characters": [
                {
                    "key": "imani",
                    "name": "Captain Imani",
                    "type": "character",
                    "visual_profile": looks,
                    "status": "",
                    "holds": [{"key": "crystal", "name": "The crystal", "type": "item", "visual_profile": looks}],
                },
                {
                    "key": "vale",
                    "name": "Doctor Vale",
                    "type": "character",
                    "visual_profile": None,
                    "status": "asleep",
                    "holds": [],
                },
            ],
            "objects": [{"key": "lamp", "name": "Lamp", "type": "item", "visual_profile": None, "status": ""}],
        }

    def test_of_no_scene_is_empty(self) -> None:
        packet = scene_packet(EMPTY, {})
        assert (packet.summary, packet.location, packet.characters, packet.objects) == ("", None, (), ())

    def test_leaves_out_what_is_held_and_who_is_not_present(self) -> None:
        held = accepted(STATE, event("set_possession", item="lamp", owner="vale"))
        assert scene_packet(held, {}).objects == ()
        alone = accepted(STATE, event("set_scene", summary="x", location="ceres", present=["vale"]))
        packet = scene_packet(alone, {})
        assert [each.key for each in packet.characters] == ["vale"]
        assert [each.key for each in packet.objects] == ["lamp"]

    @pytest.mark.parametrize(
        ("kind", "is_character"), [("creature", True), ("tide-reader", True), ("vehicle", False), ("item", False)]
    )
    def test_takes_those_present_for_characters_unless_nobody_is_of_that_type(
        self, kind: str, is_character: bool
    ) -> None:
        there = accepted(
            STATE,
            event("create_entity", entity="it", entity_type=kind, name="It"),
            event("set_current_location", entity="it", location="ceres"),
            event("set_scene", summary="x", location="ceres", present=["it", "ceres"]),
        )
        packet = scene_packet(there, {})
        assert ("it" in [each.key for each in packet.characters]) is is_character
        assert [each.key for each in packet.objects] == (["lamp"] if is_character else ["it", "lamp"])

    def test_has_an_id_that_is_the_scenes(self) -> None:
        renamed = accepted(STATE, event("rename_entity", entity="vale", name="Vale"))
        moved = accepted(STATE, event("set_scene", summary="Rain on the dome.", location="ceres", present=["vale"]))
        assert scene_id(renamed) == scene_id(STATE) != scene_id(moved)
        assert scene_id(EMPTY) == "s_" + scene_id(EMPTY)[2:]
        assert len(scene_id(EMPTY)) == 18


@pytest.mark.parametrize(
    "wrong",
    [
        {"descriptors": {"": "x"}},
        {"descriptors": {"x" * 65: "x"}},
        {"descriptors": {"hair": "x" * 301}},
        {"descriptors": {str(number): "x" for number in range(DESCRIPTORS + 1)}},
        {"features": ["x"] * (FEATURES + 1)},
        {"features": ["x" * 301]},
        {"style_notes": "x" * 2001},
        {"hair": "grey"},
    ],
)
def test_a_visual_profile_is_bounded(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        VisualProfile.model_validate(wrong)


def test_a_visual_profile_may_be_empty_and_as_large_as_that() -> None:
    assert VisualProfile().model_dump(mode="json") == {"descriptors": {}, "features": [], "style_notes": ""}
    VisualProfile(
        descriptors={str(number): "x" * 300 for number in range(DESCRIPTORS)},
        features=("x" * 300,) * FEATURES,
        style_notes="x" * 2000,
    )
