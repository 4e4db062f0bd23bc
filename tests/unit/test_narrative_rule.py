"""What the narrator is told of the state: the rule, the note of what was refused, and no word of any genre or sample."""

import json
import re

import pytest

from adapters.tokens import TiktokenCounter
from domain.narrative.document import EMPTY
from domain.narrative.judging import judge
from domain.narrative.refusal_note import MOST_NOTED, OPENING, refusal_note
from domain.narrative.refusals import SENTENCES, Refused
from domain.narrative.rule import EXAMPLE, PLACEHOLDER, RULE_IDS, RULE_OPENING, compact, state_rule, vocabulary_line
from domain.narrative.schema import vocabulary_table
from domain.narrative.vocabulary import EVENT_TYPES, VOCABULARY, EventType
from tests.fakes import sample_story
from tests.unit.test_narrative_sample import IDENTIFIERS, STATE, accepted, event, whole
from tests.unit.test_texts import genre_nouns

KINDS = list(VOCABULARY.values())
by_type = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


class TestTheRule:
    def test_shows_each_type_as_the_object_to_send(self) -> None:
        lines = state_rule().splitlines()
        assert '{"type":"set_possession","item":"…","owner":"…"}: who holds it; null: nobody' in lines
        scene = '{"type":"set_scene","summary":"…"} (optional "location":"…","present":["…"]): '
        assert len([line for line in lines if line.startswith(scene)]) == 1
        assert [line for line in lines if line.startswith('{"type"')] == [vocabulary_line(kind) for kind in KINDS]

    @by_type
    def test_shows_what_is_accepted_when_it_is_filled_in(self, kind: EventType) -> None:
        shape = re.compile(r"(?P<required>\{.*?\})(?: \(optional (?P<optional>.*?)\))?: (?P<does>.+)")
        line = shape.fullmatch(vocabulary_line(kind))
        assert line is not None
        required = json.loads(line["required"])
        optional = json.loads(f"{{{line['optional'] or ''}}}")
        assert list(required) == ["type", *(field.name for field in kind.required)]
        for shown in (required, {**required, **optional}):
            good = whole(kind)
            event = {
                name: good[name] if value in (PLACEHOLDER, [PLACEHOLDER]) else value for name, value in shown.items()
            }
            assert judge(STATE, [event], by="narrator").outcome == "applied"

    @by_type
    def test_shows_lists_as_lists(self, kind: EventType) -> None:
        for field in kind.fields:
            assert (f'"{field.name}":["…"]' in vocabulary_line(kind)) == (field.entries is not None)

    def test_never_shows_a_call(self) -> None:
        assert not re.search(rf"\b({'|'.join(EVENT_TYPES)})\s*\(", state_rule())

    def test_has_an_example_in_the_fence_that_would_be_accepted_were_there_such_things(self) -> None:
        fence = f"\n```state\n{compact(EXAMPLE)}\n```\n"
        assert fence in state_rule()
        names = set(re.findall(r"\w+-\d+", compact(EXAMPLE)))
        assert names == {"character-1", "item-1", "location-1"}
        there = accepted(
            EMPTY,
            *(event("create_entity", entity=name, entity_type=name[:-2], name=name) for name in sorted(names)),
        )
        assert judge(there, EXAMPLE["events"], by="narrator").outcome == "applied"

    def test_has_an_example_that_changes_nothing_when_it_is_copied(self) -> None:
        assert judge(STATE, EXAMPLE["events"], by="narrator").outcome == "refused"

    def test_costs_little(self) -> None:
        assert TiktokenCounter().count(state_rule()) <= 600


def fixture_words() -> set[str]:
    """The words that samples are known by: ids of entities and threads, and what names and openings are made of."""
    names = (entity.name for entity in STATE.entities.values())
    told = re.findall(r"\w+", " ".join((*names, sample_story.CAMPAIGN.removeprefix("c_"), *IDENTIFIERS)).lower())
    elsewhere = ["oren", "vesna", "ilse", "crate", "hatch"]
    return {*told, *elsewhere} - {"the", "log", "old", "missing"}


def guarded(text: str) -> set[str]:
    """The words of a text that no instruction may hold."""
    return genre_nouns(text) | fixture_words() & set(re.findall(r"\w+", text.lower()))


INSTRUCTIONS = [state_rule(), OPENING, RULE_OPENING, RULE_IDS, vocabulary_table(), *SENTENCES.values()]


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_no_instruction_is_in_a_genres_words_or_names_what_a_sample_names(text: str) -> None:
    assert guarded(text) == set()


@pytest.mark.parametrize("word", ["dragon", "starship", "imani", "crystal", "oren", "ceres", "debt", "lighthouse"])
def test_an_instruction_that_did_would_be_found(word: str) -> None:
    assert guarded(f"{state_rule()} Such as {word}.")


class TestTheRefusalNote:
    def test_tells_what_was_refused_as_it_was_sent_and_why(self) -> None:
        sent = event("set_possession", item="lamp", owner="oren")
        refused = judge(STATE, [sent], by="narrator").refused
        told = '{"type":"set_possession","item":"lamp","owner":"oren"}'
        assert refusal_note(refused) == f"{OPENING}\n- {told} {refused[0].detail}"
        assert "“oren”, for `owner`, is not the id of an entity." in refusal_note(refused)

    def test_is_nothing_when_nothing_was_refused(self) -> None:
        assert refusal_note(()) == ""

    def test_lists_so_many_and_counts_the_others(self) -> None:
        note = refusal_note(judge(STATE, [7] * 10, by="narrator").refused).splitlines()
        assert len(note) == MOST_NOTED + 2
        assert note[-1] == "- … and 4 more"

    @pytest.mark.parametrize(
        "sent",
        [
            "x" * 100_000,
            {"x" * 100_000: 1},
            {str(number): "x" * 1000 for number in range(1000)},
            event("set_scene", summary="x\ny\u2028z\ud800", present=["x" * 1000] * 1000),
            event("add_fact", predicate={"a": [{"b": None}]}, value=10**5000),
            event("add_fact", predicate="x", value=float("nan")),
            None,
            [[[[]]]],
        ],
    )
    def test_is_short_and_a_line_an_event_whatever_was_sent(self, sent: object) -> None:
        note = refusal_note([Refused(event=sent, code="bad_value", detail="Why.")])
        assert len(note.splitlines()) == 2
        assert len(note) < 1200
        assert note.encode()
