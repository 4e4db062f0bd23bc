"""Which words of a reply hold a state event, however its block was written."""

import json
import time
from typing import Any

import pytest

from domain.extraction.extraction import Removal
from domain.narrative.document import EMPTY
from domain.narrative.passages import Passage, block_in, passage_of
from tests.unit.test_narrative_sample import STATE, event

LAMP = event("set_possession", item="lamp", owner="imani")
CRYSTAL = event("set_possession", item="crystal", owner=None)
NAMED = event("rename_entity", entity="imani", name='Imani "the Grey" {of} [Ceres]')
AWAKE = event("create_entity", entity="key", entity_type="item", name="Key", aliases=["the key", "it"])
ALL = (LAMP, CRYSTAL, NAMED, AWAKE)


def words(block: str, accepted: tuple[Any, ...], number: int = 0) -> str | None:
    found = passage_of(block, accepted, number, STATE)
    return None if found is None else found.of(block)


def written(*events: Any, **how: Any) -> str:
    return json.dumps({"events": list(events)}, **how)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("number", range(len(ALL)))
def test_an_event_is_found_among_others(number: int, indent: int | None) -> None:
    found = words(written(*ALL, indent=indent), ALL, number)
    assert found is not None
    assert (found[0], found[-1], json.loads(found)) == ("{", "}", ALL[number])


def test_in_a_list_and_alone() -> None:
    assert words(json.dumps([LAMP, CRYSTAL]), (LAMP, CRYSTAL), 1) == json.dumps(CRYSTAL)
    assert words(f"\n {json.dumps(LAMP)}\n", (LAMP,)) == json.dumps(LAMP)


def test_among_what_was_refused() -> None:
    refused = event("set_possession", item="lamp", owner="nobody-known")
    assert words(written(refused, LAMP, "no event", 7, [LAMP, {}]), (LAMP,)) == json.dumps(LAMP)


@pytest.mark.parametrize("number", range(len(ALL)))
def test_in_lines_that_are_quoted(number: int) -> None:
    block = "\n".join(f"  > {line}" for line in written(*ALL, indent=1).splitlines())
    found = words(block, ALL, number)
    assert found is not None
    assert (found[0], found[-1]) == ("{", "}")
    assert json.loads(found.replace("  > ", "")) == ALL[number]


@pytest.mark.parametrize("number", range(len(ALL)))
@pytest.mark.parametrize("indent", [None, 2])
def test_in_an_escaped_string(number: int, indent: int | None) -> None:
    block = json.dumps(written(*ALL, indent=indent))
    found = words(block, ALL, number)
    assert found is not None
    assert json.loads(json.loads(f'"{found}"')) == ALL[number]


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ('{"events":[{"type":"set_possession","item":"lamp","owner":"imani",},]}', '{"type":"set_possession","item":"lamp","owner":"imani",}'),
        ('{"events":[{"type":"set_possession","item":"lamp","owner":"imani"]}', '{"type":"set_possession","item":"lamp","owner":"imani"'),
        ('{"events":[{"type":"set_possession","item":"lamp","owner":"imani" \n', '{"type":"set_possession","item":"lamp","owner":"imani"'),
        ('{"events":[{"type":"set_possession","item":"lamp","owner":"imani"}', '{"type":"set_possession","item":"lamp","owner":"imani"}'),
        ("{“events”: [{“type”: “set_possession”, “item”: “lamp”, “owner”: “imani”}]}", "{“type”: “set_possession”, “item”: “lamp”, “owner”: “imani”}"),
        ('{“events”: [{“type”: "set_possession", “item": „lamp“, “owner”: “imani”}]}', '{“type”: "set_possession", “item": „lamp“, “owner”: “imani”}'),
        ('{"events":[{"owner":"imani","item":"lamp", "type":"\\u0073et_possession"}]}', '{"owner":"imani","item":"lamp", "type":"\\u0073et_possession"}'),
    ],
)  # fmt: skip
def test_however_it_had_to_be_mended(block: str, found: str) -> None:
    assert words(block, (LAMP,)) == found


def test_with_a_list_that_was_never_closed() -> None:
    block = '{"events":[{"type":"create_entity","entity":"key","entity_type":"item","name":"Key","aliases":["the key","it"}]}'
    assert words(block, (AWAKE,)) == block[11:-2]


def test_typographic_marks_inside_a_string_are_text() -> None:
    said = event("add_fact", predicate="reads “no entry”, and „so“")
    assert words(json.dumps({"events": [said]}, ensure_ascii=False), (said,)) == json.dumps(said, ensure_ascii=False)


def test_halves_of_characters_are_found_as_they_are_stored() -> None:
    stored = event("add_fact", predicate="half \ufffd")
    assert words(r'[{"type":"add_fact","predicate":"half \ud83d"}]', (stored,)) is not None


def test_numbers_and_truths_are_told_apart() -> None:
    one, true = (event("set_entity_attribute", entity="imani", attribute="rank", value=value) for value in (1, True))
    block = written(true, one)
    assert words(block, (true, one), 1) == json.dumps(one)


def test_of_several_that_read_the_same_it_is_the_one_that_was_accepted() -> None:
    made = event("create_entity", entity="key", entity_type="item", name="Key")
    held = event("set_possession", item="key", owner="imani")
    block = written(held, made, held, made, held)
    places = [block.index(json.dumps(held)), block.index(json.dumps(made)), block.rindex(json.dumps(made))]
    again = block.index(json.dumps(held), places[1])

    found = [passage_of(block, (made, held, held), number, STATE) for number in range(3)]
    assert [each.start for each in found if each] == [places[1], again, block.rindex(json.dumps(held))]


def test_nothing_is_guessed() -> None:
    assert words(written(CRYSTAL), (LAMP,)) is None
    assert words("no block at all", (LAMP,)) is None
    assert words("", (LAMP,)) is None
    assert words('{"events": "' + "{" * 50, (LAMP,)) is None


@pytest.mark.parametrize(
    "piece", ["{", "[", '"', "“", "}", "]", '{"a":', "> ", '\\"', "{[", '"{\\"a\\":', "[{,}]", ",]"]
)
def test_much_of_anything_takes_a_moment(piece: str) -> None:
    begun = time.process_time()
    passage_of(piece * (200_000 // len(piece)), (LAMP,), 0, EMPTY)
    assert time.process_time() - begun < 5


# The block in the reply

BLOCK = '{"events":[]}'


def removal(text: str, start: str, end: str) -> Removal:
    return Removal(rule="block", start=text.index(start), end=text.rindex(end) + len(end))


def test_a_block_is_found_in_what_was_removed_and_not_in_the_story() -> None:
    raw = f"She wrote {BLOCK} on the wall.\n```state\n{BLOCK}\n```"
    assert block_in(raw, BLOCK, [removal(raw, "```state", "\n```")]) == Passage(raw.rindex(BLOCK), len(raw) - 4)


def test_of_two_blocks_it_is_the_last_that_is_whole() -> None:
    raw = f"A.\n```state\n{BLOCK}\n```\nB.\n```state\n{BLOCK}\n```"
    half = len("A.\n```state\n\n```\nB.\n") + len(BLOCK)
    both = [Removal(rule="block", start=3, end=half - 4), Removal(rule="block", start=half, end=len(raw))]
    found = block_in(raw, BLOCK, both)
    assert found is not None
    assert found.start == raw.rindex(BLOCK)

    broken = f"A.\n```state\n{BLOCK}\n```\nB.\n```state\n{BLOCK},,\n```"
    found = block_in(broken, BLOCK, [both[0], Removal(rule="block", start=half, end=len(broken))])
    assert found is not None
    assert found.start == broken.index(BLOCK)


def test_a_block_of_another_text_is_nowhere() -> None:
    assert block_in("A.\n```state\n[]\n```", BLOCK, [Removal(rule="block", start=3, end=18)]) is None
    assert block_in("A.", "", [Removal(rule="block", start=0, end=2)]) is None
