"""`fabula rebuild`: the views, from the log."""

from collections.abc import Sequence

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.cli.exits import NOT_SO
from api.cli.output import messages, print_json, show, table
from api.cli.stores import existing_store
from api.config import Config
from api.use_cases.stories import projections_answer
from domain.errors import UnknownProjection
from projections.engine import Engine

_COLUMNS = ("view", "version", "position", "lag", "state", "error")
_FIELDS = ("name", "version", "position", "lag", "state", "error")


def rebuild(config: Config, names: Sequence[str], *, as_json: bool) -> None:
    """Builds the named views, or all, anew. Raises UnknownProjection before any is touched."""
    with existing_store(config) as store:
        known = [view["name"] for view in projections_answer(store.views)]
        for name in names:
            if name not in known:
                raise UnknownProjection(name, known)
        with _progress() as progress:
            for name in names or known:
                _rebuild_one(store.views, name, progress)
        _print(store.views, as_json=as_json)


def show_status(config: Config, *, as_json: bool) -> None:
    """Prints how the views stand. Ends with 1 when one has failed."""
    with existing_store(config) as store:
        failed = _print(store.views, as_json=as_json)
    if failed:
        raise typer.Exit(NOT_SO)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=messages(), transient=True)


def _rebuild_one(views: Engine, name: str, progress: Progress) -> None:
    task = progress.add_task(name, total=None)
    views.rebuild(name, lambda position, target: progress.update(task, completed=position, total=target))


def _print(views: Engine, *, as_json: bool) -> bool:
    """Whether one has failed."""
    standing = projections_answer(views)
    if as_json:
        print_json({"projections": standing})
    else:
        rows = ([view[field] for field in _FIELDS] for view in standing)
        show(table(_COLUMNS, rows, right=("version", "position", "lag")))
    return any(view["state"] == "failed" for view in standing)
