"""Text as it enters the log, and as a refusal says it."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def without_lone_surrogates(text: str) -> tuple[str, int]:
    """The text with each lone surrogate replaced by U+FFFD, and how many there were.

    A Python string from JSON can hold code points that no UTF-8 encodes; the log holds only what can be written back.
    """
    return _SURROGATE.subn(REPLACEMENT, text)


def with_lists(sentence: str) -> str:
    """A sentence of the validation, with "list" for what only our code calls a tuple."""
    return re.sub(r"^Tuple\b", "List", sentence).replace("a valid tuple", "a valid list")
