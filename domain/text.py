"""Text as it enters the log."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def without_lone_surrogates(text: str) -> tuple[str, int]:
    """The text with each lone surrogate replaced by U+FFFD, and how many there were.

    A Python string from JSON can hold code points that no UTF-8 encodes; the log holds only what can be written back.
    """
    return _SURROGATE.subn(REPLACEMENT, text)
