"""The tree of a story as SVG: a lane a branch, moments from left to right."""

from collections.abc import Callable, Iterator
from html import escape

from api.use_cases.tree import Drawing, Lane, Mark

LANE = 34
MARGIN = 24
NAMES = 190
MOST_WIDE = 1600
WIDEST_STEP = 28

_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #222 } .quiet { fill: #777 }
.line { stroke: #b8b8b8; stroke-width: 3; fill: none } .active { stroke: #1f6feb; stroke-width: 5; fill: none }
.end { fill: #b8b8b8 } .on { fill: #1f6feb } .head { fill: #d1242f; stroke: #fff; stroke-width: 2 }
.save { fill: #e3a008 } .tip { fill: #fff; stroke: #1f6feb; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .quiet { fill: #999 } .head { stroke: #111 } .tip { fill: #111 } }
"""
_MARKED = {"head": "you are here", "tip": "later story"}


def tree_svg(drawing: Drawing, title: str) -> str:
    """The drawing as a document of its own, with the title for those who hear it read."""
    step = min(WIDEST_STEP, (MOST_WIDE - 2 * MARGIN - NAMES) / max(1, drawing.moments - 1))
    width = round(2 * MARGIN + NAMES + step * (drawing.moments - 1))
    height = 2 * MARGIN + LANE * len(drawing.lanes)
    rows = {lane.branch: lane.row for lane in drawing.lanes}
    body = "\n".join(part for lane in drawing.lanes for part in _lane(lane, rows, step))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><style>{_STYLE}</style>\n{body}\n</svg>\n'
    )


def _lane(lane: Lane, rows: dict[int, int], step: float) -> Iterator[str]:
    x = _scale(step)
    y = _y(lane.row)
    if lane.parent is not None:
        fork = x(lane.first - 1)
        style = "active" if lane.active else "line"
        yield f'<path class="{style}" d="M{fork:.1f} {_y(rows[lane.parent])} V{y - 8} Q{fork:.1f} {y} {fork + 8:.1f} {y} H{x(lane.first):.1f}"/>'
    yield _stretch("line", x(lane.first), x(lane.last), y)
    if lane.active:
        yield _stretch("active", x(lane.first), x(lane.active), y)
    yield f'<circle class="{"on" if lane.active == lane.last else "end"}" cx="{x(lane.last):.1f}" cy="{y}" r="5"/>'
    for mark in lane.marks:
        yield from _mark(mark, x(mark.moment), y)
    name = lane.name or f"branch {lane.branch}"
    yield f'<text x="{x(lane.last) + 12:.1f}" y="{y + 4}">{escape(name)} <tspan class="quiet">to {lane.last}</tspan></text>'


def _mark(mark: Mark, x: float, y: int) -> Iterator[str]:
    match mark.kind:
        case "save":
            yield f'<path class="save" d="M{x:.1f} {y - 9} l7 9 l-7 9 l-7 -9 z"><title>{escape(mark.label)}</title></path>'
            yield f'<text class="quiet" x="{x:.1f}" y="{y - 12}" text-anchor="middle">{escape(mark.label)}</text>'
        case "takes":
            yield f'<text class="quiet" x="{x:.1f}" y="{y + 20}" text-anchor="middle">{mark.label} takes</text>'
        case _:
            yield f'<circle class="{mark.kind}" cx="{x:.1f}" cy="{y}" r="8"><title>{_MARKED[mark.kind]}</title></circle>'


def _stretch(style: str, start: float, end: float, y: int) -> str:
    return f'<path class="{style}" d="M{start:.1f} {y} H{end:.1f}"/>'


def _scale(step: float) -> Callable[[int], float]:
    return lambda moment: MARGIN + step * (moment - 1)


def _y(row: int) -> int:
    return MARGIN + LANE * row + LANE // 2
