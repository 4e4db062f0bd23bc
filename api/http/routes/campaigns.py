"""Stories: created, listed, read, changed, deleted."""

from typing import Any

from fastapi import APIRouter, Request

from adapters.time_and_names import RandomNames
from api.http.clean_json import CleanJSONRoute, replaced_surrogates
from api.http.fabula import ThisFabula
from api.http.openapi import WHEN_WRITING, problem_responses
from api.http.parameters import AfterCampaign, CampaignId, PageSize
from api.http.shapes.campaigns import CampaignChange, CampaignList, CampaignShape, NewCampaign, Tombstone
from api.http.shapes.position import PositionShape
from api.use_cases import campaigns, stories
from api.use_cases.answers import position_answer, position_of
from domain.campaign.settings import CampaignRevision, CampaignSettings

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"], route_class=CleanJSONRoute)


@router.post("", status_code=201, response_model=CampaignShape, responses=problem_responses(*WHEN_WRITING))
def create_campaign(wanted: NewCampaign, request: Request, fabula: ThisFabula) -> dict[str, Any]:
    """Create a story. Its opening is node 1."""
    settings = CampaignSettings.model_validate(wanted.model_dump(exclude={"opening"}))
    campaign = campaigns.create_campaign(
        fabula.log, RandomNames(), settings, wanted.opening, replaced_surrogates=replaced_surrogates(request)
    )
    return campaigns.campaign_answer(fabula.log, campaign)


@router.get("", response_model=CampaignList, responses=problem_responses("view_behind"))
def list_campaigns(fabula: ThisFabula, limit: PageSize = 50, after: AfterCampaign = None) -> dict[str, Any]:
    """The stories, newest first."""
    return stories.list_campaigns(fabula.store, limit, after)


@router.get("/{campaign}", response_model=CampaignShape, responses=problem_responses("unknown_campaign"))
def read_campaign(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """A story's settings, and where its reader is."""
    return campaigns.campaign_answer(fabula.log, campaign)


@router.patch(
    "/{campaign}", response_model=CampaignShape, responses=problem_responses("unknown_campaign", *WHEN_WRITING)
)
def change_campaign(campaign: CampaignId, wanted: CampaignChange, fabula: ThisFabula) -> dict[str, Any]:
    """Change settings of a story; what is absent stays. The opening cannot be changed."""
    revision = CampaignRevision.model_validate(wanted.model_dump(exclude_unset=True))
    campaigns.revise_campaign(fabula.log, campaign, revision)
    return campaigns.campaign_answer(fabula.log, campaign)


@router.delete("/{campaign}", response_model=Tombstone, responses=problem_responses("unknown_campaign", *WHEN_WRITING))
def delete_campaign(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """Delete a story with all its events. A tombstone with the hash at its end remains."""
    return campaigns.delete_campaign(fabula.log, campaign)


@router.get("/{campaign}/position", response_model=PositionShape, responses=problem_responses("unknown_campaign"))
def read_position(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """Where the reader is."""
    return position_answer(position_of(fabula.log, campaign))
