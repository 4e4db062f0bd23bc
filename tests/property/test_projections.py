"""Whatever is asked of a store: a view that followed step by step, one built at once, and the log all agree."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from adapters.event_log.log import SqlEventLog
from domain.campaign.commands import AdoptExtractor, CampaignCommand
from domain.campaign.events import CampaignStarted, NarrationAccepted, NodeRevised, PlayerActed, TextCorrected
from domain.campaign.facts import CampaignFacts, StoryEvent, evolve
from domain.campaign.story_tree import line_to
from domain.errors import FabulaError
from domain.event import Recorded
from domain.extraction.extraction import prose_of
from domain.log import EventLog
from domain.narrative.events import NarrationReread
from projections import campaigns, prompts, story
from projections.all import ALL
from projections.engine.engine import Engine
from tests.fakes.sample_story import (
    ACCOUNT,
    accept,
    cancel,
    correct,
    fail,
    go,
    name_branch,
    prompted,
    record,
    redo,
    reread,
    retry,
    revise,
    rewrite,
    save,
    start,
    take_turn,
    undo,
)
from tests.fakes.time_and_names import NumberedNames, TickingClock

CAMPAIGNS = ("c_one", "c_two")
ODD = "NUL \x00 · \u2028 · \ufffd · \U0001f5fc · e\u0301"

OFTEN = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    # A failing example is a few commands long as it is drawn, and each one is played against real files.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@dataclass(frozen=True)
class Step:
    """Something that is asked of a campaign, about its `which`th newest turn where it is about a turn."""

    what: str
    campaign: str
    which: int
    text: str
    accounted: bool

    def command(self, turns: Sequence[str], new: str) -> CampaignCommand:
        """The command, where these turns are known and `new` is free for another."""
        turn, account = turns[-1 - self.which % len(turns)] if turns else "t_none", ACCOUNT if self.accounted else None
        commands: Mapping[str, CampaignCommand] = {
            "start": start(self.text, campaign=self.campaign, title=self.text),
            "revise": revise(campaign=self.campaign, title=self.text),
            "do": take_turn(new, "do", self.text, campaign=self.campaign),
            "continue": take_turn(new, "continue", campaign=self.campaign),
            "retry": retry(new, campaign=self.campaign),
            "prompt": record(prompted(turn), campaign=self.campaign),
            "accept": accept(turn, f" {self.text}\n", campaign=self.campaign, account=account),
            "fail": fail(turn, "model", campaign=self.campaign, account=account),
            "interrupt": fail(turn, "interrupted", campaign=self.campaign),
            "cancel": cancel(turn, campaign=self.campaign),
            "undo": undo(campaign=self.campaign),
            "redo": redo(campaign=self.campaign),
            "go": go(self._node(turns), campaign=self.campaign),
            "write anew": rewrite(self._node(turns), self.text, campaign=self.campaign),
            "correct": correct(self._node(turns), self.text, campaign=self.campaign),
            "save": save(f"s_{new}", f"{self.text} {new}", campaign=self.campaign),
            "name": name_branch(1 + self.which, f"branch {new}", campaign=self.campaign),
        }
        return commands[self.what]

    def _node(self, turns: Sequence[str]) -> int:
        """A node that there may be: two or so a turn, and the opening."""
        return 1 + (self.which * 5 + len(turns) * 2) % (2 * len(turns) + 1)


# Weighted so that stories grow: what ends a turn is drawn as often as what begins one.
WHAT = ["delete", "settings", "revise", "cancel", "fail", "interrupt"] + ["prompt", "continue"] * 3
MOVES = [
    "undo",
    "redo",
    "go",
    "go",
    "write anew",
    "write anew",
    "correct",
    "correct",
    "correct",
    "save",
    "name",
    "reread",
]
STEPS = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(WHAT + MOVES + ["do", "retry"] * 4 + ["accept"] * 8),
        campaign=st.sampled_from([CAMPAIGNS[0]] * 3 + [CAMPAIGNS[1]]),
        which=st.sampled_from([0] * 6 + [1, 2]),
        text=st.sampled_from(["Wait.", "Climb.", "", ODD]),
        accounted=st.booleans(),
    ),
    min_size=20,
    max_size=60,
)
"""What happens to a store. Each campaign begins again with the first step after it was deleted."""


@pytest.fixture(autouse=True, scope="module")
def in_no_hurry() -> Iterator[None]:
    """The disk need not have a view before the next step: nothing here outlasts the process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("projections.engine.sqlite._WRITING", ("journal_mode=WAL", "synchronous=OFF"))
        yield


@contextmanager
def store() -> Iterator[tuple[SqlEventLog, Path]]:
    """An empty log, and a directory to put views in."""
    with TemporaryDirectory() as directory:
        log = SqlEventLog(Path(directory) / "log.db", TickingClock(), NumberedNames())
        raw = log._writes.raw_connection()
        raw.cursor().execute("PRAGMA synchronous=OFF")
        raw.close()
        try:
            yield log, Path(directory)
        finally:
            log.close()


@contextmanager
def views(directory: Path, log: SqlEventLog, *, page: int) -> Iterator[Engine]:
    """The views in a directory of their own, without a thread."""
    opened = Engine(directory / f"views_{page}", log, ALL, page=page)
    try:
        yield opened
    finally:
        opened.stop()


@dataclass
class Telling:
    """A store to which things happen, and the turns that its campaigns have by then."""

    log: SqlEventLog
    turns: dict[str, list[str]]
    taken: int = 0

    def take(self, step: Step) -> None:
        """One step. What is refused is no concern of the views."""
        self.taken += 1
        with suppress(FabulaError):
            if step.what == "settings":
                self.log.change_settings({"model": f"model {self.taken}"})
            elif step.what == "delete":
                self.log.delete_campaign(step.campaign)
                self.turns.pop(step.campaign)
            elif step.what == "reread":
                self._reread(step.campaign, step.which)
            else:
                self._take(step)

    def _reread(self, campaign: str, which: int) -> None:
        """Another extractor for the whole history, which takes the first character off some narrations."""
        happened = self.log.read(0, 10_000, stream=campaign)
        told = [one.event for one in happened if isinstance(one.event, NarrationAccepted)]
        readings = tuple(
            reread(one.node, at=(one.branch, one.depth), raw=one.raw_reply, cut=one.raw_reply[:1])
            for one in told[which:]
        )
        self.log.execute(AdoptExtractor(campaign, "3", "whole_history", readings, len(happened)))

    def _take(self, step: Step) -> None:
        if step.campaign not in self.turns:
            self.log.execute(Step(**{**vars(step), "what": "start"}).command((), ""))
            self.turns[step.campaign] = []
        turns, new = self.turns[step.campaign], f"t_{self.taken}"
        for recorded in self.log.execute(step.command(turns, new)).events:
            turns.extend([new] if recorded.topic == "story.turn_opened" else [])


def digests(opened: Engine) -> list[str]:
    opened.catch_up()
    assert [(status.state, status.lag, status.error) for status in opened.status()] == [("current", 0, None)] * len(ALL)
    return [opened.digest(projection.name) for projection in ALL]


@OFTEN
@given(STEPS, st.sampled_from([1, 2, 5]), st.integers(1, 9))
def test_a_view_that_followed_is_the_view_that_is_built_at_once(steps: list[Step], page: int, every: int) -> None:
    with store() as (log, directory), views(directory, log, page=page) as followed:
        telling = Telling(log, {})
        for number, step in enumerate(steps):
            telling.take(step)
            if number % every == 0:
                followed.catch_up()
        kept = digests(followed)
        with views(directory, log, page=1000) as at_once:
            assert digests(at_once) == kept
        for projection in ALL:
            followed.rebuild(projection.name)
        assert digests(followed) == kept


@OFTEN
@given(STEPS)
def test_the_views_say_what_the_log_says(steps: list[Step]) -> None:
    with store() as (log, directory), views(directory, log, page=7) as opened:
        telling = Telling(log, {})
        for step in steps:
            telling.take(step)
        listed = listed_campaigns(opened)
        assert set(listed) == {campaign for campaign in CAMPAIGNS if is_there(log, campaign)}
        for campaign, row in listed.items():
            agree_on_the_campaign(log, row)
            agree_on_the_story(log, opened, campaign)
            agree_on_the_turns(log, opened, campaign, telling.turns[campaign])


def is_there(log: EventLog, campaign: str) -> bool:
    try:
        return log.campaign(campaign) is not None
    except FabulaError:
        return False


def listed_campaigns(opened: Engine) -> dict[str, campaigns.CampaignRow]:
    with opened.reading("campaigns") as connection:
        return {row.campaign: row for row in campaigns.page(connection, limit=100).campaigns}


def agree_on_the_campaign(log: SqlEventLog, row: campaigns.CampaignRow) -> None:
    facts = log.campaign(row.campaign)
    assert facts.settings is not None
    assert row.title == facts.settings.title
    assert (row.created_at, row.revised_at) == log.campaign_times(row.campaign)


def agree_on_the_story(log: SqlEventLog, opened: Engine, campaign: str) -> None:
    with opened.reading("story") as connection:
        for node in range(1, log.campaign(campaign).last_node + 1):
            line = log.line(campaign, node)
            told = story.page(connection, campaign, line, limit=10_000).nodes
            said = log.end_of_line(campaign, node, limit=10_000)
            assert [(one.node, one.depth, one.kind, one.text) for one in told] == [
                (one.node, one.depth, one.kind, one.text) for one in said
            ]
            assert told[-1] == story.one(connection, campaign, node)
            assert told[-1].takes == tuple(log.takes(campaign, node))
        events = log.read(0, 10_000, stream=campaign)
        for recorded in events[:: max(1, len(events) // 5)]:
            agree_on_what_was(log, connection, campaign, events, recorded.position)


def agree_on_what_was(
    log: SqlEventLog, connection: Connection, campaign: str, events: Sequence[Recorded], position: int
) -> None:
    """The line that was active at a position, as the events until then tell it."""
    facts, said, mended = CampaignFacts(campaign), dict[int, str](), set[int]()
    for recorded in events:
        if recorded.position <= position:
            facts = evolve(facts, cast("StoryEvent", recorded.event))
            mended |= {recorded.event.node} if isinstance(recorded.event, TextCorrected) else set()
            if not (isinstance(recorded.event, NarrationReread) and recorded.event.node in mended):
                said |= text_of(recorded.event)
    assert log.head_at(campaign, position) == facts.head
    line = [node.node for node in line_to(facts, facts.head)]
    page = story.page(connection, campaign, log.line(campaign, facts.head), limit=10_000, as_of=position)
    assert [(one.node, one.text) for one in page.nodes] == [(node, said[node]) for node in line]
    for one in page.nodes:
        takes = [at.node for at in facts.nodes.values() if (at.parent, at.kind) == (one.parent, "narration")]
        assert list(one.takes) == (takes if one.kind == "narration" else [one.node])


def text_of(event: object) -> dict[int, str]:
    match event:
        case CampaignStarted():
            return {1: event.opening}
        case PlayerActed() | NodeRevised() | TextCorrected():
            return {event.node: event.text}
        case NarrationReread():
            return {event.node: event.prose}
        case NarrationAccepted():
            return {event.node: prose_of(event.raw_reply, event.removals)}
        case _:
            return {}


def agree_on_the_turns(log: SqlEventLog, opened: Engine, campaign: str, turns: list[str]) -> None:
    with opened.reading("prompts") as connection:
        rows = prompts.page(connection, campaign, limit=10_000).prompts
        assert [row.turn for row in rows][::-1] == turns
        for row in rows:
            facts = log.turn(campaign, row.turn)
            assert (row.player_node, row.node, row.ended) == (facts.player_node, facts.narration, facts.ended)
            sent = [one for one in log.turn_events(campaign, row.turn) if one.topic == "prompt.sent"]
            assert row.position == (sent[-1].position if sent else None)
            for node in filter(None, (row.node, row.player_node)):
                assert prompts.by_node(connection, campaign, node) == row


def test_the_steps_draw_whatever_a_view_folds() -> None:
    drawn: set[str] = set()

    @settings(OFTEN, database=None, derandomize=True)
    @given(STEPS)
    def draw(steps: list[Step]) -> None:
        with store() as (log, _):
            telling = Telling(log, {})
            for step in steps:
                telling.take(step)
            drawn.update(recorded.topic for recorded in log.read(0, 10_000))

    draw()
    assert drawn >= {topic for projection in ALL for topic in projection.topics}
