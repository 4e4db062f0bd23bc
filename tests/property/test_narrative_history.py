"""Whatever was told: every leaf has the event that set it, its life has no gaps, and its words are found again."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.narrative.changes import changes, leaves
from domain.narrative.course import Told, after
from domain.narrative.document import EMPTY, Document
from domain.narrative.history import Setting, cause_of
from domain.narrative.history import settings as settings_of
from domain.narrative.judging import judge
from domain.narrative.passages import passage_of
from tests.property.test_narrative import BLOCKS, OFTEN, STEPS, Steps, likely

UNDER = st.sampled_from(
    ["", "entities", "entities.a", "possessions.b", "possessions", "facts", "facts.f1", "scene", "scene.summary"]
)


def course(steps: Steps) -> tuple[list[Told], Document]:
    told, document = [], EMPTY
    for number, (block, by) in enumerate(steps):
        judgement = judge(document, block, by=by)
        told.append(Told(number, judgement.accepted, by, number))
        document = judgement.document
    return told, document


def in_full(told: Sequence[Told]) -> dict[str, list[tuple[int, int]]]:
    """For each leaf the events after which it read otherwise, found by comparing whole documents."""
    found: dict[str, list[tuple[int, int]]] = {}
    document = EMPTY
    for block in told:
        for number, event in enumerate(block.accepted):
            following = after(document, (event,), block.by)
            for change in changes(document, following):
                found.setdefault(change.path, []).append((block.at, number))
            document = following
    return found


def places(found: Sequence[Setting]) -> list[tuple[int, int]]:
    return [(each.told.at, each.number) for each in found]


@OFTEN
@given(STEPS)
def test_every_leaf_has_the_value_that_the_event_gave_it_which_set_it(steps: Steps) -> None:
    told, document = course(steps)
    for path, value in leaves(document):
        cause = cause_of(told, path)
        assert cause is not None or path.startswith("scene.")
        assert cause is None or (json.dumps(cause.after), cause.path) == (json.dumps(value), path)


@OFTEN
@given(STEPS, UNDER)
def test_a_life_has_no_gaps_and_misses_no_change(steps: Steps, under: str) -> None:
    told, _ = course(steps)
    lives: dict[str, list[Setting]] = {}
    for setting in settings_of(told, under):
        lives.setdefault(setting.path, []).append(setting)
    for path, life in lives.items():
        assert [json.dumps(each.after) for each in life[:-1]] == [json.dumps(each.before) for each in life[1:]]
        assert life == [each for each in settings_of(told) if each.path == path]
    for path, changed in in_full(told).items():
        if path == under or path.startswith(f"{under}.") or not under:
            assert set(changed) <= set(places(lives[path]))


@settings(OFTEN, max_examples=150)
@given(STEPS, st.lists(likely(), max_size=6) | BLOCKS, st.booleans(), st.sampled_from([None, 1]))
def test_the_words_of_every_accepted_event_are_found_in_its_block(
    steps: Steps, block: list[Any], quoted: bool, indent: int | None
) -> None:
    _, document = course(steps)
    written = json.dumps({"events": block}, indent=indent)
    written = "\n".join(f"> {line}" for line in written.splitlines()) if quoted else written
    judgement = judge(document, block, by="narrator")
    found = [passage_of(written, judgement.accepted, number, document) for number in range(len(judgement.accepted))]
    assert None not in found
    starts = [each.start for each in found if each]
    assert starts == sorted(set(starts)), "each has words of its own, in the order of the block"
    for passage, event in zip(found, judgement.accepted, strict=True):
        assert passage is not None
        assert json.loads(passage.of(written).replace("\n> ", "\n")) == event
