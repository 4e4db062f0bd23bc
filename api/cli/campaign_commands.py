"""`fabula campaigns …`, as typer sees it."""

from typing import Annotated, Any

import typer

from api.cli.options import Campaign, Home, Json

app = typer.Typer(help="List the stories; create, show, revise, delete one.", invoke_without_command=True)

_NO_EFFECT = "no release uses it yet"  # as domain.campaign.settings says, whose import help need not wait for

Title = Annotated[str | None, typer.Option("--title", help="What it is called.", show_default=False)]
Canon = Annotated[
    list[str] | None, typer.Option("--canon", help="What is always true; may be given again.", show_default=False)
]
PersonaName = Annotated[str | None, typer.Option("--persona-name", help="Whom you play.", show_default=False)]
PersonaPronouns = Annotated[str | None, typer.Option("--persona-pronouns", help="Their pronouns.", show_default=False)]
PersonaDescription = Annotated[
    str | None, typer.Option("--persona-description", help="What they are like.", show_default=False)
]
Instructions = Annotated[str | None, typer.Option("--instructions", help="How it is to be told.", show_default=False)]
PlotEssentials = Annotated[
    str | None, typer.Option("--plot-essentials", help="What the narrator must keep in mind.", show_default=False)
]
AuthorsNote = Annotated[
    str | None, typer.Option("--authors-note", help="A note close to the newest words.", show_default=False)
]
FrontMemory = Annotated[
    str | None, typer.Option("--front-memory", help="What stands right before the reply.", show_default=False)
]
NarrationLength = Annotated[
    str | None,
    typer.Option("--narration-length", help=f"brief, medium, long, or empty; {_NO_EFFECT}.", show_default=False),
]
MemoryEnabled = Annotated[
    bool | None,
    typer.Option("--memory-enabled/--no-memory-enabled", help=f"Remember scenes; {_NO_EFFECT}.", show_default=False),
]
SummariesEnabled = Annotated[
    bool | None,
    typer.Option("--summaries-enabled/--no-summaries-enabled", help=f"Sum it up; {_NO_EFFECT}.", show_default=False),
]
Protagonist = Annotated[
    str | None, typer.Option("--protagonist", help=f"Whom it is about; {_NO_EFFECT}.", show_default=False)
]


@app.callback()
def listed(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many.")] = 50,
    after: Annotated[
        int | None, typer.Option("--after", min=0, help="What follows an earlier page.", show_default=False)
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """List the stories; create, show, revise, delete one."""
    if ctx.invoked_subcommand is not None:
        if home is not None or as_json:
            raise typer.BadParameter(f"Give options after `{ctx.invoked_subcommand}`, not before it.")
        return
    from api.cli.campaigns import list_all
    from api.cli.stores import configured

    list_all(configured(home=home), limit=limit, after=after, as_json=as_json)


@app.command()
def new(
    title: Title = None,
    opening: Annotated[
        str | None, typer.Option("--opening", help="How it begins. It stays as it is.", show_default=False)
    ] = None,
    canon: Canon = None,
    persona_name: PersonaName = None,
    persona_pronouns: PersonaPronouns = None,
    persona_description: PersonaDescription = None,
    instructions: Instructions = None,
    plot_essentials: PlotEssentials = None,
    authors_note: AuthorsNote = None,
    front_memory: FrontMemory = None,
    narration_length: NarrationLength = None,
    memory_enabled: MemoryEnabled = None,
    summaries_enabled: SummariesEnabled = None,
    protagonist: Protagonist = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Create a story."""
    given = _given(locals())
    from api.cli.campaigns import create
    from api.cli.stores import configured

    create(configured(home=home), given, as_json=as_json)


@app.command()
def show(campaign: Campaign, home: Home = None, as_json: Json = False) -> None:
    """Show a story's settings, and where its reader is."""
    from api.cli.campaigns import show_one
    from api.cli.stores import configured

    show_one(configured(home=home), campaign, as_json=as_json)


@app.command()
def revise(
    campaign: Campaign,
    title: Title = None,
    canon: Canon = None,
    no_canon: Annotated[bool, typer.Option("--no-canon", help="Drop all canon.")] = False,
    persona_name: PersonaName = None,
    persona_pronouns: PersonaPronouns = None,
    persona_description: PersonaDescription = None,
    instructions: Instructions = None,
    plot_essentials: PlotEssentials = None,
    authors_note: AuthorsNote = None,
    front_memory: FrontMemory = None,
    narration_length: NarrationLength = None,
    memory_enabled: MemoryEnabled = None,
    summaries_enabled: SummariesEnabled = None,
    protagonist: Protagonist = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Change a story's settings; what is not named stays. The opening cannot be changed."""
    given = _given(locals())
    from api.cli.campaigns import revise as revise_one
    from api.cli.stores import configured

    if no_canon and canon:
        raise typer.BadParameter("Give --canon or --no-canon, not both.")
    revise_one(configured(home=home), campaign, given | ({"canon": []} if no_canon else {}), as_json=as_json)


@app.command()
def delete(
    campaign: Campaign,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Delete a story with all its events; a tombstone remains."""
    from api.cli.campaigns import delete as delete_one
    from api.cli.stores import configured

    delete_one(configured(home=home), campaign, confirmed=yes, as_json=as_json)


_NO_FIELDS = ("campaign", "home", "as_json", "no_canon")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that name fields of the story and were given."""
    return {name: value for name, value in options.items() if name not in _NO_FIELDS and value is not None}
