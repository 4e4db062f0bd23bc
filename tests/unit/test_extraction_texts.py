"""What extractors look for is what the narrator is told; how long a narration should be is one of these texts."""

import pytest

from domain.campaign.settings import NarrationLength
from domain.extraction.case_texts import case_texts
from domain.extraction.extractors import extract
from domain.extraction.wording import is_instruction, is_length_hint, opens_as_instruction, opens_as_length_hint, plain
from domain.prompt import texts
from domain.prompt.length import BANDS, HIGHEST_FLOOR, LOWEST_FLOOR, WordRange, length_hint, word_range

CHOICES: tuple[NarrationLength, ...] = ("", "brief", "medium", "long")


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        (texts.REMINDER_OPENING, texts.STATE_REMINDER),
        (texts.REMINDER_CHANGES, texts.STATE_REMINDER),
        (texts.REMINDER_EMPTY, texts.STATE_REMINDER),
        (texts.FENCE_TOKEN, texts.STATE_REMINDER),
        (texts.FENCE_LABEL, texts.FENCE_TOKEN),
        (texts.CONTINUE_OPENING, texts.CONTINUE_HINT),
        (texts.CONTINUE_SENTENCE, texts.CONTINUE_HINT),
        (texts.LENGTH_OPENING, texts.LENGTH_HINT),
        (texts.LENGTH_CEILING, texts.LENGTH_HINT),
        (texts.LENGTH_FLOOR, texts.LENGTH_HINT),
        (texts.LENGTH_CLOSING, texts.LENGTH_HINT),
        (texts.LENGTH_OPENING, texts.LENGTH_HINT_WITHOUT_FLOOR),
        (texts.LENGTH_CEILING, texts.LENGTH_HINT_WITHOUT_FLOOR),
        (texts.LENGTH_CLOSING, texts.LENGTH_HINT_WITHOUT_FLOOR),
    ],
)
def test_a_phrase_that_a_rule_looks_for_is_in_the_text_that_is_told(phrase: str, text: str) -> None:
    assert text.count(phrase) == 1


@pytest.mark.parametrize(
    "text", [texts.STATE_REMINDER, texts.CONTINUE_HINT, texts.LENGTH_HINT, texts.LENGTH_HINT_WITHOUT_FLOOR]
)
def test_an_instruction_is_one_bracket_on_one_line(text: str) -> None:
    assert text[0] == "["
    assert text[-1] == "]"
    assert not set(text[1:-1]) & set("[]\n")


def test_instructions_open_as_rules_know_them() -> None:
    assert texts.STATE_REMINDER.startswith(f"[{texts.REMINDER_OPENING}")
    assert texts.CONTINUE_HINT.startswith(f"[{texts.CONTINUE_OPENING}")
    assert texts.LENGTH_HINT.startswith(f"[{texts.LENGTH_OPENING}")


def test_words_are_known_however_they_are_set() -> None:
    assert opens_as_instruction(plain(" **REMINDER:** x"))
    assert is_instruction(plain("Go on. The player’s character\n> waits and  watches for now."))
    assert is_instruction(plain(f"It {texts.REMINDER_CHANGES}, and {texts.REMINDER_EMPTY}"))
    assert is_length_hint(plain("Hard limit: this turn must not exceed 1,200 words"))
    assert opens_as_length_hint(plain("hard limit: forty days"))


@pytest.mark.parametrize(
    "words",
    [
        f"It {texts.REMINDER_CHANGES}",
        f"It says {texts.REMINDER_EMPTY}",
        "To be continued",
        "Remember: the hatch",
        "The sign reads: Reminder: closed",
        "a ```statue",
    ],
)
def test_half_of_our_words_are_not_ours(words: str) -> None:
    assert not is_instruction(plain(words))


def test_paragraphs_are_only_ours_by_their_opening() -> None:
    assert is_instruction(plain("Reminder: one\n\ntwo"))
    assert not is_instruction(plain("one\n\na ```state block"))


@pytest.mark.parametrize(
    "words", ["Hard limit: forty days", "this turn must not exceed 180 words", "Hard limit: must not exceed five words"]
)
def test_half_of_a_length_hint_is_none(words: str) -> None:
    assert not is_length_hint(plain(words))


@pytest.mark.parametrize("name", ["REMINDER", "REMINDER_CUT", "CONTINUE_HINT", "LENGTH_HINT", "PASTED_STATE"])
def test_each_text_of_ours_leaves_a_reply(name: str) -> None:
    assert extract(f"It rains.\n\n{case_texts()[name]}").prose == "It rains."


def test_the_pasted_state_has_every_section() -> None:
    lines = case_texts()["PASTED_STATE"].split("\n")
    assert lines[0].startswith(texts.SCENE_LABEL)
    assert lines[0].endswith(")")
    assert [line for line in lines[1:] if not line.startswith("  ")] == list(texts.STATE_HEADINGS)


def test_the_texts_of_the_cases_are_what_is_told() -> None:
    given = case_texts()
    assert given["REMINDER"] == texts.STATE_REMINDER
    assert given["REMINDER"].startswith(given["REMINDER_CUT"])
    assert "]" not in given["REMINDER_CUT"]
    assert given["LENGTH_HINT"] == length_hint(500)
    assert given["LENGTH_HINT"].endswith(f"{given['LENGTH_HINT_TAIL']}]")
    assert given["CONTINUE_SENTENCE"] in given["CONTINUE_HINT"]


@pytest.mark.parametrize(
    ("tokens", "chosen", "words"),
    [
        (800, "", WordRange(177, 506)),
        (500, "", WordRange(106, 303)),
        (4_000, "", WordRange(300, 2666)),
        (300, "", WordRange(None, 168)),
        (800, "brief", WordRange(70, 180)),
        (800, "medium", WordRange(150, 380)),
        (800, "long", WordRange(253, 506)),
        (2_000, "long", WordRange(300, 700)),
        (200, "brief", WordRange(None, 101)),
        (240, "medium", WordRange(64, 128)),
        (52, "", WordRange(None, 1)),
        (51, "", None),
        (16, "long", None),
    ],
)
def test_the_words_of_a_narration(tokens: int, chosen: NarrationLength, words: WordRange | None) -> None:
    assert word_range(tokens, chosen) == words


def test_what_holds_of_every_length() -> None:
    for tokens in range(16, 3_000):
        allowed = word_range(tokens)
        for chosen in CHOICES:
            words = word_range(tokens, chosen)
            if words is None or allowed is None:
                assert words is allowed is None
                continue
            assert words.ceiling <= allowed.ceiling
            assert words.floor is None or LOWEST_FLOOR <= words.floor <= min(HIGHEST_FLOOR, words.ceiling)
            if chosen:
                assert words.ceiling <= BANDS[chosen].ceiling
                assert words.floor is None or words.floor * 2 <= words.ceiling


def test_every_hint_says_its_words_and_names_the_block() -> None:
    for tokens in (100, 300, 500, 800, 4_000):
        for chosen in CHOICES:
            words, hint = word_range(tokens, chosen), length_hint(tokens, chosen)
            assert words is not None
            assert f"must not exceed {words.ceiling} words" in hint
            assert ("at least" in hint) is (words.floor is not None)
            assert "state block" in hint
            assert "{" not in hint
            assert is_length_hint(plain(hint.strip("[]")))


def test_where_no_word_fits_nothing_is_said_of_length() -> None:
    assert length_hint(16) == ""
