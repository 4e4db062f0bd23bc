"""The views: how they stand, and building and checking them."""

from dataclasses import asdict
from typing import Any

from api.wiring import Store
from projections.engine.engine import Engine
from projections.engine.rebuilding import Progress
from projections.engine.view import ViewStatus


def untold(_position: int, _target: int) -> None:
    """For who does not ask how far it is."""


def projections_answer(views: Engine) -> list[dict[str, Any]]:
    """How the views stand."""
    return [asdict(status) for status in views.status()]


def projection_answer(views: Engine, name: str) -> dict[str, Any]:
    """How one view stands."""
    return next(answer for answer in projections_answer(views) if answer["name"] == name)


def stopped_view(view: ViewStatus) -> str:
    """What keeps a view from going on, and what to do about it."""
    if view.parked_at is None:
        return f"The view {view.name!r} stopped at {view.position} ({view.error}). Try `fabula rebuild {view.name}`."
    return (
        f"The view {view.name!r} is parked: it cannot take in the event at position {view.parked_at} ({view.error}). `fabula "
        f"verify` says whether the log is whole; `fabula rebuild {view.name}`, or a start of the program, tries again."
    )


def health_detail(views: Engine) -> str:
    """How the views are, in a sentence for people."""
    standing = views.status()
    stopped = [stopped_view(view) for view in standing if view.state in ("failed", "parked")]
    if stopped:
        return " ".join(stopped)
    lag = max((view.lag for view in standing), default=0)
    return f"The views have {lag} positions to go, and catch up by themselves." if lag else "Everything is up to date."


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
    """Whether a view is what the log makes of it as far as it has come, and the first row that is not.

    Raises UnknownProjection, or whatever keeps the view from being built for the comparison.
    """
    found = store.views.check(name, progress)
    view = projection_answer(store.views, name)
    standing = {"position": view["position"], "parked_at": view["parked_at"]}
    return {"name": name, "ok": found is None, **standing, "difference": None if found is None else asdict(found)}
