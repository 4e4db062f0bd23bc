"""The audit of a turn: what was sent and what came back."""

from typing import Any

from pydantic import BaseModel

from api.http.shapes.schema import with_examples
from api.http.shapes.turns import ACCOUNTING, AccountingShape
from domain.prompt.events import HistorySpan, TokenTally, Window

_WINDOW: dict[str, Any] = {
    "tokens": 4096,
    "source": "loaded",
    "verified": True,
    "enforceable": True,
    "model_max": 8192,
    "reachable": True,
    "detail": "The server says how much it reads.",
}
_SECTION: dict[str, Any] = {
    "name": "canon",
    "label": "Canon",
    "tokens": 11,
    "text": "Nobody has ever come back through the door.",
    "why": "the story has canon",
}
_TOKENS: dict[str, Any] = {
    "total": 417,
    "budget": 4096,
    "configured_budget": 16384,
    "reply": 400,
    "reserve": 256,
    "transport": 20,
    "protected": 120,
    "knowledge": 0,
    "history": 297,
    "exact": None,
}
_HISTORY: dict[str, Any] = {
    "first_node": 1,
    "last_node": 2,
    "total": 2,
    "floor_depth": None,
    "floor_moved": None,
    "prefix_kept": 0.97,
    "oldest_truncated": False,
    "nodes": [1, 2],
    "budget": 3420,
}
_SHA256 = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"


class SectionShape(BaseModel):
    """A section of a prompt: its text as it was sent, its price in tokens, and why it is in."""

    model_config = with_examples(_SECTION)

    name: str
    label: str
    tokens: int
    text: str
    why: str


class TokensShape(TokenTally):
    """The budget of the request, in tokens."""

    model_config = with_examples(_TOKENS)


class WindowShape(Window):
    """How much the server reads. `capped`: less than the budget that is set; null where nothing was asked beforehand."""

    model_config = with_examples({**_WINDOW, "capped": True, "preflight": None})

    capped: bool
    preflight: dict[str, Any] | None


class HistoryShape(HistorySpan):
    """Which of the line's nodes the prompt holds."""

    model_config = with_examples(_HISTORY)


class MemoriesShape(BaseModel):
    """Which memories were considered, with their scores."""

    model_config = with_examples({"query": {}, "eligible": 0, "considered": []})

    query: dict[str, Any]
    eligible: int
    considered: list[dict[str, Any]]


class KnowledgeShape(BaseModel):
    """Which entries of the knowledge base were considered."""

    model_config = with_examples({"considered": []})

    considered: list[dict[str, Any]]


class PromptShape(BaseModel):
    """The record of a request. `node` is null of a turn that made none.

    `public_endpoint`: the environment allowed the endpoint although it is public.
    """

    model_config = with_examples(
        {
            "node": 3,
            "turn": "t_4m2kq7xw3a",
            "purpose": "narration",
            "sections": [_SECTION],
            "tokens": _TOKENS,
            "window": {**_WINDOW, "capped": True, "preflight": None},
            "history": _HISTORY,
            "memories": {"query": {}, "eligible": 0, "considered": []},
            "knowledge": {"considered": []},
            "accounting": ACCOUNTING,
            "endpoint": "http://127.0.0.1:11434/v1",
            "public_endpoint": False,
            "model": "llama3.2",
            "mode": "chat",
            "parameters": {"temperature": 0.8, "max_tokens": 400, "stream": True},
            "body_sha256": _SHA256,
            "body_bytes": 1893,
            "built_from": 4211,
            "at": "2026-11-30T18:03:40.301577Z",
        }
    )

    node: int | None
    turn: str
    purpose: str
    sections: list[SectionShape]
    tokens: TokensShape
    window: WindowShape
    history: HistoryShape
    memories: MemoriesShape
    knowledge: KnowledgeShape
    accounting: AccountingShape | None
    endpoint: str
    public_endpoint: bool
    model: str
    mode: str
    parameters: dict[str, Any]
    body_sha256: str
    body_bytes: int
    built_from: int
    at: str


class RemovalShape(BaseModel):
    """A stretch of the raw reply that is not story: half open, in code points."""

    model_config = with_examples({"rule": "whitespace", "start": 68, "end": 70})

    rule: str
    start: int
    end: int


class ReadingShape(BaseModel):
    """How an extractor that was adopted later reads a reply."""

    model_config = with_examples(
        {
            "extractor": "2",
            "removals": [{"rule": "whitespace", "start": 15, "end": 16}],
            "prose": "The door gives.",
        }
    )

    extractor: str
    removals: list[RemovalShape]
    prose: str


class ReplyShape(BaseModel):
    """A turn's reply as it arrived; of a failed turn, what had come.

    `extractor`, `removals` and `prose` are those that were recorded with it; `reading` is what is in force instead, null
    while that is the same.
    """

    model_config = with_examples(
        {
            "turn": "t_4m2kq7xw3a",
            "node": 3,
            "ended": "accepted",
            "raw_reply": "The door gives.\n",
            "reasoning": "",
            "extractor": "0",
            "removals": [{"rule": "whitespace", "start": 15, "end": 16}],
            "prose": "The door gives.",
            "finish_reason": "stop",
            "error": None,
            "message": None,
            "reading": None,
        }
    )

    turn: str
    node: int | None
    ended: str | None
    raw_reply: str
    reasoning: str
    extractor: str | None
    removals: list[RemovalShape]
    prose: str
    finish_reason: str | None
    error: str | None
    message: str | None
    reading: ReadingShape | None
