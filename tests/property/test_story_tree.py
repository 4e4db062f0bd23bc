"""Hundreds of random operations on a real store, compared after each with a tree kept by other means.

The model below knows nothing of branches, depths, segments or events: it is a dictionary of nodes, each with its parent
and its text, and it walks. What the program answers by ranges must be what walking finds. Beside it stands a dictionary
of states; what the program reads from versions must be what was folded by hand.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from adapters.event_log import states
from adapters.event_log.log import SqlEventLog
from api.use_cases.answers import position_of
from api.use_cases.prompting import Bodies, Prompter
from domain.campaign.commands import (
    AdoptExtractor,
    CorrectState,
    CorrectText,
    FailTurn,
    MoveHead,
    OpenRetry,
    OpenTurn,
    Redo,
    ReviseNode,
    SetSavePoint,
    SetVisualProfile,
    StartCampaign,
    Undo,
)
from domain.campaign.events import FailureStage
from domain.campaign.settings import CampaignSettings
from domain.errors import CorrectionRefused, InvalidInput, NothingToRedo, NothingToRetry, NothingToUndo
from domain.extraction.extraction import extract_plain
from domain.installation import Settings
from domain.narrative.document import EMPTY, Document, Entity
from domain.narrative.events import NarrationReread
from domain.narrative.visual_profile import VisualProfile
from domain.prompt.events import Window
from tests.fakes.sample_story import accept, be, create, give, reread
from tests.fakes.time_and_names import NumberedNames, TickingClock
from tests.property.plain_state import Events, PlainStates, State

CAMPAIGN = "c_tree"
WORDS = st.sampled_from(["north", "south", "wait", "listen", "knock"])
PLAYER = ("do", "say", "story")
THINGS = st.sampled_from(["lamp", "keeper", "ship"])

ENDS = st.sampled_from(["told", "told", "told", "failed", "interrupted"])
"""How a turn ends."""

BLOCKS = st.lists(
    st.one_of(
        st.builds(create, THINGS),
        st.builds(create, THINGS),
        st.builds(be, THINGS, st.just("")),
        st.builds(be, THINGS, st.just("")),
        st.builds(give, THINGS, st.none() | THINGS),
        st.sampled_from(
            [{"type": "sing"}, {"type": "create_entity", "entity": "oar"}, be("nobody", ""), give("oar", None)]
        ),
    ),
    max_size=5,
)
"""What a narration proposes or a player corrects: some of it can be so, some cannot, and some by what was before."""


def marked(block: list[dict[str, Any]], mark: str) -> tuple[dict[str, Any], ...]:
    """The block with a word in it that stands nowhere else, wherever it says in which state something is."""
    return tuple({**event, "status": mark} if event["type"] == "set_entity_status" else event for event in block)


@dataclass
class Node:
    """`raw` is the reply of a narration, whose text is what an extractor reads of that until it is `mended`."""

    parent: int | None
    kind: str
    text: str
    raw: str = ""
    mended: bool = False
    children: list[int] = field(default_factory=list)


class PlainTree:
    """The model: a dictionary, a head, a tip, and for each node when it was last the head."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {1: Node(None, "opening", "Once.")}
        self.head = self.tip = 1
        self.clock = 0
        self.headed: dict[int, int] = {1: 0}
        self.states = PlainStates()
        self.marks: set[str] = set()
        self.blocks: dict[int, Events] = {}
        self.profiles: dict[str, VisualProfile] = {}

    def add(self, parent: int, kind: str, text: str, raw: str = "") -> int:
        number = len(self.nodes) + 1
        self.nodes[number] = Node(parent, kind, text, raw)
        self.nodes[parent].children.append(number)
        self.states.grow(number, parent)
        return number

    def tell(self, node: int, block: Events) -> None:
        self.blocks[node] = block
        self.states.tell(node, block)

    def replies(self) -> dict[int, Events]:
        """The narrations of which there is a raw reply, with what was accepted of each when it was told."""
        return {node: accepted for node, accepted in self.states.told.items() if self.nodes[node].raw}

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


@pytest.fixture(autouse=True, scope="module")
def whole_documents_close_together() -> Iterator[None]:
    """No story here is long enough to be read over several whole documents, were they as far apart as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "STEPS", 3)
        yield


class _WordCounter:
    """A token a word, which is quick."""

    def count(self, text: str) -> int:
        return len(text.split())

    def tail(self, text: str, tokens: int) -> str:
        return " ".join(text.split()[-tokens:])


def plain(document: Document) -> State:
    """What the model knows of a document, after which nothing else is in it."""
    known = {key: Entity("item", key.title(), status=entity.status) for key, entity in document.entities.items()}
    assert document.entities == known
    rest = replace(document, entities={}, possessions={}, corrected=frozenset())
    assert rest == EMPTY
    return {
        "entities": {key: entity.status for key, entity in document.entities.items()},
        "held": dict(document.possessions),
    }


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
        self.interrupted: list[tuple[str, int]] = []

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

    def _tell(self, turn: str, parent: int, end: str, block: list[dict[str, Any]]) -> int:
        if end != "told":
            stage: FailureStage = "interrupted" if end == "interrupted" else "model"
            self.log.execute(FailTurn(CAMPAIGN, turn, stage, "model_timeout", "It took too long.", "Half a sen"))
            self.interrupted += [(turn, parent)] if end == "interrupted" else []
            return self.model.head
        node = self._accept(turn, parent, block)
        self.model.go(node, node)
        return node

    def _accept(self, turn: str, parent: int, block: list[dict[str, Any]]) -> int:
        text, mark = f"Told {turn}.", f"mark-{turn}-"
        raw = f" {text} And on.\n"
        events = marked(block, mark)
        self.log.execute(accept(turn, raw, campaign=CAMPAIGN, proposed=events or "absent"))
        node = self.model.add(parent, "narration", raw.strip(), raw)
        self.model.tell(node, events)
        self.model.marks.add(mark)
        return node

    @precondition(lambda self: self.interrupted)
    @rule(target=places, block=BLOCKS)
    def answer_late(self, block: list[dict[str, Any]]) -> int:
        turn, parent = self.interrupted.pop()
        return self._accept(turn, parent, block)

    @rule(target=places, kind=st.sampled_from(PLAYER), text=WORDS, end=ENDS, block=BLOCKS)
    def act(self, kind: str, text: str, end: str, block: list[dict[str, Any]]) -> int:
        turn = self._turn()
        self.log.execute(OpenTurn(CAMPAIGN, turn, kind, text, "p", "h"))  # type: ignore[arg-type]  # one of the kinds
        head = self.model.nodes[self.model.head]
        if (head.kind, head.text) == (kind, text):
            parent = self.model.head
        else:
            parent = self.model.add(self.model.head, kind, text)
            self.model.go(parent, parent)
        return self._tell(turn, parent, end, block)

    @rule(target=places, end=ENDS, block=BLOCKS)
    def go_on(self, end: str, block: list[dict[str, Any]]) -> int:
        turn = self._turn()
        self.log.execute(OpenTurn(CAMPAIGN, turn, "continue", "", "p", "h"))
        return self._tell(turn, self.model.head, end, block)

    @rule(target=places, end=ENDS, block=BLOCKS)
    def retry(self, end: str, block: list[dict[str, Any]]) -> int:
        turn = self._turn()
        above = self.model.nodes[self.model.head].parent
        try:
            self.log.execute(OpenRetry(CAMPAIGN, turn, "p", "h"))
        except NothingToRetry:
            assert above is None
            return self.model.head
        assert above is not None
        parent = self.model.head if self.model.is_player(self.model.head) else above
        return self._tell(turn, parent, end, block)

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
        """A narration that is written anew proposes what the original did, judged where it hangs."""
        original = data.draw(st.integers(2, len(self.model.nodes)))
        block = tuple(self.model.blocks.get(original, ()))
        self.log.execute(ReviseNode(CAMPAIGN, original, text, proposed=block or "absent"))
        it = self.model.nodes[original]
        assert it.parent is not None
        revised = self.model.add(it.parent, it.kind, text)
        if it.kind == "narration":
            self.model.tell(revised, block)
        self.model.go(revised, revised)
        return revised

    @rule(data=st.data(), text=WORDS)
    def correct(self, data: st.DataObject, text: str) -> None:
        node = data.draw(st.integers(1, len(self.model.nodes)))
        self.log.execute(CorrectText(CAMPAIGN, node, text))
        self.model.nodes[node].text = text
        self.model.nodes[node].mended = True

    @rule(block=BLOCKS)
    def correct_state(self, block: list[dict[str, Any]]) -> None:
        mark = f"mark-{self._turn()}-"
        events = marked(block, mark)
        if not self.model.states.correct(self.model.head, events):
            with pytest.raises(CorrectionRefused if block else InvalidInput):
                self.log.execute(CorrectState(CAMPAIGN, events))
            return
        self.log.execute(CorrectState(CAMPAIGN, events))
        self.model.marks.add(mark)

    @rule(thing=THINGS, colour=WORDS)
    def look(self, thing: str, colour: str) -> None:
        profile = VisualProfile(descriptors={"colour": colour})
        self.log.execute(SetVisualProfile(CAMPAIGN, thing, profile))
        self.model.profiles[thing] = profile

    @precondition(lambda self: self.model.replies())
    @rule(data=st.data())
    def reread_narrations(self, data: st.DataObject) -> None:
        """An extractor is adopted that reads some narrations otherwise: other events, and less of the text."""
        extractor = f"x-{self._turn()}"
        nodes = data.draw(st.sets(st.sampled_from(sorted(self.model.replies())), max_size=4))
        blocks = {node: marked(data.draw(BLOCKS), f"mark-{extractor}-{node}-") for node in sorted(nodes)}
        self._adopt(extractor, blocks, whole=False)
        self.model.marks |= {f"mark-{extractor}-{node}-" for node in blocks}

    @precondition(lambda self: self.model.replies())
    @rule()
    def read_all_narrations_as_they_were_recorded(self) -> None:
        self._adopt(f"first, {self._turn()}", self.model.replies(), whole=True)

    def _adopt(self, extractor: str, blocks: Mapping[int, Events], *, whole: bool) -> None:
        accepted = self.model.states.reread(blocks)
        self.model.blocks |= blocks
        readings = [self._reading(extractor, node, accepted[node], whole=whole) for node in blocks]
        version = self.log.read(0, 10_000, stream=CAMPAIGN)[-1].version
        self.log.execute(AdoptExtractor(CAMPAIGN, extractor, "whole_history", tuple(readings), version))
        for reading in readings:
            it = self.model.nodes[reading.node]
            it.text = it.text if it.mended else reading.prose

    def _reading(self, extractor: str, node: int, accepted: Events, *, whole: bool) -> NarrationReread:
        place, raw = self.log.node(CAMPAIGN, node), self.model.nodes[node].raw
        at = (place.branch, place.depth)
        shorter = reread(node, *accepted, at=at, raw=raw, cut=" And on.\n", extractor=extractor)
        said = extract_plain(raw)
        return shorter.model_copy(update={"removals": said.removals, "prose": said.prose}) if whole else shorter

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
    def the_state_at_every_node_is_what_was_folded_by_hand(self) -> None:
        states = {node: plain(self.log.state(CAMPAIGN, node)) for node in self.model.nodes}
        assert states == self.model.states.at
        assert self.log.visual_profiles(CAMPAIGN) == self.model.profiles

    @invariant()
    def the_prompt_holds_the_line_and_nothing_else(self) -> None:
        line = self.model.line(self.model.head)
        prompt = self.prompter.assemble(CAMPAIGN, self.model.head, Settings(context_budget=200_000), Window())
        assert list(prompt.history.nodes) == line
        sent = prompt.body.data.decode()
        abandoned = {it.text for it in self.model.nodes.values()} - {self.model.nodes[at].text for at in line}
        assert not [text for text in abandoned if text.strip().startswith("Told") and text in sent]

    @invariant()
    def the_prompt_holds_the_state_of_the_head_and_of_no_other_line(self) -> None:
        prompt = self.prompter.assemble(CAMPAIGN, self.model.head, Settings(context_budget=200_000), Window())
        sent, line = prompt.body.data.decode(), self.model.line(self.model.head)
        here = {status for status in self.model.states.at[self.model.head]["entities"].values() if status}
        assert [mark for mark in here if mark not in sent] == []
        # What was refused of the newest block is told of, whether or not that is in the state.
        newest = self.model.blocks.get(line[-2] if self.model.is_player(self.model.head) else line[-1], ())
        elsewhere = self.model.marks - here - {event.get("status", "") for event in newest}
        assert [mark for mark in elsewhere if mark in sent] == []


TestStoryTree = StoryTreeMachine.TestCase
TestStoryTree.settings = settings(max_examples=25, stateful_step_count=60, deadline=None)
