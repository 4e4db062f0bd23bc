"""The state over HTTP: what is established, where each leaf comes from, corrections, proposals, scenes and looks."""

import json
import threading
from typing import Any

import httpx
import pytest

from api.scene_providers import SCENE_PROVIDERS
from domain.campaign.commands import AdoptExtractor, OpenTurn, StatePass
from domain.extraction.extraction import Removal
from domain.log import EventLog
from domain.narrative.changes import leaves
from domain.narrative.document import Document
from domain.narrative.events import NarrationReread
from domain.narrative.vocabulary import MOST_EVENTS
from tests import shapes
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.fakes.serving import Serving
from tests.shapes import has_shape, problem
from tests.told import CRYSTAL, MADE, block_of, tell

STATE = {"document", "groups", "duplicate_names", "at"}
WHY = {"path", "value", "event", "turn", "node", "moment", "by", "words", "prose", "position", "at"}
PACKET = {"scene_id", "summary", "location", "characters", "objects"}
PROFILE = {"descriptors", "features", "style_notes"}
PLACE = {"type": "set_current_location", "entity": "imani", "location": "ceres"}
SCENE = {"type": "set_scene", "summary": "Rain on the dome.", "location": "ceres", "present": ["imani"]}
FREED = {"type": "set_possession", "item": "crystal", "owner": None}
UNKNOWN = {"type": "set_possession", "item": "nothing", "owner": "imani"}


@pytest.fixture
def log(server: Serving) -> EventLog:
    return server.fabula.log


@pytest.fixture
def told(log: EventLog, campaign: str, story: str) -> str:
    """A story of two turns: node 3 makes all there is, node 5 says who holds what and where everybody is."""
    tell(log, campaign, "She walks in.", *MADE)
    tell(log, campaign, "She takes the crystal.", CRYSTAL, UNKNOWN, PLACE, SCENE)
    return story


@pytest.fixture
def campaign_of(told: str) -> str:
    return told.rpartition("/")[2]


def asked(client: httpx.Client, route: str, /, **query: Any) -> Any:
    answer = client.get(route, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def corrected(client: httpx.Client, story: str, *events: Any, **more: Any) -> Any:
    answer = client.post(f"{story}/state/corrections", json={"events": list(events), **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def why(client: httpx.Client, story: str, path: str, **query: Any) -> Any:
    answer = asked(client, f"{story}/state/why", path=path, **query)
    has_shape(answer, WHY)
    return answer


# What is established


def test_a_story_begins_with_nothing_established(client: httpx.Client, story: str) -> None:
    state = asked(client, f"{story}/state")
    has_shape(state, STATE)
    assert state["document"] == Document().to_json()
    assert (state["groups"], state["duplicate_names"], state["at"]) == ([], [], 1)


def test_the_state_is_where_the_story_stands_and_anywhere_else(client: httpx.Client, told: str) -> None:
    now = asked(client, f"{told}/state")
    has_shape(now, STATE)
    assert (now["at"], now["document"]["possessions"]) == (5, {"crystal": "imani"})
    assert [group["label"] for group in now["groups"]] == ["Characters", "Locations", "Items"]
    assert now["groups"][0]["entities"][0]["holds"] == [{"entity": "crystal", "name": "The crystal"}]
    assert asked(client, f"{told}/state", at=3)["document"]["possessions"] == {}
    assert asked(client, f"{told}/state", at=2)["document"]["entities"] == {}
    client.post(f"{told}/undo")
    assert asked(client, f"{told}/state")["at"] == 3


def test_the_state_as_of_a_position(client: httpx.Client, told: str) -> None:
    position = client.get(f"{told}/events?limit=1000").json()["events"][-1]["position"]
    corrected(client, told, FREED)
    assert asked(client, f"{told}/state")["document"]["possessions"] == {}
    then = asked(client, f"{told}/state", position=position)
    assert (then["at"], then["document"]["possessions"]) == (5, {"crystal": "imani"})
    problem(client.get(f"{told}/state", params={"at": 5, "position": position}), "invalid")


def test_names_borne_twice_are_reported(client: httpx.Client, told: str) -> None:
    corrected(client, told, {**MADE[0], "entity": "daughter", "name": " captain imani"})
    duplicates = asked(client, f"{told}/state")["duplicate_names"]
    assert duplicates == [{"name": "Captain Imani", "entities": ["imani", "daughter"]}]


@pytest.mark.parametrize(
    "route", ["state", "state/proposals", "scene-packet", "state/why?path=x", "state/history?path=x"]
)
def test_unknown_places_are_unknown(client: httpx.Client, told: str, route: str) -> None:
    again = "&" if "?" in route else "?"
    assert problem(client.get(f"{told}/{route}{again}at=99"), "unknown_node")["node"] == 99
    problem(client.get(f"/api/campaigns/c_nope/{route}"), "unknown_campaign")
    problem(client.get(f"{told}/{route}{again}at=0"), "invalid")


# Corrections


def test_a_correction_changes_the_state_and_says_what(client: httpx.Client, told: str) -> None:
    answer = corrected(client, told, FREED, UNKNOWN, note="She gave it back.")
    has_shape(answer, {"document", "refused"})
    assert answer["document"] == asked(client, f"{told}/state")["document"]
    assert answer["state_changes"] == [{"path": "possessions.crystal", "before": "imani", "after": None}]
    assert [(each["event"], each["code"]) for each in answer["refused"]] == [(UNKNOWN, "unknown_reference")]
    assert answer["refused"][0]["detail"].endswith(".")
    assert answer["position"] == asked(client, f"{told}/position")
    newest = client.get(f"{told}/events?limit=1000").json()["events"][-1]
    assert (newest["topic"], newest["actor"], newest["data"]["note"]) == (
        "state.corrected",
        "player",
        "She gave it back.",
    )


def test_a_correction_of_which_all_is_refused_changes_nothing(client: httpx.Client, told: str) -> None:
    before = client.get(f"{told}/events?limit=1000").json()
    refused = problem(
        client.post(f"{told}/state/corrections", json={"events": [UNKNOWN, {"type": "fly"}, "nonsense", None]}),
        "correction_refused",
    )["refused"]
    assert [each["code"] for each in refused] == ["unknown_reference", *["unknown_type"] * 3]
    assert [each["event"] for each in refused] == [UNKNOWN, {"type": "fly"}, "nonsense", None]
    assert client.get(f"{told}/events?limit=1000").json() == before


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"events": []},
        {"events": {}},
        {"events": [CRYSTAL] * (MOST_EVENTS + 1)},
        {"events": [CRYSTAL], "note": "x" * 2001},
        {"events": [CRYSTAL], "note": None},
        {"events": [CRYSTAL], "more": 1},
        {"events": [CRYSTAL, {"type": "x", "n": 10**30}]},
        {"events": [CRYSTAL, json.loads("[" * 40 + "]" * 40)]},
        [],
        "x",
    ],
)
def test_a_body_that_is_no_correction_is_invalid(client: httpx.Client, told: str, body: Any) -> None:
    problem(client.post(f"{told}/state/corrections", json=body), "invalid")


def test_a_number_beyond_all_bounds_is_invalid(client: httpx.Client, told: str) -> None:
    body = json.dumps({"events": [FREED, {"type": "x", "n": 0.5}]}).replace("0.5", "1e999")
    answer = client.post(f"{told}/state/corrections", content=body, headers={"content-type": "application/json"})
    assert "too large" in problem(answer, "invalid")["fields"]["events"]


def test_halves_of_characters_are_replaced_and_counted(client: httpx.Client, told: str) -> None:
    body = rb'{"events":[{"type":"rename_entity","entity":"imani","name":"Im\ud83dani"}],"note":"\udc00"}'
    answer = client.post(f"{told}/state/corrections", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 201
    assert answer.json()["document"]["entities"]["imani"]["name"] == "Im\ufffdani"
    newest = client.get(f"{told}/events?limit=1000").json()["events"][-1]["data"]
    assert (newest["note"], newest["replaced_surrogates"]) == ("\ufffd", 2)


def test_nothing_is_corrected_while_a_turn_is_told(
    client: httpx.Client, narrator: ScriptedModelServer, told: str
) -> None:
    go_on = threading.Event()
    narrator.script(Reply("At last.", hang_until=go_on))
    turn = threading.Thread(target=lambda: client.post(f"{told}/turns", json={"kind": "do", "text": "wait"}))
    turn.start()
    try:
        while client.get(f"{told}/position").json()["turn_in_progress"] is None:
            pass
        problem(client.post(f"{told}/state/corrections", json={"events": [FREED]}), "turn_in_progress")
        assert client.put(f"{told}/visual-profiles/imani", json={}).status_code == 200
        assert asked(client, f"{told}/state")["document"]["possessions"] == {"crystal": "imani"}
    finally:
        go_on.set()
        turn.join()


def test_a_turn_that_nobody_tells_any_more_is_in_nobodys_way(
    server: Serving, client: httpx.Client, campaign: str, story: str
) -> None:
    server.fabula.log.execute(OpenTurn(campaign, f"t_{campaign}", "do", "go", process="p_gone", request_hash="asked"))
    assert corrected(client, story, MADE[0])["document"]["entities"].keys() == {"imani"}


# Where it comes from


def test_every_leaf_says_where_it_comes_from(client: httpx.Client, told: str) -> None:
    corrected(
        client,
        told,
        {"type": "rename_entity", "entity": "imani", "name": "Imani"},
        {"type": "add_fact", "predicate": "it rains"},
    )
    document = asked(client, f"{told}/state")["document"]
    for path, value in leaves(Document.from_json(document)):
        answer = why(client, told, path)
        assert (answer["path"], answer["value"]) == (path, value)
        assert answer["event"]["type"] in {each["type"] for each in (*MADE, CRYSTAL, PLACE, SCENE)} | {
            "rename_entity",
            "add_fact",
        }
        if answer["by"] == "narrator":
            assert json.loads(answer["words"]["text"]) == answer["event"]
            assert answer["prose"] == {3: "She walks in.", 5: "She takes the crystal."}[answer["node"]]
        else:
            assert (answer["words"], answer["turn"], answer["node"]) == (None, None, 5)


def test_the_words_stand_in_the_raw_reply_where_they_are_said_to(client: httpx.Client, told: str) -> None:
    answer = why(client, told, "possessions.crystal")
    assert (answer["value"], answer["event"], answer["by"]) == ("imani", CRYSTAL, "narrator")
    assert (answer["node"], answer["moment"], answer["note"]) == (5, 5, None)
    reply = asked(client, f"{told}/turns/{answer['turn']}/reply")
    words = answer["words"]
    assert reply["raw_reply"][words["start"] : words["end"]] == words["text"] == json.dumps(CRYSTAL)
    assert (
        reply["raw_reply"][words["block_start"] : words["block_end"]]
        == words["block"]
        == block_of(CRYSTAL, UNKNOWN, PLACE, SCENE)
    )
    assert words["source"] == "reply"
    judged = next(
        event
        for event in client.get(f"{told}/events?limit=1000").json()["events"]
        if event["position"] == answer["position"]
    )
    assert (judged["topic"], judged["at"], judged["data"]["node"]) == ("state.proposal_judged", answer["at"], 5)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ('> {"events":[\n> {"type":"set_possession","item":"crystal",\n> "owner":"imani"},\n> {}]}', '{"type":"set_possession","item":"crystal",\n> "owner":"imani"}'),
        ("{“events”:[{“type”:“set_possession”,“item”:“crystal”,“owner”:“imani”,},]}", "{“type”:“set_possession”,“item”:“crystal”,“owner”:“imani”,}"),
        ('{"events":[{"type":"set_possession","item":"crystal","owner":"imani"]}', '{"type":"set_possession","item":"crystal","owner":"imani"'),
        (json.dumps(json.dumps({"events": [CRYSTAL]})), json.dumps(json.dumps(CRYSTAL))[1:-1]),
        (json.dumps([FREED, UNKNOWN, CRYSTAL]), json.dumps(CRYSTAL)),
    ],
)  # fmt: skip
def test_the_words_of_a_block_that_had_to_be_mended(
    client: httpx.Client, log: EventLog, campaign: str, story: str, block: str, words: str
) -> None:
    tell(log, campaign, "She wa\U0001f6aaks in.", *MADE)
    told = tell(log, campaign, "She takes thé 🔮.", CRYSTAL, block=block)
    found = why(client, story, "possessions.crystal")["words"]
    assert found["text"] == words == told.raw_reply[found["start"] : found["end"]]


@pytest.mark.parametrize(
    "block",
    [
        "```state\n{block}\n```",
        "> ```state\n> {block}\n> ```",
        "```json\n{block}\n```\n\n```state\n{{broken\n```",
        "{block}",
        "State\n\n```state\n{short}\n```",
    ],
)
def test_the_words_of_what_a_narrator_really_replies(
    client: httpx.Client, narrator: ScriptedModelServer, story: str, block: str
) -> None:
    written = block.format(block=block_of(*MADE, CRYSTAL), short=block_of(*MADE, CRYSTAL)[:-1])
    narrator.script(Reply(f"She wrote {CRYSTAL} there.\n\n{written}"))
    turn = client.post(f"{story}/turns", json={"kind": "do", "text": "go"}).json()
    assert turn["proposal"]["outcome"] == "applied", turn
    answer = why(client, story, "possessions.crystal")
    raw = asked(client, f"{story}/nodes/3/reply")["raw_reply"]
    words = answer["words"]
    assert raw[words["start"] : words["end"]] == words["text"] == json.dumps(CRYSTAL)
    assert raw[words["block_start"] : words["block_end"]] == words["block"]
    assert answer["prose"] == turn["prose"] == f"She wrote {CRYSTAL} there."


def test_of_events_that_read_the_same_the_words_are_those_that_were_accepted(
    client: httpx.Client, log: EventLog, campaign: str, story: str
) -> None:
    told = tell(log, campaign, "She has it.", CRYSTAL, *MADE, CRYSTAL, CRYSTAL)
    found = why(client, story, "possessions.crystal")["words"]
    assert found["start"] == told.raw_reply.index(json.dumps(CRYSTAL), told.raw_reply.index(json.dumps(MADE[2])))


def test_the_words_of_a_second_request_are_in_no_reply(
    client: httpx.Client, log: EventLog, campaign: str, story: str
) -> None:
    block = block_of(MADE[0], MADE[1])
    tell(log, campaign, "She walks in.", state_pass=StatePass((MADE[0], MADE[1]), block))
    words = why(client, story, "entities.ceres.name")["words"]
    assert (words["text"], words["block"], words["source"]) == (json.dumps(MADE[1]), block, "state_pass")
    assert [words[name] for name in ("start", "end", "block_start", "block_end")] == [None] * 4


def test_the_words_of_a_narration_that_was_reread(
    client: httpx.Client, log: EventLog, campaign: str, story: str
) -> None:
    told = tell(log, campaign, f"She walks in.\n{block_of(*MADE)}", MADE[0])
    start = told.raw_reply.index("\n{")
    reading = NarrationReread(
        node=told.node, branch=told.branch, depth=told.depth, extractor="3", prose="She walks in.", outcome="applied",
        removals=(Removal(rule="block", start=start, end=len(told.raw_reply)),), accepted=MADE, block=block_of(*MADE),
    )  # fmt: skip
    version = log.max_position(campaign) and len(log.read(0, 1000, stream=campaign))
    log.execute(AdoptExtractor(campaign, "3", "whole_history", (reading,), version))

    answer = why(client, story, "entities.ceres.name")
    assert (answer["turn"], answer["node"], answer["by"], answer["prose"]) == (
        told.turn,
        3,
        "narrator",
        "She walks in.",
    )
    words = answer["words"]
    assert told.raw_reply[words["start"] : words["end"]] == words["text"] == json.dumps(MADE[1])
    (proposal,) = asked(client, f"{story}/state/proposals")["proposals"]
    assert (proposal["reread_by"], proposal["accepted"]) == ("3", list(MADE))


def test_what_the_player_corrected_is_the_players(client: httpx.Client, told: str) -> None:
    corrected(client, told, FREED, note="She gave it back.")
    gone = why(client, told, "possessions.crystal")
    assert (gone["value"], gone["by"], gone["event"], gone["note"]) == (None, "player", FREED, "She gave it back.")
    assert (gone["turn"], gone["words"], gone["prose"]) == (None, None, "She takes the crystal.")
    assert why(client, told, "possessions.crystal", at=5) == gone
    problem(client.get(f"{told}/state/why", params={"path": "possessions.crystal", "at": 3}), "invalid")


def test_a_scene_that_nothing_has_set_is_as_every_story_begins(client: httpx.Client, told: str) -> None:
    answer = why(client, told, "scene.location", at=3)
    assert {name: value for name, value in answer.items() if value is not None} == {"path": "scene.location"}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("entities.imani", "it has below it: entities.imani.type, entities.imani.name"),
        ("crystal", "leaves like it are: entities.crystal.type"),
        ("entities.imani.nose", "leaves like it are: entities.imani.type"),
        ("imani.aliases.0", "entities.imani.aliases"),
        ("weather", "the leaves there are: entities.imani.type"),
        ("x" * 400, "…' is no leaf"),
        ("..", "is no leaf"),
    ],
)
def test_what_is_no_leaf_says_what_there_is(client: httpx.Client, told: str, path: str, said: str) -> None:
    refused = problem(client.get(f"{told}/state/why", params={"path": path}), "invalid")
    assert said in refused["fields"]["path"]
    assert len(refused["detail"]) < 1500


@pytest.mark.parametrize("path", ["", "x" * 401])
def test_a_path_has_bounds(client: httpx.Client, told: str, path: str) -> None:
    for route in ("why", "history"):
        problem(client.get(f"{told}/state/{route}", params={"path": path}), "invalid")
        problem(client.get(f"{told}/state/{route}"), "invalid")


def test_the_life_of_a_leaf(client: httpx.Client, log: EventLog, campaign_of: str, told: str) -> None:
    corrected(client, told, FREED)
    tell(log, campaign_of, "And takes it again.", CRYSTAL, CRYSTAL)
    answer = asked(client, f"{told}/state/history", path="possessions.crystal")
    assert (answer["path"], answer["at"]) == ("possessions.crystal", 7)
    assert [(each["node"], each["by"], each["before"], each["after"]) for each in answer["changes"]] == [
        (5, "narrator", None, "imani"),
        (5, "player", "imani", None),
        (7, "narrator", None, "imani"),
    ]
    assert [each["turn"] is None for each in answer["changes"]] == [False, True, False]
    assert [each["position"] for each in answer["changes"]] == sorted(each["position"] for each in answer["changes"])
    assert len(asked(client, f"{told}/state/history", path="possessions.crystal", at=5)["changes"]) == 2


def test_the_life_of_all_that_stands_below_a_path(client: httpx.Client, told: str) -> None:
    changes = asked(client, f"{told}/state/history", path="entities.imani")["changes"]
    assert {each["path"] for each in changes} == {
        f"entities.imani.{name}" for name in ("type", "name", "description", "aliases", "status", "location")
    }
    assert [each["path"] for each in changes if each["node"] == 5] == ["entities.imani.location"]
    assert asked(client, f"{told}/state/history", path="scene.location", at=3)["changes"] == []
    problem(client.get(f"{told}/state/history?path=entities.nobody"), "invalid")


def test_an_abandoned_line_explains_nothing_here(
    client: httpx.Client, log: EventLog, campaign_of: str, told: str
) -> None:
    client.post(f"{told}/undo")
    tell(log, campaign_of, "She leaves it.", {"type": "set_possession", "item": "crystal", "owner": "ceres"})
    assert (
        why(client, told, "possessions.crystal")["value"],
        why(client, told, "possessions.crystal", at=5)["value"],
    ) == ("ceres", "imani")
    assert len(asked(client, f"{told}/state/history", path="possessions.crystal")["changes"]) == 1


# Proposals


def test_proposals_are_listed_newest_first(client: httpx.Client, log: EventLog, campaign_of: str, told: str) -> None:
    tell(log, campaign_of, "Nothing happens.")
    answer = asked(client, f"{told}/state/proposals")
    assert [(each["node"], each["outcome"]) for each in answer["proposals"]] == [
        (7, "absent"),
        (5, "partly_applied"),
        (3, "applied"),
    ]
    partly = answer["proposals"][1]
    assert (partly["accepted"], [each["event"] for each in partly["refused"]]) == ([CRYSTAL, PLACE, SCENE], [UNKNOWN])
    assert (partly["block"], partly["source"], partly["reread_by"]) == (
        block_of(CRYSTAL, UNKNOWN, PLACE, SCENE),
        "reply",
        None,
    )
    assert answer["next"] is None


def test_proposals_come_in_pages_along_a_line(client: httpx.Client, log: EventLog, campaign_of: str, told: str) -> None:
    for _ in range(40):
        tell(log, campaign_of, "Nothing happens.")
    page = asked(client, f"{told}/state/proposals", limit=40)
    assert (len(page["proposals"]), page["next"]) == (40, 7)
    older = asked(client, f"{told}/state/proposals", before=page["next"])
    assert ([each["node"] for each in older["proposals"]], older["next"]) == ([5, 3], None)
    assert [each["node"] for each in asked(client, f"{told}/state/proposals", at=4)["proposals"]] == [3]


def test_what_the_player_wrote_anew_proposes_nothing(client: httpx.Client, told: str) -> None:
    client.post(f"{told}/nodes/5/revise", json={"text": "Mine."})
    assert [each["node"] for each in asked(client, f"{told}/state/proposals")["proposals"]][-1] == 3


# Scenes and looks


def test_a_scene_packet_holds_what_could_be_drawn(client: httpx.Client, told: str) -> None:
    looks = {"descriptors": {"hair": "grey"}, "features": ["a scar"], "style_notes": "Lit from below."}
    client.put(f"{told}/visual-profiles/imani", json=looks)
    packet = asked(client, f"{told}/scene-packet")
    has_shape(packet, PACKET)
    assert (packet["summary"], packet["location"]["key"], packet["at"]) == ("Rain on the dome.", "ceres", 5)
    (imani,) = packet["characters"]
    assert (imani["visual_profile"], [each["key"] for each in imani["holds"]]) == (looks, ["crystal"])
    before = asked(client, f"{told}/scene-packet", at=3)
    assert (before["summary"], before["location"], before["characters"]) == ("", None, [])
    assert before["scene_id"] != packet["scene_id"]


def test_how_an_entity_looks_is_said_and_replaced(client: httpx.Client, told: str) -> None:
    assert asked(client, f"{told}/visual-profiles") == {"visual_profiles": []}
    nothing = asked(client, f"{told}/visual-profiles/imani")
    has_shape(nothing, PROFILE)
    assert (nothing["descriptors"], nothing["features"], nothing["style_notes"]) == ({}, [], "")
    said = client.put(f"{told}/visual-profiles/imani", json={"features": ["a scar"], "descriptors": {"hair": "grey"}})
    assert said.status_code == 200
    assert said.json() == {
        "entity": "imani",
        "name": "Captain Imani",
        "features": ["a scar"],
        "descriptors": {"hair": "grey"},
        "style_notes": "",
    }
    client.put(f"{told}/visual-profiles/imani", json={"style_notes": "Ink."})
    client.put(f"{told}/visual-profiles/imani", json={"style_notes": "Ink."})
    assert asked(client, f"{told}/visual-profiles/imani")["features"] == []
    assert [each["entity"] for each in asked(client, f"{told}/visual-profiles")["visual_profiles"]] == ["imani"]
    events = client.get(f"{told}/events?limit=1000").json()["events"]
    assert [event["topic"] for event in events].count("state.visual_profile_set") == 2


def test_a_look_is_kept_for_an_entity_of_another_line(client: httpx.Client, told: str) -> None:
    client.put(f"{told}/visual-profiles/imani", json={"style_notes": "Ink."})
    client.post(f"{told}/head", json={"node": 1})
    assert asked(client, f"{told}/visual-profiles/imani")["name"] is None
    assert asked(client, f"{told}/scene-packet")["characters"] == []
    assert "entity" in problem(client.put(f"{told}/visual-profiles/imani", json={}), "invalid")["fields"]


@pytest.mark.parametrize("entity", ["nobody", "Imani", "a b", "x" * 65])
def test_what_is_no_entity_has_no_look(client: httpx.Client, told: str, entity: str) -> None:
    problem(client.put(f"{told}/visual-profiles/{entity}", json={}), "invalid")
    problem(client.get(f"{told}/visual-profiles/{entity}"), "invalid")


@pytest.mark.parametrize(
    "body",
    [
        {"descriptors": {"": "x"}},
        {"descriptors": {"x": "y" * 301}},
        {"descriptors": {str(n): "" for n in range(33)}},
        {"descriptors": []},
        {"descriptors": {"x": 1}},
        {"features": ["x"] * 33},
        {"features": "x"},
        {"features": [1]},
        {"style_notes": "x" * 2001},
        {"style_notes": None},
        {"colour": "grey"},
        [],
    ],
)
def test_a_look_has_bounds(client: httpx.Client, told: str, body: Any) -> None:
    problem(client.put(f"{told}/visual-profiles/imani", json=body), "invalid")


def test_nothing_draws() -> None:
    assert not SCENE_PROVIDERS


# The difference of two places


@pytest.fixture
def parted(client: httpx.Client, log: EventLog, campaign_of: str, told: str) -> str:
    client.post(f"{told}/undo")
    tell(log, campaign_of, "She leaves it.", {"type": "set_possession", "item": "crystal", "owner": "ceres"})
    return told


def test_the_difference_of_two_places_names_the_leaves(client: httpx.Client, parted: str) -> None:
    answer = asked(client, f"{parted}/diff", left="5", right="7")
    has_shape(answer, shapes.DIFFERENCE)
    assert answer["state"]["changes"] == [
        {"path": "entities.imani.location", "left": "ceres", "right": None},
        {"path": "possessions.crystal", "left": "imani", "right": "ceres"},
        {"path": "scene.summary", "left": "Rain on the dome.", "right": ""},
        {"path": "scene.location", "left": "ceres", "right": None},
        {"path": "scene.present", "left": ["imani"], "right": []},
    ]
    assert asked(client, f"{parted}/diff", left="5", right="5")["state"]["changes"] == []


def test_the_difference_of_a_place_now_and_then(client: httpx.Client, told: str) -> None:
    position = client.get(f"{told}/events?limit=1000").json()["events"][-1]["position"]
    corrected(client, told, FREED)
    answer = asked(client, f"{told}/diff", left=f"position:{position}", right="head")
    assert answer["state"]["changes"] == [{"path": "possessions.crystal", "left": "imani", "right": None}]


def test_a_page_shows_it(client: httpx.Client, parted: str) -> None:
    page = client.get(f"{parted}/diff", params={"left": "5", "right": "7", "format": "html"}).text
    assert "What is established" in page
    assert "possessions.crystal" in page
