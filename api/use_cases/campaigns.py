"""Creating, reading, changing and deleting stories."""

from typing import Any

from api.use_cases.answers import position_answer, position_of
from domain.campaign.commands import ReviseCampaign, StartCampaign
from domain.campaign.settings import CampaignRevision, CampaignSettings
from domain.errors import UnknownCampaign
from domain.log import EventLog
from domain.ports import IdSource


def create_campaign(
    log: EventLog, ids: IdSource, settings: CampaignSettings, opening: str, *, replaced_surrogates: int = 0
) -> str:
    """Creates a story; its id."""
    campaign = ids.new("c")
    log.execute(StartCampaign(campaign, settings, opening, replaced_surrogates))
    return campaign


def revise_campaign(log: EventLog, campaign: str, revision: CampaignRevision, *, replaced_surrogates: int = 0) -> None:
    """Changes a story's settings. Raises UnknownCampaign."""
    log.execute(ReviseCampaign(campaign, revision, replaced_surrogates))


def delete_campaign(log: EventLog, campaign: str) -> dict[str, Any]:
    """Deletes a story; what its tombstone says. Raises UnknownCampaign."""
    (tombstone,) = log.delete_campaign(campaign).events
    return tombstone.event.model_dump(mode="json")


def campaign_answer(log: EventLog, campaign: str) -> dict[str, Any]:
    """A story as programs know it. Raises UnknownCampaign."""
    facts = log.campaign(campaign)
    if facts.settings is None:
        raise UnknownCampaign(campaign)
    created_at, revised_at = log.campaign_times(campaign)
    (opening,) = log.end_of_line(campaign, 1, limit=1)
    return {
        "id": campaign,
        "title": facts.settings.title,
        "created_at": created_at,
        "revised_at": revised_at,
        "settings": {**facts.settings.model_dump(mode="json"), "opening": opening.text},
        "position": position_answer(position_of(log, campaign)),
    }
