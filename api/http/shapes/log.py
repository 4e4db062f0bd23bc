"""The events themselves, and whether they are whole."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from api.http.shapes.schema import with_examples

EVENT: dict[str, Any] = {
    "position": 41,
    "stream": "c_k3v9m2x7qa",
    "version": 7,
    "topic": "story.player_acted",
    "schema": 1,
    "id": "e_7xw3a4m2kq",
    "at": "2026-11-30T18:03:40.119027Z",
    "turn": "t_4m2kq7xw3a",
    "actor": "player",
    "data": {"node": 2, "kind": "do", "text": "I step through the door"},
    "payload_sha256": "0f343b0931126a20f133d67c2b018a3b5e1d0a52bb8c3f9c9f3a1b7e6d5c4b3a",
    "chain": "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a",
}


class EventShape(BaseModel):
    """An event as it stands in the log. `version` counts in its stream, `position` in the whole log."""

    model_config = with_examples(EVENT)

    position: int
    stream: str
    version: int
    topic: str
    schema_: Annotated[int, Field(alias="schema")]
    id: str
    at: str
    turn: str | None
    actor: str
    data: dict[str, Any]
    payload_sha256: str
    chain: str


class EventPage(BaseModel):
    """Events in order of position. `next` is what `after` takes for what follows; null when the page was not full."""

    model_config = with_examples({"events": [EVENT], "next": 41})

    events: list[EventShape]
    next: int | None


class FirstBadShape(BaseModel):
    """The first event that does not fit, by its stream and version, and why."""

    model_config = with_examples(
        {"stream": "c_k3v9m2x7qa", "version": 7, "position": 41, "why": "its payload does not match its hash"}
    )

    stream: str
    version: int
    position: int | None
    why: str


class VerifyShape(BaseModel):
    """What a walk over the hash chain found. `head` is the hash at its end."""

    model_config = with_examples({"ok": True, "events": 214, "head": EVENT["chain"], "first_bad": None})

    ok: bool
    events: int
    head: str
    first_bad: FirstBadShape | None
