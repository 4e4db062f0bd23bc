"""Which extractor is in force, and putting another in its place: from now on, or for all that there ever was."""

from collections.abc import Callable, Iterator
from typing import Any

from api.use_cases.settings import InstallationSettings
from domain.campaign.commands import AdoptExtractor
from domain.log import EventLog
from domain.narrative.events import AdoptionScope
from replays.adopting import Reread, adopt_whole_history, reread
from replays.history import campaigns
from replays.reading import Released

_NOTHING = Reread(0, (), (), (), 0)


def extractor_answer(log: EventLog, settings: InstallationSettings, campaign: str) -> dict[str, Any]:
    """Which extractor reads a story's new narrations, and whether that is the story's own. Raises UnknownCampaign."""
    adopted, default = log.campaign(campaign).extractor, settings.in_force().extractor
    return {"campaign": campaign, "extractor": adopted or default, "adopted": adopted, "default": default}


def adopt(
    log: EventLog,
    settings: InstallationSettings,
    campaign: str,
    version: str,
    scope: AdoptionScope,
    *,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Puts an extractor in force for a story, and says what that changes; with `dry_run`, what it would change.

    Raises InvalidInput for a version that does not exist, UnknownCampaign, TurnInProgress, OvertakenMeanwhile for a story
    that does not stand still.
    """
    extractor = Released(version)
    before = extractor_answer(log, settings, campaign)["extractor"]
    if scope == "whole_history":
        found = reread(log, campaign, extractor) if dry_run else adopt_whole_history(log, campaign, extractor)
    else:
        found = _NOTHING
        if not dry_run:
            log.execute(AdoptExtractor(campaign, version, "from_now"))
    return {
        "campaign": campaign,
        "before": before,
        "extractor": version,
        "scope": scope,
        "dry_run": dry_run,
        **found.difference(),
    }


def adopt_everywhere(
    log: EventLog, settings: InstallationSettings, version: str, scope: AdoptionScope, *, dry_run: bool = False
) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Gives for each story that there is what adopts an extractor there; and in the end puts it in force for new stories.

    From now on, a story that adopted none of its own follows the installation, and is left out. Raises as `adopt`.
    """
    Released(version)
    for name in campaigns(log, log.max_position()):
        if scope == "whole_history" or log.campaign(name).extractor not in (None, version):
            yield name, lambda name=name: adopt(log, settings, name, version, scope, dry_run=dry_run)  # type: ignore[misc]  # a default keeps this turn's name
    if not dry_run:
        settings.change({"extractor": version})
