"""Makes a store of kept replies: the same stories, told again in the same words."""

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import cast

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from domain.campaign.commands import AcceptNarration, OpenTurn, StartCampaign
from domain.campaign.events import TurnKind
from domain.campaign.settings import CampaignSettings
from domain.extraction.extractors import extract
from tests.corpus.playing import PlayedReply
from tests.corpus.stories import SCRIPTS

_SCRIPTS = {script.name: script for script in SCRIPTS}


def write_store(replies: Sequence[PlayedReply], directory: Path) -> None:
    """Writes a new store. FileExistsError where one is already."""
    directory.mkdir(parents=True, exist_ok=True)
    if (directory / "log.db").exists():
        raise FileExistsError(f"{directory} holds a store already; name another directory")
    with closing(SqlEventLog(directory / "log.db", SystemClock(), RandomNames())) as log:
        for (story, mode), told in groupby(replies, key=lambda reply: (reply.story, reply.mode)):
            _tell(log, f"c_{story}{mode}", story, list(told))


def _tell(log: SqlEventLog, campaign: str, story: str, replies: Sequence[PlayedReply]) -> None:
    settings = dict(_SCRIPTS[story].settings)
    opening = str(settings.pop("opening"))
    log.execute(StartCampaign(campaign, CampaignSettings.model_validate(settings), opening))
    for number, reply in enumerate(replies):
        turn = f"t_{number}"
        kind = cast("TurnKind", reply.kind)
        log.execute(OpenTurn(campaign, turn, kind, reply.text, process="corpus", request_hash=turn))
        log.execute(AcceptNarration(campaign, turn, reply.raw, "", extract(reply.raw), "stop", None))
