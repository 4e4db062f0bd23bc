"""`fabula replay`: what an extractor makes of every reply ever stored."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.cli.exits import NOT_SO, OutputUnwritable
from api.cli.output import messages, remark, say, write
from api.cli.stores import existing_log
from api.cli.terminal_text import harmless
from api.config import Config
from api.pages.replay import replay_page
from api.use_cases.replays import against_of, candidate_of
from replays.replaying import Question, Replay
from replays.report import flagged_first, json_report, reply_lines, state_lines, summary_lines, text_report

SHOWN_REPLIES = 10
SHOWN_LINES = 5
_MOST_SHOWN_LEAVES = 12


def replay(
    config: Config,
    candidate: str,
    *,
    against: str,
    campaign: str | None,
    report: Path | None,
    seconds: float,
    as_json: bool,
) -> None:
    """Runs the candidate, and prints what it comes to, or all of it as JSON; the whole report goes into a directory.

    Ends with 1 when a reply is flagged. Raises InvalidInput, CandidateUnusable, UnknownCampaign, NoStore.
    """
    held_against = against_of(against)
    with (
        existing_log(config) as log,
        candidate_of(candidate, seconds) as extractor,
        closing(Replay(Question(extractor, held_against, campaign))) as run,
    ):
        with progress() as told:
            run.run(log, told)
        _tell(run, report, as_json=as_json)
        if run.tally.flagged:
            raise typer.Exit(NOT_SO)


def _tell(run: Replay, report: Path | None, *, as_json: bool) -> None:
    if report is not None:
        _write_report(report, run)
    if as_json:
        for piece in json_report(run):
            write(piece)
    else:
        print_replay(run)


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A bar with the time that is left, on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = messages()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("replies", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_replay(run: Replay) -> None:
    """Prints what it comes to, the first replies that changed, flagged ones before others, and the first lines."""
    for line in summary_lines(run.summary()):
        say(line)
    shown = list(islice(flagged_first(run), SHOWN_REPLIES))
    for row in shown:
        say("\n" + "\n".join(reply_lines(row)), "yellow" if row["flags"] else "")
    if len(run.replies) > len(shown):
        say(f"\n… and {len(run.replies) - len(shown):,} more replies; --report DIR writes all of them")
    for row in islice(iter(run.lines), SHOWN_LINES):
        say("\n" + "\n".join(islice(state_lines(row), _MOST_SHOWN_LEAVES)))
    if len(run.lines) > SHOWN_LINES:
        say(f"\n… and {len(run.lines) - SHOWN_LINES:,} more lines; --report DIR writes all of them")


def _write_report(directory: Path, run: Replay) -> None:
    """Writes the three reports. Raises OutputUnwritable."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputUnwritable(f"{directory}: {error.strerror}") from error
    _write(directory / "replay.json", json_report(run))
    _write(directory / "replay.txt", (f"{harmless(line)}\n" for line in text_report(run)))
    _write(directory / "replay.html", replay_page(run))
    remark(f"The report is in {directory}: replay.html to read, replay.txt, replay.json for programs.")


def _write(path: Path, pieces: Iterable[str]) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
    except OSError as error:
        raise OutputUnwritable(f"{path}: {error.strerror}") from error
