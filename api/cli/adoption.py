"""`fabula extractor adopt` and its kin: which extractor is in force, another one, and what that changed."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any

from api.cli.output import messages, print_json, say, write
from api.cli.replay import print_replay, progress
from api.cli.stores import existing_store
from api.config import Config
from api.use_cases.adoption import adopt, adopt_everywhere, extractor_answer
from domain.errors import FabulaError
from domain.narrative.events import AdoptionScope
from replays.comparison import IN_FORCE, RECORDED
from replays.replaying import Question, Replay
from replays.report import counted, json_report, state_lines

SHOWN = 10


def adopt_extractor(
    config: Config, version: str, scope: AdoptionScope, campaign: str | None, *, dry_run: bool, as_json: bool
) -> None:
    """Puts an extractor in force, for one story or for all, and prints what that changes.

    Raises InvalidInput for a version that does not exist, UnknownCampaign, NoStore; and, when the other stories are done,
    what kept the first that was not.
    """
    answers: list[dict[str, Any]] = []
    failures: list[FabulaError] = []
    with existing_store(config) as store, messages().status("Reading anew…"):
        if campaign is not None:
            answers.append(adopt(store.log, store.settings, campaign, version, scope, dry_run=dry_run))
        else:
            for _, adopts in adopt_everywhere(store.log, store.settings, version, scope, dry_run=dry_run):
                try:
                    answers.append(adopts())
                except FabulaError as failure:
                    failures.append(failure)
    if as_json:
        print_json({"extractor": version, "scope": scope, "dry_run": dry_run, "campaigns": answers})
    else:
        for line in _told(version, scope, campaign, answers, dry_run=dry_run):
            say(line)
    if failures:
        raise failures[0]


def show_extractor(config: Config, campaign: str, *, as_json: bool) -> None:
    """Prints which extractor reads a story's new narrations. Raises UnknownCampaign, NoStore."""
    with existing_store(config) as store:
        answer = extractor_answer(store.log, store.settings, campaign)
    if as_json:
        print_json(answer)
    else:
        whose = "adopted by the story" if answer["adopted"] else "the installation's"
        say(f"Extractor {answer['extractor']}, {whose}.")


def show_rereadings(config: Config, campaign: str | None, *, as_json: bool) -> None:
    """Prints how what is in force differs from what was recorded. Raises UnknownCampaign, NoStore."""
    with existing_store(config) as store, closing(Replay(Question(IN_FORCE, RECORDED, campaign))) as run:
        with progress() as told:
            run.run(store.log, told)
        if as_json:
            for piece in json_report(run):
                write(piece)
        else:
            print_replay(run)


def _told(
    version: str, scope: AdoptionScope, campaign: str | None, answers: list[dict[str, Any]], *, dry_run: bool
) -> Iterator[str]:
    if campaign is None:
        would = "would read" if dry_run else "reads"
        yield f"Extractor {version} {would} the new narrations of every story."
    for answer in answers:
        yield from _story(answer, scope)
    if dry_run:
        yield "Nothing was changed."


def _story(answer: Mapping[str, Any], scope: AdoptionScope) -> Iterator[str]:
    if scope == "from_now":
        yield f"{answer['campaign']}: extractor {answer['extractor']} from now on; it was {answer['before']}."
        return
    yield (
        f"{answer['campaign']}: extractor {answer['extractor']}, it was {answer['before']}. "
        f"{counted(answer['reread'], 'narration', 'narrations')} read otherwise, another state at the end of "
        f"{counted(answer['changed_lines'], 'line', 'lines')}."
    )
    for narration in islice(answer["narrations"], SHOWN):
        outcome = narration["outcome"]
        became = "" if outcome["before"] == outcome["after"] else f", {outcome['before']} → {outcome['after']}"
        yield f"  node {narration['node']}, moment {narration['moment']}: {', '.join(narration['changed']) or 'white space'}{became}"
        yield from (f"    ! {flagged['flag'].replace('_', ' ')}: {flagged['detail']}" for flagged in narration["flags"])
    if answer["reread"] > SHOWN:
        yield f"  … and {answer['reread'] - SHOWN:,} more narrations; --json has them"
    for row in islice(answer["lines"], SHOWN):
        yield from (f"  {line}" for line in islice(state_lines(row), SHOWN))
