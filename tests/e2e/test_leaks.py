"""What was left behind is never told to the narrator on another line: looked for in the very bytes that it was sent.

A sentinel is a word that stands nowhere else. Each is planted at a place of one line, and looked for in every place that
a later part of Fabula may carry text through. A part that can carry text adds a `Sentinel` (how text comes in) or a
`Carrier` (where it may come out); every sentinel is then looked for in every carrier, with the positive control that on
its own line it is there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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


def _ok(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.json()["node"])


@dataclass(frozen=True)
class Sentinel:
    """A word, and how it comes into a story. `plant` begins and ends on the line that keeps it.

    `stays`: whether the line itself goes on saying it; one that was corrected away or written anew is gone from there too.
    """

    name: str
    word: str
    plant: Callable[[Tale, str], object]
    stays: bool = True


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
    Sentinel("corrected away", "mirrormoss", _plant_corrected_away, stays=False),
    Sentinel("written anew away", "crookstaff", _plant_revised_away, stays=False),
    Sentinel("action written anew away", "palewater", _plant_revised_action_away, stays=False),
    Sentinel("rejected take", "hollowbrook", _plant_rejected_take, stays=False),
    Sentinel("undone turn", "ashbourne", _plant_undone, stays=False),
    Sentinel("partial reply", "dunmarrow", _plant_partial, stays=False),
)

CARRIERS = (
    Carrier("the prompt", lambda tale: tale.model.narrations[-1].body.decode()),
    Carrier("the story", lambda tale: str(tale.player.get("/story", limit=500))),
    Carrier("the prompt record", lambda tale: str(tale.player.get(f"/nodes/{tale.head()}/prompt"))),
)


@pytest.fixture
def tale(server: ServerProcess, model: ScriptedModelServer) -> Tale:
    """A story of a few turns, before any line parts."""
    tale = Tale(Player.of_a_new_story(server), model)
    for number in range(TURNS_BEFORE):
        tale.act(f"I take step {number}")
    return tale


def carriers_with(tale: Tale, *words: str) -> dict[str, set[str]]:
    """For each word, which carriers hold it once another turn was taken where the story stands."""
    tale.act("I go on")
    carried = {carrier.name: carrier.carried(tale) for carrier in CARRIERS}
    return {word: {name for name, text in carried.items() if word in text} for word in words}


EVERYWHERE = {carrier.name for carrier in CARRIERS}
WORDS = [sentinel.word for sentinel in SENTINELS]
NOWHERE: dict[str, set[str]] = {word: set() for word in WORDS}
ON_THEIR_LINE = {sentinel.word: EVERYWHERE if sentinel.stays else set() for sentinel in SENTINELS}


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
    assert carriers_with(tale, *WORDS) == NOWHERE
    end_of_b = tale.head()
    tale.player.server.kill()
    again = tale.through(start(Launch(home, tale.model.endpoint)).until_ready())
    assert again.head() == end_of_b
    assert carriers_with(again, *WORDS) == NOWHERE
    sent_on_b = [request.body.decode() for request in tale.model.narrations[asked_before:]]
    assert len(sent_on_b) == TURNS_ASIDE + 3
    assert not [word for word in WORDS if any(word in body for body in sent_on_b)]
    again.go(end_of_a)
    assert carriers_with(again, *WORDS) == ON_THEIR_LINE
    again.go(end_of_b)
    assert carriers_with(again, *WORDS) == NOWHERE
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
        assert here == {word: EVERYWHERE if other == node else set() for other, word in words.items()}
        tale.go(node)
        tale.retry("Nothing passes.")
        sent = tale.model.narrations[-1].body.decode()
        assert not [word for word in words.values() if word in sent]


def test_a_text_written_anew_is_known_only_as_what_it_became(tale: Tale) -> None:
    original = tale.act("I look", "The mirrormoss glows.")
    anew = tale.revise(original, "The saltgrave glows.")
    words = ("mirrormoss", "saltgrave", "quillhaven")
    assert carriers_with(tale, *words) == {"mirrormoss": set(), "saltgrave": EVERYWHERE, "quillhaven": set()}
    tale.correct(anew, "The quillhaven glows.")
    assert carriers_with(tale, *words) == {"mirrormoss": set(), "saltgrave": set(), "quillhaven": EVERYWHERE}
    tale.go(original)
    assert carriers_with(tale, *words) == {"mirrormoss": EVERYWHERE, "saltgrave": set(), "quillhaven": set()}
