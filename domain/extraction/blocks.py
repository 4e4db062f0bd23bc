"""The rule `block`: the blocks of a reply, whichever way the narrator sent them, each with what it proposes.

Its sibling `unfinished-block` takes those that nothing closes and that cannot be read, as far as their JSON reaches.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from domain.extraction.context import Context
from domain.extraction.fences import BARE, OWN, STATE, Marks
from domain.extraction.json_lines import json_run
from domain.extraction.lines import Line, is_blank, is_sentence, is_state_heading, lines_of
from domain.extraction.objects import Object
from domain.extraction.payload import Undecodable
from domain.extraction.proposals import EVENTS, Events, is_json, understood, understood_unfenced, unquoted
from domain.extraction.reading import Claim, Cut, Reading

BLOCK = "block"
UNFINISHED_BLOCK = "unfinished-block"

EVENTS_BEGUN = rf'\{{[\s>]*+(?:"(?!{EVENTS}")[^"\\\n]*+"[\s>]*+:[\s>]*+\{{[\s>]*+){{0,8}}+"{EVENTS}"'
"""The pattern of how an object begins that names events, or whose only value does."""

_BEGINS_JSON = re.compile(r"[\s>]*+[{\[\"“]")
_BEGINS_EVENTS = re.compile(rf"[\s>]*+{EVENTS_BEGUN}")
_BEGINS_LIST = re.compile(r'[\s>]*+\[[\s>]*+\{[\s>]*+"type"[\s>]*+:[\s>]*+"(?P<type>[^"\n]*+)"')
_CUT_OFF_MARKS = re.compile(r"`{1,2}\Z")
_MOST_CUT_OFF_MARKS = 2
_BLANK = re.compile(r"[\s>]*+")
_BARE_MARKS = re.compile(r"(?:\n[ \t]*+>[ \t>]*+\r?(?=\n|\Z))*+")
_NO_PROSE = re.compile(r"[ \t`;,\]}]*+\r?(?=\n|\Z)")


def blocks(reading: Reading, context: Context) -> list[Cut]:
    """Every block, with a bare `State` heading directly above it."""
    return list(_Search(reading, context).cuts())


def begins_block(text: str, start: int, end: int, context: Context, *, fenced: bool) -> bool:
    """Whether these characters begin as a proposal does: with `{"events"`, or in a fence with a list of known events."""
    if _BEGINS_EVENTS.match(text, start, end):
        return True
    listed = _BEGINS_LIST.match(text, start, end) if fenced else None
    return listed is not None and listed["type"] in context.event_types


def _start(begun: Object | Marks) -> int:
    return begun.start


class _Fence(NamedTuple):
    """A fence that may hold a block, and where what it holds begins."""

    marks: Marks
    inside: int


class _Search:
    """One walk through a text, from what may begin a block to the next."""

    def __init__(self, reading: Reading, context: Context) -> None:
        self._text = reading.text
        self._fences = reading.fences
        self._objects = reading.objects
        self._context = context
        self._at = 0
        self._cut_before = 0

    def cuts(self) -> Iterator[Cut]:
        all_begun: list[Object | Marks] = [*self._objects, *self._fences.marks]
        for begun in sorted(all_begun, key=_start):
            if begun.start >= self._at:
                cut = self._object(begun) if isinstance(begun, Object) else self._fence(begun)
                if cut is not None:
                    yield cut

    def _object(self, found: Object) -> Cut | None:
        """The object, if it is a proposal with no prose behind it. Tick marks in one that is no JSON are still marks."""
        block = self._text[found.brace : found.end]
        try:
            events = understood_unfenced(unquoted(block) if found.quoted else block, self._context.event_types)
        except Undecodable:
            return None
        self._at = found.end
        alone = _NO_PROSE.match(self._text, found.end)
        if events is None or alone is None:
            return None
        return self._whole_lines(BLOCK, found.start, alone.end(), Claim(block, events), quoted=found.quoted)

    def _fence(self, marks: Marks) -> Cut | None:
        if marks.inside is None:
            return None
        below, closed = self._fences.after(marks.inside)
        cut = None
        if marks.label == STATE or marks.label in OWN:
            fence = _Fence(marks, marks.inside)
            cut = self._closed(fence, below) if below and closed else None
            if not (cut or (below and closed and self._is_own(fence, below.ticks))):
                cut = self._open(fence, below.start if below else len(self._text))
        self._at = cut.end if cut else self._behind_story(marks, marks.inside, below if closed else None)
        return cut

    def _closed(self, fence: "_Fence", closing: Marks) -> Cut | None:
        """The fence as a block, whether or not what it holds can be read."""
        end = closing.ticks
        events = self._understood(fence, end)
        if events is None and (
            not self._is_ours(fence, end) or self._is_own(fence, end) or self._holds_story(fence.inside, end)
        ):
            return None
        return self._fenced_cut(BLOCK, fence, end, closing.behind, events)

    def _open(self, fence: "_Fence", limit: int) -> Cut | None:
        """What of a fence that nothing closes is JSON, as a block or the beginning of one."""
        cut_off = _CUT_OFF_MARKS.search(self._text, max(limit - _MOST_CUT_OFF_MARKS, fence.inside), limit)
        inside_end = json_run(self._text, fence.inside, cut_off.start() if cut_off else limit)
        if not self._text[fence.inside : inside_end].strip():
            return None
        is_all = cut_off is not None and is_blank(self._text, Line(inside_end, cut_off.start()))
        end = limit if is_all else inside_end
        events = self._understood(fence, inside_end)
        if events is not None:
            return self._fenced_cut(BLOCK, fence, inside_end, end, events)
        begun = _BEGINS_JSON.match(self._text, fence.inside, inside_end) and self._is_ours(fence, inside_end)
        return self._fenced_cut(UNFINISHED_BLOCK, fence, inside_end, end, None) if begun else None

    def _understood(self, fence: "_Fence", end: int) -> Events | None:
        inside = self._text[fence.inside : end]
        text = (unquoted(inside) if fence.marks.quoted else inside).strip()
        if not text and fence.marks.label == STATE:
            return ()
        if not _BEGINS_JSON.match(text):
            return None
        return understood(text, self._context.event_types, state=fence.marks.label == STATE)

    def _is_ours(self, fence: "_Fence", end: int) -> bool:
        if fence.marks.label == STATE:
            return True
        return begins_block(self._text, fence.inside, end, self._context, fenced=True)

    def _is_own(self, fence: "_Fence", end: int) -> bool:
        """Whether what a closed fence holds can be read and is no proposal: a character's own."""
        return fence.marks.label != STATE and is_json(self._text[fence.inside : end])

    def _holds_story(self, start: int, end: int) -> bool:
        """Whether a paragraph of sentences stands in the fence: one that was never closed ends above it."""
        blank = False
        for line in lines_of(self._text, start, end):
            if blank and is_sentence(self._text, line):
                return True
            blank = is_blank(self._text, line)
        return False

    def _behind_story(self, marks: Marks, inside: int, closing: Marks | None) -> int:
        """Where to go on behind a fence that is no block. What an unlabelled one holds is only kept when it closes."""
        if not marks.starts_line:
            line_feed = self._text.find("\n", inside)
            return closing.behind if closing else line_feed if line_feed >= 0 else len(self._text)
        if marks.label == STATE:
            return inside
        fence = self._fences.story_fence(marks, inside)
        return inside if marks.label == BARE and not fence.closed else fence.end

    def _fenced_cut(self, rule: str, fence: "_Fence", inside_end: int, end: int, events: Events | None) -> Cut:
        marks = fence.marks
        block = self._text[fence.inside : inside_end].strip(" \t\r\n>" if marks.quoted else None)
        claim = Claim(block, events)
        if not marks.starts_line:
            return self._cut(rule, marks.start, end, claim)
        return self._whole_lines(rule, marks.start, end, claim, quoted=marks.quoted)

    def _whole_lines(self, rule: str, start: int, end: int, claim: Claim, *, quoted: bool) -> Cut:
        """With the heading above; and below, the bare quote marks of what is quoted, and tick marks too many."""
        marks = _BARE_MARKS.match(self._text, end) if quoted else None
        return self._cut(rule, self._with_heading(start), self._with_stray_ticks(marks.end() if marks else end), claim)

    def _with_stray_ticks(self, end: int) -> int:
        """The end of a line of bare tick marks directly below, if they close nothing, open nothing, and story follows."""
        blank = _BLANK.match(self._text, end)
        stray = self._fences.at(blank.end()) if blank else None
        if stray is None or not stray.is_bare_line or stray.inside is None:
            return end
        opens_code = self._fences.story_fence(stray, stray.inside).closed
        goes_on = _BLANK.fullmatch(self._text, stray.behind) is None
        return stray.behind if goes_on and not opens_code else end

    def _cut(self, rule: str, start: int, end: int, claim: Claim) -> Cut:
        self._cut_before = end
        return Cut(rule, start, end, claim)

    def _with_heading(self, start: int) -> int:
        """The start of a bare `State` heading directly above the line that starts here, else that line's."""
        at = start
        while at > self._cut_before:
            above = Line(self._text.rfind("\n", 0, at - 1) + 1, at - 1)
            if not is_blank(self._text, above):
                return above.start if is_state_heading(self._text, above) else start
            at = above.start
        return start
