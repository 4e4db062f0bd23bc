"""Plays one story by dice: takes turns, goes about in what was told, and puts its own hand to it."""

import hashlib
from collections.abc import Mapping

from domain.campaign.commands import (
    AdoptExtractor,
    CorrectState,
    CorrectText,
    MoveHead,
    NameBranch,
    OpenRetry,
    OpenTurn,
    Redo,
    RemoveSavePoint,
    ReviseCampaign,
    ReviseNode,
    SetSavePoint,
    SetVisualProfile,
    StartCampaign,
    Undo,
)
from domain.campaign.events import TurnKind
from domain.campaign.facts import OPENING
from domain.campaign.settings import CampaignRevision, CampaignSettings, Persona
from domain.event import canonical_json
from domain.narrative.visual_profile import VisualProfile
from domain.prompt.sections import HistoryNode
from replays.generated_log.blocks import corrections
from replays.generated_log.story import Story
from replays.generated_log.telling import Installed, Playing, Teller

_ASKED: Mapping[str, float] = {
    "turn": 84,
    "retry": 7,
    "undo": 3,
    "go": 1.5,
    "write anew": 1.2,
    "correct": 1.5,
    "save": 1.5,
    "unsave": 0.6,
    "name": 0.8,
    "revise": 0.9,
    "correct the state": 1.5,
    "look": 0.4,
    "adopt": 0.1,
}
"""What a player asks for, of about a hundred times."""

_KINDS: Mapping[TurnKind, float] = {"do": 52, "say": 22, "story": 8, "continue": 18}

_OPENING_WORDS = (80, 250)
_STORY_WORDS = 40
_SECTION_WORDS = 30
_MOST_TAKES = 3
_MOST_STEPS = 3
_NEAR = 40
"""How far back players go for the most part, in nodes."""

_TRIED_AGAIN = 0.8
_EARLIER_TAKE = 0.35
_REDONE = 0.5
_TO_A_SAVE_POINT = 0.5
_BACK_AGAIN = 0.5
_UNNAMED = 0.15
_WITH_KEY = 0.9


class Player:
    """The player of one story."""

    def __init__(self, story: Story, installed: Installed, events: int) -> None:
        """Plays until there are about so many events, or `stop` is called."""
        self._story = story
        self._campaign = story.campaign
        self._installed = installed
        self._dice = installed.dice
        self._prose = installed.prose
        self._teller = Teller(story, installed)
        self._ask = self._teller.ask
        self._events = events

    def stop(self) -> None:
        """Ends the playing when what is under way is done, and no turn is open."""
        self._events = 0

    def play(self) -> Playing:
        """The story from its beginning."""
        opening = self._prose.told(self._dice.whole(*_OPENING_WORDS))
        yield from self._ask(StartCampaign(self._campaign, self._settings(), opening))
        does = {
            "turn": self._turn,
            "retry": self._retry,
            "undo": self._undo,
            "go": self._go,
            "write anew": self._write_anew,
            "correct": self._correct,
            "save": self._save,
            "unsave": self._unsave,
            "name": self._name,
            "revise": self._revise,
            "correct the state": self._correct_state,
            "look": self._look,
            "adopt": self._adopt,
        }
        while self._story.version < self._events:
            yield from does[self._dice.weighed(_ASKED)]()

    def _settings(self) -> CampaignSettings:
        prose = self._prose
        return CampaignSettings(
            title=prose.called(),
            canon=tuple(prose.told(10) for _ in range(self._dice.whole(0, 4))),
            persona=Persona(name=prose.called(), pronouns="they/them", description=prose.told(_SECTION_WORDS)),
            plot_essentials=prose.told(_SECTION_WORDS),
            authors_note=prose.told(10) if self._dice.happens(0.5) else "",
        )

    def _turn(self) -> Playing:
        kind = self._dice.weighed(_KINDS)
        text = self._words(kind)
        turn = OpenTurn(
            self._campaign,
            self._installed.names.new("t"),
            kind,
            text,
            self._installed.process,
            _hash_of(kind, text),
            self._key(),
        )
        yield from self._teller.turn(turn)
        if self._at_head.is_player and self._dice.happens(_TRIED_AGAIN):
            yield from self._take()

    def _words(self, kind: TurnKind) -> str:
        match kind:
            case "do":
                return self._prose.done()
            case "say":
                return self._prose.said()
            case "story":
                return self._prose.told(_STORY_WORDS)
            case "continue":
                return ""

    def _retry(self) -> Playing:
        if self._story.head == OPENING:
            return
        for _ in range(self._dice.whole(1, _MOST_TAKES)):
            yield from self._take()
        takes = self._story.takes(self._story.head)
        if takes and self._dice.happens(_EARLIER_TAKE):
            yield from self._ask(MoveHead(self._campaign, node=self._dice.choice(takes)))

    def _take(self) -> Playing:
        names, process = self._installed.names, self._installed.process
        yield from self._teller.turn(
            OpenRetry(self._campaign, names.new("t"), process, _hash_of("retry", ""), self._key())
        )

    def _undo(self) -> Playing:
        undone = 0
        for _ in range(self._dice.whole(1, _MOST_STEPS)):
            if self._story.head != OPENING:
                yield from self._ask(Undo(self._campaign))
                undone += 1
        if self._dice.happens(_REDONE):
            for _ in range(undone):
                if self._story.head != self._story.tip:
                    yield from self._ask(Redo(self._campaign))

    def _go(self) -> Playing:
        before = self._story.head
        if self._story.save_points and self._dice.happens(_TO_A_SAVE_POINT):
            point = self._dice.choice(self._story.save_points)
            yield from self._ask(MoveHead(self._campaign, save_point=point))
        else:
            yield from self._ask(MoveHead(self._campaign, node=self._some_node()))
        if self._dice.happens(_BACK_AGAIN):
            yield from self._ask(MoveHead(self._campaign, node=before))

    def _write_anew(self) -> Playing:
        if self._story.head == OPENING:
            return
        text = self._prose.told(_STORY_WORDS)
        yield from self._ask(ReviseNode(self._campaign, self._story.head, text))
        if self._at_head.is_player:
            yield from self._take()

    def _correct(self) -> Playing:
        node = self._some_node()
        mended = f"{self._story.moments[node].told.text.rstrip('.')}, after all."
        yield from self._ask(CorrectText(self._campaign, node, mended))

    def _save(self) -> Playing:
        node = self._some_node() if self._dice.happens(0.5) else None
        yield from self._ask(SetSavePoint(self._campaign, self._installed.names.new("s"), self._new_name(), node))

    def _unsave(self) -> Playing:
        if self._story.save_points:
            yield from self._ask(RemoveSavePoint(self._campaign, self._dice.choice(self._story.save_points)))

    def _name(self) -> Playing:
        name = "" if self._dice.happens(_UNNAMED) else self._new_name()
        yield from self._ask(NameBranch(self._campaign, self._dice.whole(1, self._story.branches), name))

    def _revise(self) -> Playing:
        changes = self._dice.choice(
            (
                CampaignRevision(title=self._prose.called()),
                CampaignRevision(plot_essentials=self._prose.told(_SECTION_WORDS)),
                CampaignRevision(authors_note=self._prose.told(10)),
                CampaignRevision(instructions=self._prose.told(10)),
            )
        )
        yield from self._ask(ReviseCampaign(self._campaign, changes))

    def _correct_state(self) -> Playing:
        yield from self._ask(CorrectState(self._campaign, tuple(corrections(self._dice, self._prose))))

    def _look(self) -> Playing:
        entities = list(self._story.states[self._story.head].entities)
        if entities:
            profile = VisualProfile(style_notes=self._prose.told(10))
            yield from self._ask(SetVisualProfile(self._campaign, self._dice.choice(entities), profile))

    def _adopt(self) -> Playing:
        yield from self._ask(AdoptExtractor(self._campaign, self._dice.choice(("1", "2")), "from_now"))

    @property
    def _at_head(self) -> HistoryNode:
        return self._story.moments[self._story.head].told

    def _some_node(self) -> int:
        last = len(self._story.moments)
        return self._dice.whole(max(OPENING, last - _NEAR), last)

    def _new_name(self) -> str:
        """A name that nothing of the story has: none ends in the same number."""
        return f"{self._prose.called()} {self._story.version}"

    def _key(self) -> str | None:
        return self._installed.names.new("k") if self._dice.happens(_WITH_KEY) else None


def _hash_of(kind: str, text: str) -> str:
    return hashlib.sha256(canonical_json([kind, text])).hexdigest()[:32]
