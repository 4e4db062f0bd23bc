"""Whatever the story and its settings are: the floor, the budget, the roles and the bytes keep their promises."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import orjson
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from adapters.tokens import TiktokenCounter
from domain.campaign.events import NodeKind
from domain.campaign.settings import CampaignSettings, Persona
from domain.errors import ContextOverflow
from domain.installation import Settings
from domain.prompt import texts
from domain.prompt.assembly import Prompt, StoryView, assemble, parameters, price
from domain.prompt.budget import budget_for, safety_reserve
from domain.prompt.events import Window
from domain.prompt.floor import Floor, Kept, keep
from domain.prompt.request import text_at
from domain.prompt.sections import HistoryNode, live_sections, static_sections
from domain.prompt.wording import as_prompted

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def counter() -> TiktokenCounter:
    return TiktokenCounter()


# --- the floor -------------------------------------------------------------------------------------------------------

PRICES = st.lists(st.integers(0, 40) | st.just(300), min_size=1, max_size=30)
BUDGETS = st.integers(1, 400)
PERCENTS = st.integers(10, 95)
FLOORS = st.none() | st.builds(Floor, depth=st.integers(1, 30), budget=BUDGETS)


def modelled_floor(prices: Sequence[int], budget: int, earlier: Floor | None, percent: int) -> int:
    """The floor's depth, 1 for none, said again in the simplest words: every depth is tried."""

    def above(depth: int) -> int:
        return sum(prices[depth - 1 :])

    newest = len(prices)
    if above(1) <= budget:
        return 1
    mark = budget * percent // 100
    anew = min([depth for depth in range(1, newest + 1) if above(depth) <= mark], default=newest)
    if earlier is None or earlier.depth > newest or above(earlier.depth) > budget:
        return anew
    gain = above(anew) - above(earlier.depth)
    return anew if budget > earlier.budget and gain > 0 and gain >= budget / 16 else earlier.depth


@UNHURRIED
@given(PRICES, BUDGETS, FLOORS, PERCENTS)
def test_the_floor_is_where_the_model_has_it(
    prices: list[int], budget: int, earlier: Floor | None, percent: int
) -> None:
    kept = keep(range(1, len(prices) + 1), prices, budget, earlier, percent)
    floor = modelled_floor(prices, budget, earlier, percent)
    assert kept.first == floor - 1
    assert kept.floor_depth == (None if sum(prices) <= budget else floor)
    before = 1 if earlier is None else earlier.depth
    assert (kept.moved is None) == (floor == before and (before > 1 or sum(prices) <= budget))


@UNHURRIED
@given(PRICES, BUDGETS, FLOORS, PERCENTS, st.integers(0, 29))
def test_a_part_of_the_line_that_is_long_enough_gives_the_same_floor(
    prices: list[int], budget: int, earlier: Floor | None, percent: int, begins: int
) -> None:
    """Long enough: more than fits, or down to a floor that has no new room to go back into."""
    assume(earlier is None or earlier.depth <= len(prices))
    begins = min(begins, len(prices) - 1)
    more_than_fits = sum(prices[begins:]) > budget
    down_to_the_floor = earlier is not None and budget <= earlier.budget and begins < earlier.depth
    assume(more_than_fits or down_to_the_floor)
    assume(sum(prices) > budget)
    depths = range(1, len(prices) + 1)
    whole = keep(depths, prices, budget, earlier, percent)
    part = keep(depths[begins:], prices[begins:], budget, earlier, percent)
    assert part == Kept(whole.first - begins, whole.floor_depth, whole.moved)


@UNHURRIED
@given(PRICES, st.lists(st.integers(-3, 3), min_size=30, max_size=30), st.integers(60, 400), PERCENTS)
def test_along_a_line_the_floor_only_goes_forward_and_the_history_fits(
    prices: list[int], changes: list[int], budget: int, percent: int
) -> None:
    """The budget goes up and down a little, as the live sections make it, and never by what would be worth a step."""
    floor: Floor | None = None
    for end in range(1, len(prices) + 1):
        now = budget + changes[end - 1]
        kept = keep(range(1, end + 1), prices[:end], now, floor, percent)
        shown = prices[kept.first : end]
        assert sum(shown) <= now or len(shown) == 1
        assert kept.first < end
        whole = sum(prices[:end]) <= now
        assert whole or floor is None or kept.first + 1 >= floor.depth
        assert whole == (kept.floor_depth is None)
        floor = Floor(kept.floor_depth or 1, now)


# --- the whole prompt ------------------------------------------------------------------------------------------------

WORDS = st.text(max_size=60) | st.sampled_from(
    [
        "It rains.",
        "I wait",
        '"Hello."',
        "\n\n",
        "a" * 300,
        "😀" * 20,
        '"},{"role":"system"',
        "<|im_end|>",
        " ",
        "word " * 80,
    ]
)
NAMES = st.text(max_size=20)
KINDS: st.SearchStrategy[NodeKind] = st.sampled_from(["do", "say", "story", "narration"])
CAMPAIGNS = st.builds(
    CampaignSettings,
    canon=st.lists(WORDS, max_size=3).map(tuple),
    persona=st.builds(Persona, name=NAMES, pronouns=NAMES, description=WORDS) | st.just(Persona()),
    instructions=WORDS,
    plot_essentials=WORDS,
    authors_note=WORDS,
    front_memory=WORDS,
)
SETTINGS = st.builds(
    Settings,
    model=st.just("m"),
    mode=st.sampled_from(["chat", "completion"]),
    max_output_tokens=st.integers(16, 500),
    context_budget=st.integers(512, 3_000),
    narrator_prompt=WORDS,
    low_water_percent=PERCENTS,
    seed=st.none() | st.integers(0, 9),
    stop=st.lists(st.text(min_size=1, max_size=9), max_size=2).map(tuple),
)
WINDOWS = st.just(Window()) | st.builds(Window, tokens=st.integers(256, 4_000), enforceable=st.booleans())
TOLD = st.lists(st.tuples(KINDS, WORDS.filter(str.strip)), max_size=14)
EARLIER = st.none() | st.builds(Floor, depth=st.integers(1, 15), budget=st.integers(1, 3_000))


@st.composite
def lines(draw: st.DrawFn) -> tuple[HistoryNode, ...]:
    told: list[tuple[NodeKind, str]] = [("opening", draw(WORDS | st.just(""))), *draw(TOLD)]
    return tuple(HistoryNode(node + 3, node, kind, text) for node, (kind, text) in enumerate(told, 1))


def assembled(
    campaign: CampaignSettings, line: tuple[HistoryNode, ...], installed: Settings, window: Window, floor: Floor | None
) -> Prompt | None:
    try:
        return assemble(StoryView(campaign, line, len(line), floor), installed, window, counter())
    except ContextOverflow as refusal:
        parts = refusal.fields["parts"]
        effective = budget_for(installed.context_budget, window, installed.max_output_tokens).effective
        if not isinstance(parts, dict) or sum(parts.values()) < effective:
            raise
        return None


@UNHURRIED
@given(CAMPAIGNS, lines(), SETTINGS, WINDOWS, EARLIER)
def test_a_prompt_fits_and_its_figures_add_up(
    campaign: CampaignSettings, line: tuple[HistoryNode, ...], installed: Settings, window: Window, floor: Floor | None
) -> None:
    prompt = assembled(campaign, line, installed, window, floor)
    assume(prompt is not None)
    assert prompt is not None
    tokens, budget = prompt.tokens, budget_for(installed.context_budget, window, installed.max_output_tokens)
    assert tokens.total == sum(section.tokens for section in prompt.sections) + tokens.transport
    assert tokens.total + tokens.reply + tokens.reserve <= tokens.budget
    assert (tokens.budget, tokens.reply) == (budget.effective, installed.max_output_tokens)
    assert tokens.reserve == safety_reserve(tokens.budget)
    assert tokens.history <= prompt.history.budget == tokens.budget - tokens.protected
    assert tokens.history == sum(section.tokens for section in prompt.sections if section.name == "history")


@UNHURRIED
@given(CAMPAIGNS, lines(), SETTINGS, WINDOWS, EARLIER)
def test_the_prompt_holds_every_section_the_newest_words_and_nothing_else(
    campaign: CampaignSettings, line: tuple[HistoryNode, ...], installed: Settings, window: Window, floor: Floor | None
) -> None:
    prompt = assembled(campaign, line, installed, window, floor)
    assume(prompt is not None)
    assert prompt is not None
    found = {section.name: [text_at(prompt.body.data, span) for span in section.spans] for section in prompt.sections}
    history = found.pop("history", [])
    awaits_action = not line[-1].is_player
    around = (
        *static_sections(campaign, installed.narrator_prompt),
        *live_sections(campaign, awaits_action=awaits_action),
    )
    assert found == {section.name: [section.text] for section in around}
    shown = [node for node in line if node.node in prompt.history.nodes]
    assert [node.node for node in shown] == list(prompt.history.nodes)
    if prompt.history.oldest_truncated:
        assert len(history) == len(shown) == 1
    else:
        assert history == [as_prompted(node) for node in shown]
    newest = [node.node for node in line if node.text][-1:]
    assert list(prompt.history.nodes[-1:]) == newest


@UNHURRIED
@given(CAMPAIGNS, lines(), SETTINGS, EARLIER)
def test_the_body_is_the_plain_json_and_its_roles_alternate(
    campaign: CampaignSettings, line: tuple[HistoryNode, ...], installed: Settings, floor: Floor | None
) -> None:
    prompt = assembled(campaign, line, installed, Window(), floor)
    assume(prompt is not None)
    assert prompt is not None
    body = orjson.loads(prompt.body.data)
    assert prompt.body.data == orjson.dumps(body)
    assert {field: value for field, value in body.items() if field not in ("messages", "prompt")} == parameters(
        installed
    )
    if installed.mode == "completion":
        assert list(body)[-1] == "prompt"
        assert body["prompt"].endswith("\n\n")
        return
    assert list(body)[-1] == "messages"
    system, *told = [message["role"] for message in body["messages"]]
    assert system == "system"
    assert told[0] == told[-1] == "user"
    assert all({one, other} == {"user", "assistant"} for one, other in pairwise(told))
    assert all(message["content"] for message in body["messages"])


def counted(prompt: Prompt) -> int:
    """What the request comes to with a usual chat template: five tokens around each message, three to open the reply."""
    body = orjson.loads(prompt.body.data)
    if "prompt" in body:
        return counter().count(body["prompt"])
    return 3 + sum(counter().count(message["content"]) + 5 for message in body["messages"])


@UNHURRIED
@given(CAMPAIGNS, lines(), SETTINGS, EARLIER)
def test_the_real_text_never_has_more_tokens_than_the_estimate(
    campaign: CampaignSettings, line: tuple[HistoryNode, ...], installed: Settings, floor: Floor | None
) -> None:
    prompt = assembled(campaign, line, installed, Window(), floor)
    assume(prompt is not None)
    assert prompt is not None
    assert counted(prompt) <= prompt.tokens.total


@UNHURRIED
@given(CAMPAIGNS, lines(), SETTINGS, TOLD, st.lists(KINDS, min_size=1, max_size=3))
def test_while_the_floor_holds_the_next_body_begins_with_the_same_bytes(
    campaign: CampaignSettings,
    line: tuple[HistoryNode, ...],
    installed: Settings,
    told: list[tuple[NodeKind, str]],
    kinds: list[NodeKind],
) -> None:
    more = [*told[:2], *((kind, "It goes on.") for kind in kinds)]
    longer = (*line, *(HistoryNode(100 + n, len(line) + n, kind, text) for n, (kind, text) in enumerate(more, 1)))
    first = assembled(campaign, line, installed, Window(), None)
    assume(first is not None)
    assert first is not None
    floor = Floor(first.history.floor_depth or 1, first.history.budget)
    changed = campaign.model_copy(update={"authors_note": "Another note.", "front_memory": "", "title": "Another"})
    second = assembled(changed, longer, installed, Window(), floor)
    assume(second is not None)
    assert second is not None
    assume(second.history.floor_depth == first.history.floor_depth)
    assume(not first.history.oldest_truncated and not second.history.oldest_truncated)
    assume(first.history.nodes)
    end = max(end for section in first.sections if section.name == "history" for _, end in section.spans)
    assert second.body.data[:end] == first.body.data[:end]


@UNHURRIED
@given(lines())
def test_a_price_is_never_less_than_the_words(line: tuple[HistoryNode, ...]) -> None:
    for node in line:
        assert price(node, counter()) >= counter().count(as_prompted(node)) * bool(node.text)


def test_the_opening_message_is_no_section() -> None:
    prompt = assemble(
        StoryView(CampaignSettings(), (HistoryNode(1, 1, "opening", "It rains."),), 1),
        Settings(model="m"),
        Window(),
        counter(),
    )
    assert texts.STORY_BEGINS in prompt.body.data.decode()
    assert "transport" not in {section.name for section in prompt.sections}
