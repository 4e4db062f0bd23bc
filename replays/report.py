"""The report of a replay, written as it is read from the disk: as JSON for programs, and as text."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from replays.marks import marked
from replays.replaying import Replay

LONGEST_LINE = 400
"""How much of a removed stretch the text shows, in characters; the JSON has all of it."""

_SIGNS = {"gone": "-", "back": "+"}


def json_report(replay: Replay) -> Iterator[str]:
    """One JSON object, in ASCII: the summary, the replies that changed, the lines whose state differs."""
    yield f'{{"summary": {json.dumps(replay.summary())},\n"replies": ['
    yield from _rows(replay.replies)
    yield '],\n"lines": ['
    yield from _rows(replay.lines)
    yield "]}\n"


def text_report(replay: Replay) -> Iterator[str]:
    """Lines for people: what it comes to, then every reply that changed, flagged ones first, then every line."""
    yield from summary_lines(replay.summary())
    for row in flagged_first(replay):
        yield ""
        yield from reply_lines(row)
    for row in replay.lines:
        yield ""
        yield from state_lines(row)


def flagged_first(replay: Replay) -> Iterator[dict[str, Any]]:
    """The replies that changed: those with a flag, then the others; each in order of the log."""
    yield from (row for row in replay.replies if row["flags"])
    yield from (row for row in replay.replies if not row["flags"])


def summary_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """What a replay comes to."""
    against = summary["against"]
    yield f"{summary['candidate']} against {against if against.isdigit() else f'what is {against}'}"
    yield (
        f"{counted(summary['replies'], 'reply', 'replies')} of {counted(summary['stories'], 'story', 'stories')}, "
        f"{summary['distinct']:,} distinct: {summary['changed']:,} changed{_listed(summary['kinds'], ' ({})')}"
    )
    yield f"{summary['flagged']:,} flagged{_listed(summary['flags'], ': {}')}"
    ends = counted(summary["line_ends"], "line", "lines")
    yield f"{ends}, with another state at the end of {summary['changed_line_ends']:,}"
    before, after = summary["outcomes"]["before"], summary["outcomes"]["after"]
    told = (f"{name} {before.get(name, 0):,} → {after.get(name, 0):,}" for name in sorted(before.keys() | after.keys()))
    yield f"blocks: {', '.join(told) or 'none'}"
    for rule in summary["rules"]:
        sides = (
            f"{rule[side]['removals']:,} ({counted(rule[side]['lines'], 'line', 'lines')})"
            for side in ("before", "after")
        )
        yield f"rule {rule['rule'] or '(unnamed)'}: {' → '.join(sides)}"


def counted(number: int, one: str, many: str) -> str:
    """So many of something."""
    return f"{number:,} {one if number == 1 else many}"


def _listed(counts: Mapping[str, int], form: str) -> str:
    """Those that there are, in this form; nothing where there are none."""
    told = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items() if count)
    return form.format(told) if told else ""


def reply_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """What changed of one reply."""
    yield f"{row['campaign']} node {row['node']}, moment {row['moment']}: {', '.join(row['changed']) or 'nothing changed'}"
    for flagged in row["flags"]:
        yield f"  ! {flagged['flag'].replace('_', ' ')}: {flagged['detail']}"
    if row["prose"]["after"] is not None:
        yield from (f"  {line}" for line in _removal_lines(row))
    if "proposal" in row["changed"]:
        for side in ("before", "after"):
            yield f"  proposal {side}: {_shortened(_json(row['proposal'][side]))}"
    if "outcome" in row["changed"]:
        yield f"  outcome: {row['outcome']['before']} → {row['outcome']['after']}"


def state_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """How the states at the end of a line differ."""
    yield f"{row['campaign']}, the line to node {row['node']}: {counted(row['differences'], 'leaf', 'leaves')} of the state"
    for change in row["changes"]:
        yield f"  {change['path']}: {_shortened(_json(change['before']))} → {_shortened(_json(change['after']))}"
    if row["differences"] > len(row["changes"]):
        yield f"  … and {row['differences'] - len(row['changes']):,} more"


def _removal_lines(row: Mapping[str, Any]) -> Iterator[str]:
    for stretch in marked(row):
        if stretch.mark in _SIGNS and stretch.text.strip():
            yield f"{_SIGNS[stretch.mark]} {stretch.rule}: {_shortened(_json(stretch.text))}"


def _rows(rows: Iterable[Any]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f"{',' if number else ''}\n{json.dumps(row)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"
