"""How much fits: the reserve, the bound, what is protected, and a prompt that says so when it does not."""

import time
from collections.abc import Callable
from itertools import groupby

import orjson
import pytest

from adapters.tokens import TiktokenCounter
from domain.campaign.events import NodeKind
from domain.campaign.settings import CampaignSettings, Persona
from domain.errors import ContextOverflow
from domain.installation import Settings
from domain.ports import TokenCounter
from domain.prompt import texts
from domain.prompt.assembly import Prompt, StoryView, assemble, history_budget, price
from domain.prompt.budget import budget_for, safety_reserve
from domain.prompt.events import Mode, Window
from domain.prompt.floor import Floor
from domain.prompt.request import text_at
from domain.prompt.sections import LABELS, ORDER, HistoryNode

CAMPAIGN = CampaignSettings(
    canon=("The bell rings at dusk.",),
    persona=Persona(name="Ada"),
    instructions="Be brief.",
    plot_essentials="The letter is lost.",
    authors_note="Quiet.",
    front_memory="It rains.",
)
SETTINGS = Settings(model="m", context_budget=2_048)


def window_of(tokens: int) -> Window:
    return Window(tokens=tokens, source="loaded", verified=True, enforceable=True, reachable=True)


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return TiktokenCounter()


def line_of(*told: tuple[NodeKind, str]) -> tuple[HistoryNode, ...]:
    return tuple(HistoryNode(depth, depth, kind, text) for depth, (kind, text) in enumerate(told, 1))


def sent(
    counter: TokenCounter, *told: tuple[NodeKind, str], settings: Settings = SETTINGS, window: Window | None = None
) -> Prompt:
    line = line_of(*told)
    return assemble(StoryView(CAMPAIGN, line, len(line)), settings, window or Window(), counter)


@pytest.mark.parametrize(
    ("effective", "reserve"),
    [
        (0, 256),
        (256, 256),
        (4_096, 256),
        (5_120, 256),
        (5_121, 257),
        (8_192, 410),
        (16_384, 820),
        (32_768, 1_639),
        (200_000, 10_000),
    ],
)
def test_the_reserve_is_five_in_a_hundred_rounded_up_and_never_less_than_256(effective: int, reserve: int) -> None:
    assert safety_reserve(effective) == reserve


@pytest.mark.parametrize(
    ("window", "effective", "binds"),
    [
        (Window(), 16_384, False),
        (Window(tokens=4_096), 16_384, False),
        (Window(tokens=4_096, enforceable=True), 4_096, True),
        (Window(tokens=16_384, enforceable=True), 16_384, False),
        (Window(tokens=32_768, enforceable=True), 16_384, False),
        (Window(tokens=None, enforceable=True), 16_384, False),
        (Window(tokens=None, model_max=2_048), 16_384, False),
    ],
)
def test_only_a_window_that_can_be_enforced_bounds_the_budget(window: Window, effective: int, binds: bool) -> None:
    budget = budget_for(16_384, window, 400)
    assert (budget.configured, budget.effective, budget.reply, budget.window_binds) == (16_384, effective, 400, binds)
    assert budget.reserve == safety_reserve(effective)


def test_the_parts_of_a_prompt_add_up(counter: TokenCounter) -> None:
    prompt = sent(counter, ("opening", "It rains."), ("do", "wait"), ("narration", "It stops."), ("say", "At last."))
    tokens = prompt.tokens
    assert tokens.total == sum(section.tokens for section in prompt.sections) + tokens.transport
    assert tokens.history == {section.name: section.tokens for section in prompt.sections}["history"]
    assert tokens.protected == tokens.total - tokens.history + tokens.reply + tokens.reserve
    assert prompt.history.budget == tokens.budget - tokens.protected
    assert (tokens.budget, tokens.configured_budget, tokens.reply, tokens.reserve) == (2_048, 2_048, 400, 256)
    assert tokens.exact is None


def test_the_sections_are_recorded_in_order_with_labels_reasons_and_places(counter: TokenCounter) -> None:
    prompt = sent(counter, ("opening", "It rains."))
    names = [section.name for section in prompt.sections]
    assert names == [name for name in ORDER if name in names]
    assert names == [
        "narrator_prompt", "canon", "instructions", "persona", "plot_essentials", "history", "authors_note", "front_memory",
        "continue_hint",
    ]  # fmt: skip
    for section in prompt.sections:
        assert section.label == dict(LABELS.items())[section.name]  # type: ignore[index]  # a wrong name fails here
        assert section.why
        assert [text_at(prompt.body.data, span) for span in section.spans]


def test_the_history_says_which_nodes_it_holds_and_from_where(counter: TokenCounter) -> None:
    whole = sent(counter, ("opening", "It rains."), ("do", "wait"))
    assert (whole.history.first_node, whole.history.last_node, whole.history.nodes) == (1, 2, (1, 2))
    assert (whole.history.floor_depth, whole.history.floor_moved, whole.history.total) == (None, None, 2)
    words: tuple[NodeKind, str] = ("story", "It rains on and on. " * 20)
    part = sent(counter, *[words] * 30)
    assert part.history.floor_depth == part.history.first_node == part.history.nodes[0] > 1
    assert part.history.floor_moved == "the story no longer fits whole"
    why = {section.name: section.why for section in part.sections}["history"]
    assert f"from the floor at moment {part.history.floor_depth}" in why


OPENINGS: list[list[tuple[NodeKind, str]]] = [[("opening", "")], [("opening", ""), ("do", "wait")]]


@pytest.mark.parametrize("told", OPENINGS)
def test_an_empty_opening_takes_nothing_and_is_not_in_the_record(
    counter: TokenCounter, told: list[tuple[NodeKind, str]]
) -> None:
    prompt = sent(counter, *told)
    assert prompt.tokens.total == sum(section.tokens for section in prompt.sections) + prompt.tokens.transport
    assert 1 not in prompt.history.nodes
    assert len(prompt.history.nodes) == len(told) - 1


def test_a_message_costs_more_than_a_paragraph(counter: TokenCounter) -> None:
    node = HistoryNode(1, 1, "narration", "It rains.")
    assert price(node, counter) == price(node, counter, "chat") == counter.count("It rains.") + 5
    assert price(node, counter, "completion") == counter.count("It rains.") + 1
    assert price(HistoryNode(1, 1, "opening", ""), counter) == 0


def test_the_history_budget_is_what_assembly_gives_the_history(counter: TokenCounter) -> None:
    acted: tuple[NodeKind, str] = ("do", "wait")
    for told, awaits in (((), True), ((acted,), False)):
        prompt = sent(counter, ("opening", "It rains."), *told)
        assert prompt.history.budget == history_budget(CAMPAIGN, SETTINGS, Window(), counter, awaits_action=awaits)


def test_what_must_be_in_every_prompt_and_does_not_fit_is_named_part_by_part(counter: TokenCounter) -> None:
    settings = Settings(context_budget=512, max_output_tokens=400)
    with pytest.raises(ContextOverflow) as refusal:
        sent(counter, ("opening", "It rains."), settings=settings)
    parts = refusal.value.fields["parts"]
    assert isinstance(parts, dict)
    assert set(parts) == {
        "narrator_prompt", "canon", "instructions", "persona", "plot_essentials", "authors_note", "front_memory",
        "continue_hint", "transport", "reply", "reserve",
    }  # fmt: skip
    assert (parts["reply"], parts["reserve"], refusal.value.fields["effective"]) == (400, 256, 512)
    assert sum(parts.values()) >= 512
    assert f"{sum(parts.values())} tokens of 512" in refusal.value.message
    assert all(f"{name} {tokens}" in refusal.value.message for name, tokens in parts.items())


@pytest.mark.parametrize(("budget", "advice"), [(512, "Raise context_budget"), (16_384, "Load the model")])
def test_the_advice_depends_on_what_binds(counter: TokenCounter, budget: int, advice: str) -> None:
    with pytest.raises(ContextOverflow, match=advice):
        sent(counter, ("opening", "It rains."), settings=Settings(context_budget=budget), window=window_of(512))


@pytest.mark.parametrize("ends", ["word", "\U000f1234", "\u0301", "it is 12345", "  ", "!" * 70])
@pytest.mark.parametrize("kind", ["do", "say", "story"])
def test_from_no_room_to_room_enough_a_prompt_fits_or_is_refused(
    counter: TokenCounter, kind: NodeKind, ends: str
) -> None:
    """Every window around the one at which the sections leave nothing: the last refusals name the history too."""
    leaves_none = 2_048 - history_budget(CAMPAIGN, SETTINGS, Window(), counter, awaits_action=False)
    outcomes = [_outcome(counter, (kind, "word " * 300 + ends), leaves_none + more) for more in range(-5, 30)]
    assert [outcome for outcome, _ in groupby(outcomes)] == ["sections", "history", "fits"]
    assert outcomes.count("sections") == 6


def _outcome(counter: TokenCounter, said: tuple[NodeKind, str], tokens: int) -> str:
    try:
        prompt = sent(counter, ("opening", "It rains."), said, window=window_of(tokens))
    except ContextOverflow as refusal:
        return "history" if _adds_up(refusal, tokens) else "sections"
    assert prompt.tokens.total + prompt.tokens.reply + prompt.tokens.reserve <= tokens
    assert prompt.history.oldest_truncated
    assert len(prompt.history.nodes) == 1
    return "fits"


def _adds_up(refusal: ContextOverflow, tokens: int) -> bool:
    parts = refusal.fields["parts"]
    assert isinstance(parts, dict)
    assert sum(parts.values()) >= tokens
    return "history" in parts


@pytest.mark.parametrize("mode", ["chat", "completion"])
@pytest.mark.parametrize("kind", ["do", "say", "story", "narration"])
def test_an_action_larger_than_the_budget_loses_its_front(counter: TokenCounter, kind: NodeKind, mode: Mode) -> None:
    settings = SETTINGS.model_copy(update={"mode": mode})
    text = "".join(f"Word {number} came. " for number in range(1_000)) + "Last word."
    prompt = sent(counter, ("opening", "It rains."), (kind, text), settings=settings)
    assert prompt.history.oldest_truncated
    assert (prompt.history.first_node, prompt.history.nodes) == (2, (2,))
    assert prompt.tokens.total + prompt.tokens.reply + prompt.tokens.reserve <= prompt.tokens.budget
    assert prompt.tokens.history > prompt.history.budget * 0.95
    shown = {section.name: section.spans for section in prompt.sections}["history"]
    words = text_at(prompt.body.data, shown[0])
    assert words.removesuffix('"').endswith("Last word.")
    assert "Word 1 came" not in words


def test_an_action_that_just_fits_is_whole(counter: TokenCounter) -> None:
    budget = history_budget(CAMPAIGN, SETTINGS, Window(), counter, awaits_action=False)
    words = budget - price(HistoryNode(2, 2, "story", "word"), counter) + 1
    told = ("story", "word" + " word" * (words - 1))
    prompt = sent(counter, ("opening", "It rains."), told)  # type: ignore[arg-type]  # a kind, as a plain string
    assert prompt.tokens.history == budget
    assert not prompt.history.oldest_truncated
    longer = sent(counter, ("opening", "It rains."), ("story", told[1] + " word"))
    assert longer.history.oldest_truncated


HUGE: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "blanks": lambda size: " " * size + "a",
    "emoji": lambda size: "😀" * size,
    "line breaks": lambda size: "\n" * size,
    "quotes": lambda size: '"' * size,
    "words": lambda size: "word " * (size // 5),
}


@pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE.keys())
@pytest.mark.parametrize("kind", ["say", "story"])
def test_a_megabyte_in_one_action_is_cut_in_time(
    counter: TokenCounter, kind: NodeKind, huge: Callable[[int], str]
) -> None:
    text = huge(1_000_000)
    began = time.process_time()
    prompt = sent(counter, ("opening", "It rains."), (kind, text), settings=Settings(context_budget=16_384))
    assert time.process_time() - began < 2.0
    assert prompt.tokens.total + prompt.tokens.reply + prompt.tokens.reserve <= 16_384
    assert prompt.history.oldest_truncated or prompt.tokens.history <= prompt.history.budget
    assert orjson.loads(prompt.body.data)["messages"][-1]["role"] == "user"


def test_canon_is_in_every_prompt_that_can_hold_it(counter: TokenCounter) -> None:
    campaign = CampaignSettings(canon=tuple(f"Law {number}: {'so it is ' * 30}" for number in range(20)))
    held, refused = 0, list[bool]()
    for tokens in range(512, 6_000, 128):
        line = line_of(("opening", "It rains."), ("do", "wait"))
        try:
            prompt = assemble(
                StoryView(campaign, line, 2),
                SETTINGS.model_copy(update={"context_budget": 16_384}),
                window_of(tokens),
                counter,
            )
        except ContextOverflow as refusal:
            refused.append("canon" in refusal.message)
        else:
            held += 1
            system = orjson.loads(prompt.body.data)["messages"][0]["content"]
            assert all(f"- {entry.strip()}" in system for entry in campaign.canon)
            assert texts.CANON_HEADING in system
    assert held > 10
    assert all(refused)


def test_the_floor_of_the_earlier_prompt_is_kept(counter: TokenCounter) -> None:
    line = line_of(("opening", "It rains."), *[("story", "It rains on and on. " * 10)] * 40)  # type: ignore[arg-type]
    first = assemble(StoryView(CAMPAIGN, line, 41), SETTINGS, Window(), counter)
    floor = Floor(first.history.floor_depth or 1, first.history.budget)
    longer = (*line, HistoryNode(42, 42, "story", "It stops."))
    second = assemble(StoryView(CAMPAIGN, longer, 42, floor), SETTINGS, Window(), counter)
    assert second.history.floor_depth == first.history.floor_depth
    assert second.history.floor_moved is None
    again = assemble(StoryView(CAMPAIGN, longer[floor.depth - 1 :], 42, floor), SETTINGS, Window(), counter)
    assert again == second


def test_telling_on_and_acting_by_turns_does_not_move_the_floor(counter: TokenCounter) -> None:
    """The continue hint takes some of the history's budget, only in the turns that have it."""
    line = list(line_of(("opening", "It rains."), *[("narration", "It rains on. " * 12)] * 40))  # type: ignore[arg-type]
    floor, depths = None, []
    for turn in range(12):
        kind: NodeKind = "do" if turn % 2 else "narration"
        line.append(HistoryNode(len(line) + 1, len(line) + 1, kind, "wait"))
        prompt = assemble(StoryView(CAMPAIGN, tuple(line), len(line), floor), SETTINGS, Window(), counter)
        floor = Floor(prompt.history.floor_depth or 1, prompt.history.budget)
        depths.append(floor.depth)
    assert len(set(depths)) == 1
