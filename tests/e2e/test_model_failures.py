"""Whatever goes wrong with the model ends as a problem that says what, and the player's words are kept."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.player import Player, problem
from tests.e2e.server_process import ServerProcess
from tests.fakes.model_server import Reply, ScriptedModelServer


@dataclass(frozen=True)
class Failure:
    """What the model server does, and what is made of it. `said` must be in the sentence for the player."""

    name: str
    reply: Reply
    status: int
    code: str
    said: str
    stage: str = "model"
    partial: str = ""
    reasoning: str = ""


FAILURES = (
    Failure("404", Reply.refusal(404, "model 'x' not found"), 502, "model_refused", "HTTP 404: model 'x' not found"),
    Failure("400", Reply.context_exceeded(9000, 8192), 502, "model_refused", "9000 tokens against 8192"),
    Failure(
        "400 of vLLM",
        Reply.refusal(400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."),
        502,
        "model_refused",
        "lower `context_budget`",
    ),
    Failure(
        "500 for the window",
        Reply.refusal(500, "Context size has been exceeded."),
        502,
        "model_refused",
        "lower `context_budget`",
    ),
    Failure(
        "an error in a stream",
        Reply.raw('data: {"choices":[{"delta":{"content":"The"}}]}\n\ndata: {"error":"out of memory"}\n\n'),
        502,
        "model_refused",
        "in its reply: out of memory",
        partial="The",
    ),
    Failure(
        "declined",
        Reply.raw('data: {"choices":[{"delta":{"refusal":"I would rather not."},"finish_reason":"stop"}]}\n\n'),
        502,
        "model_refused",
        "in its reply: I would rather not.",
    ),
    Failure(
        "a tool called",
        Reply.raw('data: {"choices":[{"delta":{"tool_calls":[{"index":0}]},"finish_reason":"tool_calls"}]}\n\n'),
        502,
        "model_reply_empty",
        "it ended with tool_calls and no words",
        stage="reply",
    ),
    Failure("500", Reply.refusal(500, "out of memory"), 502, "model_refused", "HTTP 500: out of memory"),
    Failure(
        "a page",
        Reply.raw("<h1>Hello</h1>", content_type="text/html"),
        502,
        "model_reply_incomplete",
        "reads as a reply",
    ),
    Failure(
        "cut off",
        Reply("The floor gives way below.", cut_after=3),
        502,
        "model_reply_incomplete",
        "broke off",
        partial="The floor gives",
    ),
    Failure(
        "no end",
        Reply("The floor gives way.", finish_reason=None, with_done=False),
        502,
        "model_reply_incomplete",
        "without a finish reason",
        partial="The floor gives way.",
    ),
    Failure("empty", Reply(""), 502, "model_reply_empty", "no words", stage="reply"),
    Failure("blank", Reply(" \n\n "), 502, "model_reply_empty", "no words", stage="reply", partial=" \n\n "),
    Failure(
        "only reasoning",
        Reply("", reasoning="What would she do?", finish_reason="length"),
        502,
        "model_reply_empty",
        "only reasoned, until length",
        stage="reply",
        reasoning="What would she do?",
    ),
)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "awaited"])
def test_the_model_fails_and_the_words_are_kept(
    server: ServerProcess, model: ScriptedModelServer, streamed: bool
) -> None:
    for failure in FAILURES:
        player = Player.of_a_new_story(server)
        model.script(failure.reply)
        told = _problem_of_a_turn(player, streamed=streamed)
        assert (told["status"], told["code"]) == (failure.status, failure.code), failure.name
        assert failure.said in told["detail"], failure.name
        assert told["player_node"] == 2
        assert player.endings() == {told["turn"]: [failure.stage]}, failure.name
        reply = player.get(f"/turns/{told['turn']}/reply")
        assert (reply["raw_reply"], reply["reasoning"]) == (failure.partial, failure.reasoning), failure.name
        assert (reply["error"], reply["node"]) == (failure.code, None)
        assert player.told() == [("do", "I step through")]
        assert player.go_on().json()["player_node"] == 2
        assert player.get("/verify")["ok"]
    assert "Traceback" not in server.stderr


def _problem_of_a_turn(player: Player, *, streamed: bool) -> dict[str, Any]:
    if streamed:
        with player.listen("I step through") as listening:
            data: dict[str, Any] = listening.until("error").data
            return data
    answer = player.act("I step through")
    problem(answer)
    said: dict[str, Any] = answer.json()
    return said


def test_nothing_listens_and_the_words_are_kept(server: ServerProcess, model: ScriptedModelServer) -> None:
    player = Player.of_a_new_story(server)
    model.stop()
    answer = player.act("I step through")
    assert problem(answer) == (502, "model_unreachable")
    assert model.endpoint in answer.json()["detail"]
    assert player.told() == [("do", "I step through")]
    assert player.get(f"/turns/{answer.json()['turn']}/request")["messages"]
    with ScriptedModelServer(port=model.port):
        assert player.retry().json()["player_node"] == 2


def test_an_endpoint_that_leads_elsewhere_than_home_is_refused_and_the_words_are_kept(
    server: ServerProcess, model: ScriptedModelServer
) -> None:
    player = Player.of_a_new_story(server)
    model.script(Reply.raw(b"", status=302, content_type="text/plain"))
    assert problem(player.act("I step through")) == (502, "model_refused")
    refused = server.client.patch("/api/settings", json={"endpoint": "http://example.com/v1"})
    assert problem(refused) == (422, "endpoint_refused")
    assert player.told() == [("do", "I step through")]


def test_a_prompt_that_cannot_fit_is_refused_before_the_model_is_asked(
    server: ServerProcess, model: ScriptedModelServer
) -> None:
    player = Player.of_a_new_story(server, instructions="Tell it slowly. " * 800)
    server.client.patch("/api/settings", json={"context_budget": 1024})
    answer = player.act("I step through")
    assert problem(answer) == (422, "context_overflow")
    assert model.narrations == ()
    assert player.told() == [("do", "I step through")]
    server.client.patch("/api/settings", json={"context_budget": 8192})
    assert player.retry().json()["player_node"] == 2


def test_a_reply_longer_than_anything_is_taken_whole(server: ServerProcess, model: ScriptedModelServer) -> None:
    sentence = "And still it goes on, past every door that was ever open. "
    model.script(Reply(deltas=[sentence * 50] * 800))
    player = Player.of_a_new_story(server)
    answer = player.act("I step through")
    assert answer.status_code == 200
    assert answer.json()["prose"] == (sentence * 40_000).strip()
    assert player.told()[-1] == ("narration", (sentence * 40_000).strip())
    assert player.act("I go on").status_code == 200
    assert player.get("/verify")["ok"]
