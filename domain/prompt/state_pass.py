"""The second request of a turn: for the state events alone, after the narration, held to a schema where a server can.

A small narrator tells a story passably and ends it with a usable block rarely. Asked for nothing but the block, with the
ids that exist enumerated, it cannot but answer in the right form.
"""

from dataclasses import dataclass
from typing import Any

from domain.errors import ContextOverflow
from domain.installation import Settings
from domain.narrative.document import Document
from domain.narrative.proposal_schema import proposal_schema
from domain.narrative.rendering import render
from domain.narrative.rule import vocabulary
from domain.ports import TokenCounter
from domain.prompt import texts
from domain.prompt.budget import MESSAGE_OVERHEAD, SEPARATOR, Budget, budget_for
from domain.prompt.events import HistorySpan, SectionSpan, TokenTally, Window
from domain.prompt.request import Body, Message, Piece, serialize
from domain.prompt.sections import LABELS, ORDER, HistoryNode, Section
from domain.prompt.wording import as_prompted

MOST_TOKENS = 400
"""The longest block that is asked for, in tokens, whatever the longest narration is: what the schema allows fits."""

_WHY = {
    "narrator_prompt": "the request for the state has a prompt of its own",
    "state_rule": "the events that there are",
    "state": "what was established before",
    "history": "the newest part of the story",
    "state_reminder": "the question",
}


@dataclass(frozen=True)
class PassRequest:
    """An assembled second request: its bytes, and the account of what they are made of."""

    body: Body
    sections: tuple[SectionSpan, ...]
    tokens: TokenTally
    history: HistorySpan


def assemble_pass(
    document: Document,
    under: HistoryNode,
    prose: str,
    settings: Settings,
    window: Window,
    counter: TokenCounter,
    *,
    constrained: bool,
) -> PassRequest:
    """The request about a narration and the action that it tells, on the state before it.

    `under` is the node that the narration hangs under; `constrained` holds the answer to the schema. Raises
    ContextOverflow when it does not fit.
    """
    sections = _sections(document, under, prose)
    tokens: dict[str, int] = {section.name: counter.count(section.text) for section in sections}
    budget = budget_for(settings.context_budget, window, MOST_TOKENS)
    tally = _tally(tokens, budget)
    if tally.total + budget.reply + budget.reserve > budget.effective:
        parts = {**tokens, "transport": tally.transport, "reply": budget.reply, "reserve": budget.reserve}
        raise ContextOverflow(parts, budget.effective, window_binds=budget.window_binds)
    pieces = [Piece(section.name, section.text) for section in sections]
    messages = (Message("system", tuple(pieces[:2])), Message("user", tuple(pieces[2:])))
    body = serialize(_parameters(settings, document, constrained=constrained), messages, settings.mode)
    return PassRequest(body, _spans(body, tokens), tally, _history(under))


def _sections(document: Document, under: HistoryNode, prose: str) -> tuple[Section, ...]:
    action = [as_prompted(under)] if under.is_player and under.text else []
    story = "\n\n".join((texts.BLOCK_ALONE_HEADING, *action, prose))
    sections = (
        Section("narrator_prompt", texts.BLOCK_ALONE_PROMPT, ""),
        Section("state_rule", f"{texts.BLOCK_ALONE_RULE}\n{vocabulary()}", ""),
        Section("state", render(document), ""),
        Section("history", story, ""),
        Section("state_reminder", texts.BLOCK_ALONE_QUESTION, ""),
    )
    return tuple(section for section in sections if section.text)


def _parameters(settings: Settings, document: Document, *, constrained: bool) -> dict[str, Any]:
    """Without chance: the same narration is to have the same block."""
    fields: dict[str, Any] = {
        "model": settings.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": MOST_TOKENS,
        "temperature": 0,
    }
    schema = {"name": "state_events", "strict": True, "schema": proposal_schema(document)}
    held = {"response_format": {"type": "json_schema", "json_schema": schema}} if constrained else {}
    seed = {} if settings.seed is None else {"seed": settings.seed}
    return fields | seed | held


def _tally(tokens: dict[str, int], budget: Budget) -> TokenTally:
    transport = SEPARATOR * len(tokens) + 3 * MESSAGE_OVERHEAD
    total = sum(tokens.values()) + transport
    return TokenTally(
        total=total,
        budget=budget.effective,
        configured_budget=budget.configured,
        reply=budget.reply,
        reserve=budget.reserve,
        transport=transport,
        protected=total + budget.reply + budget.reserve,
        history=tokens["history"],
    )


def _spans(body: Body, tokens: dict[str, int]) -> tuple[SectionSpan, ...]:
    return tuple(
        SectionSpan(name=name, label=LABELS[name], tokens=tokens[name], why=_WHY[name], spans=body.spans[name])
        for name in ORDER
        if name in body.spans
    )


def _history(under: HistoryNode) -> HistorySpan:
    """The narration itself has no node yet."""
    return HistorySpan(first_node=under.node, last_node=under.node, total=under.depth, nodes=(under.node,))
