"""The installation: settings, views, health."""

from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request, Response, status

from api.http.clean_json import CleanJSONRoute, replaced_surrogates
from api.http.fabula import ThisFabula
from api.http.openapi import WHEN_WRITING, problem_responses
from api.http.parameters import OfCampaign, ProjectionName, Waiting
from api.http.shapes.installation import (
    HealthShape,
    ProjectionCheck,
    ProjectionList,
    ProjectionShape,
    SettingsChange,
    SettingsShape,
    SettingsTest,
)
from api.use_cases.connection import connection_answer
from api.use_cases.stories import health_answer
from api.use_cases.views import check_answer, projection_answer, projections_answer, rebuild_view
from domain.errors import InvalidInput

_BEGUN: dict[int | str, dict[str, Any]] = {
    202: {"model": ProjectionShape, "description": "It has begun; `wait` is false."}
}

router = APIRouter(prefix="/api", tags=["installation"], route_class=CleanJSONRoute)


@router.get("/settings", response_model=SettingsShape, responses=problem_responses())
def read_settings(fabula: ThisFabula) -> dict[str, Any]:
    """The settings in force. Secrets are not among them; they come from the environment alone."""
    return fabula.settings.in_force().model_dump(mode="json")


@router.patch("/settings", response_model=SettingsShape, responses=problem_responses("endpoint_refused", *WHEN_WRITING))
def change_settings(wanted: SettingsChange, request: Request, fabula: ThisFabula) -> dict[str, Any]:
    """Change any of them; what is absent stays, null clears an optional one."""
    changes = wanted.model_dump(mode="json", exclude_unset=True)
    if changes.pop("public_endpoint", None) not in (None, fabula.settings.in_force().public_endpoint):
        raise InvalidInput({"public_endpoint": "FABULA_PUBLIC_ENDPOINT, in the environment, decides it"})
    changed = fabula.settings.change(changes, replaced_surrogates=replaced_surrogates(request))
    return changed.model_dump(mode="json")


@router.post("/settings/test", response_model=SettingsTest, responses=problem_responses())
async def check_settings(fabula: ThisFabula) -> dict[str, Any]:
    """Ask the configured server which models it offers and how much it reads."""
    in_force = await anyio.to_thread.run_sync(fabula.settings.in_force)
    return await connection_answer(in_force, fabula.narrator, fabula.probe)


@router.get("/projections", response_model=ProjectionList, responses=problem_responses())
def list_projections(fabula: ThisFabula) -> dict[str, Any]:
    """The views: how far each has come."""
    return {"projections": projections_answer(fabula.views)}


@router.post(
    "/projections/{name}/rebuild",
    response_model=ProjectionShape,
    responses=_BEGUN | problem_responses("unknown_projection", "unknown_campaign", "view_behind", *WHEN_WRITING),
)
def rebuild_projection(
    name: ProjectionName, fabula: ThisFabula, response: Response, campaign: OfCampaign = None, wait: Waiting = True
) -> dict[str, Any]:
    """Build a view anew from the log, beside the one that serves until it is done; or the rows of one story in it."""
    if wait or campaign is not None:
        rebuild_view(fabula.store, name, campaign)
    else:
        fabula.views.begin_rebuild(name)
        response.status_code = status.HTTP_202_ACCEPTED
    return projection_answer(fabula.views, name)


@router.post(
    "/projections/{name}/check",
    response_model=ProjectionCheck,
    responses=problem_responses("unknown_projection", "view_behind", *WHEN_WRITING),
)
def check_projection(name: ProjectionName, fabula: ThisFabula) -> dict[str, Any]:
    """Build a view anew for a comparison alone, and name the first row that differs. Changes nothing."""
    return check_answer(fabula.store, name)


@router.head("/health", include_in_schema=False)
@router.get("/health", response_model=HealthShape, responses=problem_responses())
def read_health(fabula: ThisFabula) -> dict[str, Any]:
    """Whether the store answers and the views have caught up."""
    return health_answer(fabula.store)
