"""The views: how they stand, and building and checking them."""

from dataclasses import asdict
from typing import Any

from api.wiring import Store
from projections.engine.engine import Engine
from projections.engine.rebuilding import Progress


def untold(_position: int, _target: int) -> None:
    """For who does not ask how far it is."""


def projections_answer(views: Engine) -> list[dict[str, Any]]:
    """How the views stand."""
    return [asdict(status) for status in views.status()]


def projection_answer(views: Engine, name: str) -> dict[str, Any]:
    """How one view stands."""
    return next(answer for answer in projections_answer(views) if answer["name"] == name)


def rebuild_view(store: Store, name: str, campaign: str | None = None, progress: Progress = untold) -> bool | None:
    """Builds a view anew beside the one that serves, or the rows of one campaign in it.

    Whether the rows were others than those before, where that could be told. Raises UnknownProjection, UnknownCampaign,
    ViewParked, or whatever else keeps it from the end; then what served serves on.
    """
    if campaign is None:
        return store.views.rebuild(name, progress).differed
    store.log.campaign(campaign)
    store.views.rebuild_campaign(name, campaign, progress)
    return None


def check_answer(store: Store, name: str, progress: Progress = untold) -> dict[str, Any]:
    """Whether a view is what the log makes of it, and the first row that is not. Raises UnknownProjection, ViewParked."""
    found = store.views.check(name, progress)
    return {"name": name, "ok": found is None, "difference": None if found is None else asdict(found)}
