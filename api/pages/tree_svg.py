"""The tree of a story as SVG: a lane a branch, moments from left to right.

Save points are written above their lane, in as many levels as it takes for no two of them to overlap; where the reader
is, below it; the lane's name at its end. What is too long is cut, and whole in a tooltip.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from api.use_cases.tree import Drawing, Lane, Mark

MARGIN = 24
TOP = 84
"""Room for the title, the legend and the scale."""
LANE = 38
LEVEL = 17
NAMES = 290
MOST_WIDE = 1600
WIDEST_STEP = 28
LEAST_WIDE = 900
LONGEST = 36
"""Characters of a name that are shown."""
LETTER = 7.2
"""About as wide as a letter of 13 pixels is."""
BETWEEN_NUMBERS = 50
MANY = 40
"""Of more branches than these, the lines are thin."""

_STYLE = """\
svg { color-scheme: light dark; --ground: #fff; --text: #1f2328; --quiet: #6e7781; --line: #b6bcc3; --rule: #eceef0;
  --active: #1f6feb; --here: #cf222e; --save: #bf8700 }
@media (prefers-color-scheme: dark) { svg { --ground: #15181c; --text: #e6e8ea; --quiet: #98a1aa; --line: #596069;
  --rule: #23282e; --active: #58a6ff; --here: #ff7b72; --save: #e3b341 } }
.ground { fill: var(--ground) }
text { font: 13px system-ui, sans-serif; fill: var(--text); paint-order: stroke; stroke: var(--ground); stroke-width: 4px;
  stroke-linejoin: round }
.title { font-size: 18px; font-weight: 600 } .quiet, .left { fill: var(--quiet) }
.small { font-size: 11px; font-weight: 400 }
.rule { stroke: var(--rule) } path { fill: none }
.line { stroke: var(--line); stroke-width: 2.5 } .active { stroke: var(--active); stroke-width: 5 }
.ahead { stroke: var(--active); stroke-width: 2.5; stroke-dasharray: 2 5; stroke-linecap: round }
.end { fill: var(--line) } .on { font-weight: 600 }
.head { fill: var(--here); stroke: var(--ground); stroke-width: 2.5 } .here { fill: var(--here); font-weight: 600 }
.tip { fill: var(--ground); stroke: var(--active); stroke-width: 2.5 }
.save { fill: var(--save); stroke: var(--ground); stroke-width: 1.5 } .saved { fill: var(--save) }
.takes { fill: var(--ground); stroke: var(--quiet); stroke-width: 1.5 } .many .line { stroke-width: 1.2 }
"""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LEGEND = (
    ('<circle class="head" cx="7" cy="-4" r="7"/>', "you are here"),
    ('<path class="active" d="M0 -4 H22"/>', "the story you read"),
    ('<path class="ahead" d="M1 -4 H22"/>', "later story: Redo goes there"),
    ('<path class="line" d="M0 -4 H22"/>', "left for now"),
    ('<path class="save" d="M7 -12 l8 8 l-8 8 l-8 -8 z"/>', "save point"),
    (
        '<circle class="takes" cx="8" cy="-4" r="8"/><text class="quiet small" x="8" y="0" text-anchor="middle">2</text>',
        "takes",
    ),
)


@dataclass(frozen=True)
class _Placed:
    """A lane with its height on the sheet, and its save points with the level at which each is written."""

    lane: Lane
    y: float
    saves: Sequence[tuple[Mark, int]]


def tree_svg(drawing: Drawing, title: str) -> str:
    """The drawing as a document of its own, with the title for those who hear it read."""
    x, width = _scale(drawing.moments)
    placed, height = _placed(drawing.lanes, x)
    heights = {one.lane.branch: one.y for one in placed}
    parts = (
        *_heading(title, _where(drawing)),
        *_rules(drawing.moments, x, height),
        *(part for one in placed for part in _ways(one, heights, x)),
        *(part for one in placed for part in _signs(one, x)),
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}" '
        f'class="{"many" if len(drawing.lanes) > MANY else "few"}" role="img"><title>{_text(title)}</title><style>{_STYLE}</style>\n'
        f'<rect class="ground" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def _scale(moments: int) -> tuple[Callable[[int], float], int]:
    """From a moment to its place across the sheet, and how wide the sheet is."""
    step = min(WIDEST_STEP, (MOST_WIDE - 2 * MARGIN - NAMES) / max(1, moments - 1))
    width = max(LEAST_WIDE, round(2 * MARGIN + NAMES + step * (moments - 1)))
    return lambda moment: MARGIN + step * (moment - 1), width


def _placed(lanes: Sequence[Lane], x: Callable[[int], float]) -> tuple[list[_Placed], float]:
    """Each lane below the one before, with room above it for its save points; and the height of the sheet."""
    saves = [_levels(lane, x) for lane in lanes]
    above = [LEVEL * max((level for _, level in levels), default=0) for levels in saves]
    down = list(accumulate(above, lambda y, room: y + LANE + room, initial=float(TOP)))
    placed = [_Placed(lane, y, levels) for lane, y, levels in zip(lanes, down[1:], saves, strict=True)]
    return placed, down[-1] + LANE + MARGIN / 2


def _levels(lane: Lane, x: Callable[[int], float]) -> list[tuple[Mark, int]]:
    """The save points, each at the lowest level at which its name overlaps no other's."""
    ends: list[float] = []
    found = []
    for mark in sorted((mark for mark in lane.marks if mark.kind == "save"), key=lambda mark: mark.moment):
        start = x(mark.moment) - 2 * LETTER
        level = next((at for at, end in enumerate(ends) if end < start), len(ends))
        ends[level : level + 1] = [start + LETTER * (len(_cut(mark.label)) + 3)]
        found.append((mark, level + 1))
    return found


def _heading(title: str, quiet: str) -> Iterator[str]:
    yield f'<text class="title" x="{MARGIN}" y="28">{_text(_cut(title, 70))} <tspan class="quiet small">{_text(quiet)}</tspan></text>'
    across = MARGIN
    for sign, meaning in _LEGEND:
        yield f'<g transform="translate({across} 54)">{sign}<text class="quiet small" x="28" y="0">{meaning}</text></g>'
        across += 50 + round(6 * len(meaning))


def _where(drawing: Drawing) -> str:
    branches = "1 branch" if len(drawing.lanes) == 1 else f"{len(drawing.lanes):,} branches"
    return f"at moment {drawing.here:,} on {_cut(drawing.reader.called)}; {branches}, {drawing.moments:,} moments at the longest"


def _rules(moments: int, x: Callable[[int], float], height: float) -> Iterator[str]:
    """The scale: a thin line down every so many moments, with its number above."""
    every = next(step for step in _rounds() if x(1 + step) - x(1) >= BETWEEN_NUMBERS or step >= moments)
    for moment in (1, *range(every, moments + 1, every)):
        at = f"{x(moment):.1f}"
        yield f'<path class="rule" d="M{at} {TOP} V{height - MARGIN:.1f}"/>'
        yield f'<text class="quiet small" x="{at}" y="{TOP - 4}" text-anchor="middle">{moment}</text>'


def _rounds() -> Iterator[int]:
    """5, 10, 20, 50, 100 and so on."""
    power = 1
    while True:
        yield from (5 * power, 10 * power, 20 * power)
        power *= 10


def _ways(one: _Placed, heights: dict[int, float], x: Callable[[int], float]) -> Iterator[str]:
    """The lane itself: from its parent down, and on; the part that is read over the part that is not."""
    lane, y = one.lane, one.y
    yield _stretch("line", x(max(lane.first, lane.active, lane.ahead)), x(lane.last), y)
    if lane.ahead > lane.active:
        yield _stretch("ahead", x(max(lane.first, lane.active)), x(lane.ahead), y)
    if lane.active:
        yield _stretch("active", x(lane.first), x(lane.active), y)
    if lane.parent is not None:
        style = "active" if lane.active else "ahead" if lane.ahead else "line"
        fork, bend = x(lane.first - 1), min(8.0, x(lane.first) - x(lane.first - 1))
        yield (
            f'<path class="{style}" d="M{fork:.1f} {heights[lane.parent]:.1f} V{y - 8:.1f} '
            f'Q{fork:.1f} {y:.1f} {fork + bend:.1f} {y:.1f} H{x(lane.first):.1f}"/>'
        )


def _signs(one: _Placed, x: Callable[[int], float]) -> Iterator[str]:
    """What stands on the lane, and its name at its end."""
    lane, y = one.lane, one.y
    yield f'<circle class="end" cx="{x(lane.last):.1f}" cy="{y:.1f}" r="4"/>'
    for kind, sign in (("takes", _takes), ("tip", _tip), ("head", _head)):
        yield from (sign(mark, x(mark.moment), y) for mark in lane.marks if mark.kind == kind)
    for mark, level in one.saves:
        yield _save(mark, x(mark.moment), y, y - LEVEL * level + 4)
    style = "on" if lane.active else "" if lane.ahead else "left"
    yield (
        f'<text class="{style}" x="{x(lane.last) + 14:.1f}" y="{y + 4:.1f}"><title>{_text(lane.called)}</title>'
        f'{_text(_cut(lane.called))} <tspan class="quiet small">to {lane.last}</tspan></text>'
    )


def _takes(mark: Mark, x: float, y: float) -> str:
    return (
        f'<g><title>{mark.label} takes of moment {mark.moment}</title><circle class="takes" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
        f'<text class="quiet small" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{mark.label}</text></g>'
    )


def _tip(mark: Mark, x: float, y: float) -> str:
    return f'<circle class="tip" cx="{x:.1f}" cy="{y:.1f}" r="6"><title>later story, to moment {mark.moment}</title></circle>'


def _head(mark: Mark, x: float, y: float) -> str:
    return (
        f'<circle class="head" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
        f'<text class="here small" x="{x - 7:.1f}" y="{y + 22:.1f}">you are here, moment {mark.moment}</text>'
    )


def _save(mark: Mark, x: float, y: float, written: float) -> str:
    """A diamond, on the lane where it is all that stands there, with a thread up to its name."""
    name = _text(mark.label)
    return (
        f'<g><title>{name}, moment {mark.moment}</title><path class="rule" d="M{x:.1f} {y:.1f} V{written - 4:.1f}"/>'
        f'<path class="save" d="M{x:.1f} {written - 11:.1f} l7 7 l-7 7 l-7 -7 z"/>'
        f'<text class="saved" x="{x + 11:.1f}" y="{written:.1f}">{_text(_cut(mark.label))}</text></g>'
    )


def _stretch(style: str, start: float, end: float, y: float) -> str:
    return f'<path class="{style}" d="M{start:.1f} {y:.1f} H{end:.1f}"/>'


def _text(told: str) -> str:
    """As text of an XML document, which may not hold every character."""
    return escape(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", told))


def _cut(name: str, longest: int = LONGEST) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1].rstrip()}…"
