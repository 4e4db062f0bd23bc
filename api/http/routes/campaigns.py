"""Stories: created, listed, read, changed, deleted."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from adapters.time_and_names import RandomNames
from api.http.clean_json import CleanJSONRoute, replaced_surrogates
from api.http.fabula import ThisFabula
from api.http.problems import responses
from api.http.shapes import CampaignChange, CampaignList, CampaignShape, NewCampaign, PositionShape, Tombstone
from api.use_cases import campaigns
from api.use_cases.answers import position_answer, position_of
from api.use_cases.stories import list_campaigns
from domain.campaign.settings import CampaignRevision, CampaignSettings

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"], route_class=CleanJSONRoute)


@router.post("", status_code=201, response_model=CampaignShape, responses=responses("store_full", "store_read_only"))
def create(wanted: NewCampaign, request: Request, fabula: ThisFabula) -> dict[str, Any]:
    """Create a story. Its opening is node 1."""
    settings = CampaignSettings.model_validate(wanted.model_dump(exclude={"opening"}))
    campaign = campaigns.create_campaign(
        fabula.log, RandomNames(), settings, wanted.opening, replaced_surrogates=replaced_surrogates(request)
    )
    return campaigns.campaign_answer(fabula.log, campaign)


@router.get("", response_model=CampaignList, responses=responses("view_behind"))
def listed(
    fabula: ThisFabula,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
) -> dict[str, Any]:
    """The stories, newest first."""
    return list_campaigns(fabula.store, limit, after)


@router.get("/{campaign}", response_model=CampaignShape, responses=responses("unknown_campaign"))
def read(campaign: str, fabula: ThisFabula) -> dict[str, Any]:
    """A story's settings, and where its reader is."""
    return campaigns.campaign_answer(fabula.log, campaign)


@router.patch(
    "/{campaign}",
    response_model=CampaignShape,
    responses=responses("unknown_campaign", "store_full", "store_read_only"),
)
def revise(campaign: str, wanted: CampaignChange, fabula: ThisFabula) -> dict[str, Any]:
    """Change settings of a story; what is absent stays. The opening cannot be changed."""
    revision = CampaignRevision.model_validate(wanted.model_dump(exclude_none=True))
    campaigns.revise_campaign(fabula.log, campaign, revision)
    return campaigns.campaign_answer(fabula.log, campaign)


@router.delete(
    "/{campaign}", response_model=Tombstone, responses=responses("unknown_campaign", "store_full", "store_read_only")
)
def delete(campaign: str, fabula: ThisFabula) -> dict[str, Any]:
    """Delete a story with all its events. A tombstone with the hash at its end remains."""
    return campaigns.delete_campaign(fabula.log, campaign)


@router.get("/{campaign}/position", response_model=PositionShape, responses=responses("unknown_campaign"))
def position(campaign: str, fabula: ThisFabula) -> dict[str, Any]:
    """Where the reader is."""
    return position_answer(position_of(fabula.log, campaign))
