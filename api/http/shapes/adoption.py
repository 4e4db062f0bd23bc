"""Which extractor is in force, and adopting another."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from api.http.shapes.replays import FlagShape, LineChange
from api.http.shapes.schema import an_extractor, request_with_examples, with_examples
from domain.narrative.events import AdoptionScope
from replays.findings import Change

_ADOPTION: dict[str, Any] = {
    "campaign": "c_k3v9m2x7qa",
    "before": "1",
    "extractor": "2",
    "scope": "whole_history",
    "dry_run": False,
    "reread": 1,
    "narrations": [
        {
            "node": 3,
            "moment": 3,
            "changed": ["prose"],
            "flags": [],
            "outcome": {"before": "applied", "after": "applied"},
        }
    ],
    "changed_lines": 0,
    "lines": [],
}


class ExtractorShape(BaseModel):
    """Which extractor reads a story's new narrations: the one that it `adopted`, else the installation's `default`."""

    model_config = with_examples({"campaign": "c_k3v9m2x7qa", "extractor": "2", "adopted": None, "default": "2"})

    campaign: str
    extractor: str
    adopted: str | None
    default: str


class NewAdoption(BaseModel):
    """Which extractor, and for what. With `dry_run` nothing is changed."""

    model_config = request_with_examples(
        {"extractor": "2", "scope": "from_now"}, {"extractor": "1", "scope": "whole_history", "dry_run": True}
    )

    extractor: Annotated[
        str, Field(description="The version of an extractor of Fabula's own.", json_schema_extra=an_extractor())
    ]
    scope: Annotated[
        AdoptionScope, Field(description="New narrations alone, or all that there are as well, read anew.")
    ]
    dry_run: Annotated[bool, Field(description="Only say what it would change.")] = False


class RereadNarration(BaseModel):
    """A narration that is read otherwise than before. `changed` is empty where only white space moved."""

    model_config = with_examples(_ADOPTION["narrations"][0])

    node: int
    moment: int
    changed: list[Change]
    flags: list[FlagShape]
    outcome: dict[Literal["before", "after"], str]


class AdoptionShape(BaseModel):
    """What an adoption changes: `reread` narrations, the state at the end of `changed_lines`; the first 500 of each."""

    model_config = with_examples(_ADOPTION)

    campaign: str
    before: str
    extractor: str
    scope: AdoptionScope
    dry_run: bool
    reread: int
    narrations: list[RereadNarration]
    changed_lines: int
    lines: list[LineChange]
