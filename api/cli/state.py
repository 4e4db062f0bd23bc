"""`fabula state`: what is established in a story, where that comes from, and correcting it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from api.cli import state_text
from api.cli.given import cleaned, json_from, valid
from api.cli.output import console, print_json, say, show
from api.cli.stores import existing_store, named_or_newest
from api.config import Config
from api.http.shapes.state import CorrectionRequest
from api.use_cases import state, state_history, visual_profiles
from domain.narrative.visual_profile import VisualProfile


def show_state(config: Config, campaign: str | None, *, at: int | None, position: int | None, as_json: bool) -> None:
    """Prints the state where the story stands, at a node, or as of a position. Raises UnknownCampaign, UnknownNode."""
    with existing_store(config) as store:
        answer = state.state_answer(store.log, named_or_newest(store, campaign), at, position=position)
    if as_json:
        return print_json(answer)
    show_parts(state_text.state_parts(answer))
    return say(
        "\n`fabula state why entities.ID.FIELD`, or possessions.ID, facts.ID.FIELD…, says where it comes from.", "dim"
    )


def explain(config: Config, path: str, campaign: str | None, *, at: int | None, as_json: bool) -> None:
    """Prints why a leaf is what it is. Raises UnknownCampaign, UnknownNode, InvalidInput for what is no leaf."""
    with existing_store(config) as store:
        answer = state_history.why_answer(store.log, named_or_newest(store, campaign), path, at)
    if as_json:
        return print_json(answer)
    return show_parts(state_text.why_parts(answer, console()))


def show_history(config: Config, path: str, campaign: str | None, *, at: int | None, as_json: bool) -> None:
    """Prints the changes of a leaf, or of all below a path. Raises as `explain`."""
    with existing_store(config) as store:
        answer = state_history.history_answer(store.log, named_or_newest(store, campaign), path, at)
    if as_json:
        return print_json(answer)
    return show_parts(state_text.history_parts(answer))


def correct(config: Config, file: Path | None, campaign: str | None, *, note: str | None, as_json: bool) -> None:
    """Enters the state events of a file, or of standard input. Raises CorrectionRefused, TurnInProgress, InvalidInput."""
    with existing_store(config) as store:
        named = named_or_newest(store, campaign)
        store.log.campaign(named)
        body, replaced = cleaned(_as_request(json_from(file, "the state events"), note))
        wanted = valid(CorrectionRequest, body)
        answer = state.correct_state(store.log, named, wanted.events, wanted.note, replaced_surrogates=replaced)
    if as_json:
        return print_json(answer)
    return show_parts(state_text.correction_parts(answer))


def _as_request(given: Any, note: str | None) -> dict[str, Any]:
    """A list of events, one event, or what the HTTP API takes; a note that is given here is the one that counts."""
    if isinstance(given, dict) and "events" in given:
        body = given
    else:
        body = {"events": given if isinstance(given, list) else [given]}
    return body if note is None else {**body, "note": note}


def list_proposals(
    config: Config, campaign: str | None, *, limit: int, before: int | None, at: int | None, as_json: bool
) -> None:
    """Prints what became of the blocks of the line, newest first. Raises UnknownCampaign, UnknownNode."""
    with existing_store(config) as store:
        answer = state.proposals_answer(store.log, named_or_newest(store, campaign), limit, before, at=at)
    if as_json:
        return print_json(answer)
    return show_parts(state_text.proposals_parts(answer))


def show_packet(config: Config, campaign: str | None, *, at: int | None, as_json: bool) -> None:
    """Prints what the scene could be drawn from. Raises UnknownCampaign, UnknownNode."""
    with existing_store(config) as store:
        answer = state.scene_packet_answer(store.log, named_or_newest(store, campaign), at)
    if as_json:
        return print_json(answer)
    return show_parts(state_text.packet_parts(answer))


def list_profiles(config: Config, campaign: str | None, *, as_json: bool) -> None:
    """Prints how the entities look. Raises UnknownCampaign."""
    with existing_store(config) as store:
        answer = visual_profiles.visual_profiles_answer(store.log, named_or_newest(store, campaign))
    if as_json:
        return print_json(answer)
    return show_parts(state_text.profile_parts(answer["visual_profiles"]))


def profile(
    config: Config, entity: str, campaign: str | None, changes: Mapping[str, Any], *, anew: bool, as_json: bool
) -> None:
    """Prints how an entity looks; with changes, says so first. What is not named stays, unless it is said anew.

    Raises UnknownCampaign, and InvalidInput for what is no entity here, or looks that are too large.
    """
    with existing_store(config) as store:
        named = named_or_newest(store, campaign)
        answer = visual_profiles.visual_profile_answer(store.log, named, entity)
        if changes or anew:
            stands = {} if anew else {field: answer[field] for field in VisualProfile.model_fields}
            said, replaced = cleaned(_changed(stands, changes))
            wanted = valid(VisualProfile, said)
            answer = visual_profiles.set_visual_profile(store.log, named, entity, wanted, replaced_surrogates=replaced)
    if as_json:
        return print_json(answer)
    return show_parts(state_text.profile_parts([answer]))


def _changed(stands: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The descriptors that are named put among the others, an empty one taken out; lists and texts in place of the old."""
    descriptors = {**stands.get("descriptors", {}), **changes.get("descriptors", {})}
    kept = {name: look for name, look in descriptors.items() if look}
    return {**stands, **changes, "descriptors": kept}


def show_parts(parts: Iterable[RenderableType]) -> None:
    """Prints text and tables one after another."""
    screen = console()
    for part in parts:
        if isinstance(part, Table):
            show(part)
        else:
            screen.print(part, soft_wrap=True)


def descriptors(given: Sequence[str]) -> dict[str, str]:
    """`hair=grey` as a descriptor. ValueError for what has no `=`."""
    named: dict[str, str] = {}
    for each in given:
        name, equals, look = each.partition("=")
        if not equals or not name.strip():
            raise ValueError(each)
        named[name.strip()] = look.strip()
    return named
