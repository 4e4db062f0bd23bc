"""From a story's settings and line to the request that is sent: one pure function, also for the dry run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from domain.campaign.settings import CampaignSettings
from domain.errors import ContextOverflow
from domain.installation import Settings
from domain.ports import TokenCounter
from domain.prompt import texts
from domain.prompt.budget import MESSAGE_OVERHEAD, SEPARATOR, Budget, budget_for
from domain.prompt.events import HistorySpan, Mode, SectionSpan, TokenTally, Window
from domain.prompt.floor import Floor, Kept, keep
from domain.prompt.request import Body, messages_of, serialize
from domain.prompt.sections import LABELS, ORDER, HistoryNode, Section, StateTold, live_sections, static_sections
from domain.prompt.wording import as_prompted


@dataclass(frozen=True)
class StoryView:
    """What of a campaign a prompt is made of.

    `line` is the end of the line that is to be told on, oldest first: all of it, or as much as can possibly fit.
    `depth` is the moment of its newest node; `earlier` the floor of the line's newest earlier prompt. `state` is what the
    narrator is told of the state, None for nothing.
    """

    campaign: CampaignSettings
    line: tuple[HistoryNode, ...]
    depth: int
    earlier: Floor | None = None
    state: StateTold | None = None


@dataclass(frozen=True)
class Prompt:
    """An assembled request: its bytes, and the account of what they are made of."""

    body: Body
    sections: tuple[SectionSpan, ...]
    tokens: TokenTally
    history: HistorySpan


@dataclass(frozen=True)
class _Frame:
    """Everything around the history, priced."""

    static: tuple[Section, ...]
    live: tuple[Section, ...]
    tokens: Mapping[str, int]
    transport: int
    budget: Budget
    mode: Mode

    @property
    def protected(self) -> int:
        return sum(self.tokens.values()) + self.transport + self.budget.reply + self.budget.reserve

    @property
    def for_history(self) -> int:
        return self.budget.effective - self.protected


def history_budget(
    campaign: CampaignSettings,
    settings: Settings,
    window: Window,
    counter: TokenCounter,
    state: StateTold | None = None,
    *,
    awaits_action: bool,
) -> int:
    """The tokens that the history may take. ContextOverflow when what must be in every prompt leaves none."""
    return _frame(campaign, settings, window, counter, state, awaits_action=awaits_action).for_history


def price(node: HistoryNode, counter: TokenCounter, mode: Mode = "chat") -> int:
    """What a node of the history takes, with what stands around it. A node without text is not sent and takes nothing."""
    around = MESSAGE_OVERHEAD if mode == "chat" else SEPARATOR
    return counter.count(as_prompted(node)) + around if node.text else 0


def assemble(view: StoryView, settings: Settings, window: Window, counter: TokenCounter) -> Prompt:
    """The request for the narration that follows the view's line. Raises ContextOverflow before any model is asked."""
    awaits_action = not view.line[-1].is_player
    frame = _frame(view.campaign, settings, window, counter, view.state, awaits_action=awaits_action)
    prices = [price(node, counter, settings.mode) for node in view.line]
    depths = [node.depth for node in view.line]
    kept = keep(depths, prices, frame.for_history, view.earlier, settings.low_water_percent)
    history, taken, truncated = _fitted(view.line[kept.first :], sum(prices[kept.first :]), frame, counter)
    body = serialize(parameters(settings), messages_of(frame.static, history, frame.live), settings.mode)
    return Prompt(
        body=body,
        sections=_spans(body, frame, history, taken, kept),
        tokens=_tally(frame, taken),
        history=_history(view, history, kept, frame, truncated=truncated),
    )


def parameters(settings: Settings) -> dict[str, object]:
    """The request's fields besides the messages; those that are not set are absent."""
    fields: dict[str, object] = {
        "model": settings.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": settings.max_output_tokens,
        "temperature": settings.temperature,
    }
    optional = {"top_p": settings.top_p, "seed": settings.seed, "stop": list(settings.stop) or None}
    return fields | {name: value for name, value in optional.items() if value is not None}


def _frame(
    campaign: CampaignSettings,
    settings: Settings,
    window: Window,
    counter: TokenCounter,
    state: StateTold | None,
    *,
    awaits_action: bool,
) -> _Frame:
    static = static_sections(campaign, settings.narrator_prompt, state)
    live = live_sections(campaign, state, awaits_action=awaits_action)
    tokens: dict[str, int] = {section.name: counter.count(section.text) for section in (*static, *live)}
    budget = budget_for(settings.context_budget, window, settings.max_output_tokens)
    frame = _Frame(static, live, tokens, _transport(counter), budget, settings.mode)
    if frame.for_history <= 0:
        raise _overflow(frame, {})
    return frame


def _transport(counter: TokenCounter) -> int:
    """What the client itself adds: a separator per slot of a section, and at most four messages around the history.

    They are the system message, the one that opens the story, the one that the live sections end, and the opening of
    the reply.
    """
    return SEPARATOR * len(ORDER) + counter.count(texts.STORY_BEGINS) + 4 * MESSAGE_OVERHEAD


def _overflow(frame: _Frame, history: Mapping[str, int]) -> ContextOverflow:
    parts = {**_parts(frame), **history}
    return ContextOverflow(parts, frame.budget.effective, window_binds=frame.budget.window_binds)


def _parts(frame: _Frame) -> dict[str, int]:
    return {
        **frame.tokens,
        "transport": frame.transport,
        "reply": frame.budget.reply,
        "reserve": frame.budget.reserve,
    }


def _fitted(
    line: Sequence[HistoryNode], tokens: int, frame: _Frame, counter: TokenCounter
) -> tuple[tuple[HistoryNode, ...], int, bool]:
    """The kept nodes that have text, their price, and whether a single one, too large alone, has lost its front."""
    told = tuple(node for node in line if node.text)
    if tokens <= frame.for_history:
        return told, tokens, False
    cut = _cut(told[-1], frame, counter)
    return (cut,), price(cut, counter, frame.mode), True


def _cut(node: HistoryNode, frame: _Frame, counter: TokenCounter) -> HistoryNode:
    """The longest end of a node that fits, at least its last character. ContextOverflow when not even that does."""
    least = replace(node, text=node.text[-1])
    spare = frame.for_history - price(least, counter, frame.mode)
    if spare < 0:
        raise _overflow(frame, {"history": frame.for_history - spare})
    room = spare + counter.count(least.text)
    while room > 0:
        cut = replace(node, text=counter.tail(node.text, room))
        if cut.text and price(cut, counter, frame.mode) <= frame.for_history:
            return cut
        room -= max(1, room // 50)
    return least


def _spans(
    body: Body, frame: _Frame, history: Sequence[HistoryNode], taken: int, kept: Kept
) -> tuple[SectionSpan, ...]:
    why = {section.name: section.why for section in (*frame.static, *frame.live)}
    if history:
        begins = f"from the floor at moment {kept.floor_depth}" if kept.floor_depth else "from its beginning"
        why["history"] = f"nodes {history[0].node}–{history[-1].node}, the line {begins}"
    tokens = {**frame.tokens, "history": taken}
    return tuple(
        SectionSpan(name=name, label=LABELS[name], tokens=tokens[name], why=why[name], spans=body.spans[name])
        for name in ORDER
        if name in body.spans
    )


def _tally(frame: _Frame, taken: int) -> TokenTally:
    return TokenTally(
        total=sum(frame.tokens.values()) + frame.transport + taken,
        budget=frame.budget.effective,
        configured_budget=frame.budget.configured,
        reply=frame.budget.reply,
        reserve=frame.budget.reserve,
        transport=frame.transport,
        protected=frame.protected,
        history=taken,
    )


def _history(
    view: StoryView, history: Sequence[HistoryNode], kept: Kept, frame: _Frame, *, truncated: bool
) -> HistorySpan:
    return HistorySpan(
        first_node=history[0].node if history else None,
        last_node=history[-1].node if history else None,
        total=view.depth,
        floor_depth=kept.floor_depth,
        floor_moved=kept.moved,
        oldest_truncated=truncated,
        nodes=tuple(node.node for node in history),
        budget=frame.for_history,
    )
