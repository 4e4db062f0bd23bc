"""What the views answer, over a story in memory and tables in memory."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, event, func, select

from domain.catalogue import catalogue
from domain.event import LogEntry, Recorded
from domain.prompt.events import Accounting
from projections import campaigns, prompts, story
from projections.all import ALL
from projections.campaigns import CAMPAIGNS
from projections.projection import Projection
from projections.prompts import PROMPTS, PromptPage
from projections.story import STORY, StoryNode, StoryPage
from tests.fakes.event_log import MemoryEventLog
from tests.fakes.sample_story import (
    ACCOUNT,
    CAMPAIGN,
    OPENING,
    accept,
    correct,
    fail,
    go,
    prompted,
    record,
    retry,
    revise,
    rewrite,
    start,
    take_turn,
)
from tests.fakes.time_and_names import NumberedNames, TickingClock

Folded = Callable[..., Connection]


@pytest.fixture
def log() -> MemoryEventLog:
    """An empty log."""
    return MemoryEventLog(TickingClock(), NumberedNames())


@pytest.fixture
def folded(log: MemoryEventLog) -> Iterator[Folded]:
    """A view of the log, or of the events given, in pages of this size."""
    opened: list[Connection] = []

    def folded(projection: Projection, *, events: Sequence[Recorded] | None = None, page: int = 1000) -> Connection:
        connection = create_engine("sqlite://").connect()
        opened.append(connection)
        projection.tables.create_all(connection)
        told = [*log.read(0, 10_000, topics=projection.topics)] if events is None else [*events]
        for begin in range(0, len(told), page):
            projection.fold(connection, [as_read(recorded, projection) for recorded in told[begin : begin + page]])
        return connection

    yield folded
    for connection in opened:
        connection.close()
        connection.engine.dispose()


def as_read(recorded: Recorded, projection: Projection) -> LogEntry:
    """The event as the view meets it, by way of what is stored of it."""
    model = projection.reads[recorded.topic]
    stored = catalogue().encode(recorded.event)
    read = None if model is None else model.model_validate_json(stored)
    return LogEntry(recorded.position, recorded.stream, recorded.topic, recorded.at, recorded.turn, read)


def tell(log: MemoryEventLog, turn: str, *, campaign: str = CAMPAIGN, again: bool = False) -> None:
    """A whole turn, or another take of the newest one."""
    opening = retry(turn, campaign=campaign) if again else take_turn(turn, text=f"Wait, {turn}.", campaign=campaign)
    log.execute(opening)
    log.execute(record(prompted(turn), campaign=campaign))
    log.execute(accept(turn, f" The tide turns, {turn}.\n", campaign=campaign, account=ACCOUNT))


def forked(log: MemoryEventLog) -> int:
    """A story with a fork at almost every turn; its newest node."""
    log.execute(start())
    for number in range(24):
        tell(log, f"t_{number}", again=number % 3 > 0)
        if number % 7 == 6:
            log.execute(take_turn(f"f_{number}", "say", "Hello?"))
            log.execute(fail(f"f_{number}"))
    return log.campaign(CAMPAIGN).last_node


def rows(connection: Connection, projection: Projection) -> list[Any]:
    return [row for table in projection.tables.sorted_tables for row in connection.execute(select(table))]


# The story


def test_a_page_has_its_nodes_with_their_takes_and_accounts(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    tell(log, "t_1")
    tell(log, "t_2", again=True)
    page = story.page(folded(STORY), CAMPAIGN, log.line(CAMPAIGN, 4), limit=10)
    assert [(node.node, node.parent, node.kind, node.depth, node.takes) for node in page.nodes] == [
        (1, None, "opening", 1, (1,)),
        (2, 1, "do", 2, (2,)),
        (4, 2, "narration", 3, (3, 4)),
    ]
    assert [node.text for node in page.nodes] == [OPENING, "Wait, t_1.", "The tide turns, t_2."]
    assert [(node.finish_reason, node.accounting, node.turn) for node in page.nodes] == [
        (None, None, None),
        (None, None, "t_1"),
        ("stop", "fits", "t_2"),
    ]
    assert page.next is None


def test_a_node_off_the_line_is_found_by_its_number(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    tell(log, "t_1")
    tell(log, "t_2", again=True)
    node = story.one(folded(STORY), CAMPAIGN, 3)
    assert node is not None
    assert (node.node, node.branch, node.takes, node.late, node.outcome) == (3, 1, (3, 4), False, "absent")
    assert node.at == log.read(0, 100, topics=["story.narration_accepted"])[0].at


def test_what_is_not_there_is_none_or_an_empty_page(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    assert story.one(folded(STORY), CAMPAIGN, 9) is None
    assert story.page(folded(STORY), CAMPAIGN, [], limit=5) == StoryPage((), None)
    assert story.page(folded(STORY), CAMPAIGN, log.line(CAMPAIGN, 1), limit=5, before_depth=1) == StoryPage((), None)
    assert prompts.by_turn(folded(PROMPTS), CAMPAIGN, "t_1") is None
    assert prompts.by_node(folded(PROMPTS), CAMPAIGN, 1) is None


def paged(view: Connection, log: MemoryEventLog, end: int, limit: int) -> list[StoryNode]:
    """The whole line, read page by page, oldest first."""
    segments, before, nodes = log.line(CAMPAIGN, end), None, list[StoryNode]()
    while True:
        page = story.page(view, CAMPAIGN, segments, limit=limit, before_depth=before)
        nodes = [*page.nodes, *nodes]
        if page.next is None:
            return nodes
        before = log.node(CAMPAIGN, page.next).depth


def test_pages_of_a_line_over_forks_are_what_the_log_says_of_it(log: MemoryEventLog, folded: Folded) -> None:
    newest = forked(log)
    assert log.campaign(CAMPAIGN).last_branch >= 15
    view = folded(STORY)
    for end in range(1, newest + 1):
        said = [(one.node, one.depth, one.kind, one.text) for one in log.end_of_line(CAMPAIGN, end, limit=1000)]
        for limit in (1, 4, 100):
            assert [(one.node, one.depth, one.kind, one.text) for one in paged(view, log, end, limit)] == said
        line = list(story.line(view, CAMPAIGN, log.line(CAMPAIGN, end)))
        assert line == paged(view, log, end, 1000)
        assert [one.takes for one in line] == [tuple(log.takes(CAMPAIGN, one.node)) for one in line]
        assert story.words(view, CAMPAIGN, log.line(CAMPAIGN, end)) == log.end_of_line(CAMPAIGN, end, limit=1000)


def test_a_page_needs_only_the_segments_that_it_shows(log: MemoryEventLog, folded: Folded) -> None:
    newest = forked(log)
    down_to = log.node(CAMPAIGN, newest).depth - 4
    whole = story.page(folded(STORY), CAMPAIGN, log.line(CAMPAIGN, newest), limit=5)
    cut = story.page(folded(STORY), CAMPAIGN, log.line(CAMPAIGN, newest, down_to=down_to), limit=5)
    assert len(whole.nodes) == 5
    assert cut == whole


def test_a_long_line_is_read_a_stretch_at_a_time(
    log: MemoryEventLog, folded: Folded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story, "EXPORT_NODES", 4)
    newest = forked(log)
    told = [one.node for one in story.line(folded(STORY), CAMPAIGN, log.line(CAMPAIGN, newest))]
    assert told == [one.node for one in log.end_of_line(CAMPAIGN, newest, limit=1000)]


# Written anew, mended, and as it was


def test_a_node_written_anew_is_a_sibling_and_a_narration_so_written_a_take(
    log: MemoryEventLog, folded: Folded
) -> None:
    log.execute(start())
    tell(log, "t_1")
    log.execute(rewrite(3, "Mine."))
    log.execute(rewrite(2, "Other words."))
    view = folded(STORY)
    narration, action = story.one(view, CAMPAIGN, 4), story.one(view, CAMPAIGN, 5)
    assert narration is not None
    assert action is not None
    assert (narration.kind, narration.text, narration.parent, narration.takes) == ("narration", "Mine.", 2, (3, 4))
    assert (narration.turn, narration.finish_reason, narration.accounting, narration.late) == (None, None, None, False)
    assert (action.kind, action.text, action.parent, action.takes) == ("do", "Other words.", 1, (5,))
    assert (action.branch, action.depth) == (3, 2)


@pytest.mark.parametrize("page", [1, 2, 3, 100])
def test_corrections_mend_the_text_and_keep_what_was_there(log: MemoryEventLog, folded: Folded, page: int) -> None:
    """In pages of any size: with the node's making, twice in one, or in a page of its own."""
    log.execute(start())
    tell(log, "t_1")
    log.execute(correct(3, "Once mended."))
    log.execute(correct(3, "Twice mended."))
    log.execute(correct(1, "Another opening."))
    log.execute(correct(2, "Mended words."))
    view = folded(STORY, page=page)
    assert texts(view, log, 3) == ["Another opening.", "Mended words.", "Twice mended."]
    kept = [(row.node, row.replaced) for row in view.execute(select(story.correction))]
    assert sorted(kept) == [(1, OPENING), (2, "Wait, t_1."), (3, "Once mended."), (3, "The tide turns, t_1.")]


def test_an_account_that_comes_after_a_correction_does_not_undo_it(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    tell(log, "t_1")
    log.execute(correct(3, "Mended."))
    for page in (1, 2, 100):
        node = story.one(folded(STORY, page=page), CAMPAIGN, 3)
        assert node is not None
        assert (node.text, node.accounting) == ("Mended.", "fits")


@pytest.mark.parametrize("page", [1, 3, 100])
def test_corrections_go_with_their_story_and_no_other(log: MemoryEventLog, folded: Folded, page: int) -> None:
    for campaign in (CAMPAIGN, "c_other"):
        log.execute(start(campaign=campaign))
        log.execute(correct(1, f"Mended in {campaign}.", campaign=campaign))
    log.delete_campaign(CAMPAIGN)
    log.execute(start("It begins again."))
    view = folded(STORY, page=page)
    assert texts(view, log, 1) == ["It begins again."]
    log.execute(correct(1, "Mended again."))
    view = folded(STORY, page=page)
    assert texts(view, log, 1) == ["Mended again."]
    kept = {(row.campaign, row.node, row.replaced) for row in view.execute(select(story.correction))}
    assert kept == {(CAMPAIGN, 1, "It begins again."), ("c_other", 1, OPENING)}


def texts(view: Connection, log: MemoryEventLog, end: int, as_of: int | None = None) -> list[str]:
    page = story.page(view, CAMPAIGN, log.line(CAMPAIGN, end), limit=1000, as_of=as_of)
    return [node.text for node in page.nodes]


def test_as_of_a_position_the_line_reads_as_it_did_there(log: MemoryEventLog, folded: Folded) -> None:
    """At every position: the same as a view that was built when the log ended there."""
    log.execute(start())
    tell(log, "t_1")
    tell(log, "t_2", again=True)
    log.execute(correct(2, "Mended words."))
    log.execute(rewrite(4, "Mine."))
    log.execute(correct(4, "Mended narration."))
    tell(log, "t_3")
    log.execute(correct(5, "Mine, mended."))
    log.execute(correct(2, "Mended again."))
    log.execute(go(4))
    whole = folded(STORY)
    end = log.max_position()
    for position in range(1, end + 1):
        told = [one for one in log.read(0, 1000, topics=STORY.topics) if one.position <= position]
        then = folded(STORY, events=told)
        head = log.head_at(CAMPAIGN, position)
        line = log.line(CAMPAIGN, head)
        seen = story.page(whole, CAMPAIGN, line, limit=1000, as_of=position).nodes
        was = story.page(then, CAMPAIGN, line, limit=1000).nodes
        assert [(one.node, one.text, one.takes) for one in seen] == [(one.node, one.text, one.takes) for one in was]
    assert texts(whole, log, 4, as_of=end) == texts(whole, log, 4) == [OPENING, "Mended again.", "Mended narration."]


def plans(view: Connection, ask: Callable[[], object]) -> list[str]:
    """How SQLite finds the rows for every statement of a query."""
    asked: list[tuple[str, Any]] = []

    def remember(_c: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    event.listen(view, "before_cursor_execute", remember)
    ask()
    event.remove(view, "before_cursor_execute", remember)
    explained = [view.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters).all() for sql, parameters in asked]
    return [" ".join(row.detail for row in plan) for plan in explained]


def test_no_query_reads_more_rows_than_it_answers_with(log: MemoryEventLog, folded: Folded) -> None:
    line = log.line(CAMPAIGN, forked(log))
    nodes, turns = folded(STORY), folded(PROMPTS)
    for plan in [
        *plans(nodes, lambda: story.page(nodes, CAMPAIGN, line, limit=50)),
        *plans(nodes, lambda: story.one(nodes, CAMPAIGN, 3)),
        *plans(turns, lambda: prompts.by_turn(turns, CAMPAIGN, "t_1")),
        *plans(turns, lambda: prompts.by_node(turns, CAMPAIGN, 5)),
        *plans(turns, lambda: prompts.page(turns, CAMPAIGN, limit=5, before=9)),
    ]:
        assert plan.count("SEARCH") == 1, plan
        assert "(campaign=? AND " in plan
        assert "TEMP B-TREE" not in plan


def test_a_page_over_many_forks_asks_for_its_takes_once(log: MemoryEventLog, folded: Folded) -> None:
    line, view = log.line(CAMPAIGN, forked(log)), folded(STORY)
    asked = plans(view, lambda: story.page(view, CAMPAIGN, line, limit=100))
    assert len(asked) == len(line) + 1


# The list of campaigns


def test_campaigns_are_listed_newest_first_page_by_page(log: MemoryEventLog, folded: Folded) -> None:
    for number in range(5):
        log.execute(start(campaign=f"c_{number}", title=f"Tale {number}"))
    view = folded(CAMPAIGNS)
    first = campaigns.page(view, limit=2)
    second = campaigns.page(view, limit=2, after=first.next)
    third = campaigns.page(view, limit=2, after=second.next)
    listed = [[row.campaign for row in page.campaigns] for page in (first, second, third)]
    assert listed == [["c_4", "c_3"], ["c_2", "c_1"], ["c_0"]]
    assert third.next is None


def test_a_campaign_that_was_played_is_listed_as_it_was_begun(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start(title="The Lamp"))
    tell(log, "t_1")
    tell(log, "t_2", again=True)
    log.execute(take_turn("t_3", text="Wait."))
    log.execute(fail("t_3"))
    (row,) = campaigns.page(folded(CAMPAIGNS), limit=9).campaigns
    assert (row.campaign, row.title) == (CAMPAIGN, "The Lamp")
    assert row.created_at == row.revised_at == log.read(0, 1)[0].at


def test_a_revision_is_dated_and_keeps_the_title_unless_it_names_one(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start(title="The Lamp"))
    log.execute(revise(instructions="Be brief."))
    (row,) = campaigns.page(folded(CAMPAIGNS), limit=9).campaigns
    assert row.title == "The Lamp"
    assert row.revised_at > row.created_at
    log.execute(revise(title=""))
    (row,) = campaigns.page(folded(CAMPAIGNS), limit=9).campaigns
    assert row.title == ""


def test_a_list_goes_on_where_its_last_campaign_was_deleted(log: MemoryEventLog, folded: Folded) -> None:
    for number in range(3):
        log.execute(start(campaign=f"c_{number}"))
    first = campaigns.page(folded(CAMPAIGNS), limit=1)
    log.delete_campaign("c_2")
    second = campaigns.page(folded(CAMPAIGNS), limit=1, after=first.next)
    assert [row.campaign for row in second.campaigns] == ["c_1"]


# The turns and what was sent for them


def test_a_turn_is_found_by_its_name_and_by_the_nodes_it_made(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    tell(log, "t_1")
    tell(log, "t_2", again=True)
    log.execute(take_turn("t_3", "say", "Hello?"))
    log.execute(fail("t_3", "prompt"))
    view = folded(PROMPTS)
    third, second, first = prompts.page(view, CAMPAIGN, limit=3).prompts
    assert [prompts.by_turn(view, CAMPAIGN, f"t_{number}") for number in (1, 2, 3)] == [first, second, third]
    made_by = [prompts.by_node(view, CAMPAIGN, node) for node in (1, 2, 3, 4, 5)]
    assert made_by == [None, first, first, second, third]
    assert (first.player_node, first.node, first.ended, first.error) == (2, 3, "accepted", None)
    assert (second.player_node, second.node, second.ended) == (None, 4, "accepted")
    assert (third.player_node, third.node, third.ended, third.error) == (5, None, "prompt", "model_unreachable")


def test_a_turn_says_where_its_request_is_and_what_became_of_it(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    tell(log, "t_1")
    opened, _, sent, accepted, _, _ = log.read(1, 100)
    row = prompts.by_turn(folded(PROMPTS), CAMPAIGN, "t_1")
    assert row is not None
    assert (row.opened, row.opened_at, row.closed_at) == (opened.position, opened.at, accepted.at)
    assert row.position == sent.position
    assert Accounting.model_validate_json(row.accounting or "") == ACCOUNT


def test_a_running_turn_has_no_end(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    log.execute(take_turn("t_1", text="Wait."))
    row = prompts.by_turn(folded(PROMPTS), CAMPAIGN, "t_1")
    assert row is not None
    assert (row.position, row.ended, row.closed_at, row.accounting) == (None, None, None, None)


def test_turns_are_listed_newest_first_page_by_page(log: MemoryEventLog, folded: Folded) -> None:
    log.execute(start())
    for number in range(3):
        tell(log, f"t_{number}")
    view = folded(PROMPTS)
    first = prompts.page(view, CAMPAIGN, limit=2)
    second = prompts.page(view, CAMPAIGN, limit=2, before=first.next)
    assert [[row.turn for row in page.prompts] for page in (first, second)] == [["t_2", "t_1"], ["t_0"]]
    assert second.next is None
    assert prompts.page(view, "c_nowhere", limit=2) == PromptPage((), None)


@pytest.mark.parametrize("page", [1, 1000])
def test_a_reply_that_comes_late_is_a_take_and_its_turn_accepted(
    log: MemoryEventLog, folded: Folded, page: int
) -> None:
    log.execute(start())
    log.execute(take_turn("t_1", text="Wait."))
    log.execute(fail("t_1", "interrupted"))
    log.execute(accept("t_1", "At last."))
    turn = prompts.by_turn(folded(PROMPTS, page=page), CAMPAIGN, "t_1")
    node = story.one(folded(STORY, page=page), CAMPAIGN, 3)
    assert turn is not None
    assert node is not None
    assert (turn.ended, turn.error, turn.node, node.late) == ("accepted", None, 3, True)


# All of them


@pytest.mark.parametrize("projection", ALL, ids=lambda projection: projection.name)
@pytest.mark.parametrize("page", [1, 2, 3, 7])
def test_a_view_folded_in_small_pages_holds_the_same_rows(
    log: MemoryEventLog, folded: Folded, projection: Projection, page: int
) -> None:
    log.execute(start(campaign="c_goes"))
    tell(log, "t_gone", campaign="c_goes")
    forked(log)
    log.delete_campaign("c_goes")
    assert sorted(rows(folded(projection, page=page), projection)) == sorted(rows(folded(projection), projection))


@pytest.mark.parametrize("projection", ALL, ids=lambda projection: projection.name)
@pytest.mark.parametrize("page", [1, 4, 1000])
def test_a_deleted_campaign_leaves_no_row(
    log: MemoryEventLog, folded: Folded, projection: Projection, page: int
) -> None:
    """The view has read the campaign's events, and the tombstone after them; a later reader finds the latter alone."""
    log.execute(start(campaign="c_stays"))
    tell(log, "t_1", campaign="c_stays")
    stays = rows(folded(projection), projection)
    log.execute(start())
    tell(log, "t_1")
    tell(log, "t_2")
    before = list(log.read(0, 100, topics=projection.topics))
    log.delete_campaign(CAMPAIGN)
    stone = log.read(before[-1].position, 1, topics=projection.topics)
    assert rows(folded(projection, events=[*before, *stone], page=page), projection) == stays
    assert rows(folded(projection), projection) == stays


@pytest.mark.parametrize("projection", ALL, ids=lambda projection: projection.name)
def test_a_page_is_written_in_one_statement_a_table(
    log: MemoryEventLog, folded: Folded, projection: Projection
) -> None:
    view = folded(projection, events=[])
    forked(log)
    written: list[str] = []

    def remember(_c: object, _cursor: object, statement: str, *_: object) -> None:
        written.extend(word for word in ("INSERT", "UPDATE", "DELETE") if statement.startswith(word))

    event.listen(view, "before_cursor_execute", remember)
    projection.fold(view, [as_read(told, projection) for told in log.read(0, 1000, topics=projection.topics)])
    assert written == ["INSERT"]
    counts = [select(func.count()).select_from(table) for table in projection.tables.sorted_tables]
    assert any(view.execute(count).scalar_one() for count in counts)
