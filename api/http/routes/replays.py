"""Replays of extractors, in the background of this server."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, status

from api.http.clean_json import CleanJSONRoute
from api.http.fabula import ThisFabula
from api.http.openapi import problem_responses
from api.http.parameters import LARGEST_INTEGER, PageSize
from api.http.shapes.replays import NewReplay, ReplayShape, ReplayStanding

ReplayId = Annotated[str, Path(description="The replay's id.", examples=["r_m3vx7q2kda"])]
AfterRow = Annotated[int, Query(ge=0, le=LARGEST_INTEGER, description="The `next` of the page before.", examples=[50])]

router = APIRouter(prefix="/api/replays", tags=["extraction"], route_class=CleanJSONRoute)


@router.post(
    "",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=ReplayStanding,
    responses=problem_responses("unknown_campaign", "too_many_replays"),
)
def begin_replay(wanted: NewReplay, fabula: ThisFabula) -> dict[str, Any]:
    """Run an extractor over every reply ever stored, in the background. Changes nothing."""
    return fabula.replays.begin(wanted.candidate, wanted.against, wanted.campaign)


@router.get("/{replay}", response_model=ReplayShape, responses=problem_responses("unknown_replay"))
def read_replay(replay: ReplayId, fabula: ThisFabula, after: AfterRow = 0, limit: PageSize = 50) -> dict[str, Any]:
    """How far a replay has come, and what would change. Replays are gone when the server stops."""
    return fabula.replays.answer(replay, after, limit)
