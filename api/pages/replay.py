"""The report of a replay as a page that stands alone: no script, nothing from elsewhere."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from domain.difference.words import word_difference
from replays.marks import marked
from replays.replaying import Replay
from replays.report import flagged_first

MOST_REPLIES = 1_000
"""Of the replies that changed, the flagged ones first: a page of more is none to read. The JSON has all."""
MOST_LINES = 300

FLAG_NAMES: Mapping[str, str] = {
    "text_added": "text came back into the story",
    "text_rewritten": "text was written that the reply does not have",
    "unexplained_removal": "no rule explains what is missing",
    "quarter_removed": "more than a quarter of the prose is gone",
    "proposal_lost": "the proposal is lost",
    "proposal_changed": "the proposal is another",
    "candidate_failed": "the candidate failed",
}


def replay_page(replay: Replay) -> Iterator[str]:
    """The page in pieces, in HTML. All text of stories, models and candidates is escaped."""
    environment = Environment(
        loader=PackageLoader("api", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["as_json"] = _as_json
    return environment.get_template("replay.html.j2").generate(
        summary=replay.summary(),
        flag_names=FLAG_NAMES,
        replies=map(_shown, islice(flagged_first(replay), MOST_REPLIES)),
        more_replies=max(0, len(replay.replies) - MOST_REPLIES),
        lines=islice(iter(replay.lines), MOST_LINES),
        more_lines=max(0, len(replay.lines) - MOST_LINES),
    )


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its reply cut into marked stretches; with the words that differ, where the marks do not tell them."""
    rewritten = any(flagged["flag"] in ("text_rewritten", "unexplained_removal") for flagged in row["flags"])
    prose = row["prose"]
    words = word_difference(prose["before"], prose["after"]) if rewritten else ()
    return {**row, "marked": list(marked(row)), "words": [asdict(stretch) for stretch in words]}


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
