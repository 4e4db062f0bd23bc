"""What a replay comes to, counted as it goes along: replies, changes, flags, rules, outcomes, lines."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.extraction.extraction import Removal
from replays.comparison import LineEnd, Standing
from replays.findings import FLAGS, Change, Flagged


@dataclass
class RuleTally:
    """What one rule took out: how often, how many lines that hold something, how many characters."""

    removals: int = 0
    lines: int = 0
    characters: int = 0

    def add(self, text: str) -> None:
        """Counts a removal of this text."""
        self.removals += 1
        self.lines += sum(1 for line in text.splitlines() if line.strip())
        self.characters += len(text)


@dataclass
class Tally:
    """The figures of a replay. Rules are counted over distinct replies, outcomes over all."""

    stories: int = 0
    replies: int = 0
    distinct: int = 0
    changed: int = 0
    flagged: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    rules: tuple[dict[str, RuleTally], dict[str, RuleTally]] = field(default_factory=lambda: ({}, {}))
    outcomes: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))
    line_ends: int = 0
    changed_ends: int = 0

    def add_reply(self, before: Standing, after: Standing) -> None:
        """Counts a narration."""
        self.replies += 1
        for side, standing in zip(self.outcomes, (before, after), strict=True):
            side[standing.outcome] += 1

    def add_distinct(self, raw: str, before: Sequence[Removal], after: Sequence[Removal]) -> None:
        """Counts a reply that was not met before, with what both sides take out of it."""
        self.distinct += 1
        for side, removals in zip(self.rules, (before, after), strict=True):
            for removal in removals:
                side.setdefault(removal.rule, RuleTally()).add(raw[removal.start : removal.end])

    def add_change(self, kinds: Sequence[Change], flags: Sequence[Flagged]) -> None:
        """Counts a change that was not met before."""
        self.changed += bool(kinds)
        self.kinds.update(kinds)
        self.flags.update({flagged.flag for flagged in flags})
        self.flagged += bool(flags)

    def add_end(self, end: LineEnd) -> None:
        """Counts the end of a line."""
        self.line_ends += 1
        self.changed_ends += bool(end.changes)

    def to_json(self) -> dict[str, Any]:
        """The figures as programs read them."""
        before, after = self.rules
        return {
            "stories": self.stories,
            "replies": self.replies,
            "distinct": self.distinct,
            "duplicates": self.replies - self.distinct,
            "changed": self.changed,
            "flagged": self.flagged,
            "kinds": {kind: self.kinds[kind] for kind in ("prose", "rules", "proposal", "outcome")},
            "flags": {flag: self.flags[flag] for flag in FLAGS},
            "rules": [_rule(name, before, after) for name in sorted(before.keys() | after.keys())],
            "outcomes": {"before": dict(self.outcomes[0]), "after": dict(self.outcomes[1])},
            "line_ends": self.line_ends,
            "changed_line_ends": self.changed_ends,
        }


def _rule(name: str, before: dict[str, RuleTally], after: dict[str, RuleTally]) -> dict[str, Any]:
    """What a rule took out, on both sides."""
    return {
        "rule": name,
        "before": vars(before.get(name, RuleTally())),
        "after": vars(after.get(name, RuleTally())),
    }
