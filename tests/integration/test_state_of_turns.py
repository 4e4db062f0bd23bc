"""The state through whole turns, over real sockets: what the narrator is told, what its replies become, the second request."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.prompt import texts
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.fakes.serving import serving

LAMP = {"type": "create_entity", "entity": "lamp", "entity_type": "item", "name": "The lamp"}
OREN = {"type": "create_entity", "entity": "oren", "entity_type": "character", "name": "Oren"}
HELD = {"type": "set_possession", "item": "lamp", "owner": "oren"}
NONSENSE = {"type": "set_possession", "item": "crown", "owner": "oren"}


def told(prose: str, *events: dict[str, Any]) -> str:
    return f"{prose}\n\n```state\n{json.dumps({'events': events})}\n```"


class Player:
    """Plays one story, and looks at what the narrator was sent."""

    def __init__(self, client: httpx.Client, model: ScriptedModelServer) -> None:
        self.client = client
        self.model = model
        self.campaign = client.post("/api/campaigns", json={"opening": "It is dark."}).json()["id"]

    def act(self, *replies: Reply, text: str = "I wait") -> dict[str, Any]:
        self.model.script(*replies)
        answer = self.client.post(self.at("/turns"), json={"kind": "do", "text": text})
        assert answer.status_code == 200, answer.text
        turn: dict[str, Any] = answer.json()
        return turn

    def at(self, path: str) -> str:
        return f"/api/campaigns/{self.campaign}{path}"

    def sections(self, node: int, purpose: str = "narration") -> dict[str, str]:
        record = self.client.get(self.at(f"/nodes/{node}/prompt"), params={"purpose": purpose}).json()
        return {section["name"]: section["text"] for section in record["sections"]}

    def events(self) -> list[str]:
        return [one["topic"] for one in self.client.get(self.at("/events"), params={"limit": 500}).json()["events"]]


@contextmanager
def playing(home: Path, **settings: Any) -> Iterator[Player]:
    with ScriptedModelServer() as model, serving(home, model.endpoint) as server, server.client() as client:
        client.patch("/api/settings", json=settings)
        yield Player(client, model)


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    with playing(tmp_path) as player:
        yield player


# What a reply becomes


def test_a_block_leaves_the_story_and_what_it_says_becomes_the_state(player: Player) -> None:
    turn = player.act(Reply(told("Oren lifts the lamp.", LAMP, OREN, HELD)))
    assert turn["prose"] == "Oren lifts the lamp."
    assert turn["proposal"] == {"outcome": "applied", "accepted": [LAMP, OREN, HELD], "refused": []}
    changes = {change["path"]: (change["before"], change["after"]) for change in turn["state_changes"]}
    assert changes["possessions.lamp"] == (None, "oren")
    story = player.client.get(player.at("/story")).json()["nodes"]
    assert (story[-1]["text"], story[-1]["outcome"]) == ("Oren lifts the lamp.", "applied")


def test_the_raw_reply_is_kept_with_its_removals_and_the_extractor(player: Player) -> None:
    raw = told("Oren lifts the lamp.", LAMP)
    turn = player.act(Reply(raw))
    reply = player.client.get(player.at(f"/nodes/{turn['node']}/reply")).json()
    assert (reply["raw_reply"], reply["prose"], reply["extractor"]) == (raw, "Oren lifts the lamp.", "2")
    assert "block" in {removal["rule"] for removal in reply["removals"]}


def test_every_narration_has_its_outcome_recorded(player: Player) -> None:
    player.act(Reply("Nothing stirs."))
    player.act(Reply(told("Still nothing.")))
    player.act(Reply("Fog.\n\n```state\n{events: (x=1)}\n```"))
    player.act(Reply(told("A crown?", NONSENSE)))
    player.act(Reply(told("Oren comes.", OREN, NONSENSE)))
    player.act(Reply(told("The lamp.", LAMP)))
    outcomes = [node["outcome"] for node in player.client.get(player.at("/story")).json()["nodes"] if node["outcome"]]
    assert outcomes == ["absent", "empty", "unparseable", "refused", "partly_applied", "applied"]


def test_a_reply_of_protocol_alone_is_an_empty_one(player: Player) -> None:
    player.model.script(Reply(told("", LAMP)))
    answer = player.client.post(player.at("/turns"), json={"kind": "do", "text": "I wait"})
    assert (answer.status_code, answer.json()["code"]) == (502, "model_reply_empty")


# What the narrator is told


def test_the_next_prompt_holds_the_rule_the_state_and_the_reminder(player: Player) -> None:
    player.act(Reply(told("Oren lifts the lamp.", LAMP, OREN, HELD)))
    sections = player.sections(player.act(Reply("Fog."))["node"])
    assert sections["state_rule"].count("\n") > 10
    assert "The lamp" in sections["state"]
    assert sections["state_reminder"] == texts.STATE_REMINDER
    assert "refusal_note" not in sections


def test_the_protocol_of_a_reply_is_not_in_the_history(player: Player) -> None:
    player.act(Reply(told("Oren lifts the lamp.", LAMP)))
    assert "```" not in player.sections(player.act(Reply("Fog."))["node"])["history"]


def test_what_was_refused_is_told_on_the_next_turn_of_the_line_and_not_after(player: Player) -> None:
    first = player.act(Reply(told("A crown?", NONSENSE)))
    noted = player.sections(player.act(Reply("Fog."))["node"])["refusal_note"]
    assert "crown" in noted
    assert "refusal_note" not in player.sections(player.act(Reply("Rain."))["node"])
    player.client.post(player.at("/head"), json={"node": first["node"]})
    assert "crown" in player.sections(player.act(Reply("Snow."))["node"])["refusal_note"]


def test_nothing_of_an_abandoned_line_is_in_the_prompt_of_another(player: Player) -> None:
    player.act(Reply(told("Oren lifts the lamp.", LAMP, OREN, HELD)))
    player.client.post(player.at("/undo"))
    elsewhere = player.sections(player.act(Reply("Fog."), text="I leave")["node"])
    assert "state" not in elsewhere
    assert not [text for text in elsewhere.values() if "Oren" in text or "The lamp" in text]


def test_a_retry_is_told_from_the_state_before_the_take_that_it_replaces(player: Player) -> None:
    player.act(Reply(told("Oren lifts the lamp.", LAMP, OREN, HELD)))
    player.model.script(Reply(told("Only fog.")))
    retried = player.client.post(player.at("/retry")).json()
    assert "state" not in player.sections(retried["node"])
    assert retried["state_changes"] == []


# The second request


def test_the_block_is_asked_for_alone_and_held_to_the_ids_that_exist(tmp_path: Path) -> None:
    with playing(tmp_path, state_pass=True) as player:
        player.act(Reply("Oren comes with a lamp."), Reply(json.dumps({"events": [LAMP, OREN]})))
        turn = player.act(Reply("Oren lifts it."), Reply(json.dumps({"events": [HELD]})), text="I watch")
        assert (turn["prose"], turn["proposal"]["outcome"]) == ("Oren lifts it.", "applied")
        narration, second = player.model.narrations[-2:]
        assert "response_format" not in narration.json
        schema = second.json["response_format"]["json_schema"]["schema"]
        assert {"lamp", "oren"} <= set(schema["$defs"]["entities"]["enum"])
        assert second.json["temperature"] == 0
        assert "state_rule" not in player.sections(turn["node"])
        asked = player.sections(turn["node"], "state")
        assert "Oren lifts it." in asked["history"]
        assert "> You watch" in asked["history"]
        exact = player.client.get(player.at(f"/nodes/{turn['node']}/request"), params={"purpose": "state"})
        assert exact.content == second.body


def test_both_requests_are_recorded_and_accounted_each_for_itself(tmp_path: Path) -> None:
    with playing(tmp_path, state_pass=True) as player:
        turn = player.act(Reply("Fog.", prompt_tokens=900), Reply('{"events": []}', prompt_tokens=700))
        assert turn["proposal"]["outcome"] == "empty"
        assert turn["accounting"]["prompt_tokens"] == 900
        record = player.client.get(player.at(f"/nodes/{turn['node']}/prompt"), params={"purpose": "state"}).json()
        assert (record["purpose"], record["accounting"]["prompt_tokens"]) == ("state", 700)
        assert player.events()[-6:] == [
            "prompt.sent",
            "prompt.sent",
            "story.narration_accepted",
            "state.proposal_judged",
            "accounting.reply_accounted",
            "accounting.reply_accounted",
        ]
        later = player.act(Reply("Rain."), Reply('{"events": []}'))
        kept = player.client.get(player.at(f"/nodes/{later['node']}/request"))
        assert kept.content == player.model.narrations[-2].body
        assert player.client.get(player.at("/verify")).json()["ok"], "each request is based on a narration's"


def test_a_narration_that_brings_its_block_is_not_asked_again(tmp_path: Path) -> None:
    with playing(tmp_path, state_pass=True) as player:
        turn = player.act(Reply(told("Oren comes.", OREN)))
        assert turn["proposal"]["outcome"] == "applied"
        assert len(player.model.narrations) == 1
        answer = player.client.get(player.at(f"/nodes/{turn['node']}/prompt"), params={"purpose": "state"})
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_turn")


def test_a_server_that_knows_no_schema_is_asked_without(tmp_path: Path) -> None:
    with playing(tmp_path, state_pass=True) as player:
        refusal = Reply.refusal(400, "response_format is not supported", "invalid_request_error")
        turn = player.act(Reply("Oren comes."), refusal, Reply(f"Here it is: {told('', OREN).strip()}"))
        assert turn["proposal"]["outcome"] == "applied"
        assert "response_format" not in player.model.narrations[-1].json
        for answer, outcome in ((json.dumps([LAMP]), "applied"), ("Nothing changed.", "unparseable")):
            turn = player.act(Reply("Oren comes."), refusal, Reply(answer))
            assert turn["proposal"]["outcome"] == outcome


def test_a_second_request_that_fails_costs_the_block_and_not_the_narration(tmp_path: Path) -> None:
    with playing(tmp_path, state_pass=True) as player:
        turn = player.act(Reply("Fog."), Reply.refusal(500, "out of memory"), Reply.refusal(500, "out of memory"))
        assert (turn["prose"], turn["proposal"]["outcome"]) == ("Fog.", "absent")
        judged = player.client.get(player.at("/events"), params={"limit": 500}).json()["events"]
        (event,) = [one for one in judged if one["topic"] == "state.proposal_judged"]
        assert "out of memory" in event["data"]["pass_error"]
        reply = player.client.get(player.at(f"/nodes/{turn['node']}/reply"), params={"purpose": "state"}).json()
        assert "out of memory" in reply["message"]


def test_cancelling_while_the_block_is_asked_for_keeps_the_narration(tmp_path: Path) -> None:
    with playing(tmp_path, state_pass=True) as player:
        never = threading.Event()
        player.model.script(Reply("Fog."), Reply('{"events": []}', hang_until=never))
        answers: list[httpx.Response] = []
        act = {"kind": "do", "text": "I wait"}
        waiting = threading.Thread(target=lambda: answers.append(player.client.post(player.at("/turns"), json=act)))
        waiting.start()
        assert player.model.wait_for_requests(2, timeout=10)
        while len(player.model.narrations) < 2:
            pass
        running = player.client.get(player.at("/position")).json()["turn_in_progress"]
        assert player.client.post(player.at(f"/turns/{running}/cancel")).status_code in (200, 202)
        waiting.join(timeout=20)
        never.set()
        assert (answers[0].status_code, answers[0].json()["prose"]) == (200, "Fog.")
        assert player.model.wait_for_disconnect(timeout=10)


# What the player writes anew


def test_a_narration_written_anew_keeps_what_the_original_proposed(player: Player) -> None:
    turn = player.act(Reply(told("Oren lifts the lamp.", LAMP, OREN, HELD, NONSENSE)))
    revised = player.client.post(
        player.at(f"/nodes/{turn['node']}/revise"), json={"text": "Oren takes the lamp."}
    ).json()
    assert revised["proposal"]["outcome"] == "partly_applied"
    assert revised["proposal"]["accepted"] == turn["proposal"]["accepted"]
    assert revised["state_changes"] == turn["state_changes"]
    document = player.client.get(player.at("/state")).json()["document"]
    assert document["possessions"] == {"lamp": "oren"}
    again = player.client.post(player.at(f"/nodes/{revised['node']}/revise"), json={"text": "He takes it."}).json()
    assert again["proposal"] == revised["proposal"]
    assert "crown" in player.sections(player.act(Reply("Fog."))["node"])["refusal_note"]


def test_the_words_of_the_player_are_never_parsed(player: Player) -> None:
    turn = player.act(Reply("Fog."))
    text = told("Oren comes.", OREN)
    revised = player.client.post(player.at(f"/nodes/{turn['node']}/revise"), json={"text": text}).json()
    assert (revised["prose"], revised["proposal"]["outcome"]) == (text, "absent")
    assert player.client.get(player.at("/state")).json()["document"]["entities"] == {}


def test_a_narration_written_anew_is_among_the_proposals(player: Player) -> None:
    turn = player.act(Reply(told("Oren lifts the lamp.", LAMP, OREN, HELD)))
    revised = player.client.post(
        player.at(f"/nodes/{turn['node']}/revise"), json={"text": "Oren takes the lamp."}
    ).json()
    (proposal,) = player.client.get(player.at("/state/proposals")).json()["proposals"]
    assert (proposal["node"], proposal["turn"], proposal["outcome"]) == (revised["node"], None, "applied")
