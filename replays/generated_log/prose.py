"""Stories in words that belong to no genre: sentences of a few patterns, filled from lists."""

from collections.abc import Sequence
from functools import cache

from replays.generated_log.chance import Dice

_LISTS = {
    "THING": (
        "door window table road hill river house room light voice hand letter stone rain morning evening path corner "
        "garden step floor wall chair lamp book page cup bread basket bridge field tree branch root leaf bird dog cat "
        "cloud wind shadow sound word name song question answer promise secret story map coat sleeve pocket key lock "
        "box shelf ladder roof chimney fence gate well bucket rope knot thread needle cloth blanket pillow bed mirror "
        "picture frame clock bell whistle drum string paper pencil ink stain crack edge middle end beginning market "
        "stall coin crowd neighbour stranger friend child sister brother teacher baker gardener visitor guest host"
    ),
    "PLACE": (
        "kitchen hall cellar attic yard orchard meadow valley shore harbour square station lane crossing clearing "
        "landing doorway courtyard workshop schoolroom library porch stairway bank summit hollow thicket quarry pier"
    ),
    "QUALITY": (
        "old new small large narrow wide quiet loud bright dark warm cold wet dry soft hard heavy light slow quick "
        "near far early late plain strange familiar broken mended empty full crooked straight pale red green blue "
        "grey brown yellow white worn clean dusty smooth rough sharp blunt deep shallow steep level lonely cheerful"
    ),
    "MOVES": (
        "turns stops waits falls rises leans moves shifts bends opens closes trembles settles stands lies rests "
        "fades grows shines creaks whispers hums rattles slips slides rolls drifts swings breaks holds returns"
    ),
    "TAKES": (
        "holds lifts carries finds hides shows touches covers crosses follows leaves reaches remembers watches "
        "answers asks brings keeps drops pushes pulls turns opens closes mends breaks counts names calls knows"
    ),
    "ACT": (
        "hold lift carry find hide show touch cover cross follow leave reach remember watch answer ask bring keep "
        "drop push pull turn open close mend break count name call know"
    ),
    "HOW": (
        "slowly quickly quietly gently suddenly carefully again twice almost barely steadily softly once "
        "together alone anyway indeed"
    ),
    "WHERE": "beside behind before under above near past beyond against across along around inside outside towards",
    "WHEN": "now then later soon today tonight afterwards meanwhile presently somewhere elsewhere still already",
}
_TOLD = (
    "the QUALITY THING MOVES HOW WHERE the THING",
    "the THING MOVES and the QUALITY THING MOVES with it",
    "WHEN the THING of the PLACE TAKES the THING and MOVES",
    "you see how the THING TAKES the QUALITY THING WHERE the PLACE",
    "in the PLACE , where the THING MOVES , there is one QUALITY THING more than there was",
    "nobody in the QUALITY PLACE TAKES the THING HOW",
    "it is QUALITY here , and the THING WHERE the THING MOVES HOW",
    "the THING says that the QUALITY PLACE lies WHERE the THING , and TAKES your THING",
    "for each THING that MOVES there is one that TAKES the THING",
    "WHERE the PLACE the THING MOVES , QUALITY and QUALITY , until the THING TAKES it",
    "you hear the THING before you ACT it , and WHEN the QUALITY THING MOVES",
    "what the THING TAKES HOW is no THING of yours , but the PLACE is QUALITY and you know the THING",
)
_DONE = (
    "ACT the QUALITY THING",
    "ACT the THING and ACT the THING",
    "go WHERE the PLACE and ACT the THING HOW",
    "ACT the THING WHERE the QUALITY THING , then wait",
    "look WHERE the THING until the THING MOVES",
)
_SAID = (
    "I know the THING WHERE the PLACE",
    "who TAKES the QUALITY THING here",
    "we should ACT the THING before the THING MOVES",
    "is this the THING that TAKES the PLACE",
    "leave the QUALITY THING , it MOVES HOW",
)
_CALLED = ("the QUALITY THING", "the THING WHERE the PLACE", "one QUALITY PLACE", "the THING and the THING")

_PARAGRAPH = 4
"""Sentences to a paragraph."""

Slot = str | Sequence[str]


class Prose:
    """A source of text; two of one seed and purpose say the same."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def told(self, words: int) -> str:
        """Paragraphs of so many words, and those that end the last sentence."""
        sentences: list[str] = []
        left = words
        while left > 0:
            filled = self._filled(_patterns(_TOLD))
            left -= len(filled) - filled.count(",")
            sentences.append(_sentence(filled))
        paragraphs = (sentences[at : at + _PARAGRAPH] for at in range(0, len(sentences), _PARAGRAPH))
        return "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)

    def done(self) -> str:
        """What somebody does, as a player types it after `do`."""
        return " ".join(self._filled(_patterns(_DONE))).replace(" ,", ",")

    def said(self) -> str:
        """What somebody says."""
        return _sentence(self._filled(_patterns(_SAID)))

    def called(self) -> str:
        """A short name for a place or a story."""
        return " ".join(self._filled(_patterns(_CALLED))).capitalize()

    def _filled(self, patterns: Sequence[Sequence[Slot]]) -> list[str]:
        choice = self._dice.choice
        return [slot if isinstance(slot, str) else choice(slot) for slot in choice(patterns)]


@cache
def _patterns(written: Sequence[str]) -> Sequence[Sequence[Slot]]:
    """Patterns with a list in the place of its name."""
    lists = {name: tuple(words.split()) for name, words in _LISTS.items()}
    return [[lists.get(word, word) for word in pattern.split()] for pattern in written]


def _sentence(words: Sequence[str]) -> str:
    text = " ".join(words).replace(" ,", ",")
    return f"{text[0].upper()}{text[1:]}."
