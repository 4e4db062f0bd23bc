"""`fabula events`: the raw log of a story."""

import time
from collections.abc import Iterator
from typing import Any

import orjson

from api.cli.output import console, print_json, print_json_line, say
from api.cli.stores import existing_log
from api.config import Config
from api.use_cases.integrity import event_answer, events_answer
from domain.event import Recorded
from domain.log import EventLog

FOLLOW_SECONDS = 0.2
"""How soon an event of another process is seen."""

_PAGE = 500


def list_events(config: Config, campaign: str, *, after: int, limit: int, as_json: bool) -> None:
    """Prints a page of the story's events. Raises UnknownCampaign."""
    with existing_log(config) as log:
        page = events_answer(log, campaign, after, limit)
    if as_json:
        return print_json(page)
    for event in page["events"]:
        _print(event)
    if page["next"] is not None:
        say(f"More: --after {page['next']}", "dim")
    return None


def follow(config: Config, campaign: str, *, after: int, as_json: bool) -> None:
    """Prints what there is, then what comes, until it is interrupted: as JSON, an event a line."""
    with existing_log(config) as log:
        log.campaign(campaign)
        try:
            for recorded in _appended(log, campaign, after):
                (print_json_line if as_json else _print)(event_answer(recorded))
        except KeyboardInterrupt:
            return


def _appended(log: EventLog, campaign: str, after: int) -> Iterator[Recorded]:
    while True:
        page = log.read(after, _PAGE, stream=campaign)
        yield from page
        after = page[-1].position if page else after
        if not page:
            time.sleep(FOLLOW_SECONDS)


def _print(event: dict[str, Any]) -> None:
    turn = f" · {event['turn']}" if event["turn"] else ""
    say(
        f"{event['position']:>6}  {event['topic']} · {event['actor']} · version {event['version']} · {event['at']}{turn}"
    )
    say(f"        {_data(event)}", "dim")


def _data(event: dict[str, Any]) -> str:
    """The event's data on one line; at a terminal no longer than that line."""
    text = orjson.dumps(event["data"]).decode()
    screen = console()
    room = screen.width - 9
    return f"{text[:room]}…" if screen.is_terminal and len(text) > room else text
