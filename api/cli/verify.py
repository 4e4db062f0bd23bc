"""`fabula verify`: whether the log is whole."""

import re
from typing import Any

import typer

from api.cli.exits import NOT_SO
from api.cli.output import messages, print_json, remark, say
from api.cli.stores import existing_log
from api.config import Config
from api.use_cases.integrity import verify_answer, was_head


def verify(config: Config, campaign: str | None, head: str | None, *, as_json: bool) -> None:
    """Walks the chain of one story or of all. Ends with 1 when it is broken, or `head` is not part of it.

    The chain of a story holds every head that it ever had, so it may have grown since one was noted. Over the whole log
    there is no such chain: there only today's head is known.
    """
    _check_form(head)
    with existing_log(config) as log, messages().status("Walking the chain…"):
        if campaign is not None:
            log.campaign(campaign)
        answer = verify_answer(log.verify(campaign))
        as_noted = head is None or answer["head"] == head.lower()
        grown = head is not None and campaign is not None and answer["ok"] and was_head(log, campaign, head)
    if as_json:
        print_json(answer)
    else:
        say(_verdict(answer, campaign), "green" if answer["ok"] else "bold red")
    if answer["ok"] and not as_noted:
        remark(_comparison(campaign, head, grown=grown))
    if not (answer["ok"] and (as_noted or grown)):
        raise typer.Exit(NOT_SO)


def _check_form(head: str | None) -> None:
    if head is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", head):
        raise typer.BadParameter("A head is 64 hexadecimal characters, as `fabula verify` prints it.")


def _comparison(campaign: str | None, head: str | None, *, grown: bool) -> str:
    """What to make of a whole log that ends in another head than the one that was noted."""
    if grown:
        return f"The story has grown since {head} was noted, and what was there is unchanged."
    if campaign is not None:
        return f"{head} is no head that this story ever had: what was noted was rewritten, or is another story's."
    return (
        f"The head is not the one that was noted: {head}. The log has grown since, or was rewritten: only an unchanged "
        "log can be compared so. Note a story's own head instead (`fabula verify CAMPAIGN`), which is found again in a "
        "story that has grown."
    )


def _verdict(answer: dict[str, Any], campaign: str | None) -> str:
    what = f"The log of {campaign}" if campaign else "The log"
    if answer["ok"]:
        return f"{what} is whole: {answer['events']} events, head {answer['head']}"
    bad = answer["first_bad"]
    place = f"event {bad['version']} of {bad['stream']}" if bad["stream"] else "the store as a whole"
    position = f" (position {bad['position']})" if bad["position"] is not None else ""
    return (
        f"{what} is damaged. The first that does not fit is {place}{position}: {bad['why']}. "
        f"{answer['events']} events before it fit. Restore the store from a backup."
    )
