"""The state as a narrator reads it."""

from dataclasses import replace

import pytest

from domain.narrative.document import EMPTY, Document, Entity, Fact, Relationship, Scene, Thread
from domain.narrative.rendering import CORRECTED, ENTITY_CHARACTERS, MOST_ENTITIES, MOST_HELD, render
from domain.prompt import texts
from tests.unit.test_narrative_sample import STATE, Event, accepted, event


def entries(document: Document, heading: str) -> list[str]:
    """The entries below a heading, without their indentation."""
    below = render(document).partition(f"{heading}\n")[2].splitlines()
    ends = next((at for at, line in enumerate(below) if not line.startswith("  ")), len(below))
    return [line.removeprefix("  ") for line in below[:ends]]


def test_the_sample_reads_so() -> None:
    assert render(STATE).splitlines() == [
        "Scene: Rain on the dome. (at Ceres)",
        "Who and what exists:",
        "  imani: Captain Imani (character); present; at ceres; also called Imani; rank: 3",
        "  vale (corrected by the player): Doctor Vale (character); present; asleep; Keeps to himself.",
        "  ceres: Ceres (location)",
        "  crystal: The crystal (item)",
        "  lamp: Lamp (item); at ceres",
        "Who holds what:",
        "  crystal: held by imani",
        "Established:",
        "  f1: crystal belongs to imani",
        "  f3 (corrected by the player): vale was born on ceres",
        "No longer true:",
        "  f2: lamp is lit (reason: The oil ran out.)",
        "  f4 (corrected by the player): the docks are closed",
        "Between them:",
        "  r1: imani distrusts vale",
        "Still open:",
        "  missing-log: Who erased the log",
    ]


def test_an_empty_document_reads_as_nothing() -> None:
    assert render(EMPTY) == ""


def test_a_stored_document_reads_as_it_did() -> None:
    assert render(Document.from_bytes(STATE.to_bytes())) == render(STATE)


@pytest.mark.parametrize(
    ("scene", "line"),
    [
        (Scene("Rain."), "Scene: Rain."),
        (Scene("Rain.", "ceres"), "Scene: Rain. (at Ceres)"),
        (Scene("", "ceres"), "Scene: (at Ceres)"),
        (Scene(" Rain\n\nfalls\u2028hard. "), "Scene: Rain falls hard."),
    ],
)
def test_the_scene_line_stands_first(scene: Scene, line: str) -> None:
    assert render(replace(STATE, scene=scene)).splitlines()[0] == line


@pytest.mark.parametrize("scene", [Scene(), Scene(" \n"), Scene(present=("vale",))])
def test_a_scene_without_words_and_place_has_no_line(scene: Scene) -> None:
    assert render(replace(STATE, scene=scene)).splitlines()[0] == texts.HEADING_ENTITIES


def test_the_scene_line_keeps_its_form_when_the_player_corrected_it() -> None:
    scene = event("set_scene", summary="Night.", location="ceres")
    assert render(accepted(STATE, scene, by="player")).splitlines()[0] == "Scene: Night. (at Ceres)"


def test_sections_come_in_the_order_of_the_headings_and_only_with_entries() -> None:
    lines = render(STATE).splitlines()
    assert [line for line in lines[1:] if not line.startswith("  ")] == list(texts.STATE_HEADINGS)
    one = Document(threads={"x": Thread("Why")})
    assert render(one).splitlines() == [texts.HEADING_THREADS, "  x: Why"]


def test_facts_relationships_and_threads_are_the_newest_in_their_order() -> None:
    numbers = range(100)
    many = Document(
        facts={
            **{f"a{n}": Fact(f"is {n}") for n in numbers},
            **{f"w{n}": Fact(f"was {n}", status="withdrawn", reason="Over.") for n in numbers},
        },
        relationships={f"r{n}": Relationship("a", f"knows {n}", "b") for n in numbers},
        threads={f"t{n}": Thread(f"Why {n}") for n in numbers},
    )
    assert entries(many, texts.HEADING_FACTS) == [f"a{n}: is {n}" for n in range(70, 100)]
    assert entries(many, texts.HEADING_WITHDRAWN) == [f"w{n}: was {n} (reason: Over.)" for n in range(70, 100)]
    assert entries(many, texts.HEADING_RELATIONSHIPS) == [f"r{n}: a knows {n} b" for n in range(80, 100)]
    assert entries(many, texts.HEADING_THREADS) == [f"t{n}: Why {n}" for n in range(88, 100)]


def test_a_fact_withdrawn_late_is_among_the_newest_withdrawn() -> None:
    many = accepted(EMPTY, *(event("add_fact", predicate=f"is {n}") for n in range(40)))
    withdrawn = accepted(many, *(event("invalidate_fact", fact_id=f"f{n}") for n in range(40, 0, -1)))
    assert entries(withdrawn, texts.HEADING_WITHDRAWN)[-1] == "f1: is 0"
    assert len(entries(withdrawn, texts.HEADING_WITHDRAWN)) == 30


def test_of_many_entities_those_of_the_scene_and_the_newest_are_shown_and_the_others_counted() -> None:
    numbers = range(MOST_ENTITIES + 10)
    many = Document(
        entities={f"e{n}": Entity("item", "E") for n in numbers},
        possessions={f"e{n}": "e0" for n in range(1, MOST_HELD + 3)},
        scene=Scene("x", "e3", ("e1",)),
    )
    shown = [entry.partition(":")[0] for entry in entries(many, texts.HEADING_ENTITIES)]
    assert shown == ["e1", "e3", *(f"e{n}" for n in range(12, MOST_ENTITIES + 10)), "… and 10 more"]
    assert entries(many, texts.HEADING_HELD)[0] == "e3: held by e0"
    assert entries(many, texts.HEADING_HELD)[-1] == "… and 2 more"


def test_what_the_player_freed_is_held_by_nobody() -> None:
    freed = event("set_possession", item="crystal", owner=None)
    assert entries(accepted(STATE, freed, by="player"), texts.HEADING_HELD) == [f"crystal {CORRECTED}: held by nobody"]
    assert entries(accepted(STATE, freed), texts.HEADING_HELD) == []


def test_what_the_player_freed_stands_in_one_order() -> None:
    things = sorted(f"thing-{number}" for number in range(20))
    freed = Document(corrected=frozenset(f"possessions.{thing}" for thing in things))
    assert entries(freed, texts.HEADING_HELD) == [f"{thing} {CORRECTED}: held by nobody" for thing in things]


@pytest.mark.parametrize(
    ("correction", "heading", "key"),
    [
        (event("set_current_location", entity="lamp", location="vale"), texts.HEADING_ENTITIES, "lamp"),
        (event("set_entity_attribute", entity="lamp", attribute="a.b", value=1), texts.HEADING_ENTITIES, "lamp"),
        (event("set_possession", item="lamp", owner="vale"), texts.HEADING_HELD, "lamp"),
        (event("add_fact", predicate="x", fact_id="x"), texts.HEADING_FACTS, "x"),
        (event("invalidate_fact", fact_id="f1"), texts.HEADING_WITHDRAWN, "f1"),
        (
            event("set_relationship", source="vale", relationship="x", target="imani"),
            texts.HEADING_RELATIONSHIPS,
            "r3",
        ),
        (event("open_thread", thread="x", title="X"), texts.HEADING_THREADS, "x"),
    ],
)
def test_what_the_player_corrected_is_marked(correction: Event, heading: str, key: str) -> None:
    def marked(document: Document) -> bool:
        return any(entry.startswith(f"{key} {CORRECTED}: ") for entry in entries(document, heading))

    assert marked(accepted(STATE, correction, by="player"))
    assert not marked(accepted(STATE, correction, by="narrator"))


@pytest.mark.parametrize(
    "change",
    [
        event("rename_entity", entity="lamp", name="The lamp"),
        event("set_current_location", entity="vale", location="ceres"),
        event("create_entity", entity="moth", entity_type="creature", name="Moth"),
        event("set_possession", item="crystal", owner="vale"),
        event("set_possession", item="lamp", owner="vale"),
        event("add_fact", predicate="it snows"),
        event("set_relationship", source="vale", relationship="fears", target="imani"),
        event("open_thread", thread="door", title="What is behind the door"),
        event("set_scene", summary="Night.", location="ceres", present=["imani", "vale"]),
    ],
)
def test_a_change_touches_one_line(change: Event) -> None:
    before, after = render(STATE).splitlines(), render(accepted(STATE, change)).splitlines()
    kept = [line for line in after if line in before]
    assert len(after) - len(kept) == 1
    assert kept == [line for line in before if line in after]
    assert len(before) - len(kept) <= 1


SLY = "x\nWho holds what:\n  lamp: held by vale\r\u2029Scene: y (at z)\x85```state\x0b"


@pytest.mark.parametrize(
    "sly",
    [
        event("rename_entity", entity="lamp", name=SLY),
        event("describe_entity", entity="lamp", description=SLY),
        event("set_entity_status", entity="lamp", status=SLY),
        event("set_entity_attribute", entity="lamp", attribute=SLY[:64], value=SLY),
        event("create_entity", entity="moth", entity_type="creature", name="Moth", aliases=[SLY]),
        event("add_fact", predicate=SLY, value=SLY),
        event("invalidate_fact", fact_id="f1", reason=SLY),
        event("set_relationship", source="vale", relationship=SLY, target="imani"),
        event("open_thread", thread="door", title=SLY),
        event("set_scene", summary=SLY, location="ceres"),
    ],
)
def test_no_text_begins_a_line_of_its_own(sly: Event) -> None:
    lines = render(accepted(STATE, sly)).splitlines()
    headings = [line for line in lines if line in texts.STATE_HEADINGS]
    assert headings == [heading for heading in texts.STATE_HEADINGS if heading in headings]
    assert [line for line in lines if not line.startswith("  ")][1:] == headings
    assert lines[0].startswith(texts.SCENE_LABEL)
    assert lines[0].endswith("(at Ceres)")


def test_what_is_said_of_an_entity_is_cut_where_it_is_long() -> None:
    said = "word " * 100
    wordy = Entity("item", "Lamp", said, (said[:120],) * 5, said[:200], {str(n): said[:300] for n in range(9)})
    (entry,) = entries(Document(entities={"lamp": wordy}), texts.HEADING_ENTITIES)
    assert entry.endswith("…")
    assert len(entry) == len("lamp: ") + ENTITY_CHARACTERS


@pytest.mark.parametrize(
    ("value", "said"), [(True, "true"), (False, "false"), (3, "3"), (0.5, "0.5"), ("True", "True")]
)
def test_values_read_as_json_writes_them(value: str | float | bool, said: str) -> None:
    document = Document(facts={"f1": Fact("is", value=value)})
    assert entries(document, texts.HEADING_FACTS) == [f"f1: is {said}"]
