"""Replays: an extractor over every reply ever stored."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from api.http.shapes.schema import an_extractor, request_with_examples, with_examples
from replays.comparison import IN_FORCE, RECORDED
from replays.findings import Change, Flag

_SPAN: dict[str, Any] = {"rule": "block", "start": 24, "end": 78, "text": '```state\n{"events": []}\n```'}
_REPLY: dict[str, Any] = {
    "campaign": "c_k3v9m2x7qa",
    "node": 3,
    "branch": 1,
    "moment": 3,
    "sha256": "9f2c1d7b4e6a8035c1f0e2d4b6a89710325476981badcfe00123456789abcdef",
    "raw_reply": 'The door closes behind.\n```state\n{"events": []}\n```',
    "changed": ["prose", "outcome"],
    "flags": [{"flag": "quarter_removed", "detail": "47% of the prose is gone."}],
    "removed_share": 0.4737,
    "prose": {"before": 'The door closes behind.\n```state\n{"events": []}\n```', "after": "The door closes behind."},
    "removals": {"before": [], "after": [_SPAN]},
    "proposal": {"before": "absent", "after": []},
    "outcome": {"before": "absent", "after": "empty"},
    "refused": {"before": [], "after": []},
}
_LINE: dict[str, Any] = {
    "campaign": "c_k3v9m2x7qa",
    "node": 41,
    "differences": 1,
    "changes": [{"path": "possessions.lamp", "before": None, "after": "oren"}],
}
_RULE: dict[str, Any] = {
    "rule": "block",
    "before": {"removals": 0, "lines": 0, "characters": 0},
    "after": {"removals": 1, "lines": 3, "characters": 27},
}
_SUMMARY: dict[str, Any] = {
    "candidate": "2",
    "against": "in force",
    "campaign": None,
    "position": 4211,
    "stories": 2,
    "replies": 600,
    "distinct": 598,
    "duplicates": 2,
    "changed": 1,
    "flagged": 1,
    "kinds": {"prose": 1, "rules": 0, "proposal": 0, "outcome": 1},
    "flags": {"quarter_removed": 1},
    "rules": [_RULE],
    "outcomes": {"before": {"absent": 600}, "after": {"absent": 599, "empty": 1}},
    "line_ends": 31,
    "changed_line_ends": 1,
    "seconds": 0.412,
}
_STANDING: dict[str, Any] = {
    "id": "r_m3vx7q2kda",
    "state": "running",
    "progress": {"done": 120, "total": 600},
    "error": None,
    "summary": _SUMMARY,
}


class NewReplay(BaseModel):
    """Which extractor to run over which history. A function from a file is for `fabula replay` alone."""

    model_config = request_with_examples({"candidate": "2"}, {"candidate": "1", "against": "2"})

    candidate: Annotated[
        str, Field(description="The version of an extractor of Fabula's own.", json_schema_extra=an_extractor())
    ]
    against: Annotated[
        str,
        Field(
            description="What it is held against: `in force`, which holds now; `recorded`; a version.",
            json_schema_extra=an_extractor(IN_FORCE, RECORDED),
        ),
    ] = "in force"
    campaign: Annotated[str | None, Field(max_length=64, description="Only this story.")] = None


class ReplayProgress(BaseModel):
    """How far it has come, in replies; `total` is null before it begins."""

    model_config = with_examples({"done": 120, "total": 600})

    done: int
    total: int | None


class ReplayError(BaseModel):
    """Why it did not come to its end."""

    model_config = with_examples({"code": "store_unavailable", "detail": "The store cannot be used."})

    code: str
    detail: str


class RuleFigures(BaseModel):
    """What a rule took out: how often, how many lines that hold something, how many characters."""

    model_config = with_examples({"removals": 1, "lines": 3, "characters": 27})

    removals: int
    lines: int
    characters: int


class RuleShape(BaseModel):
    """What a rule took out of the distinct replies on both sides."""

    model_config = with_examples(_RULE)

    rule: str
    before: RuleFigures
    after: RuleFigures


class OutcomesShape(BaseModel):
    """How many blocks came to what on both sides."""

    model_config = with_examples({"before": {"absent": 600}, "after": {"absent": 599, "empty": 1}})

    before: dict[str, int]
    after: dict[str, int]


class ReplaySummary(BaseModel):
    """What a replay comes to, as far as it has come.

    A change that was met before counts once: `changed` and `flagged` are of distinct changes, `rules` of distinct
    replies, `outcomes` of all. `line_ends` are nodes without a child.
    """

    model_config = with_examples(_SUMMARY)

    candidate: str
    against: str
    campaign: str | None
    position: int
    stories: int
    replies: int
    distinct: int
    duplicates: int
    changed: int
    flagged: int
    kinds: dict[Change, int]
    flags: dict[Flag, int]
    rules: list[RuleShape]
    outcomes: OutcomesShape
    line_ends: int
    changed_line_ends: int
    seconds: float


class FlagShape(BaseModel):
    """What a person must look at."""

    model_config = with_examples({"flag": "quarter_removed", "detail": "47% of the prose is gone."})

    flag: Flag
    detail: str


class RemovedSpan(BaseModel):
    """A removed span: half open, in code points of the raw reply."""

    model_config = with_examples(_SPAN)

    rule: str
    start: int
    end: int
    text: str


class ReplyChange(BaseModel):
    """A reply that changed, on both sides: its prose, removals, proposal, outcome, and what was refused."""

    model_config = with_examples(_REPLY)

    campaign: str
    node: int
    branch: int
    moment: int
    sha256: str
    raw_reply: str
    changed: list[Change]
    flags: list[FlagShape]
    removed_share: float
    prose: dict[Literal["before", "after"], str | None]
    removals: dict[Literal["before", "after"], list[RemovedSpan] | None]
    proposal: dict[Literal["before", "after"], Any]
    outcome: dict[Literal["before", "after"], str]
    refused: dict[Literal["before", "after"], list[Any]]


class LeafChange(BaseModel):
    """A leaf of the state on both sides, null where it does not exist."""

    model_config = with_examples({"path": "possessions.lamp", "before": None, "after": "oren"})

    path: str
    before: Any
    after: Any


class LineChange(BaseModel):
    """A line whose state differs at its end; `changes` are the first 200 of the `differences`."""

    model_config = with_examples(_LINE)

    campaign: str
    node: int
    differences: int
    changes: list[LeafChange]


class ReplayStanding(BaseModel):
    """How a replay stands."""

    model_config = with_examples(_STANDING)

    id: str
    state: Literal["waiting", "running", "done", "failed"]
    progress: ReplayProgress
    error: ReplayError | None
    summary: ReplaySummary


class ReplayShape(ReplayStanding):
    """How a replay stands, with a page of what changed, in order of the log. `next` is what `after` takes for more."""

    model_config = with_examples({**_STANDING, "state": "done", "replies": [_REPLY], "lines": [_LINE], "next": None})

    replies: list[ReplyChange]
    lines: list[LineChange]
    next: int | None
