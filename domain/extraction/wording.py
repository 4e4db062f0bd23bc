"""Which words of ours a narrator has repeated: told by constants of ours, however the words are set."""

import re

from domain.prompt import texts

PARAGRAPH = "\n"
"""What parts paragraphs in plain words."""

_BREAK = re.compile(r"\n[\s>]*+")
_SPACES = re.compile(r"[^\S\n]++")
_SETTING = str.maketrans({"*": None, "_": None, "’": "'", "‘": "'"})


def plain(text: str) -> str:
    """The words in lower case, without quote marks, emphasis and typographic apostrophes; a paragraph on each line."""
    one_line = text if "\n" not in text else _BREAK.sub(_joined, text)
    return _SPACES.sub(" ", one_line).translate(_SETTING).strip().lower()


def _joined(found: re.Match[str]) -> str:
    return PARAGRAPH if found[0].count("\n") > 1 else " "


_FENCE_TOKEN = plain(texts.FENCE_TOKEN)
_REMINDER = plain(texts.REMINDER_OPENING)
_REMINDER_PHRASES = (plain(texts.REMINDER_CHANGES), plain(texts.REMINDER_EMPTY))
_CONTINUE = plain(texts.CONTINUE_OPENING)
_CONTINUE_SENTENCE = plain(texts.CONTINUE_SENTENCE)
_LENGTH = plain(texts.LENGTH_OPENING)
_LENGTH_CLOSING = plain(texts.LENGTH_CLOSING).rstrip(".")
_LENGTH_CEILING = re.compile(re.escape(plain(texts.LENGTH_CEILING)).replace(r"\{ceiling\}", r"\d[\d,.]*+"))


def opens_as_instruction(words: str) -> bool:
    """Whether plain words open as the reminder or the continue hint does."""
    return words.startswith((_REMINDER, _CONTINUE))


def is_instruction(words: str) -> bool:
    """Whether plain words are the reminder or the continue hint, or in one paragraph hold enough of either."""
    if opens_as_instruction(words):
        return True
    if PARAGRAPH in words:
        return False
    if _FENCE_TOKEN in words or _CONTINUE_SENTENCE in words:
        return True
    return all(phrase in words for phrase in _REMINDER_PHRASES)


def opens_as_length_hint(words: str) -> bool:
    """Whether plain words open as the length hint does."""
    return words.startswith(_LENGTH)


def is_length_hint(words: str) -> bool:
    """Whether plain words open as the length hint does and carry its wording."""
    return opens_as_length_hint(words) and (_LENGTH_CLOSING in words or _LENGTH_CEILING.search(words) is not None)
