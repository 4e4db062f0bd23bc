"""The rule `block`: the blocks of a reply, whichever way the narrator sent them, each with what it proposes.

Its sibling `unfinished-block` takes those that nothing closes and that cannot be read, as far as their JSON reaches.
"""

import re
from collections.abc import Iterator

from domain.extraction.context import Context
from domain.extraction.fences import OWN, STATE, Closings, Opening, closing_end, opening_at, story_fence
from domain.extraction.json_lines import json_run
from domain.extraction.lines import Line, is_blank, is_sentence, is_state_heading, lines_of
from domain.extraction.objects import Objects
from domain.extraction.payload import Undecodable
from domain.extraction.proposals import EVENTS, Events, understood, understood_unfenced, unquoted
from domain.extraction.reading import Claim, Cut, Reading

BLOCK = "block"
UNFINISHED_BLOCK = "unfinished-block"

EVENTS_BEGUN = rf'\{{[\s>]*+(?:"(?!{EVENTS}")[^"\\\n]*+"[\s>]*+:[\s>]*+\{{[\s>]*+){{0,8}}+"{EVENTS}"'
"""The pattern of how an object begins that names events, or whose only value does."""

_OPENING = re.compile(r"^(?P<lead>[ \t>]*+)(?:(?P<ticks>`{3,}+)|(?P<brace>\{))|(?P<inline>`{3,}+)", re.MULTILINE)
_BEGINS_JSON = re.compile(r"[\s>]*+[{\[\"“]")
_BEGINS_EVENTS = re.compile(rf"[\s>]*+{EVENTS_BEGUN}")
_BEGINS_LIST = re.compile(r'[\s>]*+\[[\s>]*+\{[\s>]*+"type"[\s>]*+:[\s>]*+"(?P<type>[^"\n]*+)"')
_BARE_MARKS = re.compile(r"(?:\n[ \t]*+>[ \t>]*+\r?(?=\n|\Z))*+")
_NO_PROSE = re.compile(r"[ \t`;,\]}]*+\r?(?=\n|\Z)")


def blocks(reading: Reading, context: Context) -> list[Cut]:
    """Every block, with a bare `State` heading directly above it."""
    return list(_Search(reading.text, context).cuts())


def begins_block(text: str, start: int, end: int, context: Context, *, fenced: bool) -> bool:
    """Whether these characters begin as a proposal does: with `{"events"`, or in a fence with a list of known events."""
    if _BEGINS_EVENTS.match(text, start, end):
        return True
    listed = _BEGINS_LIST.match(text, start, end) if fenced else None
    return listed is not None and listed["type"] in context.event_types


class _Search:
    """One walk through a text, from what may begin a block to the next."""

    def __init__(self, text: str, context: Context) -> None:
        self._text = text
        self._context = context
        self._objects = Objects(text)
        self._closings = Closings(text)
        self._no_objects_before = 0
        self._at = 0
        self._cut_before = 0

    def cuts(self) -> Iterator[Cut]:
        while found := _OPENING.search(self._text, self._at):
            cut = self._object(found) if found["brace"] else self._fence(found)
            if cut is not None:
                yield cut

    def _object(self, found: re.Match[str]) -> Cut | None:
        """The object that begins here, if it is a proposal with no prose behind it."""
        brace = found.start("brace")
        end = self._objects.end_of(brace) if brace >= self._no_objects_before else None
        self._at = brace + 1
        if end is None:
            return None
        block = self._text[brace:end]
        try:
            events = understood_unfenced(unquoted(block) if ">" in found["lead"] else block, self._context.event_types)
        except Undecodable:
            self._no_objects_before = end
            return None
        self._at = end
        alone = _NO_PROSE.match(self._text, end)
        if events is None or alone is None:
            return None
        return self._whole_lines(BLOCK, found.start(), alone.end(), Claim(block, events), quoted=">" in found["lead"])

    def _fence(self, found: re.Match[str]) -> Cut | None:
        name = "ticks" if found["ticks"] else "inline"
        opening = opening_at(self._text, found.start(name), found["lead"], found.start())
        if opening is None:
            self._at = found.end()
            return None
        ticks, closed = self._closings.after(opening.inside)
        cut = self._closed(opening, ticks) if closed else None
        cut = cut or self._open(opening, ticks)
        self._at = cut.end if cut else self._behind_story(opening, ticks, closed=closed)
        return cut

    def _closed(self, opening: Opening, ticks: int) -> Cut | None:
        """The fence as a block, whether or not what it holds can be read."""
        events = self._understood(opening, ticks)
        if events is None and not (self._is_ours(opening, ticks) and not self._holds_story(opening.inside, ticks)):
            return None
        end = closing_end(self._text, ticks)
        return self._fenced_cut(BLOCK, opening, ticks, end, events)

    def _open(self, opening: Opening, limit: int) -> Cut | None:
        """What of a fence that nothing closes is JSON, as a block or the beginning of one."""
        end = json_run(self._text, opening.inside, limit)
        if not self._text[opening.inside : end].strip():
            return None
        events = self._understood(opening, end)
        if events is not None:
            return self._fenced_cut(BLOCK, opening, end, end, events)
        begun = _BEGINS_JSON.match(self._text, opening.inside, end) and self._is_ours(opening, end)
        return self._fenced_cut(UNFINISHED_BLOCK, opening, end, end, None) if begun else None

    def _understood(self, opening: Opening, end: int) -> Events | None:
        inside = self._text[opening.inside : end]
        text = (unquoted(inside) if opening.quoted else inside).strip()
        if not text and opening.label == STATE:
            return ()
        if opening.label != STATE and opening.label not in OWN:
            return None
        return understood(text, self._context.event_types, state=opening.label == STATE)

    def _is_ours(self, opening: Opening, end: int) -> bool:
        if opening.label == STATE:
            return True
        return opening.label in OWN and begins_block(self._text, opening.inside, end, self._context, fenced=True)

    def _holds_story(self, start: int, end: int) -> bool:
        """Whether a paragraph of sentences stands in the fence: one that was never closed ends above it."""
        blank = False
        for line in lines_of(self._text, start, end):
            if blank and is_sentence(self._text, line):
                return True
            blank = is_blank(self._text, line)
        return False

    def _behind_story(self, opening: Opening, ticks: int, *, closed: bool) -> int:
        """Where to go on behind a fence that is no block. What an unlabelled one holds is only kept when it closes."""
        if not opening.starts_line:
            line_feed = self._text.find("\n", opening.inside)
            return closing_end(self._text, ticks) if closed else line_feed if line_feed >= 0 else len(self._text)
        if opening.label == STATE:
            return opening.inside
        fence = story_fence(self._text, opening)
        return opening.inside if opening.label == "" and not fence.closed else fence.end

    def _fenced_cut(self, rule: str, opening: Opening, inside_end: int, end: int, events: Events | None) -> Cut:
        block = self._text[opening.inside : inside_end].strip(" \t\r\n>" if opening.quoted else None)
        claim = Claim(block, events)
        if not opening.starts_line:
            return self._cut(rule, opening.start, end, claim)
        return self._whole_lines(rule, opening.start, end, claim, quoted=opening.quoted)

    def _whole_lines(self, rule: str, start: int, end: int, claim: Claim, *, quoted: bool) -> Cut:
        """With the heading above, and the bare quote marks below what is quoted."""
        marks = _BARE_MARKS.match(self._text, end) if quoted else None
        return self._cut(rule, self._with_heading(start), marks.end() if marks else end, claim)

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
