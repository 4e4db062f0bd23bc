"""Anything that anyone might ask of a store, in any order, as hypothesis draws it.

Drawn blindly, most of what is asked is refused and stories stay short. So most asks go on with the story as it stands:
they begin a turn where none runs, and else bring the one that runs further. The others ask for what they ask for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from hypothesis import strategies as st

from domain.campaign.commands import (
    AcceptNarration,
    AdoptExtractor,
    CampaignCommand,
    CorrectState,
    CorrectText,
    FailTurn,
    MoveHead,
    NameBranch,
    OpenRetry,
    OpenTurn,
    RecordPrompt,
    Redo,
    RemoveSavePoint,
    RequestCancel,
    ReviseCampaign,
    ReviseNode,
    SetSavePoint,
    SetVisualProfile,
    StartCampaign,
    Undo,
)
from domain.campaign.events import FailureStage, NarrationAccepted, TurnKind
from domain.campaign.facts import CampaignFacts
from domain.campaign.settings import CampaignRevision, CampaignSettings, Persona
from domain.event import DomainEvent
from domain.extraction.extraction import extract_plain
from domain.narrative.events import AdoptionScope
from domain.narrative.judging import Proposed
from domain.narrative.visual_profile import VisualProfile
from tests.fakes.sample_story import ACCOUNT, be, create, establish, give, prompted, reread

CAMPAIGNS = ("c_one", "c_two", "c_three")

ODD = "NUL \x00 · \u2028\u200d · \ufffd\uffff · \U0001f5fc · e\u0301"

Begin = Literal["turn", "retry"]
Continue = Literal["prompt", "accept", "fail", "cancel"]
Move = Literal["undo", "redo", "go", "go to a save point", "write anew", "correct", "save", "unsave", "name"]
State = Literal["correct the state", "adopt", "look"]
What = Begin | Continue | Move | State | Literal["start", "revise", "go on"]


Raws = Mapping[int, str]
"""The raw replies of narrations, by node."""


@dataclass(frozen=True)
class Delete:
    """A campaign is deleted."""

    campaign: str


@dataclass(frozen=True)
class Change:
    """Settings of the installation are changed."""

    changes: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Ask:
    """A command, but for the turn that it is about: of those that there are by then, the `which`th from the newest."""

    what: What
    begin: Begin
    further: Continue
    campaign: str
    which: int
    text: str
    kind: TurnKind
    key: str | None
    asked: str
    stage: FailureStage
    floor: int | None
    revision: CampaignRevision
    accounted: bool
    proposed: Proposed

    def __repr__(self) -> str:
        """Without names and defaults: an example has dozens of these, and someone must read them."""
        rest = [value for value in list(vars(self).values())[4:] if value not in (None, 0, False)]
        does = {"go on": f"{self.begin} or {self.further}"}.get(self.what, self.what)
        return f"<{self.campaign}: {does} {rest}>"

    def command(self, facts: CampaignFacts, new: str, raws: Raws = MappingProxyType({})) -> CampaignCommand:
        """The command in the story as it stands, where `new` is free to name another turn; narrations are reread of `raws`."""
        if self.what == "go on":
            return replace(self, what=self._next(facts), which=0).command(facts, new)
        turns = tuple(facts.turns)
        turn = turns[-1 - self.which] if self.which < len(turns) else "t_unknown"
        account = ACCOUNT if self.accounted else None
        match self.what:
            case "start":
                return StartCampaign(self.campaign, CampaignSettings(title=self.text), self.text)
            case "revise":
                return ReviseCampaign(self.campaign, self.revision)
            case "turn":
                text = "" if self.kind == "continue" and self.which < 5 else self.text
                return OpenTurn(self.campaign, new, self.kind, text, "p_here", self.asked, self.key)
            case "retry":
                return OpenRetry(self.campaign, new, "p_here", self.asked, self.key)
            case "prompt":
                prompt = prompted(turn, floor_depth=self.floor, budget=len(turns) * 100)
                return RecordPrompt(self.campaign, prompt)
            case "accept":
                said = replace(extract_plain(self.text), proposal=self.proposed, block=self.text)
                return AcceptNarration(self.campaign, turn, self.text, self.text, said, "stop", account)
            case "fail":
                return FailTurn(self.campaign, turn, self.stage, "error", self.text, self.text, accounting=account)
            case "cancel":
                return RequestCancel(self.campaign, turn)
            case "correct the state":
                return CorrectState(self.campaign, self._events, self.text)
            case "adopt":
                return self._adoption(facts, raws)
            case "look":
                profile = VisualProfile(descriptors={"colour": self.text}, features=(self.kind,))
                return SetVisualProfile(self.campaign, self.asked, profile)
            case _:
                return self._move(self.what, facts, new)

    @property
    def _events(self) -> tuple[Any, ...]:
        return self.proposed if isinstance(self.proposed, tuple) else ()

    def _adoption(self, facts: CampaignFacts, raws: Raws) -> CampaignCommand:
        """Every other narration reread, or all, to what is asked here; now and then of a history that has gone on since."""
        accepted = [event for event in self._events if isinstance(event, dict)]
        readings = tuple(
            reread(node, *accepted, at=_at(facts, node), raw=raw, cut=raw[:1], extractor=self.asked)
            for node, raw in list(raws.items())[self.which % 2 :: 1 + self.which % 2]
        )
        version = facts.version - (self.which == 5)
        scope: AdoptionScope = "from_now" if self.kind == "continue" else "whole_history"
        return AdoptExtractor(self.campaign, self.asked, scope, readings, version)

    def _move(self, what: Move, facts: CampaignFacts, new: str) -> CampaignCommand:
        place = 1 + (self.which * 7 + len(self.text)) % (facts.last_node + 2)  # now and then one that is not there
        point = next(iter(facts.save_points), "s_unknown")
        match what:
            case "undo":
                return Undo(self.campaign)
            case "redo":
                return Redo(self.campaign)
            case "go":
                return MoveHead(self.campaign, node=place)
            case "go to a save point":
                return MoveHead(self.campaign, save_point=point)
            case "write anew":
                return ReviseNode(self.campaign, place, self.text, proposed=self.proposed, block=self.text)
            case "correct":
                return CorrectText(self.campaign, place, self.text)
            case "save":
                return SetSavePoint(self.campaign, f"s_{new}", self.text, None if self.accounted else place)
            case "unsave":
                return RemoveSavePoint(self.campaign, point)
            case "name":
                return NameBranch(self.campaign, 1 + self.which, self.text)

    def _next(self, facts: CampaignFacts) -> What:
        if facts.settings is None:
            return "start"
        return self.begin if facts.open_turn is None else self.further


def _at(facts: CampaignFacts, node: int) -> tuple[int, int]:
    return facts.nodes[node].branch, facts.nodes[node].depth


def raws_of(events: Iterable[DomainEvent]) -> Raws:
    """The raw replies of the narrations among these events, by node."""
    return {event.node: event.raw_reply for event in events if isinstance(event, NarrationAccepted)}


Step = Ask | Delete | Change

_THINGS = st.sampled_from(["lamp", "keeper", "ship"])
_GOOD = (
    st.builds(create, _THINGS, st.sampled_from(["item", "character"])),
    st.builds(give, _THINGS, st.one_of(st.none(), _THINGS)),
    st.builds(be, _THINGS, st.sampled_from(["lit", "out", ODD])),
    st.builds(establish, st.sampled_from(["is", "has been"]), subject=_THINGS, value=st.integers(0, 2)),
    st.builds(establish, st.just("hums"), fact_id=st.sampled_from(["hum", "f1"])),
    st.builds(lambda fact: {"type": "invalidate_fact", "fact_id": fact}, st.sampled_from(["hum", "f1", "f2"])),
    st.builds(lambda there: {"type": "set_scene", "summary": ODD, "present": [there]}, _THINGS),
)
_BAD = st.sampled_from([{"type": "sing"}, {"type": "create_entity", "entity": "oar"}, {}, "no event", None, [1.5], ODD])
_MADE = st.sampled_from(
    [(), (create("lamp"),), (create("ship", "vehicle"),), (create("lamp"), create("keeper", "character"))]
)
_STATE_EVENTS = st.builds(lambda made, others: (*made, *others), _MADE, st.lists(st.one_of(*_GOOD, _BAD), max_size=3))

PROPOSALS: st.SearchStrategy[Proposed] = st.sampled_from(range(9, -1, -1)).flatmap(
    lambda lot: st.sampled_from(["absent", "unparseable"]) if lot == 0 else _STATE_EVENTS
)
"""What a narration proposes: good events, bad ones, and such as are good or bad by what is established before."""

ASKS = st.builds(
    Ask,
    what=st.sampled_from(
        ["go on"] * 30
        + ["start", "revise", "turn", "retry", "prompt", "fail", "cancel"]
        + ["accept"] * 3
        + ["undo", "redo", "go"] * 2
        + ["go to a save point", "write anew", "correct", "save", "save", "unsave", "name"]
        + ["correct the state", "adopt"] * 3
        + ["look"]
    ),
    begin=st.sampled_from(["turn", "turn", "retry"]),
    further=st.sampled_from(["prompt", "prompt", "accept", "accept", "accept", "fail", "fail", "cancel"]),
    campaign=st.sampled_from([CAMPAIGNS[0]] * 6 + [CAMPAIGNS[1]] * 2 + [CAMPAIGNS[2]]),
    which=st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5]),
    text=st.one_of(st.sampled_from(["Wait.", "Wait.", "Climb.", "\n Look. ", "", ODD]), st.text(max_size=12)),
    kind=st.sampled_from(["continue", "do", "do", "say", "story"]),
    key=st.sampled_from([None] * 6 + ["k_1", "k_2", ""]),
    asked=st.sampled_from(["one", "one", "one", "other"]),
    stage=st.sampled_from(["interrupted"] * 5 + [*get_args(FailureStage)]),
    floor=st.sampled_from([None, 1, 3]),
    revision=st.builds(
        CampaignRevision,
        title=st.none() | st.text(max_size=5),
        canon=st.none() | st.lists(st.text(max_size=3), max_size=2).map(tuple),
        persona=st.none() | st.builds(Persona, name=st.text(max_size=3)),
        memory_enabled=st.none() | st.booleans(),
    ),
    accounted=st.booleans(),
    proposed=PROPOSALS,
)

CHANGES = st.builds(
    Change,
    st.fixed_dictionaries(
        {},
        optional={
            "model": st.sampled_from(["", "small", ODD]),
            "seed": st.sampled_from([None, 0, 7]),
            "temperature": st.floats(0, 5),
            "stop": st.lists(st.sampled_from(["\n", "###"]), max_size=2),
            "mode": st.sampled_from(["chat", "completion", "telepathy"]),
        },
    ),
)

DELETIONS = st.builds(Delete, st.sampled_from(CAMPAIGNS))


def _any_step(lot: int) -> st.SearchStrategy[Step]:
    """Of forty steps two change settings and one deletes a story (`one_of` cannot be weighted)."""
    return DELETIONS if lot == 0 else CHANGES if lot in (1, 2) else ASKS


STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.sampled_from(range(39, -1, -1)).flatmap(_any_step), min_size=30, max_size=70
)
"""What happens to a store."""

STORY = st.lists(ASKS.map(lambda ask: replace(ask, campaign=CAMPAIGNS[0])), min_size=20, max_size=45)
"""What happens to one story."""
