"""Which lines of a text are JSON, finished or not: how far a block reaches that nothing closes."""

import re

from domain.extraction.lines import Line, is_blank, lines_of, trimmed

_STRING = r'"(?:[^"\\\n]++|\\.)*+"|[“”„][^“”„\n]*+[“”]'
_TOKENS = re.compile(rf"(?:[{{}}\[\],:>\s]|{_STRING}|-?\d[\d.eE+-]*+|true\b|false\b|null\b)*+")
_STRING_ALONE = re.compile(rf"[ \t>]*+(?:{_STRING})[ \t\r]*+")
_CUT_OFF = re.compile(r'"(?:[^"\\\n]++|\\.)*+\\?|[“„][^“”„\n]*+|[a-z]{1,5}|-')
_BEGINS = re.compile(r"[ \t>]*+(?:[{}\]]|\[[ \t\r]*+(?:$|[{\[\]\"“]))")
_PUNCTUATION = frozenset('{}[],:"“”')


def json_run(text: str, start: int, limit: int, *, strict: bool = False) -> int:
    """The end of the last of the lines from `start` that are JSON; `start` where the first is none.

    Blank lines may stand between. A line that is nothing but a string is speech, where a blank line is above it. Where
    it is not `strict`, a line may be broken JSON: one that begins as JSON does and ends as it does.
    """
    run, blank = start, False
    for line in lines_of(text, start, limit):
        if is_blank(text, line):
            blank = True
            continue
        if not _is_json(text, line, limit, strict=strict) or (
            blank and _STRING_ALONE.fullmatch(text, line.start, line.end)
        ):
            break
        run, blank = trimmed(text, line), False
    return run


def _is_json(text: str, line: Line, limit: int, *, strict: bool) -> bool:
    """Whether the line is made of JSON; or is JSON that is cut off, where the text is or a paragraph of it."""
    end = trimmed(text, line)
    tokens = _TOKENS.match(text, line.start, end)
    reached = tokens.end() if tokens else line.start
    if reached == end:
        return True
    begins = _BEGINS.match(text, line.start, end) is not None
    if _CUT_OFF.fullmatch(text, reached, end):
        return _ends_paragraph(text, line, limit) if begins else not text[end:limit].strip()
    return begins and not strict and text[end - 1] in _PUNCTUATION


def _ends_paragraph(text: str, line: Line, limit: int) -> bool:
    below = next(lines_of(text, line.end + 1, limit), None)
    return below is None or is_blank(text, below)
