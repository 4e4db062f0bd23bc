"""How the player's words read in a prompt."""

import pytest

from domain.campaign.events import NodeKind
from domain.prompt.sections import HistoryNode
from domain.prompt.wording import as_prompted


def prompted(kind: NodeKind, text: str) -> str:
    return as_prompted(HistoryNode(2, 2, kind, text))


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("open the door", "> You open the door"),
        ("  open the door\n", "> You open the door"),
        ("I open the door", "> You open the door"),
        ("i open the door", "> You open the door"),
        ("I\topen", "> You\topen"),
        ("You open the door", "> You open the door"),
        ("you open the door", "> You open the door"),
        ("I'll wait", "> You'll wait"),
        ("I’ll wait", "> You’ll wait"),
        ("I've waited", "> You've waited"),
        ("I'd rather wait", "> You'd rather wait"),
        ("You'll wait", "> You'll wait"),
        ("you've waited", "> You've waited"),
        ("You're tired", "> You're tired"),
        ("I", "> You"),
        ("you", "> You"),
    ],
)
def test_a_deed_reads_in_the_second_person(typed: str, read: str) -> None:
    assert prompted("do", typed) == read


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("I'm tired", "> You're tired"),
        ("I’m tired", "> You’re tired"),
        ("I'M TIRED", "> You're TIRED"),
        ("I am tired", "> You are tired"),
        ("I AM TIRED", "> You are TIRED"),
        ("i am tired", "> You are tired"),
        ("I was tired", "> You were tired"),
        ("I amble off", "> You amble off"),
        ("I wash it", "> You wash it"),
        ("I waſ there", "> You waſ there"),
    ],
)
def test_the_verb_goes_with_the_person(typed: str, read: str) -> None:
    assert prompted("do", typed) == read


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("I'll say that I'm fine", "> You'll say that I'm fine"),
        ("I think I am lost", "> You think I am lost"),
        ("I whisper: it was me", "> You whisper: it was me"),
    ],
)
def test_only_the_verb_beside_the_leading_word_changes(typed: str, read: str) -> None:
    assert prompted("do", typed) == read


@pytest.mark.parametrize(
    "typed",
    [
        "Ian opens the door",
        "I, Claudius, enter",
        "It opens",
        "If I may",
        "I'dunno",
        "Your hand moves",
        "Yours",
        "I-beam",
        "İ wait",
    ],
)
def test_a_word_that_only_begins_like_a_person_stays(typed: str) -> None:
    assert prompted("do", typed) == f"> You {typed}"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("Hello.", '> You say, "Hello."'),
        ("  Hello. ", '> You say, "Hello."'),
        ('"Hello."', '> You say, "Hello."'),
        ("“Hello.”", '> You say, "Hello."'),
        ("I am here", '> You say, "I am here"'),
        ('"One," he said, "two."', '> You say, ""One," he said, "two.""'),
        ('He said "two"', '> You say, "He said "two""'),
        ('"', '> You say, """'),
        ("'Hello.'", "> You say, \"'Hello.'\""),
        ("", '> You say, ""'),
    ],
)
def test_what_is_said_stands_in_one_pair_of_quotation_marks(typed: str, read: str) -> None:
    assert prompted("say", typed) == read


@pytest.mark.parametrize("kind", ["opening", "story", "narration"])
def test_everything_else_is_read_as_it_was_written(kind: NodeKind) -> None:
    text = '  I open the door. "I am here." \n'
    assert prompted(kind, text) == text
