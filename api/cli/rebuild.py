"""`fabula rebuild`: the views, from the log."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from api.cli.exits import NOT_SO
from api.cli.output import messages, print_json, say, show, table
from api.cli.stores import existing_store
from api.config import Config
from api.use_cases.views import check_answer, projections_answer, rebuild_view
from api.wiring import Store
from domain.errors import StoreFailure, UnknownProjection
from projections.engine.engine import Engine
from projections.engine.rebuilding import Progress as Told

_COLUMNS = ("view", "version", "position", "lag", "state", "error")
_FIELDS = ("name", "version", "position", "lag", "state", "error")
_LONGEST_VALUE = 300


def rebuild(config: Config, names: Sequence[str], campaign: str | None, *, as_json: bool) -> None:
    """Builds the named views, or all, anew; or the rows of one story in them.

    Raises UnknownProjection before any is touched, UnknownCampaign, or, when the others are done, what kept the first that
    was not from its end.
    """
    failures: list[StoreFailure] = []
    with existing_store(config) as store:
        for name, told in _one_by_one(store, names):
            try:
                if rebuild_view(store, name, campaign, told):
                    messages().print(
                        f"{name}: its rows were not what the log makes of them; they are now.", markup=False
                    )
            except StoreFailure as failure:
                failures.append(failure)
        _print(store.views, as_json=as_json)
    if failures:
        raise failures[0]


def check(config: Config, names: Sequence[str], *, as_json: bool) -> None:
    """Says whether the named views, or all, are what the log makes of them. Ends with 1 when one is not."""
    with existing_store(config) as store:
        found = [check_answer(store, name, told) for name, told in _one_by_one(store, names)]
    if as_json:
        print_json({"checks": found})
    else:
        for one in found:
            say("\n".join(_told(one)))
    if not all(one["ok"] for one in found):
        raise typer.Exit(NOT_SO)


def show_status(config: Config, *, as_json: bool) -> None:
    """Prints how the views stand. Ends with 1 when one has failed or is parked."""
    with existing_store(config) as store:
        amiss = _print(store.views, as_json=as_json)
    if amiss:
        raise typer.Exit(NOT_SO)


def _one_by_one(store: Store, names: Sequence[str]) -> Iterator[tuple[str, Told]]:
    """Each of the views, with whom to tell how far it is. Raises UnknownProjection before the first."""
    known = [view["name"] for view in projections_answer(store.views)]
    for name in names:
        if name not in known:
            raise UnknownProjection(name, known)
    with _progress() as progress:
        for name in names or known:
            task = progress.add_task(name, total=None)
            yield name, lambda position, target, task=task: progress.update(task, completed=position, total=target)  # type: ignore[misc]  # a default keeps this turn's task


@contextmanager
def _progress() -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = messages()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield progress


def _told(answer: dict[str, Any]) -> Iterator[str]:
    if answer["ok"]:
        parked = "" if answer["parked_at"] is None else f" It is parked at the event at position {answer['parked_at']}."
        yield f"{answer['name']}: every row is what the log makes of it, up to position {answer['position']}.{parked}"
        return
    found = answer["difference"]
    key = ", ".join(f"{name} {value}" for name, value in found["key"].items())
    yield f"{answer['name']}: the first row that is not what the log makes of it, at position {found['position']}:"
    yield f"  table {found['table']}, {key}"
    for side, said in (("stored", "the view has"), ("rebuilt", "the log makes")):
        yield f"  {said:<14}{_row(found[side])}"
    yield f"`fabula rebuild {answer['name']}` mends it."


def _row(values: dict[str, Any] | None) -> str:
    if values is None:
        return "no such row"
    told = ", ".join(f"{name} {value!r}" for name, value in values.items())
    return told if len(told) <= _LONGEST_VALUE else told[: _LONGEST_VALUE - 1] + "…"


def _print(views: Engine, *, as_json: bool) -> bool:
    """Whether one has failed or is parked."""
    standing = projections_answer(views)
    if as_json:
        print_json({"projections": standing})
    else:
        rows = ([view[field] for field in _FIELDS] for view in standing)
        show(table(_COLUMNS, rows, right=("version", "position", "lag")))
        for line in _more(standing):
            say(line)
    return any(view["state"] in ("failed", "parked") for view in standing)


def _more(standing: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What does not fit into the table: builds beside, and where views are parked."""
    for view in standing:
        build = view["rebuilding"]
        if view["parked_at"] is not None:
            yield (
                f"{view['name']} cannot take in the event at position {view['parked_at']} ({view['error']}). `fabula rebuild "
                f"{view['name']}`, or a start of the program, tries again."
            )
        if build is not None:
            left = "" if build["seconds_left"] is None else f", {build['seconds_left']:g} s left"
            parked = "" if build["parked_at"] is None else f", parked at {build['parked_at']} ({build['error']})"
            yield f"{view['name']} is being built anew: {build['position']} of {build['target']}{left}{parked}."
