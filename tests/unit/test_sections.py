"""The sections of a prompt: their names, labels, order, texts and absence."""

import pytest

from domain.campaign.settings import CampaignSettings, Persona
from domain.prompt import texts
from domain.prompt.sections import LABELS, LIVE, ORDER, STATIC, HistoryNode, Section, live_sections, static_sections

FULL = CampaignSettings(
    canon=("The bell rings at dusk.", "Nobody leaves."),
    persona=Persona(name="Ada", pronouns="she/her", description="Patient."),
    instructions="Be brief.",
    plot_essentials="The letter is lost.",
    authors_note="Quiet.",
    front_memory="It rains.",
)


def test_the_names_their_order_and_their_labels_are_these_and_no_others() -> None:
    assert (*STATIC, "history", *LIVE) == ORDER
    assert [(name, LABELS[name]) for name in ORDER] == [
        ("narrator_prompt", "Narrator prompt"),
        ("state_rule", "State rule"),
        ("canon", "Canon"),
        ("knowledge_always", "Knowledge, always included"),
        ("instructions", "Instructions"),
        ("persona", "Persona"),
        ("plot_essentials", "Plot essentials"),
        ("history", "History"),
        ("summary", "Summary"),
        ("memories", "Memories"),
        ("knowledge", "Knowledge, retrieved"),
        ("state", "Narrative state"),
        ("authors_note", "Author's note"),
        ("front_memory", "Front memory"),
        ("length_hint", "Length hint"),
        ("refusal_note", "Refusal note"),
        ("state_reminder", "State reminder"),
        ("continue_hint", "Continue hint"),
    ]
    assert set(LABELS) == set(ORDER)


def test_sections_come_in_the_order_of_the_closed_list() -> None:
    static, live = static_sections(FULL, ""), live_sections(FULL, awaits_action=True)
    assert [s.name for s in static] == ["narrator_prompt", "canon", "instructions", "persona", "plot_essentials"]
    assert [s.name for s in live] == ["authors_note", "front_memory", "continue_hint"]
    for sections, names in ((static, STATIC), (live, LIVE)):
        places = [names.index(section.name) for section in sections]
        assert places == sorted(places)


def test_each_section_has_its_heading_its_label_and_a_reason() -> None:
    sections = (*static_sections(FULL, "Tell it well."), *live_sections(FULL, awaits_action=True))
    assert {section.name: section.text for section in sections} == {
        "narrator_prompt": "Tell it well.",
        "canon": f"{texts.CANON_HEADING}\n- The bell rings at dusk.\n- Nobody leaves.",
        "instructions": f"{texts.INSTRUCTIONS_HEADING}\nBe brief.",
        "persona": f"{texts.PERSONA_HEADING}\nAda (she/her)\nPatient.",
        "plot_essentials": f"{texts.PLOT_HEADING}\nThe letter is lost.",
        "authors_note": f"{texts.AUTHORS_NOTE_HEADING}\nQuiet.",
        "front_memory": f"{texts.FRONT_MEMORY_HEADING}\nIt rains.",
        "continue_hint": texts.CONTINUE_HINT,
    }
    assert all(section.label == LABELS[section.name] and section.why for section in sections)


@pytest.mark.parametrize("nothing", ["", " ", "\n\t "])
def test_what_holds_nothing_but_white_space_is_absent(nothing: str) -> None:
    empty = CampaignSettings(
        canon=(nothing, nothing),
        persona=Persona(name=nothing, pronouns=nothing, description=nothing),
        instructions=nothing,
        plot_essentials=nothing,
        authors_note=nothing,
        front_memory=nothing,
    )
    assert static_sections(empty, nothing) == (
        Section("narrator_prompt", texts.NARRATOR_PROMPT, "the rules of narration"),
    )
    assert live_sections(empty, awaits_action=False) == ()


def test_an_empty_entry_of_the_canon_leaves_no_empty_line() -> None:
    canon = CampaignSettings(canon=("", "  One law. ", " "))
    assert static_sections(canon, "")[1].text == f"{texts.CANON_HEADING}\n- One law."


@pytest.mark.parametrize(
    ("persona", "text"),
    [
        (Persona(name=" Ada "), "Ada"),
        (Persona(pronouns="they"), "they"),
        (Persona(name="Ada", pronouns=" "), "Ada"),
        (Persona(name=" ", pronouns="they", description="Tall."), "they\nTall."),
        (Persona(description="Tall."), "Tall."),
    ],
)
def test_a_persona_is_as_much_as_is_known_of_it(persona: Persona, text: str) -> None:
    assert static_sections(CampaignSettings(persona=persona), "")[1].text == f"{texts.PERSONA_HEADING}\n{text}"


def test_the_continue_hint_stands_only_where_the_player_gave_no_words() -> None:
    assert [s.name for s in live_sections(CampaignSettings(), awaits_action=True)] == ["continue_hint"]
    assert live_sections(CampaignSettings(), awaits_action=False) == ()


def test_the_static_sections_do_not_change_with_what_may_change_each_turn() -> None:
    changed = FULL.model_copy(update={"authors_note": "Loud.", "front_memory": "It snows.", "title": "Another"})
    assert static_sections(changed, "") == static_sections(FULL, "")


@pytest.mark.parametrize(
    ("kind", "of_the_player"),
    [("opening", False), ("do", True), ("say", True), ("story", True), ("narration", False)],
)
def test_what_the_player_wrote_is_known_by_its_kind(kind: str, of_the_player: bool) -> None:
    node = HistoryNode(1, 1, kind, "It rains.")  # type: ignore[arg-type]  # pytest passes plain strings
    assert node.is_player is of_the_player
