"""What of a reply counts as a change, and what of that a person must look at."""

from typing import Any

import pytest

from domain.extraction.extraction import Removal
from domain.narrative.judging import Proposed
from replays.comparison import Compared, Standing
from replays.findings import changes_of, flags_of, share_removed
from replays.marks import marked
from replays.reading import Failure
from replays.rows import reply_row
from replays.spans import kept, without

RAW = "It rains. The door stands open. A bell rings.\n[note]\n"
NOTE = (RAW.index("\n[note]"), len(RAW))
EVENT = {"type": "create_entity", "entity": "door", "entity_type": "item", "name": "Door"}


def standing(*spans: tuple[str, int, int], prose: str | None = None, proposed: Proposed = "absent") -> Standing:
    removals = tuple(Removal(rule=rule, start=start, end=end) for rule, start, end in spans)
    text = "".join(RAW[start:end] for start, end in kept(RAW, removals)) if prose is None else prose
    outcome: Any = proposed if isinstance(proposed, str) else "applied" if proposed else "empty"
    return Standing(text, removals, proposed, outcome, (), (), None)


BEFORE = standing(("echo", *NOTE))


def compared(after: Standing, before: Standing = BEFORE, failure: Failure | None = None) -> Compared:
    return Compared("c_it", 3, 1, 3, RAW, before, after, failure)


def flags(after: Standing, before: Standing = BEFORE) -> list[str]:
    return [flagged.flag for flagged in flags_of(compared(after, before))]


def test_the_same_reading_is_no_change() -> None:
    assert changes_of(compared(BEFORE)) == ()
    assert flags(BEFORE) == []


def test_white_space_at_the_end_is_no_change() -> None:
    after = standing(("echo", NOTE[0] + 1, NOTE[1]))
    assert after.prose.endswith("\n")
    assert changes_of(compared(after)) == ()
    assert flags(after) == []


def test_white_space_around_the_prose_needs_no_removal() -> None:
    assert flags(standing(("echo", NOTE[0] + 1, NOTE[1]), prose="  " + BEFORE.prose + "\n\n")) == []


def test_another_rule_for_the_same_words_is_told_and_not_flagged() -> None:
    after = standing(("R2", *NOTE))
    assert changes_of(compared(after)) == ("rules",)
    assert flags(after) == []


def test_a_sentence_that_a_rule_takes_out_is_a_change_and_no_flag() -> None:
    after = standing(("mine", 0, 10), ("echo", *NOTE))
    assert changes_of(compared(after)) == ("prose",)
    assert flags(after) == []


def test_a_sentence_that_no_rule_takes_out_is_flagged() -> None:
    after = standing(("echo", *NOTE), prose="It rains. A bell rings.")
    assert changes_of(compared(after)) == ("prose",)
    assert flags(after) == ["unexplained_removal", "quarter_removed"]


@pytest.mark.parametrize(
    ("prose", "flag", "told"),
    [
        ("It rains. The door stands open. A bell rang.", "text_rewritten", "It has “rang.” in the place of “rings.”."),
        (
            "It rains. The door stands wide open. A bell rings.",
            "text_rewritten",
            "It has “wide” where the reply has nothing",
        ),
        ("It rains. The door stand open. A bell rings.", "text_rewritten", "“stand” in the place of “stands”"),
        ("It rains.  The door stands open. A bell rings.", "text_rewritten", "White space within the prose"),
        ("The door stands open. A bell rings.", "unexplained_removal", "“It rains.”"),
        ("It rains. The door stands open.", "unexplained_removal", "“A bell rings.”"),
    ],
)
def test_what_is_not_as_the_removals_say_is_flagged(prose: str, flag: str, told: str) -> None:
    found = {flagged.flag: flagged.detail for flagged in flags_of(compared(standing(("echo", *NOTE), prose=prose)))}
    assert flag in found
    assert told in found[flag]


def test_a_removal_without_a_name_is_flagged() -> None:
    assert flags(standing((" ", *NOTE))) == ["unexplained_removal"]


def test_removals_that_overlap_or_lie_outside_explain_nothing() -> None:
    for spans in ([("a", 0, 20), ("b", 10, 30)], [("a", 10, 5)], [("a", 0, 900)]):
        assert "unexplained_removal" in flags(standing(*spans, prose="A bell rings."))


def test_more_than_a_quarter_is_flagged_and_a_quarter_is_not() -> None:
    assert share_removed(compared(standing(("mine", 0, 32), ("echo", *NOTE)))) > 0.25
    assert flags(standing(("mine", 0, 32), ("echo", *NOTE))) == ["quarter_removed"]
    assert share_removed(compared(standing(("mine", 0, 10), ("echo", *NOTE)))) == pytest.approx(8 / 37)


def test_what_comes_back_into_the_story_is_flagged() -> None:
    [flagged] = flags_of(compared(standing()))
    assert (flagged.flag, flagged.detail) == ("text_added", "It keeps what was taken out before: “[note]”")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((EVENT,), (EVENT,), []),
        ((EVENT,), (dict(reversed(EVENT.items())),), []),
        ((EVENT,), (), ["proposal_lost"]),
        ((EVENT,), "absent", ["proposal_lost"]),
        ((EVENT,), "unparseable", ["proposal_lost"]),
        ((EVENT,), ({**EVENT, "name": "Gate"},), ["proposal_changed"]),
        (({"value": 1},), ({"value": True},), ["proposal_changed"]),
        ((EVENT, EVENT), (EVENT,), ["proposal_changed"]),
        ((), "absent", ["proposal_changed"]),
        ("unparseable", "absent", ["proposal_changed"]),
        ("unparseable", (EVENT,), []),
        ("absent", (EVENT,), []),
        ("absent", "unparseable", []),
    ],
)
def test_a_proposal_that_is_lost_or_another_is_flagged_and_one_that_is_found_is_not(
    before: Proposed, after: Proposed, expected: list[str]
) -> None:
    sides = (standing(("echo", *NOTE), proposed=after), standing(("echo", *NOTE), proposed=before))
    assert flags(*sides) == expected


def test_of_a_candidate_that_failed_only_that_is_said() -> None:
    failed = compared(BEFORE, failure=Failure("timed_out", "It did not answer within 2 seconds."))
    assert [(flagged.flag, flagged.detail) for flagged in flags_of(failed)] == [
        ("candidate_failed", "It did not answer within 2 seconds.")
    ]
    assert reply_row(failed, (), flags_of(failed))["prose"]["after"] is None


def test_the_marks_are_the_whole_reply_and_tell_the_sides_apart() -> None:
    after = compared(standing(("mine", 0, 10)))
    found = list(marked(reply_row(after, changes_of(after), flags_of(after))))
    assert "".join(each.text for each in found) == RAW
    assert [(each.mark, each.rule) for each in found] == [("gone", "mine"), ("kept", ""), ("back", "echo")]


def test_removals_that_make_no_sense_are_marked_as_far_as_they_do() -> None:
    after = compared(standing(("a", 0, 20), ("b", 10, 30), ("c", 40, 900), prose=""))
    assert "".join(each.text for each in marked(reply_row(after, (), ()))) == RAW


def test_stretches_without_others() -> None:
    assert list(without([(0, 10)], [(2, 3), (5, 12)])) == [(0, 2), (3, 5)]
    assert list(without([(0, 2), (4, 8)], [(1, 5)])) == [(0, 1), (5, 8)]
    assert list(without([(0, 2)], [])) == [(0, 2)]
    assert list(without([(3, 9), (12, 20)], [(0, 4), (5, 6), (7, 13), (19, 30)])) == [(4, 5), (6, 7), (13, 19)]
