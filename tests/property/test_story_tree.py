"""Hundreds of random operations on a real store, compared after each with a tree kept by other means.

The model below knows nothing of branches, depths, segments or events: it is a dictionary of nodes, each with its parent
and its text, and it walks. What the program answers by ranges must be what walking finds.
"""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from adapters.event_log.log import SqlEventLog
from api.use_cases.answers import position_of
from api.use_cases.prompting import Bodies, Prompter
from domain.campaign.commands import (
    AcceptNarration,
    CorrectText,
    FailTurn,
    MoveHead,
    OpenRetry,
    OpenTurn,
    Redo,
    ReviseNode,
    SetSavePoint,
    StartCampaign,
    Undo,
)
from domain.campaign.settings import CampaignSettings
from domain.errors import NothingToRedo, NothingToRetry, NothingToUndo
from domain.extraction.extraction import extract_plain
from domain.installation import Settings
from domain.prompt.events import Window
from tests.fakes.time_and_names import NumberedNames, TickingClock

CAMPAIGN = "c_tree"
WORDS = st.sampled_from(["north", "south", "wait", "listen", "knock"])
PLAYER = ("do", "say", "story")


@dataclass
class Node:
    parent: int | None
    kind: str
    text: str
    children: list[int] = field(default_factory=list)


class PlainTree:
    """The model: a dictionary, a head, a tip, and for each node when it was last the head."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {1: Node(None, "opening", "Once.")}
        self.head = self.tip = 1
        self.clock = 0
        self.headed: dict[int, int] = {1: 0}

    def add(self, parent: int, kind: str, text: str) -> int:
        number = len(self.nodes) + 1
        self.nodes[number] = Node(parent, kind, text)
        self.nodes[parent].children.append(number)
        return number

    def go(self, head: int, tip: int) -> None:
        self.clock += 1
        self.head, self.tip = head, tip
        self.headed[head] = self.clock

    def line(self, node: int) -> list[int]:
        found: list[int] = []
        at: int | None = node
        while at is not None:
            found.append(at)
            at = self.nodes[at].parent
        return found[::-1]

    def is_player(self, node: int) -> bool:
        return self.nodes[node].kind in PLAYER

    def undone(self) -> int | None:
        parent = self.nodes[self.head].parent
        if parent is None or self.is_player(self.head) or not self.is_player(parent):
            return parent
        return self.nodes[parent].parent

    def redone(self) -> int | None:
        ahead = self.line(self.tip)[len(self.line(self.head)) :]
        if not ahead:
            return None
        told = len(ahead) > 1 and self.is_player(ahead[0]) and not self.is_player(ahead[1])
        return ahead[1] if told else ahead[0]

    def tip_for(self, node: int) -> int:
        if node in self.line(self.tip):
            return self.tip
        below = [
            leaf
            for leaf, it in self.nodes.items()
            if not it.children and node in self.line(leaf) and leaf in self.headed
        ]
        return max(below, key=lambda leaf: self.headed[leaf], default=node)

    def takes(self, node: int) -> list[int]:
        it = self.nodes[node]
        if it.kind != "narration" or it.parent is None:
            return [node]
        return [child for child in self.nodes[it.parent].children if self.nodes[child].kind == "narration"]


class _WordCounter:
    """A token a word, which is quick."""

    def count(self, text: str) -> int:
        return len(text.split())

    def tail(self, text: str, tokens: int) -> str:
        return " ".join(text.split()[-tokens:])


class StoryTreeMachine(RuleBasedStateMachine):
    places = Bundle("places")

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="fabula-tree-"))
        self.clock, self.names = TickingClock(), NumberedNames()
        self.log = self._opened()
        self.log.execute(StartCampaign(CAMPAIGN, CampaignSettings(title="Tree"), "Once."))
        self.model = PlainTree()
        self.turns = 0

    @property
    def prompter(self) -> Prompter:
        return Prompter(self.log, _WordCounter(), Bodies(self.log))

    def _opened(self) -> SqlEventLog:
        return SqlEventLog(self.home / "log.db", self.clock, self.names)

    def teardown(self) -> None:
        self.log.close()
        shutil.rmtree(self.home)

    def _turn(self) -> str:
        self.turns += 1
        return f"t_{self.turns}"

    def _tell(self, turn: str, parent: int, *, fails: bool) -> int:
        if fails:
            self.log.execute(FailTurn(CAMPAIGN, turn, "model", "model_timeout", "It took too long.", "Half a sen"))
            return self.model.head
        text = f"Told {turn}."
        self.log.execute(AcceptNarration(CAMPAIGN, turn, f" {text}\n", "", extract_plain(f" {text}\n"), "stop", None))
        node = self.model.add(parent, "narration", text)
        self.model.go(node, node)
        return node

    @rule(target=places, kind=st.sampled_from(PLAYER), text=WORDS, fails=st.booleans())
    def act(self, kind: str, text: str, fails: bool) -> int:
        turn = self._turn()
        self.log.execute(OpenTurn(CAMPAIGN, turn, kind, text, "p", "h"))  # type: ignore[arg-type]  # one of the kinds
        head = self.model.nodes[self.model.head]
        if (head.kind, head.text) == (kind, text):
            parent = self.model.head
        else:
            parent = self.model.add(self.model.head, kind, text)
            self.model.go(parent, parent)
        return self._tell(turn, parent, fails=fails)

    @rule(target=places, fails=st.booleans())
    def go_on(self, fails: bool) -> int:
        turn = self._turn()
        self.log.execute(OpenTurn(CAMPAIGN, turn, "continue", "", "p", "h"))
        return self._tell(turn, self.model.head, fails=fails)

    @rule(target=places, fails=st.booleans())
    def retry(self, fails: bool) -> int:
        turn = self._turn()
        above = self.model.nodes[self.model.head].parent
        try:
            self.log.execute(OpenRetry(CAMPAIGN, turn, "p", "h"))
        except NothingToRetry:
            assert above is None
            return self.model.head
        assert above is not None
        return self._tell(turn, self.model.head if self.model.is_player(self.model.head) else above, fails=fails)

    @rule()
    def undo(self) -> None:
        there = self.model.undone()
        try:
            self.log.execute(Undo(CAMPAIGN))
        except NothingToUndo:
            assert there is None
            return
        assert there is not None
        self.model.go(there, self.model.tip)

    @rule()
    def redo(self) -> None:
        there = self.model.redone()
        try:
            self.log.execute(Redo(CAMPAIGN))
        except NothingToRedo:
            assert there is None
            return
        assert there is not None
        self.model.go(there, self.model.tip)

    @rule(node=places)
    def restore(self, node: int) -> None:
        self.log.execute(MoveHead(CAMPAIGN, node=node))
        if node != self.model.head:
            self.model.go(node, self.model.tip_for(node))

    @rule(data=st.data())
    def restore_anywhere(self, data: st.DataObject) -> None:
        self.restore(data.draw(st.integers(1, len(self.model.nodes))))

    @rule(node=consumes(places))
    def restore_a_save_point(self, node: int) -> None:
        name = self._turn()
        self.log.execute(SetSavePoint(CAMPAIGN, f"s_{name}", f"point {name}", node))
        self.log.execute(MoveHead(CAMPAIGN, save_point=f"s_{name}"))
        if node != self.model.head:
            self.model.go(node, self.model.tip_for(node))

    @precondition(lambda self: len(self.model.nodes) > 1)
    @rule(target=places, data=st.data(), text=WORDS)
    def revise(self, data: st.DataObject, text: str) -> int:
        original = data.draw(st.integers(2, len(self.model.nodes)))
        self.log.execute(ReviseNode(CAMPAIGN, original, text))
        it = self.model.nodes[original]
        assert it.parent is not None
        revised = self.model.add(it.parent, it.kind, text)
        self.model.go(revised, revised)
        return revised

    @rule(data=st.data(), text=WORDS)
    def correct(self, data: st.DataObject, text: str) -> None:
        node = data.draw(st.integers(1, len(self.model.nodes)))
        self.log.execute(CorrectText(CAMPAIGN, node, text))
        self.model.nodes[node].text = text

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.log = self._opened()

    @rule()
    def rebuild(self) -> None:
        self.log.rebuild_decision_tables()

    @invariant()
    def the_story_is_what_walking_finds(self) -> None:
        line = self.model.line(self.model.head)
        told = self.log.end_of_line(CAMPAIGN, self.model.head, limit=len(line) + 5)
        assert [(node.node, node.kind, node.text) for node in told] == [
            (at, self.model.nodes[at].kind, self.model.nodes[at].text) for at in line
        ]
        assert [node.depth for node in told] == list(range(1, len(line) + 1))

    @invariant()
    def the_position_is_what_walking_finds(self) -> None:
        position = position_of(self.log, CAMPAIGN)
        assert position.head == self.model.head
        assert self.log.campaign(CAMPAIGN).tip == self.model.tip
        assert position.moment == len(self.model.line(self.model.head))
        assert position.can_undo == (self.model.undone() is not None)
        assert position.can_redo == (self.model.redone() is not None)
        assert list(position.takes) == self.model.takes(self.model.head)
        assert ("later story" in position.label) == position.can_redo

    @invariant()
    def the_prompt_holds_the_line_and_nothing_else(self) -> None:
        line = self.model.line(self.model.head)
        prompt = self.prompter.assemble(CAMPAIGN, self.model.head, Settings(context_budget=200_000), Window())
        assert list(prompt.history.nodes) == line
        sent = prompt.body.data.decode()
        abandoned = {it.text for it in self.model.nodes.values()} - {self.model.nodes[at].text for at in line}
        assert not [text for text in abandoned if text.startswith("Told") and text in sent]


TestStoryTree = StoryTreeMachine.TestCase
TestStoryTree.settings = settings(max_examples=25, stateful_step_count=60, deadline=None)
