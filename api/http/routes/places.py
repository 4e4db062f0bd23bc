"""Moving about in a story, naming places, and the difference of two."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from adapters.time_and_names import RandomNames
from api.http.clean_json import CleanJSONRoute, replaced_surrogates
from api.http.fabula import ThisFabula
from api.http.openapi import WHEN_WRITING, Responses, problem_responses
from api.http.parameters import BranchNumber, CampaignId, NodeNumber, Reference, SavePointId
from api.http.shapes.places import (
    BranchNameRequest,
    Corrected,
    DifferenceShape,
    HeadRequest,
    NamedBranch,
    NewSavePoint,
    Revised,
    SavePoint,
    SavePointList,
    TextRequest,
    TreeShape,
)
from api.http.shapes.position import PositionShape
from api.pages.difference import difference_page
from api.pages.tree_svg import tree_svg
from api.use_cases import places
from api.use_cases.difference import difference
from api.use_cases.tree import drawing, tree_answer

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["places"], route_class=CleanJSONRoute)

_MOVES = ("unknown_campaign", "turn_in_progress", *WHEN_WRITING)
_DRAWN: Responses = {
    200: {
        "description": "The tree; or, with `format=svg`, a drawing of it",
        "content": {"image/svg+xml": {"schema": {"type": "string"}, "example": "<svg>…</svg>"}},
    }
}
_SHOWN: Responses = {
    200: {
        "description": "The difference; or, with `format=html`, a page that stands alone",
        "content": {"text/html": {"schema": {"type": "string"}, "example": "<!doctype html>…"}},
    }
}


@router.post("/undo", response_model=PositionShape, responses=problem_responses("nothing_to_undo", *_MOVES))
def undo(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """Go to before the newest turn. Nothing is abandoned: redo goes there again."""
    return fabula.turns.dead.past(lambda: places.undo(fabula.log, campaign))


@router.post("/redo", response_model=PositionShape, responses=problem_responses("nothing_to_redo", *_MOVES))
def redo(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """Go one turn forward, towards the newest moment of this line."""
    return fabula.turns.dead.past(lambda: places.redo(fabula.log, campaign))


@router.post(
    "/head",
    response_model=PositionShape,
    responses=problem_responses("unknown_node", "unknown_save_point", *_MOVES),
)
def move_head(campaign: CampaignId, wanted: HeadRequest, fabula: ThisFabula) -> dict[str, Any]:
    """Select a take, or restore a save point or any node."""
    return fabula.turns.dead.past(lambda: places.move_head(fabula.log, campaign, wanted.node, wanted.save_point))


@router.post("/nodes/{node}/revise", response_model=Revised, responses=problem_responses("unknown_node", *_MOVES))
def revise_node(
    campaign: CampaignId, node: NodeNumber, wanted: TextRequest, request: Request, fabula: ThisFabula
) -> dict[str, Any]:
    """Write a node anew, beside the old one. The later story stays below the original; no model is asked."""
    return fabula.turns.dead.past(
        lambda: places.revise(fabula.log, campaign, node, wanted.text, replaced_surrogates=replaced_surrogates(request))
    )


@router.patch("/nodes/{node}", response_model=Corrected, responses=problem_responses("unknown_node", *_MOVES))
def correct_node(
    campaign: CampaignId, node: NodeNumber, wanted: TextRequest, request: Request, fabula: ThisFabula
) -> dict[str, Any]:
    """Mend a typo in place: the later story stays, the old text stays in the log."""
    return fabula.turns.dead.past(
        lambda: places.correct(
            fabula.log, campaign, node, wanted.text, replaced_surrogates=replaced_surrogates(request)
        )
    )


@router.get("/save-points", response_model=SavePointList, responses=problem_responses("unknown_campaign"))
def list_save_points(campaign: CampaignId, fabula: ThisFabula) -> dict[str, Any]:
    """The save points, in the order in which they were set."""
    return places.save_points(fabula.log, campaign)


@router.post(
    "/save-points",
    status_code=201,
    response_model=SavePoint,
    responses=problem_responses("unknown_campaign", "unknown_node", "name_taken", *WHEN_WRITING),
)
def set_save_point(campaign: CampaignId, wanted: NewSavePoint, fabula: ThisFabula) -> dict[str, Any]:
    """Name a node, or where the reader is, to come back to."""
    return places.set_save_point(fabula.log, RandomNames(), campaign, wanted.name, wanted.node)


@router.delete(
    "/save-points/{save_point}",
    response_model=SavePointList,
    responses=problem_responses("unknown_campaign", "unknown_save_point", *WHEN_WRITING),
)
def remove_save_point(campaign: CampaignId, save_point: SavePointId, fabula: ThisFabula) -> dict[str, Any]:
    """Remove a save point; its place stays. Answers with those that are left."""
    return places.remove_save_point(fabula.log, campaign, save_point)


@router.put(
    "/branches/{branch}",
    response_model=NamedBranch,
    responses=problem_responses("unknown_campaign", "unknown_branch", "name_taken", *WHEN_WRITING),
)
def name_branch(
    campaign: CampaignId, branch: BranchNumber, wanted: BranchNameRequest, fabula: ThisFabula
) -> dict[str, Any]:
    """Name a branch; an empty name takes its name away."""
    return places.name_branch(fabula.log, campaign, branch, wanted.name)


@router.get("/tree", response_model=TreeShape, responses=_DRAWN | problem_responses("unknown_campaign"))
def read_tree(
    campaign: CampaignId,
    fabula: ThisFabula,
    format: Annotated[Literal["json", "svg"], Query(description="How to show it.")] = "json",  # noqa: A002  # the parameter's name
) -> Response:
    """The whole tree: nodes, branches with names and tips, save points, head."""
    if format == "svg":
        title = f"The tree of {campaign}"
        return Response(tree_svg(drawing(fabula.log, campaign), title), media_type="image/svg+xml")
    return JSONResponse(tree_answer(fabula.log, campaign))


@router.get(
    "/diff",
    response_model=DifferenceShape,
    responses=_SHOWN | problem_responses("unknown_campaign", "unknown_node", "view_behind"),
)
def compare_places(
    *,
    campaign: CampaignId,
    left: Reference,
    right: Reference,
    fabula: ThisFabula,
    format: Annotated[Literal["json", "html"], Query(description="How to show it.")] = "json",  # noqa: A002  # the parameter's name
) -> Response:
    """How two places differ, each a node, a save point, a branch's name, `head`, `tip` or `position:N`."""
    answer = difference(fabula.store, campaign, left, right)
    if format == "html":
        settings = fabula.log.campaign(campaign).settings
        return HTMLResponse(difference_page(answer, settings.title if settings else campaign), headers=_PAGE_POLICY)
    return JSONResponse(answer)


_PAGE_POLICY = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
