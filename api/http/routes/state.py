"""The state of a story: reading it, asking where it comes from, correcting it; and what a scene could be drawn from."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from api.http.clean_json import CleanJSONRoute, replaced_surrogates
from api.http.fabula import ThisFabula
from api.http.openapi import WHEN_WRITING, problem_responses
from api.http.parameters import AtPosition, BeforeNode, CampaignId, EntityId, LeafPath, PageSize, StateAtNode
from api.http.shapes.scenes import ScenePacketShape, VisualProfileList, VisualProfileRequest, VisualProfileShape
from api.http.shapes.state import (
    CorrectionRequest,
    LeafHistory,
    ProposalList,
    StateCorrectionShape,
    WhyShape,
)
from api.http.shapes.state_document import StateShape
from api.use_cases import state, state_history, visual_profiles
from domain.narrative.visual_profile import VisualProfile

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["state"], route_class=CleanJSONRoute)

_PLACE = problem_responses("unknown_campaign", "unknown_node")


@router.get("/state", response_model=StateShape, responses=_PLACE)
def read_state(
    campaign: CampaignId, fabula: ThisFabula, at: StateAtNode = None, position: AtPosition = None
) -> Response:
    """What is established where the story stands, at a node, or as of a position."""
    return JSONResponse(state.state_answer(fabula.log, campaign, at, position=position))


@router.post(
    "/state/corrections",
    status_code=201,
    response_model=StateCorrectionShape,
    responses=problem_responses("unknown_campaign", "turn_in_progress", "correction_refused", *WHEN_WRITING),
)
def correct_state(campaign: CampaignId, wanted: CorrectionRequest, request: Request, fabula: ThisFabula) -> Response:
    """Correct the state where the story stands. What is refused is named; when all is, nothing changes."""
    answer = fabula.turns.dead.past(
        lambda: state.correct_state(
            fabula.log, campaign, wanted.events, wanted.note, replaced_surrogates=replaced_surrogates(request)
        )
    )
    return JSONResponse(answer, 201)


@router.get("/state/why", response_model=WhyShape, responses=_PLACE)
def explain_state(campaign: CampaignId, path: LeafPath, fabula: ThisFabula, at: StateAtNode = None) -> dict[str, Any]:
    """Why a leaf of the state is what it is: the event that set it, who brought that, and in which words."""
    return state_history.why_answer(fabula.log, campaign, path, at)


@router.get("/state/history", response_model=LeafHistory, responses=_PLACE)
def read_state_history(
    campaign: CampaignId, path: LeafPath, fabula: ThisFabula, at: StateAtNode = None
) -> dict[str, Any]:
    """The life of a leaf along the line, or of all leaves below a path."""
    return state_history.history_answer(fabula.log, campaign, path, at)


@router.get("/state/proposals", response_model=ProposalList, responses=_PLACE)
def list_proposals(
    campaign: CampaignId,
    fabula: ThisFabula,
    limit: PageSize = 50,
    before: BeforeNode = None,
    at: StateAtNode = None,
) -> dict[str, Any]:
    """What the narrations of the line proposed, and what became of that, newest first."""
    return state.proposals_answer(fabula.log, campaign, limit, before, at=at)


@router.get("/scene-packet", response_model=ScenePacketShape, responses=_PLACE)
def read_scene_packet(campaign: CampaignId, fabula: ThisFabula, at: StateAtNode = None) -> dict[str, Any]:
    """What a picture or a sound of this moment would be made from. Nothing here makes one."""
    return state.scene_packet_answer(fabula.log, campaign, at)


@router.get("/visual-profiles", response_model=VisualProfileList, responses=problem_responses("unknown_campaign"))
def list_visual_profiles(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """How the entities of a story look, as far as that was said."""
    return visual_profiles.visual_profiles_answer(fabula.log, campaign)


@router.get(
    "/visual-profiles/{entity}", response_model=VisualProfileShape, responses=problem_responses("unknown_campaign")
)
def read_visual_profile(campaign: CampaignId, entity: EntityId, fabula: ThisFabula) -> dict[str, Any]:
    """How an entity looks; empty where nothing was said of it."""
    return visual_profiles.visual_profile_answer(fabula.log, campaign, entity)


@router.put(
    "/visual-profiles/{entity}",
    response_model=VisualProfileShape,
    responses=problem_responses("unknown_campaign", *WHEN_WRITING),
)
def set_visual_profile(
    campaign: CampaignId, entity: EntityId, wanted: VisualProfileRequest, request: Request, fabula: ThisFabula
) -> dict[str, Any]:
    """Say how an entity looks, on every line of the story."""
    profile = VisualProfile.model_validate(wanted.model_dump())
    return visual_profiles.set_visual_profile(
        fabula.log, campaign, entity, profile, replaced_surrogates=replaced_surrogates(request)
    )
