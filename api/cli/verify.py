"""`fabula verify`: whether the log is whole."""

from typing import Any

import typer

from api.cli.exits import NOT_SO
from api.cli.output import messages, print_json, remark, say
from api.cli.stores import existing_log
from api.config import Config
from api.use_cases.integrity import verify_answer


def verify(config: Config, campaign: str | None, head: str | None, *, as_json: bool) -> None:
    """Walks the chain of one story or of all. Ends with 1 when it is broken, or ends in another hash than `head`."""
    with existing_log(config) as log, messages().status("Walking the chain…"):
        if campaign is not None:
            log.campaign(campaign)
        answer = verify_answer(log.verify(campaign))
    if as_json:
        print_json(answer)
    else:
        say(_verdict(answer, campaign), "green" if answer["ok"] else "bold red")
    as_noted = head is None or answer["head"] == head.lower()
    if answer["ok"] and not as_noted:
        remark(f"The head is not the one that was noted: {head}. The log has grown since, or was rewritten.")
    if not (answer["ok"] and as_noted):
        raise typer.Exit(NOT_SO)


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
