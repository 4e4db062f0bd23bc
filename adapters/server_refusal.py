"""What a model server says when it refuses, dug out of the many shapes in which servers say it."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

MAX_CHARACTERS = 2_000
_DEEPEST = 5

_WINDOW = re.compile(
    r"exceed_context_size|context[ _-]?(size|length|window|limit)|max_seq_len|max_model_len|maximum model length|\bn_ctx\b"
    r"|prompt (is )?too long|(prompt|request) length",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"exceed|longer|greater|larger|too (long|large|many)|maximum|overflow|reduce|not enough", re.IGNORECASE
)
# A model that could not be loaded names its window too, and a shorter prompt would not help it.
_ROOM = re.compile(r"\bV?RAM\b|\bmemory\b|alloc", re.IGNORECASE)


def refusal_text(body: bytes) -> str:
    """The reason in the body of a refusal, at most MAX_CHARACTERS long, explained where it is about the window.

    Known shapes: {"error": {"message"}}, {"error": "…"}, {"message"}, {"detail": "…"}, {"detail": [{"msg"}]}, text.
    """
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        content = body.decode("utf-8", "replace")
    return reason_in(content)


def reason_in(content: object) -> str:
    """As `refusal_text`, for content that was parsed already."""
    said = _message(content)
    advice = _window_advice(content, said)
    return bounded(said, MAX_CHARACTERS - len(advice)) + advice


def bounded(text: str, characters: int = MAX_CHARACTERS) -> str:
    """The text on one line, without control characters, and with an ellipsis where it was too long."""
    start = text[: 2 * characters]  # a body of megabytes is not worth looking through
    line = " ".join("".join(character if character.isprintable() else " " for character in start).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def reported_error(content: Mapping[str, Any], *, named: bool = False) -> str | None:
    """The error that an event of a stream reports, None when it reports none. `named`: the event is called an error."""
    reports = content.get("error") or "error" in (content.get("object"), content.get("type"))
    if named or reports or ("detail" in content and "choices" not in content):
        return reason_in(content)
    return None


def _message(content: object, depth: int = 0) -> str:
    match content:
        case str():
            return content
        case {"error": str() | dict() | list() as error} if error and depth < _DEEPEST:
            return _message(error, depth + 1)
        case {"message": str(message)} | {"msg": str(message)} if message:
            return message
        case {"detail": detail} if depth < _DEEPEST:
            return _message(detail, depth + 1)
        case [*details] if depth < _DEEPEST:
            return "; ".join(_message(detail, depth + 1) for detail in details)
        case _:
            return _dumped(content)


def _dumped(content: object) -> str:
    try:
        return orjson.dumps(content).decode()
    except orjson.JSONEncodeError:  # deeper than anyone would nest a reason
        return ""


def _window_advice(content: object, said: str) -> str:
    error = content.get("error", content) if isinstance(content, Mapping) else {}
    numbers = error if isinstance(error, Mapping) else {}
    named = f"{said} {numbers.get('type')} {numbers.get('code')}"
    if not (_WINDOW.search(named) and _TOO_LONG.search(named)) or _ROOM.search(said):
        return ""
    sent, window = numbers.get("n_prompt_tokens"), numbers.get("n_ctx")
    counted = f", {sent} tokens against {window}" if isinstance(sent, int) and isinstance(window, int) else ""
    return (
        f" (The prompt is longer than the server's window{counted}: lower `context_budget` in the settings, or load the "
        "model with a larger window.)"
    )
