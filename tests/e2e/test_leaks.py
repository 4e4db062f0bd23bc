"""What was left behind is never told to the narrator on another line: looked for in the very bytes that it was sent.

A sentinel is a word that stands nowhere else. Each is planted at a place of one line, and looked for in every place that
a later part of Fabula may carry text through. A part that can carry text adds a `Sentinel` (how text comes in) or a
`Carrier` (where it may come out); every sentinel is then looked for in every carrier, with the positive control that on
its own line it is there, and only where such a thing comes out.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Start
from tests.e2e.player import Player
from tests.e2e.server_process import Launch, ServerProcess
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import Reply, ScriptedModelServer

TURNS_BEFORE, TURNS_ASIDE = 3, 4


@dataclass(frozen=True)
class Tale:
    """A story that is being played, and the model server that tells it."""

    player: Player
    model: ScriptedModelServer

    def through(self, server: ServerProcess) -> "Tale":
        return Tale(self.player.through(server), self.model)

    def act(self, text: str, told: str = "It goes on.") -> int:
        """A turn; the number of its narration."""
        self.model.script(Reply(told))
        return _ok(self.player.act(text))

    def retry(self, told: str) -> int:
        """Another take; its number."""
        self.model.script(Reply(told))
        return _ok(self.player.retry())

    def head(self) -> int:
        return int(self.player.get("/position")["head"])

    def go(self, node: int) -> None:
        assert self.player.post("/head", {"node": node}).status_code == 200

    def revise(self, node: int, text: str) -> int:
        return _ok(self.player.post(f"/nodes/{node}/revise", {"text": text}))

    def correct(self, node: int, text: str) -> None:
        answer = self.player.server.client.patch(f"{self.player.path}/nodes/{node}", json={"text": text})
        assert answer.status_code == 200, answer.text

    def correct_state(self, *events: Any) -> None:
        answer = self.player.post("/state/corrections", {"events": events})
        assert answer.status_code == 201, answer.text

    def life(self, part: str) -> str:
        """What ever changed in a part of the state along the line; or what is said where the line has no such part."""
        answer = self.player.server.client.get(f"{self.player.path}/state/history", params={"path": part})
        assert answer.status_code in (200, 422), answer.text
        return answer.text

    def show(self, entity: str, style_notes: str) -> None:
        path = f"{self.player.path}/visual-profiles/{entity}"
        answer = self.player.server.client.put(path, json={"style_notes": style_notes})
        assert answer.status_code == 200, answer.text


def _ok(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.json()["node"])


def block(*events: Any) -> str:
    """State events as the narrator sends them, under some prose."""
    return f"It goes on.\n\n```state\n{json.dumps({'events': events})}\n```"


def make(entity: str, name: str, kind: str = "item") -> dict[str, Any]:
    return {"type": "create_entity", "entity": entity, "entity_type": kind, "name": name}


def scene(summary: str, *present: str) -> dict[str, Any]:
    return {"type": "set_scene", "summary": summary, "present": present}


def establish(predicate: str) -> dict[str, Any]:
    return {"type": "add_fact", "predicate": predicate}


def let_go(item: str) -> dict[str, Any]:
    """Refused, where there is no such thing."""
    return {"type": "set_possession", "item": item, "owner": None}


PROMPT, RECORD, STORY = "the prompt", "the prompt record", "the story"
STATE, LIFE, PROPOSALS, SCENE = "the state", "the life of the state", "the proposals", "the scene packet"

TOLD = frozenset({PROMPT, RECORD, STORY})
"""Where text of the story comes out."""

CORRECTED = frozenset({PROMPT, RECORD, STATE, LIFE})
"""Where what is so by the player's hand comes out."""

PROPOSED = CORRECTED | {PROPOSALS}
"""Where what is so by a narrator's block comes out."""

NOWHERE = frozenset[str]()


@dataclass(frozen=True)
class Sentinel:
    """A word, and how it comes into a story. `plant` begins and ends on the line that keeps it.

    `reaches`: where it comes out on that line when all the others have been planted too; nowhere, for one that was
    corrected away, written anew or left behind.
    """

    name: str
    word: str
    plant: Callable[[Tale, str], object]
    reaches: frozenset[str] = TOLD


@dataclass(frozen=True)
class Carrier:
    """Where text may come out: what is looked through after one more turn has been taken on a line."""

    name: str
    carried: Callable[[Tale], str]


def _plant_late_words(tale: Tale, word: str) -> None:
    """Words whose turn failed, and which other words then followed."""
    tale.model.script(Reply.refusal(500, "out of memory"))
    assert tale.player.act(f"I call {word}").status_code == 502
    tale.act("I call again")


def _plant_rejected_take(tale: Tale, word: str) -> None:
    tale.act("I wait", f"A {word} passes.")
    tale.retry("Nothing passes.")


def _plant_corrected_away(tale: Tale, word: str) -> None:
    tale.correct(tale.act("I look", f"A {word} hangs there."), "A bell hangs there.")


def _plant_revised_away(tale: Tale, word: str) -> None:
    tale.revise(tale.act("I listen", f"A {word} rings."), "A bell rings.")


def _plant_revised_action_away(tale: Tale, word: str) -> None:
    narration = tale.act(f"I lift the {word}")
    tale.revise(narration - 1, "I lift the lamp")
    tale.model.script(Reply("It is heavy."))
    _ok(tale.player.go_on())


def _plant_undone(tale: Tale, word: str) -> None:
    tale.act("I go astray", f"The {word} opens.")
    assert tale.player.post("/undo").status_code == 200


def _plant_partial(tale: Tale, word: str) -> None:
    """What had come of a narration that broke off."""
    tale.model.script(Reply(f"The {word} falls and then", cut_after=3))
    assert tale.player.act("I step back").status_code == 502
    tale.model.script(Reply("The floor holds."))
    _ok(tale.player.retry())


def _plant_refused(tale: Tale, word: str) -> None:
    """What was refused of a block is told of on the next turn alone."""
    tale.act("I drop it", block(let_go(word)))
    tale.act("I look for it")


def _plant_state_written_anew(tale: Tale, word: str) -> None:
    """The words of the narration are the player's then, and what it changed stays."""
    tale.revise(tale.act("I rest", block(make("thing-2", word))), "Night falls.")


def _plant_rejected_state(tale: Tale, word: str) -> None:
    tale.act("I wait", block(make("thing-3", word), establish(f"{word} hums")))
    tale.retry("Nothing comes of it.")


def _plant_rejected_refusal(tale: Tale, word: str) -> None:
    tale.act("I wait", block(let_go(word)))
    tale.retry("Nothing comes of it.")


def _plant_undone_scene(tale: Tale, word: str) -> None:
    tale.act("I go astray", block(scene(f"Within the {word}.")))
    assert tale.player.post("/undo").status_code == 200


def _plant_partial_block(tale: Tale, word: str) -> None:
    came, missing = block(make("thing-4", word)).rsplit("}", 1)
    tale.model.script(Reply(deltas=(came, "}" + missing), cut_after=1))
    assert tale.player.act("I step back").status_code == 502
    tale.model.script(Reply("The floor holds."))
    _ok(tale.player.retry())


def _plant_correction_above(tale: Tale, word: str) -> None:
    """A node is corrected from which the line has gone on already: that was told without it."""
    above, below = tale.act("I count"), tale.act("I count again")
    tale.go(above)
    tale.correct_state(establish(f"{word} was there"))
    tale.go(below)


def _plant_look(tale: Tale, word: str) -> None:
    """How an entity looks is said for every line, and seen where there is that entity."""
    tale.act("I turn round", block(make("figure-1", "Somebody", "character"), scene("Somebody waits.", "figure-1")))
    tale.show("figure-1", f"Drawn as {word}.")


SENTINELS = (
    Sentinel("narration", "quillhaven", lambda tale, word: tale.act("I look up", f"The {word} glows.")),
    Sentinel("words", "brasswick", lambda tale, word: tale.act(f"I take the {word}")),
    Sentinel("spoken words", "thornmere", lambda tale, word: _ok(tale.player.act(f"Where is {word}?", kind="say"))),
    Sentinel("words of a failed turn", "oxwallow", _plant_late_words),
    Sentinel(
        "narration written anew",
        "fennimore",
        lambda tale, word: tale.revise(tale.act("I rest", "Night falls."), f"The {word} sleeps."),
    ),
    Sentinel(
        "correction",
        "saltgrave",
        lambda tale, word: tale.correct(tale.act("I read", "A name."), f"The name is {word}."),
    ),
    Sentinel("corrected away", "mirrormoss", _plant_corrected_away, NOWHERE),
    Sentinel("written anew away", "crookstaff", _plant_revised_away, NOWHERE),
    Sentinel("action written anew away", "palewater", _plant_revised_action_away, NOWHERE),
    Sentinel("rejected take", "hollowbrook", _plant_rejected_take, NOWHERE),
    Sentinel("undone turn", "ashbourne", _plant_undone, NOWHERE),
    Sentinel("partial reply", "dunmarrow", _plant_partial, NOWHERE),
    Sentinel("entity", "gallowmere", lambda tale, word: tale.act("I find it", block(make("thing-1", word))), PROPOSED),
    Sentinel("fact", "wintersedge", lambda tale, word: tale.act("I ask", block(establish(f"{word} burns"))), PROPOSED),
    Sentinel(
        "corrected state", "ravenscar", lambda tale, word: tale.correct_state(establish(f"{word} sinks")), CORRECTED
    ),
    Sentinel("state of a narration written anew", "larkenby", _plant_state_written_anew, PROPOSED),
    Sentinel("refused change", "oldenfirth", _plant_refused, frozenset({PROPOSALS})),
    Sentinel("state of a rejected take", "grimsdale", _plant_rejected_state, NOWHERE),
    Sentinel("refused change of a rejected take", "hazelmoor", _plant_rejected_refusal, NOWHERE),
    Sentinel("undone scene", "stonewyke", _plant_undone_scene, NOWHERE),
    Sentinel("block of a partial reply", "eldercombe", _plant_partial_block, NOWHERE),
    Sentinel("state corrected above the line", "featherlow", _plant_correction_above, NOWHERE),
    Sentinel("look", "marrowick", _plant_look, frozenset({SCENE})),
    # Last, since each scene replaces the one before.
    Sentinel(
        "scene",
        "candlewood",
        lambda tale, word: tale.act("I look round", block(scene(f"Under the {word}.", "figure-1"))),
        PROPOSED | {SCENE},
    ),
)

PARTS = ("entities", "facts", "scene")
"""The parts of the state that sentinels are planted in."""

CARRIERS = (
    Carrier(PROMPT, lambda tale: tale.model.narrations[-1].body.decode()),
    Carrier(STORY, lambda tale: str(tale.player.get("/story", limit=500))),
    Carrier(RECORD, lambda tale: str(tale.player.get(f"/nodes/{tale.head()}/prompt"))),
    Carrier(STATE, lambda tale: str(tale.player.get("/state"))),
    Carrier(LIFE, lambda tale: "".join(tale.life(part) for part in PARTS)),
    Carrier(PROPOSALS, lambda tale: str(tale.player.get("/state/proposals", limit=500))),
    Carrier(SCENE, lambda tale: str(tale.player.get("/scene-packet"))),
)


@pytest.fixture
def tale(server: ServerProcess, model: ScriptedModelServer) -> Tale:
    """A story of a few turns, before any line parts."""
    tale = Tale(Player.of_a_new_story(server), model)
    for number in range(TURNS_BEFORE):
        tale.act(f"I take step {number}")
    return tale


def carriers_with(tale: Tale, *words: str) -> dict[str, frozenset[str]]:
    """For each word, which carriers hold it once another turn was taken where the story stands."""
    tale.act("I go on")
    carried = {carrier.name: carrier.carried(tale) for carrier in CARRIERS}
    return {word: frozenset(name for name, text in carried.items() if word in text) for word in words}


WORDS = [sentinel.word for sentinel in SENTINELS]
ON_THEIR_LINE = {sentinel.word: sentinel.reaches for sentinel in SENTINELS}
ON_NO_LINE = dict.fromkeys(WORDS, NOWHERE)


def test_no_word_stands_in_another() -> None:
    assert not [(one, two) for one in WORDS for two in WORDS if one is not two and one in two]


def test_what_stands_on_one_line_reaches_no_other_and_comes_back_with_its_line(
    tale: Tale, start: Start, home: Path
) -> None:
    """Line A plants every sentinel; line B parts before all of them. Then a restart, and both are looked at again."""
    fork = tale.head()
    for sentinel in SENTINELS:
        sentinel.plant(tale, sentinel.word)
    assert carriers_with(tale, *WORDS) == ON_THEIR_LINE
    end_of_a = tale.head()
    tale.go(fork)
    asked_before = len(tale.model.narrations)
    for number in range(TURNS_ASIDE):
        tale.act(f"I turn aside {number}")
    tale.retry("Another turn.")
    assert carriers_with(tale, *WORDS) == ON_NO_LINE
    end_of_b = tale.head()
    tale.player.server.kill()
    again = tale.through(start(Launch(home, tale.model.endpoint)).until_ready())
    assert again.head() == end_of_b
    assert carriers_with(again, *WORDS) == ON_NO_LINE
    sent_on_b = [request.body.decode() for request in tale.model.narrations[asked_before:]]
    assert len(sent_on_b) == TURNS_ASIDE + 3
    assert not [word for word in WORDS if any(word in body for body in sent_on_b)]
    again.go(end_of_a)
    assert carriers_with(again, *WORDS) == ON_THEIR_LINE
    again.go(end_of_b)
    assert carriers_with(again, *WORDS) == ON_NO_LINE
    kept = str(again.player.events())
    assert [word for word in WORDS if word not in kept] == []
    assert again.player.get("/verify")["ok"]
    assert again.player.server.stop() == 0
    assert_whole(home)


def test_a_rejected_take_is_in_no_prompt_whichever_way_one_selects(tale: Tale) -> None:
    first = tale.act("I wait", "A hollowbrook passes.")
    second = tale.retry("A crookstaff passes.")
    assert "hollowbrook" not in tale.model.narrations[-1].body.decode()
    third = tale.retry("A dunmarrow passes.")
    assert not [word for word in ("hollowbrook", "crookstaff") if word in tale.model.narrations[-1].body.decode()]
    words = {first: "hollowbrook", second: "crookstaff", third: "dunmarrow"}
    for node in (first, third, second, first):
        tale.go(node)
        here = carriers_with(tale, *words.values())
        assert here == {word: TOLD if other == node else NOWHERE for other, word in words.items()}
        tale.go(node)
        tale.retry("Nothing passes.")
        sent = tale.model.narrations[-1].body.decode()
        assert not [word for word in words.values() if word in sent]


def test_a_text_written_anew_is_known_only_as_what_it_became(tale: Tale) -> None:
    original = tale.act("I look", "The mirrormoss glows.")
    anew = tale.revise(original, "The saltgrave glows.")
    words = ("mirrormoss", "saltgrave", "quillhaven")
    assert carriers_with(tale, *words) == {"mirrormoss": NOWHERE, "saltgrave": TOLD, "quillhaven": NOWHERE}
    tale.correct(anew, "The quillhaven glows.")
    assert carriers_with(tale, *words) == {"mirrormoss": NOWHERE, "saltgrave": NOWHERE, "quillhaven": TOLD}
    tale.go(original)
    assert carriers_with(tale, *words) == {"mirrormoss": TOLD, "saltgrave": NOWHERE, "quillhaven": NOWHERE}


def test_the_state_of_a_rejected_take_is_in_no_prompt_whichever_way_one_selects(tale: Tale) -> None:
    words = {
        tale.act("I wait", block(make("thing-1", "hollowbrook"))): "hollowbrook",
        tale.retry(block(make("thing-1", "crookstaff"), scene("A crookstaff.", "thing-1"))): "crookstaff",
        tale.retry(block(establish("dunmarrow burns"), scene("A dunmarrow."))): "dunmarrow",
    }
    reaches = {"hollowbrook": PROPOSED, "crookstaff": PROPOSED | {SCENE}, "dunmarrow": PROPOSED | {SCENE}}
    for node in (*words, *list(words)[::-1]):
        tale.go(node)
        here = carriers_with(tale, *words.values())
        assert here == {word: reaches[word] if other == node else NOWHERE for other, word in words.items()}
        tale.go(node)
        tale.retry("Nothing comes of it.")
        sent = tale.model.narrations[-1].body.decode()
        assert not [word for word in words.values() if word in sent]
