"""`fabula state …`, as typer sees it."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from api.cli.completion import campaign_ids
from api.cli.options import AnyCampaign, Home, Json


class _ShowsByDefault(TyperGroup):
    """A group whose `show` need not be named: `fabula state c_… --at 3`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `show` before what names no command of the group."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ShowsByDefault,
    help="Show what is established in a story; say where it comes from; correct it.",
    epilog="Without a command: show.",
)

OfCampaign = Annotated[
    str | None,
    typer.Option("--campaign", help="The story, else the newest.", autocompletion=campaign_ids, show_default=False),
]
At = Annotated[
    int | None, typer.Option("--at", min=1, help="At this node, else where the story stands.", show_default=False)
]
Leaf = Annotated[str, typer.Argument(metavar="PATH", help="Such as possessions.crystal or entities.imani.location.")]


@app.command()
def show(
    campaign: AnyCampaign = None,
    at: At = None,
    position: Annotated[
        int | None, typer.Option("--position", min=1, help="As of this position of the log.", show_default=False)
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show what is established: of the story that is named, else of the newest."""
    from api.cli.state import show_state
    from api.cli.stores import configured

    show_state(configured(home=home), campaign, at=at, position=position, as_json=as_json)


@app.command()
def why(path: Leaf, campaign: OfCampaign = None, at: At = None, home: Home = None, as_json: Json = False) -> None:
    """Say why something in the state is so: who said it, where, and in which words."""
    from api.cli.state import explain
    from api.cli.stores import configured

    explain(configured(home=home), path, campaign, at=at, as_json=as_json)


@app.command()
def history(path: Leaf, campaign: OfCampaign = None, at: At = None, home: Home = None, as_json: Json = False) -> None:
    """List what something in the state was along the line; with an entity's path, all of it."""
    from api.cli.state import show_history
    from api.cli.stores import configured

    show_history(configured(home=home), path, campaign, at=at, as_json=as_json)


@app.command()
def correct(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="State events as JSON; `-` or none: standard input.", show_default=False),
    ] = None,
    note: Annotated[str | None, typer.Option("--note", help="Why; it is kept with it.", show_default=False)] = None,
    campaign: OfCampaign = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Correct the state where the story stands, by state events as JSON."""
    from api.cli.state import correct as correct_it
    from api.cli.stores import configured

    correct_it(configured(home=home), file, campaign, note=note, as_json=as_json)


@app.command()
def proposals(
    campaign: OfCampaign = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many, the newest.")] = 20,
    before: Annotated[
        int | None, typer.Option("--before", min=1, help="Only those of older nodes than this.", show_default=False)
    ] = None,
    at: At = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """List what the narrations proposed, and what became of that."""
    from api.cli.state import list_proposals
    from api.cli.stores import configured

    list_proposals(configured(home=home), campaign, limit=limit, before=before, at=at, as_json=as_json)


@app.command()
def packet(campaign: OfCampaign = None, at: At = None, home: Home = None, as_json: Json = False) -> None:
    """Show what a picture or a sound of the scene would be made from."""
    from api.cli.state import show_packet
    from api.cli.stores import configured

    show_packet(configured(home=home), campaign, at=at, as_json=as_json)


@app.command()
def profile(
    entity: Annotated[
        str | None, typer.Argument(metavar="ENTITY", help="An entity's id; all when none is named.", show_default=False)
    ] = None,
    descriptor: Annotated[
        list[str] | None,
        typer.Option(
            "--descriptor", metavar="NAME=LOOK", help="May be given again; empty removes.", show_default=False
        ),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option("--feature", help="In place of those there were; may be given again.", show_default=False),
    ] = None,
    style_notes: Annotated[
        str | None, typer.Option("--style-notes", help="How it should be drawn.", show_default=False)
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Forget what was said of it before.")] = False,
    campaign: OfCampaign = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show how entities look, or say how one does."""
    from api.cli import state
    from api.cli.stores import configured

    given = {"descriptors": descriptor, "features": feature, "style_notes": style_notes}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if entity is None:
        if changes or anew:
            raise typer.BadParameter("Name the entity whose look that is.")
        return state.list_profiles(configured(home=home), campaign, as_json=as_json)
    if descriptor is not None:
        try:
            changes["descriptors"] = state.descriptors(descriptor)
        except ValueError as wrong:
            raise typer.BadParameter(f"{str(wrong)!r} is no descriptor; write it as in hair=grey.") from wrong
    return state.profile(configured(home=home), entity, campaign, changes, anew=anew, as_json=as_json)
