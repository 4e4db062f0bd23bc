"""JSON as narrators write it: parsed by a JSON parser, after a small repair, and never evaluated.

The repair knows trailing commas, one missing closer and typographic quotation marks as delimiters, and nothing else. It
never changes what stands inside a string.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from domain.text import without_lone_surrogates

MOST_NESTED = 64
"""Deeper JSON is refused: no block needs it, and what is kept of one must be written and judged again."""

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
"""What the log can hold as an integer. Larger ones become floating point, which a judgement refuses one by one."""

_LONGEST_INTEGER = 20
"""The digits and sign of the longest such integer."""


class Undecodable(ValueError):
    """The text is no JSON, or none that can be kept."""


def decode(text: str) -> Any:
    """The JSON value that the text is, with U+FFFD for each lone surrogate. Raises Undecodable."""
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise Undecodable(str(error)) from None
    if text.count("{") + text.count("[") > MOST_NESTED:
        _refuse_nested(value)
    return _clean(value) if _ESCAPED_SURROGATE.search(text) else value


def decode_repaired(text: str) -> Any:
    """The JSON value that the text is, or would be but for the three slips. Raises Undecodable."""
    try:
        return decode(text)
    except Undecodable:
        return decode(repaired(text))


def repaired(text: str) -> str:
    """The text with its trailing commas gone, one missing closer supplied, and plain delimiters. Raises Undecodable."""
    repair = _Repair()
    for token in _tokens(text):
        repair.take(token)
    return repair.done()


def _constant(name: str) -> Any:
    raise Undecodable(f"{name} is no JSON")


def _integer(digits: str) -> int | float:
    value = int(digits) if len(digits) <= _LONGEST_INTEGER else _LARGEST + 1
    return value if _SMALLEST <= value <= _LARGEST else _float(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Undecodable("a number is out of range")
    return value


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_int=_integer, parse_float=_float)
_ESCAPED_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


def _refuse_nested(value: Any) -> None:
    level = [value]
    for _ in range(MOST_NESTED):
        level = [inner for outer in level for inner in _inside(outer)]
    if any(isinstance(each, dict | list) for each in level):
        raise Undecodable("it is nested too deep")


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return without_lone_surrogates(value)[0]
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value


_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\\n]++|\\.)*+")'
    r"|(?P<smart>[“”„](?P<said>[^“”„\n]*+)[“”])"
    r"|(?P<mark>[{}\[\],])"
    r"|(?P<space>[ \t\r\n]++)"
    r'|(?P<other>[^"“”„{}\[\], \t\r\n]++)'
)


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise Undecodable("a string does not end")
        yield token
        at = token.end()


_CLOSER = {"{": "}", "[": "]"}


class _Repair:
    """The repaired text so far, and what is open in it."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._open: list[str] = []
        self._comma: int | None = None
        self._last = ""
        self._missing = 0

    def take(self, token: re.Match[str]) -> None:
        text = token[0]
        if token["space"]:
            self._written.append(text)
            return
        if text == ",":
            self._comma = len(self._written)
        elif text in ("}", "]"):
            self._close(text)
        else:
            self._comma = None
            if text in _CLOSER:
                self._open.append(_CLOSER[text])
        self._write(text if token["smart"] is None else json.dumps(token["said"], ensure_ascii=False))

    def _write(self, text: str) -> None:
        self._written.append(text)
        self._last = text

    def _close(self, closer: str) -> None:
        self._drop_comma()
        if self._open and self._open[-1] != closer and closer in self._open[-2:-1]:
            self._supply()
        if self._open and self._open[-1] == closer:
            self._open.pop()

    def _supply(self) -> None:
        """Writes the closer that is missing. What holds nothing yet was cut off, and is not closed."""
        if self._last in _CLOSER:
            raise Undecodable("it ends where something begins")
        self._missing += 1
        self._write(self._open.pop())

    def _drop_comma(self) -> None:
        if self._comma is not None:
            self._written[self._comma] = ""
            self._comma = None

    def done(self) -> str:
        """The whole. Raises Undecodable when more than one closer is missing."""
        self._drop_comma()
        if self._open:
            self._supply()
        if self._open or self._missing > 1:
            raise Undecodable("more than one closer is missing")
        return "".join(self._written)
