"""`fabula campaigns`: the stories, and their settings."""

import sys
from collections.abc import Mapping
from typing import Any

import typer

from adapters.time_and_names import RandomNames
from api.cli.given import cleaned, valid
from api.cli.output import print_json, say, show, table
from api.cli.stores import existing_store
from api.config import Config
from api.http.shapes.campaigns import NewCampaign
from api.use_cases.campaigns import campaign_answer, create_campaign, delete_campaign, revise_campaign
from api.use_cases.stories import list_campaigns
from api.wiring import Store, open_store
from domain.campaign.settings import CampaignRevision, CampaignSettings

_COLUMNS = ("campaign", "title", "turns", "created", "played")
PERSONA = {"persona_name": "name", "persona_pronouns": "pronouns", "persona_description": "description"}
"""Option to field of the persona."""


def list_all(config: Config, *, limit: int, after: int | None, as_json: bool) -> None:
    """Prints a page of the stories, newest first."""
    with existing_store(config) as store:
        page = list_campaigns(store, limit, after)
    if as_json:
        return print_json(page)
    if not page["campaigns"]:
        return say("There are no stories yet. `fabula play` begins one.")
    rows = ([row["id"], row["title"], row["turns"], row["created_at"], row["played_at"]] for row in page["campaigns"])
    show(table(_COLUMNS, rows, right=("turns",)))
    if page["next"] is not None:
        say(f"Older ones: --after {page['next']}", "dim")
    return None


def create(config: Config, given: Mapping[str, Any], *, as_json: bool) -> None:
    """Creates a story from the options that were given. Raises InvalidInput."""
    fields, replaced = cleaned(_with_persona(given, {}))
    wanted = valid(NewCampaign, fields)
    settings = CampaignSettings.model_validate(wanted.model_dump(exclude={"opening"}))
    with open_store(config) as store:
        campaign = create_campaign(store.log, RandomNames(), settings, wanted.opening, replaced_surrogates=replaced)
        answer = campaign_answer(store.log, campaign)
    if as_json:
        print_json(answer)
    else:
        say(f"{campaign} is created: {answer['title']}. Play it with `fabula play {campaign}`.")


def show_one(config: Config, campaign: str, *, as_json: bool) -> None:
    """Prints a story's settings and where its reader is. Raises UnknownCampaign."""
    with existing_store(config) as store:
        _print_campaign(campaign_answer(store.log, campaign), as_json=as_json)


def revise(config: Config, campaign: str, given: Mapping[str, Any], *, as_json: bool) -> None:
    """Changes what was given and prints the story. Raises UnknownCampaign, InvalidInput."""
    if not given:
        raise typer.BadParameter("Say what to change, for instance --title. `fabula campaigns revise --help` lists it.")
    with existing_store(config) as store:
        fields, replaced = cleaned(_with_persona(given, _persona_of(store, campaign)))
        revision = valid(CampaignRevision, fields)
        revise_campaign(store.log, campaign, revision, replaced_surrogates=replaced)
        _print_campaign(campaign_answer(store.log, campaign), as_json=as_json)


def delete(config: Config, campaign: str, *, confirmed: bool, as_json: bool) -> None:
    """Deletes a story, after asking. Raises UnknownCampaign; ends with 2 where nobody can be asked."""
    with existing_store(config) as store:
        title = campaign_answer(store.log, campaign)["title"]
        if not confirmed:
            _ask(f"Delete {campaign} ({title}) with everything that happened in it?")
        tombstone = delete_campaign(store.log, campaign)
    if as_json:
        print_json(tombstone)
    else:
        say(f"{campaign} is deleted: {tombstone['events']} events; a tombstone with the hash at their end remains.")


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter("Nothing was deleted: nobody can be asked here. Give --yes to delete without asking.")
    if not typer.confirm(question, err=True):
        say("Nothing was deleted.")
        raise typer.Exit


def _persona_of(store: Store, campaign: str) -> dict[str, Any]:
    settings = store.log.campaign(campaign).settings
    return settings.persona.model_dump() if settings else {}


def _with_persona(given: Mapping[str, Any], stands: Mapping[str, Any]) -> dict[str, Any]:
    """The options as fields: a persona keeps what no option names."""
    named = {PERSONA[option]: value for option, value in given.items() if option in PERSONA}
    fields = {option: value for option, value in given.items() if option not in PERSONA}
    return fields | ({"persona": {**stands, **named}} if named else {})


def _print_campaign(answer: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        return print_json(answer)
    settings = answer["settings"]
    rows: list[tuple[str, object]] = [
        ("campaign", answer["id"]),
        ("title", answer["title"]),
        ("created", answer["created_at"]),
        ("revised", answer["revised_at"]),
        ("stands at", answer["position"]["label"]),
    ]
    rows += [(name, _shown(value)) for name, value in settings.items() if name != "title" and _shown(value)]
    show(table(("", ""), rows))
    return None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {one}" for name, one in value.items() if one)
    return "\n".join(value) if isinstance(value, list | tuple) else str(value)
