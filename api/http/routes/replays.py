"""Trying an extractor on history, in the background of this server; and adopting one."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, status

from api.http.clean_json import CleanJSONRoute
from api.http.fabula import ThisFabula
from api.http.openapi import WHEN_WRITING, problem_responses
from api.http.parameters import LARGEST_INTEGER, CampaignId, PageSize
from api.http.shapes.adoption import AdoptionShape, ExtractorShape, NewAdoption
from api.http.shapes.replays import NewReplay, ReplayShape, ReplayStanding
from api.use_cases import adoption

ReplayId = Annotated[str, Path(description="The replay's id.", examples=["r_m3vx7q2kda"])]
AfterRow = Annotated[int, Query(ge=0, le=LARGEST_INTEGER, description="The `next` of the page before.", examples=[50])]

router = APIRouter(prefix="/api", tags=["extraction"], route_class=CleanJSONRoute)


@router.post(
    "/replays",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=ReplayStanding,
    responses=problem_responses("unknown_campaign", "too_many_replays"),
)
def begin_replay(wanted: NewReplay, fabula: ThisFabula) -> dict[str, Any]:
    """Run an extractor over every reply ever stored, in the background. Changes nothing."""
    return fabula.replays.begin(wanted.candidate, wanted.against, wanted.campaign)


@router.get("/replays/{replay}", response_model=ReplayShape, responses=problem_responses("unknown_replay"))
def read_replay(replay: ReplayId, fabula: ThisFabula, after: AfterRow = 0, limit: PageSize = 50) -> dict[str, Any]:
    """How far a replay has come, and what would change. Replays are gone when the server stops."""
    return fabula.replays.answer(replay, after, limit)


@router.get(
    "/campaigns/{campaign}/extractor", response_model=ExtractorShape, responses=problem_responses("unknown_campaign")
)
def read_extractor(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """Which extractor reads a story's new narrations."""
    return adoption.extractor_answer(fabula.log, fabula.settings, campaign)


@router.post(
    "/campaigns/{campaign}/extractor",
    response_model=AdoptionShape,
    responses=problem_responses("unknown_campaign", "turn_in_progress", "overtaken", *WHEN_WRITING),
)
def adopt_extractor(campaign: CampaignId, wanted: NewAdoption, fabula: ThisFabula) -> dict[str, Any]:
    """Put an extractor in force for a story: from now on, or for its whole history, and say what that changes."""
    return adoption.adopt(fabula.log, fabula.settings, campaign, wanted.extractor, wanted.scope, dry_run=wanted.dry_run)
