"""Plays a script over the API of a running server, and keeps every raw reply."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.corpus.stories import Script

TURN_SECONDS = 600
"""How long a turn may take; the server's own time-out comes first."""


@dataclass(frozen=True)
class PlayedReply:
    """A turn as it was played in a mode, and what the narrator replied, before anything was removed.

    `raw` is empty for a turn that failed, of which `error` says why. `outcome` is what became of the block, which came
    from the second request where `passed` holds that request's reply.
    """

    story: str
    number: int
    kind: str
    text: str
    raw: str
    outcome: str | None = None
    accepted: int = 0
    mode: str = "chat"
    passed: str | None = None
    error: str | None = None


def played(server: httpx.Client, script: Script, turns: int, tell: Callable[[int], None]) -> Iterator[PlayedReply]:
    """The replies of so many turns of a script, each as it comes. Raises httpx.HTTPError when the server is gone."""
    mode = _answered(server.get("/api/settings"))["mode"]
    campaign = _answered(server.post("/api/campaigns", json=script.settings))["id"]
    for number in range(turns):
        tell(number)
        yield _turn(server, f"/api/campaigns/{campaign}", script, number, mode)


def _turn(server: httpx.Client, campaign: str, script: Script, number: int, mode: str) -> PlayedReply:
    kind, text = script.deed(number)
    answer = server.post(f"{campaign}/turns", json={"kind": kind, "text": text}, timeout=TURN_SECONDS)
    deed: dict[str, Any] = {"story": script.name, "number": number, "kind": kind, "text": text, "mode": mode}
    if answer.is_error:
        return PlayedReply(**deed, raw="", error=str(answer.json().get("code")))
    turn = answer.json()
    reply = _answered(server.get(f"{campaign}/nodes/{turn['node']}/reply"))
    second = server.get(f"{campaign}/nodes/{turn['node']}/reply", params={"purpose": "state"})
    return PlayedReply(
        **deed,
        raw=reply["raw_reply"],
        outcome=turn["proposal"]["outcome"],
        accepted=len(turn["proposal"]["accepted"]),
        passed=None if second.is_error else second.json()["raw_reply"],
    )


def _answered(answer: httpx.Response) -> Any:
    answer.raise_for_status()
    return answer.json()


def written(replies: Iterator[PlayedReply], path: Path) -> list[PlayedReply]:
    """Writes the replies to a file as they come, one JSON object a line."""
    kept = []
    with path.open("ab") as file:
        for reply in replies:
            file.write(orjson.dumps(asdict(reply), option=orjson.OPT_APPEND_NEWLINE))
            file.flush()
            kept.append(reply)
    return kept


def read(path: Path) -> list[PlayedReply]:
    """The replies that a file holds."""
    return [PlayedReply(**orjson.loads(line)) for line in path.read_bytes().splitlines()]
