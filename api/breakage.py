"""Where something broke, without a word of what it was about: the text of an exception may hold somebody's story."""

import traceback

_FRAMES = 12


def place_of(error: BaseException) -> list[str]:
    """The innermost frames, outermost first, as `file:line function`. No values, no source, no message."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
