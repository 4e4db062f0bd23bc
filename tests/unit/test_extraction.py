"""From a raw reply to prose and proposal: every case, every reply cut off anywhere, and what any extractor promises."""

import dataclasses
import json
import re
import sys

import pytest

from domain.errors import InvalidInput
from domain.extraction.case_texts import case_texts
from domain.extraction.context import Context
from domain.extraction.extraction import extract_plain
from domain.extraction.extractors import DEFAULT_VERSION, EXTRACTORS, extract, extractor
from domain.narrative.document import EMPTY
from domain.narrative.judging import judge_proposal
from domain.prompt import texts
from tests.extraction_cases import CASES, Case, assert_exact, cases, comparable, events_of, filled

GIVEN = cases("extraction.jsonl")
MORE = cases("extraction_more.jsonl")
TEXTS = case_texts()

STORY = "Rain ticks on the hatch. Oren holds the lamp higher and says nothing."
EVENT = {"type": "set_possession", "item": "lamp", "owner": "oren"}
BLOCK = json.dumps({"events": [EVENT]})
PRETTY = json.dumps({"events": [EVENT, EVENT]}, indent=2)
QUOTED = "\n".join(f"> {line}" for line in PRETTY.split("\n"))
WRAPPED = json.dumps({"response": {"events": [EVENT]}}, indent=1)


@pytest.mark.parametrize("case", [*GIVEN, *MORE], ids=lambda case: case.id)
def test_a_reply_is_parted_as_its_case_says(case: Case) -> None:
    extraction = extract(case.raw)
    assert comparable(extraction.prose) in case.proses
    assert events_of(extraction) == case.events
    assert case.rules <= {removal.rule for removal in extraction.removals}


@pytest.mark.parametrize("version", EXTRACTORS)
@pytest.mark.parametrize("case", [*GIVEN, *MORE], ids=lambda case: case.id)
def test_every_extractor_is_exact(case: Case, version: str) -> None:
    extraction = extract(case.raw, version)
    assert_exact(case.raw, extraction)
    assert extraction.extractor == version


@pytest.mark.parametrize("case", [case for case in [*GIVEN, *MORE] if case.id.startswith("keep-") and not case.rules])
def test_what_is_kept_is_kept_to_the_last_character(case: Case) -> None:
    for version in EXTRACTORS:
        extraction = extract(case.raw, version)
        assert extraction.prose == case.raw.strip()
        assert extraction.block is None


@pytest.mark.parametrize("line", (CASES / "extraction.jsonl").read_text(encoding="utf-8").splitlines())
def test_a_proposal_is_judged_as_its_case_says(line: str) -> None:
    written = json.loads(line)
    if "outcome" in written:
        proposal = extract(filled(written["raw"])).proposal
        assert judge_proposal(EMPTY, proposal).outcome == written["outcome"]


FORMS = {
    "fence": f"\n\n```state\n{BLOCK}\n```",
    "fence, pretty": f"\n\n```state\n{PRETTY}\n```",
    "fence, quoted": f"\n\n> ```state\n{QUOTED}\n> ```",
    "fence, inline": f"\n\n```state{BLOCK}```",
    "fence, behind a sentence": f" ```state{BLOCK}```",
    "fence below a heading": f"\n\n**State:**\n\n```state\n{PRETTY}\n```",
    "fence, escaped": f"\n\n```state\n{json.dumps(BLOCK)}\n```",
    "fence, list": f"\n\n```state\n[{json.dumps(EVENT)}, {json.dumps(EVENT)}]\n```",
    "fence, single event": f"\n\n```state\n{json.dumps(EVENT)}\n```",
    "fence, typographic": f"\n\n```state\n{PRETTY}\n```".replace('"', "“"),
    "json": f"\n\n```json\n{PRETTY}\n```",
    "bare": f"\n\n```\n{BLOCK}\n```",
    "object": f"\n\n{BLOCK}",
    "object, pretty": f"\n\n{PRETTY}",
    "object, quoted": f"\n\n{QUOTED}",
    "object, wrapped": f"\n\n{WRAPPED}",
    "reminder": f"\n\n{TEXTS['REMINDER']}",
    "continue hint": f"\n\n{TEXTS['CONTINUE_HINT']}",
    "length hint": f"\n\n{TEXTS['LENGTH_HINT']}",
}

BEGINNINGS = {
    # What may be left of each: the beginning of something that no rule knows yet.
    "fence": r"`{1,2}|```s|```st|```sta|```stat",
    "fence, quoted": r"> (?:`{1,2}|```s|```st|```sta|```stat)",
    "fence, behind a sentence": r"`{1,3}|```s|```st|```sta|```state?",
    "fence below a heading": r"\*\*?(?:S|St|Sta|Stat)?|\*\*State:\*\*\n\n(?:`{1,2}|```s|```st|```sta|```stat)",
    "json": r"`{1,2}|```j|```js|```jso",
    "bare": r"`{1,2}",
    "object": r'\{(?:"(?:e(?:v(?:e(?:n(?:ts?)?)?)?)?)?)?',
    "object, pretty": r'\{(?:\n  "(?:e(?:v(?:e(?:n(?:ts?)?)?)?)?)?)?',
    "object, quoted": r'> \{(?:\n>   "(?:e(?:v(?:e(?:n(?:ts?)?)?)?)?)?)?',
    "object, wrapped": r'\{(?:\n "\w*(?:":? ?(?:\{(?:\n  "\w*)?)?)?)?',
    "reminder": r"\[[Reminder]*",
    "continue hint": r"\[[\w ]*",
    "length hint": r"\[[\w ]*:?[\w ]*",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_cut_off_anywhere_loses_no_story_and_keeps_no_protocol(form: str) -> None:
    raw = STORY + FORMS[form]
    beginning = re.compile(BEGINNINGS.get(form, BEGINNINGS["fence"]))
    for length in range(len(raw) + 1):
        extraction = extract(raw[:length])
        assert_exact(raw[:length], extraction)
        left = extraction.prose.removeprefix(STORY[:length].strip()).strip()
        assert extraction.prose.startswith(STORY[:length].strip())
        assert not left or beginning.fullmatch(left), left


@pytest.mark.parametrize("form", [form for form in FORMS if form.startswith(("fence", "json", "bare", "object"))])
def test_a_block_cut_off_proposes_all_of_it_or_nothing(form: str) -> None:
    raw = STORY + FORMS[form]
    whole = events_of(extract(raw))
    assert whole in ([EVENT], [EVENT, EVENT])
    for length in range(len(raw)):
        proposed = events_of(extract(raw[:length]))
        assert proposed in ("absent", "unparseable", whole, []) or form in ("fence, list", "fence, single event")


@pytest.mark.parametrize("case", [*GIVEN, *MORE], ids=lambda case: case.id)
def test_a_case_cut_off_anywhere_is_read_exactly(case: Case) -> None:
    for length in range(0, len(case.raw), 3):
        for version in ("1", "2"):
            assert_exact(case.raw[:length], extract(case.raw[:length], version))


@pytest.mark.parametrize("case", [case for case in GIVEN if case.id.startswith("keep-")], ids=lambda case: case.id)
def test_a_story_cut_off_anywhere_is_kept(case: Case) -> None:
    """But for an opening of a fence, which may be ours, and for a heading that is all there is of its line."""
    for length in range(len(case.raw)):
        extraction = extract(case.raw[:length])
        last = case.raw[:length].rstrip().rpartition("\n")[2]
        gone = case.raw[:length].strip().removeprefix(extraction.prose).strip()
        assert not gone or last in {"```", "```json", "State", ">", "{", '{"'}, gone


def test_the_block_is_what_stands_in_the_reply() -> None:
    for form in ("fence", "fence, pretty", "fence, quoted", "json", "bare", "object", "object, quoted"):
        raw = STORY + FORMS[form]
        block = extract(raw).block
        assert block is not None
        assert block in raw
        assert "```" not in block


def test_the_block_of_an_unparseable_proposal_is_the_last_one() -> None:
    extraction = extract("```state\n{one}\n```\nIt rains.\n```state\n{two}\n```")
    assert (extraction.proposal, extraction.block) == ("unparseable", "{two}")


def test_the_block_of_a_proposal_is_its_own() -> None:
    extraction = extract(f"```state\n{BLOCK}\n```\nIt rains.\n```state\n{{two}}\n```")
    assert (extraction.proposal, extraction.block) == ((EVENT,), BLOCK)


def test_every_version_has_a_name_and_an_unknown_one_is_refused() -> None:
    assert list(EXTRACTORS) == ["0", "1", "2"]
    assert DEFAULT_VERSION == "2"
    assert extractor("1") is EXTRACTORS["1"]
    with pytest.raises(InvalidInput, match="no extractor '3'"):
        extract("It rains.", "3")


def test_the_extractor_0_reads_no_block() -> None:
    raw = f"{STORY}\n\n```state\n{BLOCK}\n```\n"
    assert extract(raw, "0") == extract_plain(raw)
    assert extract(raw, "0").proposal == "absent"


@pytest.mark.parametrize(
    "tail",
    ["set_possession(lamp)", TEXTS["LENGTH_HINT"], "Scene: below deck. (at The hold)", "```json", "```"],
)
def test_the_extractor_1_knows_none_of_the_numbered_rules(tail: str) -> None:
    raw = f"{STORY}\n\n{tail}"
    assert extract(raw, "1").prose == raw
    assert extract(raw, "2").prose == STORY


def test_a_quoted_fence_that_holds_bare_marks_is_taken_off_once() -> None:
    assert extract(f"{STORY}\n\n> ```state\n>").prose == STORY
    assert extract(f"{STORY}\n\n> ```json\n>").prose == STORY
    assert extract(f"{STORY}\n\n> ```json\n>", "1").prose == f"{STORY}\n\n> ```json"


def test_another_vocabulary_makes_other_calls_and_lists() -> None:
    context = Context(event_types=frozenset({"light_lamp"}))
    assert extract(f"{STORY}\nlight_lamp(x)", context=context).prose == STORY
    assert extract(f"{STORY}\nadd_fact(x)", context=context).prose.endswith("add_fact(x)")
    assert extract('```json\n[{"type": "light_lamp"}]\n```', context=context).proposal == ({"type": "light_lamp"},)


def test_an_extraction_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        extract("It rains.").prose = ""  # type: ignore[misc]


NASTY = {
    "nested lists": "```state\n" + "[" * 100_000,
    "nested objects": '```state\n{"events": ' + '{"a":' * 100_000,
    "nested and closed": "```state\n" + "[" * 100_000 + "]" * 100_000 + "\n```",
    "nested 900 deep": '```state\n{"events": [' + "[" * 900 + "]" * 900 + "]}\n```",
    "object nested and closed": '{"events": [' + "[" * 100_000 + "]" * 100_000 + "]}",
    "a long integer": '```state\n{"events": [{"type": "x", "value": ' + "9" * 5_000 + "}]}\n```",
    "a long integer, unfenced": '{"events": [{"type": "x", "value": ' + "9" * 5_000 + "}]}",
    "a huge exponent": '```state\n{"events": [{"type": "x", "value": 1e999}]}\n```',
    "a long fraction": '```state\n{"events": [{"type": "x", "value": 0.' + "3" * 5_000 + "}]}\n```",
}


@pytest.mark.parametrize("name", NASTY)
def test_nothing_is_too_nasty(name: str) -> None:
    for version in EXTRACTORS:
        assert_exact(NASTY[name], extract(NASTY[name], version))


@pytest.mark.parametrize("name", ["nested and closed", "nested 900 deep", "a long integer", "a huge exponent"])
def test_what_cannot_be_kept_is_unparseable(name: str) -> None:
    assert extract(NASTY[name]).proposal == "unparseable"


def test_an_integer_that_the_log_cannot_hold_is_a_number_all_the_same() -> None:
    for digits, value in (
        ("9007199254740993", 9007199254740993),
        ("99999999999999999999", 1e20),
        ("-1" + "0" * 30, -1e30),
    ):
        extraction = extract(f'```state\n{{"events": [{{"type": "x", "value": {digits}}}]}}\n```')
        assert events_of(extraction) == [{"type": "x", "value": value}]


@pytest.mark.parametrize(
    "code", ["(x=1, 3)", "__import__('os').abort()", "1+1", "lambda: 0", "{hp: (x=1, 3)}", "f'{exit()}'"]
)
def test_model_text_is_never_evaluated(code: str) -> None:
    assert extract(f"```state\n{code}\n```").proposal == "unparseable"


UNITS = [
    "{", "[", "```state", "```state\n", "```json\n", "```\n", '"', "[Reminder: ", "[Reminder: x]\n", ">", ">\n", "> {",
    "> {\n", '{"events":[', '{"events":[\n', "<think>", "<think></think>", "State\n", f"{texts.HEADING_FACTS}\n",
    f"{texts.HEADING_FACTS}\n  a\n\nx\n", '\\"', "Scene: ", "Scene: x\n", '```json{\\"', '```json{"', '"```json{"',
    "```state{", "```{ x ```y ", f"{BLOCK}\n```\n```json\n", f"```state\n{BLOCK}\n```\n\n", f"{BLOCK}\n", f"{BLOCK}\nx\n", "set_scene(x)\n", "[]",
    "[x] ", "{}\n", "“", "```state\n{“", " ", "\n", "x", "**]", "{\nx\n", '{"a":\n', "```py\nx\n```\n", "```py\n",
    f"{TEXTS['LENGTH_HINT']}\n", f"[{texts.LENGTH_OPENING} x]\n{TEXTS['CONTINUE_HINT']}\n",
]  # fmt: skip
PREFIXES = ["", "```state\n", '{"events":\n', f"{STORY}\n\n[Reminder: ", "Scene: x "]


class Calls:
    """Counts what Python calls, its own functions and those in C."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.made += 1


def calls(raw: str) -> int:
    counted = Calls()
    sys.setprofile(counted)
    try:
        extract(raw)
    finally:
        sys.setprofile(None)
    return counted.made


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("unit", UNITS)
def test_twice_the_text_is_twice_the_work(unit: str, prefix: str) -> None:
    """Counted in calls, so that it is the same on every machine; what happens inside a pattern, the bench times."""
    short, long = (calls(prefix + unit * (length // len(unit))) for length in (3_000, 6_000))
    assert long <= 2.2 * short + 300


@pytest.mark.parametrize(
    "own",
    ['{"events": {"monday": "dance"}}', '{"events":"none today","by":"port"}', '{"log":{"events":[]},"by":"Vesna"}'],
)
@pytest.mark.parametrize("fence", ["```json", "```"])
def test_json_of_the_story_that_only_looks_like_a_block_stays(fence: str, own: str) -> None:
    raw = f"Rain falls.\n\n{fence}\n{own}\n```\n\nGo."
    extraction = extract(raw)
    assert (extraction.prose, extraction.proposal) == (raw, "absent")
