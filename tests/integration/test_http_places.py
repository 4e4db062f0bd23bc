"""Moving about, naming places, the tree and the difference over HTTP: each answer as agreed, each refusal a problem."""

import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests import shapes
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.shapes import has_shape, problem

NOT_FOR_PEOPLE = re.compile(r"\b(head|branch|depth|fork|node)", re.IGNORECASE)
TURN = {"kind": "do", "text": "one"}


def of_two_turns(client: httpx.Client, narrator: ScriptedModelServer) -> str:
    """Two turns; the first has two takes: opening 1, action 2, takes 3 and 4, words 5, narration 6."""
    created = client.post("/api/campaigns", json={"title": "T", "opening": "It begins."}).json()
    story = f"/api/campaigns/{created['id']}"
    narrator.script(Reply("First."), Reply("Second take."), Reply("Third."))
    client.post(f"{story}/turns", json=TURN)
    client.post(f"{story}/retry")
    client.post(f"{story}/turns", json={"kind": "say", "text": "two"})
    return story


@pytest.fixture
def told(client: httpx.Client, narrator: ScriptedModelServer) -> str:
    """A story `of_two_turns`."""
    return of_two_turns(client, narrator)


@pytest.fixture(scope="module")
def settled(_client: httpx.Client, narrator: ScriptedModelServer) -> Iterator[str]:
    """A story `of_two_turns` of which everything that is asked is refused."""
    story = of_two_turns(_client, narrator)
    events = _client.get(f"{story}/events?limit=1000").json()
    yield story
    assert _client.get(f"{story}/events?limit=1000").json() == events


@pytest.fixture
def other(client: httpx.Client) -> str:
    """The path of another story, of the opening alone."""
    return f"/api/campaigns/{client.post('/api/campaigns', json={'title': 'Other'}).json()['id']}"


def moved(answer: httpx.Response) -> dict[str, Any]:
    """The position that a move answers with; its line for people is for people."""
    assert answer.status_code == 200, answer.text
    position: dict[str, Any] = answer.json()
    position = position.get("position", position)
    has_shape(position, shapes.POSITION)
    assert not NOT_FOR_PEOPLE.search(position["label"])
    assert position["label"].startswith(f"Moment {position['moment']}")
    assert position["label"].endswith("later story ahead") == position["can_redo"]
    return position


def place(position: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(position[name] for name in ("head", "moment", "can_undo", "can_redo", "takes"))


def texts(client: httpx.Client, story: str, **query: Any) -> list[str]:
    answer = client.get(f"{story}/story", params=query)
    assert answer.status_code == 200, answer.text
    return [node["text"] for node in answer.json()["nodes"]]


# Back, forth and aside


def test_undo_and_redo_answer_with_the_position_and_the_story_follows(client: httpx.Client, told: str) -> None:
    steps = [
        ("undo", (4, 3, True, True, [3, 4]), ["It begins.", "one", "Second take."]),
        ("undo", (1, 1, False, True, [1]), ["It begins."]),
        ("redo", (4, 3, True, True, [3, 4]), ["It begins.", "one", "Second take."]),
        ("redo", (6, 5, True, False, [6]), ["It begins.", "one", "Second take.", "two", "Third."]),
    ]
    for step, expected, story in steps:
        position = moved(client.post(f"{told}/{step}"))
        assert place(position) == expected
        assert client.get(f"{told}/position").json() == position == client.get(told).json()["position"]
        assert texts(client, told) == story


def test_at_either_end_there_is_nothing_more(client: httpx.Client, told: str, other: str) -> None:
    problem(client.post(f"{told}/redo"), "nothing_to_redo")
    problem(client.post(f"{other}/undo"), "nothing_to_undo")
    problem(client.post(f"{other}/redo"), "nothing_to_redo")
    assert client.get(f"{other}/position").json()["label"] == "Moment 1"


def test_a_turn_after_an_undo_diverges_and_keeps_what_was_left(
    client: httpx.Client, narrator: ScriptedModelServer, told: str
) -> None:
    client.post(f"{told}/undo")
    narrator.script(Reply("Another way."))
    turn = client.post(f"{told}/turns", json={"kind": "do", "text": "aside"}).json()
    assert place(turn["position"]) == (8, 5, True, False, [8])
    assert texts(client, told) == ["It begins.", "one", "Second take.", "aside", "Another way."]
    assert place(moved(client.post(f"{told}/head", json={"node": 6}))) == (6, 5, True, False, [6])
    assert texts(client, told)[-1] == "Third."


def test_a_failed_turn_counts_as_a_moment_and_is_undone_alone(
    client: httpx.Client, narrator: ScriptedModelServer, told: str
) -> None:
    narrator.script(Reply.refusal(500, "out of memory"))
    problem(client.post(f"{told}/turns", json={"kind": "do", "text": "three"}), "model_refused")
    assert place(moved(client.get(f"{told}/position"))) == (7, 6, True, False, [7])
    assert place(moved(client.post(f"{told}/undo"))) == (6, 5, True, True, [6])
    assert place(moved(client.post(f"{told}/redo"))) == (7, 6, True, False, [7])


@pytest.mark.parametrize(
    ("node", "expected", "reason"),
    [
        (3, (3, 3, True, False, [3, 4]), "restore"),
        (4, (4, 3, True, True, [3, 4]), "restore"),
        (2, (2, 2, True, True, [2]), "restore"),
        (1, (1, 1, False, True, [1]), "restore"),
        (6, (6, 5, True, False, [6]), None),
    ],
)
def test_any_node_can_be_gone_to(client: httpx.Client, told: str, node: int, expected: Any, reason: str | None) -> None:
    assert place(moved(client.post(f"{told}/head", json={"node": node}))) == expected
    newest = client.get(f"{told}/events?limit=1000").json()["events"][-1]
    assert (newest["data"].get("reason") if newest["topic"] == "story.head_moved" else None) == reason
    assert newest["actor"] in ("player", "fabula")


def test_takes_are_selected_back_and_forth_and_each_keeps_its_later_story(client: httpx.Client, told: str) -> None:
    client.post(f"{told}/undo")
    assert place(moved(client.post(f"{told}/head", json={"node": 3}))) == (3, 3, True, False, [3, 4])
    assert place(moved(client.post(f"{told}/head", json={"node": 4}))) == (4, 3, True, True, [3, 4])
    assert place(moved(client.post(f"{told}/redo"))) == (6, 5, True, False, [6])
    moves = [event for event in client.get(f"{told}/events?limit=1000").json()["events"] if "reason" in event["data"]]
    assert [event["data"]["reason"] for event in moves] == ["undo", "select", "select", "redo"]
    assert {event["actor"] for event in moves} == {"player"}


def test_a_whole_number_is_a_node_however_it_is_written(client: httpx.Client, told: str) -> None:
    answer = client.post(f"{told}/head", content=b'{"node": 3.0}', headers={"content-type": "application/json"})
    assert moved(answer)["head"] == 3


@pytest.mark.parametrize("node", [0, -1, 1.5, "1", True, 10**30, 2**53, [1], {}])
def test_what_can_be_no_node_is_invalid(client: httpx.Client, settled: str, node: Any) -> None:
    problem(client.post(f"{settled}/head", json={"node": node}), "invalid")
    problem(client.post(f"{settled}/save-points", json={"name": "x", "node": node}), "invalid")


@pytest.mark.parametrize("body", [{}, {"node": 1, "save_point": "s_1"}, {"node": None}, {"nodes": 1}, [], "1"])
def test_exactly_one_place_is_named(client: httpx.Client, settled: str, body: Any) -> None:
    problem(client.post(f"{settled}/head", json=body), "invalid")


@pytest.mark.parametrize("node", [7, 2**53 - 1])
def test_unknown_nodes_are_unknown(client: httpx.Client, settled: str, node: int) -> None:
    for answer in (
        client.post(f"{settled}/head", json={"node": node}),
        client.post(f"{settled}/nodes/{node}/revise", json={"text": "x"}),
        client.patch(f"{settled}/nodes/{node}", json={"text": "x"}),
        client.post(f"{settled}/save-points", json={"name": "nowhere", "node": node}),
        client.get(f"{settled}/story?at={node}"),
        client.get(f"{settled}/diff?left={node}&right=1"),
    ):
        assert problem(answer, "unknown_node")["node"] == node


def test_the_nodes_and_names_of_another_story_are_unknown(client: httpx.Client, told: str, other: str) -> None:
    point = client.post(f"{told}/save-points", json={"name": "the harbour"}).json()["id"]
    problem(client.post(f"{other}/head", json={"node": 6}), "unknown_node")
    problem(client.post(f"{other}/head", json={"save_point": point}), "unknown_save_point")
    problem(client.post(f"{other}/nodes/6/revise", json={"text": "x"}), "unknown_node")
    problem(client.patch(f"{other}/nodes/6", json={"text": "x"}), "unknown_node")
    problem(client.delete(f"{other}/save-points/{point}"), "unknown_save_point")
    problem(client.put(f"{other}/branches/2", json={"name": "x"}), "unknown_branch")
    problem(client.get(f"{other}/story?at=6"), "unknown_node")
    for reference in ("6", point, "the harbour"):
        problem(client.get(f"{other}/diff", params={"left": reference, "right": "head"}), "unknown_node")
    assert client.get(f"{other}/position").json()["head"] == 1


def test_an_unknown_story_has_no_places(client: httpx.Client) -> None:
    story = "/api/campaigns/c_nope"
    for answer in (
        client.post(f"{story}/undo"),
        client.post(f"{story}/redo"),
        client.post(f"{story}/head", json={"node": 1}),
        client.post(f"{story}/nodes/1/revise", json={"text": "x"}),
        client.patch(f"{story}/nodes/1", json={"text": "x"}),
        client.get(f"{story}/save-points"),
        client.post(f"{story}/save-points", json={"name": "x"}),
        client.delete(f"{story}/save-points/s_1"),
        client.put(f"{story}/branches/1", json={"name": "x"}),
        client.get(f"{story}/tree"),
        client.get(f"{story}/tree?format=svg"),
        client.get(f"{story}/story?at=1"),
        client.get(f"{story}/story?position=1"),
        client.get(f"{story}/diff?left=1&right=head"),
        client.get(f"{story}/diff?left={'9' * 30}&right=head"),
        client.get(f"{story}/diff?left=position:1&right=x"),
    ):
        assert problem(answer, "unknown_campaign")["campaign"] == "c_nope"


# The player's hand


def test_a_narration_written_anew_answers_as_a_turn_does(client: httpx.Client, told: str) -> None:
    answer = client.post(f"{told}/nodes/4/revise", json={"text": " The second, mine.\n"})
    assert answer.status_code == 200
    revised = answer.json()
    has_shape(revised, shapes.TURN)
    has_shape(revised["proposal"], shapes.PROPOSAL)
    assert place(moved(answer)) == (7, 3, True, False, [3, 4, 7])
    assert (revised["turn"], revised["player_node"], revised["node"]) == (None, 2, 7)
    assert (revised["prose"], revised["finish_reason"]) == (" The second, mine.\n", None)
    assert texts(client, told) == ["It begins.", "one", " The second, mine.\n"]
    assert texts(client, told, at=6)[2] == "Second take."


def test_an_action_written_anew_waits_to_be_told(
    client: httpx.Client, narrator: ScriptedModelServer, told: str
) -> None:
    asked = len(narrator.narrations)
    answer = client.post(f"{told}/nodes/5/revise", json={"text": "deux"})
    assert place(moved(answer)) == (7, 4, True, False, [7])
    assert (answer.json()["player_node"], answer.json()["node"], answer.json()["prose"]) == (7, 7, "deux")
    assert len(narrator.narrations) == asked
    narrator.script(Reply("Quatre."))
    turn = client.post(f"{told}/turns", json={"kind": "continue"}).json()
    assert (turn["player_node"], turn["node"]) == (7, 8)
    assert texts(client, told)[2:] == ["Second take.", "deux", "Quatre."]


def test_a_continuation_written_anew_names_no_action(client: httpx.Client, told: str) -> None:
    told_without_words = client.post(f"{told}/turns", json={"kind": "continue"}).json()
    revised = client.post(f"{told}/nodes/{told_without_words['node']}/revise", json={"text": "Mine."}).json()
    assert (revised["player_node"], revised["node"]) == (None, 8)


def test_the_opening_has_no_sibling(client: httpx.Client, told: str) -> None:
    said = problem(client.post(f"{told}/nodes/1/revise", json={"text": "It began."}), "invalid")
    assert "opening" in said["fields"]["node"]
    assert client.get(f"{told}/position").json()["head"] == 6


def test_a_typo_is_mended_in_place(client: httpx.Client, told: str) -> None:
    before = client.get(f"{told}/position").json()
    for node, text in ((1, "It began."), (2, "uno"), (4, "Mended."), (3, "Mended elsewhere.")):
        answer = client.patch(f"{told}/nodes/{node}", json={"text": text})
        has_shape(answer.json(), shapes.CORRECTED)
        assert (answer.json()["node"], answer.json()["text"]) == (node, text)
        assert moved(answer) == before
    assert texts(client, told) == ["It began.", "uno", "Mended.", "two", "Third."]
    assert texts(client, told, at=3)[-1] == "Mended elsewhere."
    log = str(client.get(f"{told}/events?limit=1000").json())
    assert "Second take." in log


@pytest.mark.parametrize(
    "body", [{}, {"text": ""}, {"text": " \n\t"}, {"text": None}, {"text": 5}, {"text": "x", "y": 1}]
)
def test_a_node_needs_some_text(client: httpx.Client, settled: str, body: Any) -> None:
    problem(client.post(f"{settled}/nodes/4/revise", json=body), "invalid")
    problem(client.patch(f"{settled}/nodes/4", json=body), "invalid")


@pytest.mark.parametrize("node", ["0", "-1", "x", "1.5", str(10**30), "%00"])
def test_a_path_without_a_node_is_invalid(client: httpx.Client, settled: str, node: str) -> None:
    problem(client.post(f"{settled}/nodes/{node}/revise", json={"text": "x"}), "invalid")
    problem(client.patch(f"{settled}/nodes/{node}", json={"text": "x"}), "invalid")


def test_half_characters_are_replaced_and_counted(client: httpx.Client, told: str) -> None:
    headers = {"content-type": "application/json"}
    client.post(f"{told}/nodes/4/revise", content=b'{"text": "a\\ud800b"}', headers=headers)
    client.patch(f"{told}/nodes/2", content=b'{"text": "c\\udfffd"}', headers=headers)
    assert texts(client, told)[1:] == ["c\ufffdd", "a\ufffdb"]
    events = client.get(f"{told}/events?limit=1000").json()["events"]
    written = [event for event in events if event["topic"] in ("story.node_revised", "story.text_corrected")]
    assert [event["data"]["replaced_surrogates"] for event in written] == [1, 1]


# Names


def test_a_save_point_is_set_listed_gone_to_and_removed(client: httpx.Client, told: str) -> None:
    here = client.post(f"{told}/save-points", json={"name": "  the end "})
    assert here.status_code == 201
    has_shape(here.json(), shapes.SAVE_POINT)
    there = client.post(f"{told}/save-points", json={"name": "the first take", "node": 3})
    assert [{**answer.json(), "id": ""} for answer in (here, there)] == [
        {"id": "", "name": "the end", "node": 6, "moment": 5},
        {"id": "", "name": "the first take", "node": 3, "moment": 3},
    ]
    assert client.get(f"{told}/save-points").json() == {"save_points": [here.json(), there.json()]}
    position = moved(client.post(f"{told}/head", json={"save_point": there.json()["id"]}))
    assert place(position) == (3, 3, True, False, [3, 4])
    assert place(moved(client.post(f"{told}/head", json={"save_point": here.json()["id"]}))) == (6, 5, True, False, [6])
    left = client.delete(f"{told}/save-points/{here.json()['id']}")
    assert (left.status_code, left.json()) == (200, {"save_points": [there.json()]})
    problem(client.post(f"{told}/head", json={"save_point": here.json()["id"]}), "unknown_save_point")
    problem(client.delete(f"{told}/save-points/{here.json()['id']}"), "unknown_save_point")
    assert client.get(f"{told}/position").json()["head"] == 6


def test_a_branch_is_named_renamed_and_unnamed(client: httpx.Client, told: str) -> None:
    named = client.put(f"{told}/branches/2", json={"name": " the second way"})
    assert (named.status_code, named.json()) == (200, {"branch": 2, "name": "the second way", "tip": 6})
    has_shape(named.json(), shapes.BRANCH_NAME)
    assert client.put(f"{told}/branches/2", json={"name": "The Second Way"}).json()["name"] == "The Second Way"
    problem(client.put(f"{told}/branches/1", json={"name": "the second way"}), "name_taken")
    assert client.put(f"{told}/branches/2", json={"name": ""}).json()["name"] == ""
    assert client.put(f"{told}/branches/1", json={"name": "the second way"}).json()["tip"] == 3
    assert [branch["name"] for branch in client.get(f"{told}/tree").json()["branches"]] == ["the second way", ""]


def test_one_name_is_one_place(client: httpx.Client, told: str) -> None:
    client.post(f"{told}/save-points", json={"name": "The Harbour"})
    client.put(f"{told}/branches/1", json={"name": "The First Way"})
    for name in ("The Harbour", "the harbour", " THE HARBOUR ", "the first way"):
        said = problem(client.post(f"{told}/save-points", json={"name": name, "node": 1}), "name_taken")
        assert said["name"] == name.strip()
    problem(client.put(f"{told}/branches/2", json={"name": "the harbour"}), "name_taken")
    assert len(client.get(f"{told}/save-points").json()["save_points"]) == 1


@pytest.mark.parametrize(
    "name",
    ["12", "٣٣", "position:5", "Position: 5", "HEAD", "tip", "a\nb", "a\u0000b", "x" * 201, "x" * 10_000, 5, None],
)
def test_what_is_no_name_is_invalid(client: httpx.Client, settled: str, name: Any) -> None:
    for answer in (
        client.post(f"{settled}/save-points", json={"name": name}),
        client.put(f"{settled}/branches/1", json={"name": name}),
    ):
        said = problem(answer, "invalid")
        assert list(said["fields"]) == ["name"]
        assert len(said["detail"]) < 400


@pytest.mark.parametrize("name", ["", " ", "\n", "\u3000"])
def test_a_save_point_needs_a_name(client: httpx.Client, settled: str, name: str) -> None:
    problem(client.post(f"{settled}/save-points", json={"name": name}), "invalid")


@pytest.mark.parametrize("branch", ["3", "99", str(2**53 - 1)])
def test_unknown_branches_are_unknown(client: httpx.Client, settled: str, branch: str) -> None:
    assert problem(client.put(f"{settled}/branches/{branch}", json={"name": "x"}), "unknown_branch")["branch"] == int(
        branch
    )


@pytest.mark.parametrize("branch", ["0", "-1", "x", str(10**30)])
def test_what_can_be_no_branch_is_invalid(client: httpx.Client, settled: str, branch: str) -> None:
    problem(client.put(f"{settled}/branches/{branch}", json={"name": "x"}), "invalid")


@pytest.mark.parametrize("point", ["s_nope", "x" * 64, "'; --", "🚪"])
def test_unknown_save_points_are_unknown(client: httpx.Client, settled: str, point: str) -> None:
    problem(client.post(f"{settled}/head", json={"save_point": point}), "unknown_save_point")
    problem(client.delete(f"{settled}/save-points/{point}"), "unknown_save_point")


# While a turn runs


@contextmanager
def telling(client: httpx.Client, narrator: ScriptedModelServer, story: str) -> Iterator[str]:
    """A turn that is being told; its name."""
    go_on, answered = threading.Event(), []
    narrator.script(Reply("At last.", hang_until=go_on))
    body = {"kind": "do", "text": "wait"}
    thread = threading.Thread(target=lambda: answered.append(client.post(f"{story}/turns", json=body)))
    thread.start()
    try:
        while (running := client.get(f"{story}/position").json()["turn_in_progress"]) is None:
            pass
        yield str(running)
    finally:
        go_on.set()
        thread.join()
    assert answered[0].status_code == 200


def test_nothing_moves_while_a_turn_runs_and_names_are_given(
    client: httpx.Client, narrator: ScriptedModelServer, told: str
) -> None:
    point = client.post(f"{told}/save-points", json={"name": "before"}).json()["id"]
    with telling(client, narrator, told) as turn:
        before = client.get(f"{told}/position").json()
        for refused in (
            client.post(f"{told}/undo"),
            client.post(f"{told}/redo"),
            client.post(f"{told}/head", json={"node": 3}),
            client.post(f"{told}/head", json={"save_point": point}),
            client.post(f"{told}/nodes/4/revise", json={"text": "x"}),
            client.patch(f"{told}/nodes/4", json={"text": "x"}),
        ):
            assert problem(refused, "turn_in_progress")["turn"] == turn
        assert client.post(f"{told}/save-points", json={"name": "meanwhile", "node": 3}).status_code == 201
        assert client.put(f"{told}/branches/2", json={"name": "this way"}).status_code == 200
        assert client.delete(f"{told}/save-points/{point}").status_code == 200
        assert client.get(f"{told}/tree").json()["head"] == before["head"] == 7
        assert client.get(f"{told}/position").json() == before
    assert moved(client.post(f"{told}/undo"))["head"] == 6


# As of


def test_the_story_at_a_node_is_the_line_that_ends_there(client: httpx.Client, told: str) -> None:
    assert texts(client, told, at=3) == ["It begins.", "one", "First."]
    assert texts(client, told, at=1) == ["It begins."]
    assert texts(client, told, at=6, limit=2) == ["two", "Third."]
    page = client.get(f"{told}/story", params={"at": 3, "limit": 2}).json()
    older = client.get(f"{told}/story", params={"at": 3, "limit": 2, "before": page["next"]}).json()
    assert [node["node"] for node in older["nodes"] + page["nodes"]] == [1, 2, 3]
    assert page["position"]["head"] == 6


def test_the_story_at_a_position_reads_as_it_did(client: httpx.Client, told: str) -> None:
    client.patch(f"{told}/nodes/2", json={"text": "uno"})
    client.patch(f"{told}/nodes/2", json={"text": "eins"})
    client.post(f"{told}/undo")
    seen: list[tuple[str, list[str], list[list[int]]]] = []
    for event in client.get(f"{told}/events?limit=1000").json()["events"]:
        nodes = client.get(f"{told}/story", params={"position": event["position"]}).json()["nodes"]
        takes = [node["takes"] for node in nodes if node["kind"] == "narration"]
        then = (event["topic"].partition(".")[2], [node["text"] for node in nodes], takes)
        if not seen or seen[-1][1:] != then[1:]:
            seen.append(then)
    assert seen == [
        ("started", ["It begins."], []),
        ("player_acted", ["It begins.", "one"], []),
        ("narration_accepted", ["It begins.", "one", "First."], [[3]]),
        ("narration_accepted", ["It begins.", "one", "Second take."], [[3, 4]]),
        ("player_acted", ["It begins.", "one", "Second take.", "two"], [[3, 4]]),
        ("narration_accepted", ["It begins.", "one", "Second take.", "two", "Third."], [[3, 4], [6]]),
        ("text_corrected", ["It begins.", "uno", "Second take.", "two", "Third."], [[3, 4], [6]]),
        ("text_corrected", ["It begins.", "eins", "Second take.", "two", "Third."], [[3, 4], [6]]),
        ("head_moved", ["It begins.", "eins", "Second take."], [[3, 4]]),
    ]


def test_a_position_after_the_end_is_now_and_before_the_beginning_is_no_story(client: httpx.Client, told: str) -> None:
    assert texts(client, told, position=2**53 - 1) == texts(client, told)
    began = client.get(f"{told}/events?limit=1").json()["events"][0]["position"]
    if began > 1:
        said = problem(client.get(f"{told}/story?position={began - 1}"), "unknown_campaign")
        assert f"began after position {began - 1}" in said["detail"]
        said = problem(client.get(f"{told}/diff?left=position:{began - 1}&right=head"), "unknown_campaign")
        assert "began after" in said["detail"]


@pytest.mark.parametrize(
    "query",
    [
        "at=1&position=9",
        "at=0",
        "at=x",
        f"at={10**30}",
        "position=0",
        "position=-1",
        "position=x",
        f"position={10**30}",
    ],
)
def test_a_place_that_cannot_be_is_invalid(client: httpx.Client, settled: str, query: str) -> None:
    problem(client.get(f"{settled}/story?{query}"), "invalid")


# The tree


def test_the_tree_has_nodes_branches_names_and_the_places_that_are_kept(client: httpx.Client, told: str) -> None:
    client.put(f"{told}/branches/2", json={"name": "this way"})
    point = client.post(f"{told}/save-points", json={"name": "here", "node": 3}).json()
    client.post(f"{told}/undo")
    tree = client.get(f"{told}/tree").json()
    has_shape(tree, shapes.TREE)
    for node in tree["nodes"]:
        has_shape(node, shapes.TREE_NODE)
    for branch in tree["branches"]:
        has_shape(branch, shapes.TREE_BRANCH)
    assert [tuple(node.values()) for node in tree["nodes"]] == [
        (1, None, "opening", 1, 1),
        (2, 1, "do", 1, 2),
        (3, 2, "narration", 1, 3),
        (4, 2, "narration", 2, 3),
        (5, 4, "say", 2, 4),
        (6, 5, "narration", 2, 5),
    ]
    assert [tuple(branch.values()) for branch in tree["branches"]] == [
        (1, None, 0, 3, 3, ""),
        (2, 1, 2, 6, 5, "this way"),
    ]
    assert tree["save_points"] == [{"id": point["id"], "name": "here", "node": 3}]
    assert (tree["head"], tree["tip"]) == (4, 6)
    assert "text" not in tree["nodes"][0]


def test_the_tree_is_drawn_as_a_picture(client: httpx.Client, told: str) -> None:
    client.post(f"{told}/save-points", json={"name": "<script>alert('&')</script>", "node": 3})
    client.put(f"{told}/branches/2", json={"name": '"quoted" & <b>bold</b>'})
    client.post(f"{told}/undo")
    answer = client.get(f"{told}/tree?format=svg")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("image/svg+xml")
    picture = ET.fromstring(answer.text)  # noqa: S314  # what the program itself has drawn
    drawn = " ".join(picture.itertext())
    for seen in ("you are here", "later story", "<script>alert('&')</script>", '"quoted" & <b>bold</b>', "2 takes"):
        assert seen in drawn
    assert b"<script" not in answer.content
    assert not [element for element in picture.iter() if element.tag.endswith(("script", "a", "image", "use"))]


@pytest.mark.parametrize("drawn", ["tree?format=pdf", "tree?format=", "diff?left=1&right=2&format=pdf"])
def test_there_are_no_other_formats(client: httpx.Client, settled: str, drawn: str) -> None:
    problem(client.get(f"{settled}/{drawn}"), "invalid")


# The difference


@pytest.fixture
def parted(client: httpx.Client, narrator: ScriptedModelServer, told: str) -> str:
    """The story of `told` with a second way from node 4 on: words 7, narration 8; names for both."""
    client.post(f"{told}/undo")
    narrator.script(Reply("Another <i>way</i> opens."))
    client.post(f"{told}/turns", json={"kind": "do", "text": "aside"})
    client.put(f"{told}/branches/2", json={"name": "The First Way"})
    client.post(f"{told}/save-points", json={"name": "the end", "node": 6})
    return told


def difference(client: httpx.Client, story: str, left: str, right: str) -> dict[str, Any]:
    answer = client.get(f"{story}/diff", params={"left": left, "right": right})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    has_shape(found, shapes.DIFFERENCE)
    for side in ("left", "right"):
        has_shape(found[side], shapes.DIFFERENCE_PLACE)
        has_shape(found["accounts"][side], shapes.DIFFERENCE_ACCOUNTS)
    return found


def test_two_places_differ_in_what_came_since_they_parted(client: httpx.Client, parted: str) -> None:
    found = difference(client, parted, "6", "8")
    assert found["left"] == {"reference": "6", "node": 6, "moment": 5, "branch": 2, "moments_since": 2}
    assert found["right"] == {"reference": "8", "node": 8, "moment": 5, "branch": 3, "moments_since": 2}
    assert found["common"] == {"node": 4, "moment": 3, "branch": 2, "text": "Second take."}
    assert [tuple(node.values()) for node in found["text"]["left"]] == [
        (5, 4, "say", "two"),
        (6, 5, "narration", "Third."),
    ]
    assert [tuple(node.values()) for node in found["text"]["right"]] == [
        (7, 4, "do", "aside"),
        (8, 5, "narration", "Another <i>way</i> opens."),
    ]
    assert [(take["left"], take["right"], take["parent"]) for take in found["text"]["takes"]] == [(5, 7, 4)]
    assert found["state"] == {"changes": []}
    assert found["memory"] == {"left": [], "right": [], "summaries": {"left": None, "right": None}}
    assert found["prompts"]["left"] != found["prompts"]["right"]
    assert [section["name"] for section in found["prompts"]["sections"]] != []
    for side in ("left", "right"):
        assert found["accounts"][side]["turns"] == 1
        assert found["accounts"][side]["prompt_tokens"] > 0


def test_takes_of_one_action_are_compared_word_by_word(client: httpx.Client, told: str) -> None:
    found = difference(client, told, "3", "4")
    (take,) = found["text"]["takes"]
    assert (take["parent"], take["left"], take["right"]) == (2, 3, 4)
    assert "".join(stretch["left"] for stretch in take["words"]) == "First."
    assert "".join(stretch["right"] for stretch in take["words"]) == "Second take."
    assert {stretch["side"] for stretch in take["words"]} <= {"same", "left", "right"}


def test_places_are_named_in_every_way(client: httpx.Client, parted: str) -> None:
    point = client.get(f"{parted}/save-points").json()["save_points"][0]["id"]
    events = client.get(f"{parted}/events?limit=1000").json()["events"]
    at_six = next(e["position"] for e in events if e["topic"] == "story.narration_accepted" and e["data"]["node"] == 6)
    named = {
        "6": 6,
        "006": 6,
        " 6 ": 6,
        "head": 8,
        "tip": 8,
        "the end": 6,
        "THE END": 6,
        point: 6,
        "the first way": 6,
        f"position:{at_six}": 6,
        f"Position: {at_six}": 6,
        f"position:{10**15 - 1}": 8,
        "0" * 100 + "1": 1,
    }
    for reference, node in named.items():
        found = difference(client, parted, reference, "1")
        assert (found["left"]["node"], found["left"]["reference"]) == (node, reference), reference


def test_a_place_differs_from_itself_in_nothing(client: httpx.Client, parted: str) -> None:
    found = difference(client, parted, "head", "8")
    assert found["text"] == {"left": [], "right": [], "takes": [], "corrected": []}
    assert found["prompts"]["sections"] == []
    assert found["accounts"]["left"] == found["accounts"]["right"]
    assert found["common"]["node"] == 8


def test_a_place_differs_from_one_above_it_in_what_lies_between(client: httpx.Client, parted: str) -> None:
    found = difference(client, parted, "1", "8")
    assert (found["text"]["left"], [node["node"] for node in found["text"]["right"]]) == ([], [2, 4, 7, 8])
    assert found["common"]["node"] == 1
    assert found["prompts"]["left"] is None


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("7", "unknown_node"),
        ("0", "unknown_node"),
        ("9" * 15, "unknown_node"),
        ("9" * 19, "unknown_node"),
        (str(2**63), "unknown_node"),
        (str(2**64), "unknown_node"),
        ("9" * 250, "unknown_node"),
        ("-1", "unknown_node"),
        ("1.5", "unknown_node"),
        ("٣", "unknown_node"),
        ("nowhere", "unknown_node"),
        ("s_nope", "unknown_node"),
        ("branch 1", "unknown_node"),
        ("c_nope:1", "unknown_node"),
        ("\x00", "unknown_node"),
        ("\ufffd\U0001f5fc", "unknown_node"),
        ("'; DROP TABLE event; --", "unknown_node"),
        ("position:", "invalid"),
        ("position:x", "invalid"),
        ("position:-1", "invalid"),
        ("position:1.5", "invalid"),
        ("position:" + "9" * 19, "invalid"),
        ("position:" + "9" * 100, "invalid"),
        ("position:٣", "invalid"),
        ("position:0", "unknown_campaign"),
        ("", "invalid"),
        (" ", "invalid"),
        ("x" * 251, "invalid"),
    ],
)
def test_a_reference_to_nothing_is_a_problem_on_either_side(
    client: httpx.Client, settled: str, reference: str, code: str
) -> None:
    for format in ("json", "html"):  # noqa: A001  # the parameter's name
        problem(client.get(f"{settled}/diff", params={"left": reference, "right": "1", "format": format}), code)
        problem(client.get(f"{settled}/diff", params={"left": "1", "right": reference, "format": format}), code)


@pytest.mark.parametrize("query", ["", "left=1", "right=1", "left=1&left=2"])
def test_a_difference_needs_two_places(client: httpx.Client, settled: str, query: str) -> None:
    problem(client.get(f"{settled}/diff?{query}"), "invalid")


def test_the_difference_is_shown_as_a_page_that_stands_alone(client: httpx.Client, parted: str) -> None:
    client.patch(f"{parted}/nodes/6", json={"text": "<script>alert('x')</script> & more"})
    client.patch(parted, json={"title": "<img src=x onerror=alert(1)>"})
    answer = client.get(f"{parted}/diff", params={"left": "the end", "right": "head", "format": "html"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers.get_list("content-security-policy")
    assert len(policy) == 1
    assert "default-src 'none'" in policy[0]
    assert "script-src" not in policy[0] or "script-src 'none'" in policy[0]
    assert "&lt;script&gt;" in answer.text
    for forbidden in ("<script", "<img", "onerror=alert(1)>\n", "<i>way", "http://", "https://", "src="):
        assert forbidden not in answer.text.replace("&lt;img src=x onerror=alert(1)&gt;", "")


def test_a_place_named_by_a_position_is_compared_as_it_read_then(client: httpx.Client) -> None:
    of = f"/api/campaigns/{client.post('/api/campaigns', json={'opening': 'Once.'}).json()['id']}"
    acted = client.post(f"{of}/turns", json={"kind": "do", "text": "wiat"}).json()
    then = client.get(f"{of}/events?limit=1000").json()["events"][-1]["position"]
    client.patch(f"{of}/nodes/{acted['player_node']}", json={"text": "wait"}).raise_for_status()
    difference = client.get(f"{of}/diff", params={"left": f"position:{then}", "right": "1"}).json()
    assert difference["text"]["left"][0]["text"] == "wiat"
    assert client.get(f"{of}/diff", params={"left": "head", "right": "1"}).json()["text"]["left"][0]["text"] == "wait"


def test_what_was_corrected_before_two_places_parted_shows_when_one_is_a_position(client: httpx.Client) -> None:
    of = f"/api/campaigns/{client.post('/api/campaigns', json={'opening': 'Onec.'}).json()['id']}"
    client.post(f"{of}/turns", json={"kind": "do", "text": "wait"}).raise_for_status()
    then = client.get(f"{of}/events?limit=1000").json()["events"][-1]["position"]
    client.patch(f"{of}/nodes/1", json={"text": "Once."}).raise_for_status()
    text = client.get(f"{of}/diff", params={"left": f"position:{then}", "right": "head"}).json()["text"]
    assert [(node["node"], node["words"][0]["left"], node["words"][1]["right"]) for node in text["corrected"]] == [
        (1, "Onec.", "Once.")
    ]
    same = client.get(f"{of}/diff", params={"left": f"position:{then}", "right": f"position:{then}"}).json()
    assert same["text"]["corrected"] == []
    opening = client.get(f"{of}/diff", params={"left": "1", "right": f"position:{then}"}).json()
    assert opening["common"]["text"] == "Once."
    assert opening["text"]["corrected"][0]["node"] == 1


def test_the_record_of_a_revised_node_says_that_nothing_was_sent(client: httpx.Client) -> None:
    of = f"/api/campaigns/{client.post('/api/campaigns', json={'opening': 'Once.'}).json()['id']}"
    told = client.post(f"{of}/turns", json={"kind": "do", "text": "wait"}).json()
    revised = client.post(f"{of}/nodes/{told['node']}/revise", json={"text": "Otherwise."}).json()
    refusal = client.get(f"{of}/nodes/{revised['node']}/prompt").json()
    assert refusal["code"] == "unknown_turn"
    assert "was written anew by the player" in refusal["detail"]
    assert "turn" not in refusal
    accounts = client.get(f"{of}/diff", params={"left": str(revised["node"]), "right": "1"}).json()["accounts"]
    assert accounts["left"]["turns"] == 0


@pytest.mark.parametrize("names", [("Caf\u00e9", "Cafe\u0301"), ("Harbour", "\uff28arbour")])
def test_names_that_look_the_same_are_one_name(client: httpx.Client, names: tuple[str, str]) -> None:
    of = f"/api/campaigns/{client.post('/api/campaigns', json={}).json()['id']}"
    assert client.post(f"{of}/save-points", json={"name": names[0]}).status_code == 201
    assert client.post(f"{of}/save-points", json={"name": names[1]}).json()["code"] == "name_taken"
    assert client.post(f"{of}/save-points", json={"name": "\u200b"}).json()["code"] == "invalid"
