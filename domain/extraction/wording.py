"""Which words of ours a narrator has repeated: told by constants of ours, however the words are set."""

import re

from domain.prompt import texts

_QUOTED_BREAK = re.compile(r"\n[ \t>]*+")
_SPACES = re.compile(r"\s++")
_SETTING = str.maketrans({"*": None, "_": None, "’": "'", "‘": "'"})


def plain(text: str) -> str:
    """The words in lower case, on one line, without quote marks, emphasis and typographic apostrophes."""
    return _SPACES.sub(" ", _QUOTED_BREAK.sub(" ", text)).translate(_SETTING).strip().lower()


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
    """Whether plain words are the reminder or the continue hint, or enough of either."""
    if opens_as_instruction(words) or _FENCE_TOKEN in words or _CONTINUE_SENTENCE in words:
        return True
    return all(phrase in words for phrase in _REMINDER_PHRASES)


def opens_as_length_hint(words: str) -> bool:
    """Whether plain words open as the length hint does."""
    return words.startswith(_LENGTH)


def is_length_hint(words: str) -> bool:
    """Whether plain words open as the length hint does and carry its wording."""
    return opens_as_length_hint(words) and (_LENGTH_CLOSING in words or _LENGTH_CEILING.search(words) is not None)


LONGEST_OPENING = max(len(opening) for opening in (_REMINDER, _CONTINUE, _LENGTH))
