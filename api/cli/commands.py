"""The commands, as typer sees them. Each imports what it needs when it runs, so that help and completion are instant."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli import campaign_commands, extractor_commands, settings_commands, state_commands
from api.cli.completion import campaign_ids
from api.cli.options import AnyCampaign, Campaign, Endpoint, Home, Host, Json, Model, NoNarrator, Place, Port

app = typer.Typer(
    name="fabula",
    help="Interactive stories told with a language model that you run yourself.",
    epilog="Exit status: 0 done, 1 the thing checked is not so, 2 wrong use, 3 the store or a server failed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"fabula {version('fabula')}")
        raise typer.Exit


@app.callback()
def _fabula(
    _: Annotated[bool, typer.Option("--version", help="Say the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Interactive stories told with a language model that you run yourself."""


@app.command()
def serve(
    home: Home = None,
    host: Host = None,
    port: Port = None,
    endpoint: Endpoint = None,
    model: Model = None,
    no_narrator: NoNarrator = False,
    guide: Annotated[bool, typer.Option("--guide", help="Say how to begin, once it is ready.")] = False,
) -> None:
    """Serve the HTTP API on this machine."""
    from api.cli.serve import serve as serve_api
    from api.config import read_config

    given = {"home": home, "host": host, "port": port, "endpoint": endpoint, "model": model}
    serve_api(read_config(given, narrator=False if no_narrator else None), guide=guide)


@app.command()
def play(
    campaign: AnyCampaign = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new story.")] = False,
    home: Home = None,
    endpoint: Endpoint = None,
    model: Model = None,
    no_narrator: NoNarrator = False,
) -> None:
    """Play in the terminal: the story that is named, else the newest, else a new one."""
    from api.cli.play import play as play_game
    from api.config import read_config

    if new and campaign is not None:
        raise typer.BadParameter("Name a story or give --new, not both.")
    given = {"home": home, "endpoint": endpoint, "model": model}
    play_game(read_config(given, narrator=False if no_narrator else None), campaign, new=new)


app.add_typer(campaign_commands.app, name="campaigns")


@app.command()
def story(
    campaign: Campaign,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many nodes, the newest.")] = 20,
    whole: Annotated[bool, typer.Option("--all", help="From the opening on.")] = False,
    before: Annotated[
        int | None, typer.Option("--before", min=1, help="Only what is older than this node.", show_default=False)
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Read a story: its active line, with moments."""
    from api.cli.stores import configured
    from api.cli.story import read

    read(configured(home=home), campaign, limit=None if whole else limit, before=before, as_json=as_json)


app.add_typer(state_commands.app, name="state")


@app.command()
def audit(
    campaign: Campaign,
    place: Annotated[
        str | None,
        typer.Argument(metavar="NODE_OR_TURN", help="A node's number or a turn's id.", show_default=False),
    ] = None,
    body: Annotated[bool, typer.Option("--body", help="Write exactly the bytes that were sent.")] = False,
    curl: Annotated[bool, typer.Option("--curl", help="Print a command line that sends them again.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many turns to list.")] = 20,
    before: Annotated[
        int | None, typer.Option("--before", min=1, help="List older turns than these.", show_default=False)
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show what a turn sent and what was read of it; without a node or turn, list the turns."""
    from api.cli import audit as audits
    from api.cli.stores import configured

    if sum((body, curl, as_json)) > 1:
        raise typer.BadParameter("Give one of --body, --curl and --json.")
    if place is None and (body or curl):
        raise typer.BadParameter("Name the node or the turn; without one, the turns are listed.")
    config = configured(home=home)
    if place is None:
        audits.list_turns(config, campaign, limit=limit, before=before, as_json=as_json)
    elif body:
        audits.show_body(config, campaign, place)
    elif curl:
        audits.show_command(config, campaign, place)
    else:
        audits.show_record(config, campaign, place, as_json=as_json)


@app.command()
def events(
    campaign: Campaign,
    after: Annotated[int, typer.Option("--after", min=0, help="Only what follows this position.")] = 0,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what comes, until Ctrl-C.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show the raw log of a story."""
    from api.cli import events as logged
    from api.cli.stores import configured

    config = configured(home=home)
    if follow:
        logged.follow(config, campaign, after=after, as_json=as_json)
    else:
        logged.list_events(config, campaign, after=after, limit=limit, as_json=as_json)


@app.command()
def tree(
    campaign: Campaign,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw it as a picture.", show_default=False)
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show the whole tree of a story: where you are, and what was left."""
    from api.cli.stores import configured
    from api.cli.tree import show_tree

    show_tree(configured(home=home), campaign, svg=svg, as_json=as_json)


@app.command()
def diff(
    left: Place,
    right: Place,
    campaign: Annotated[
        str | None,
        typer.Option("--campaign", help="The story, else the newest.", autocompletion=campaign_ids, show_default=False),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page.", show_default=False)
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show how two places of a story differ: a node, a save point, a branch, head, tip or position:N each."""
    from api.cli.diff import show_difference
    from api.cli.stores import configured

    show_difference(configured(home=home), left, right, campaign=campaign, page=html, as_json=as_json)


@app.command()
def verify(
    campaign: AnyCampaign = None,
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="HASH",
            help="A head that was noted: a story's own, or the whole log's if nothing happened since.",
            show_default=False,
        ),
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Check that the log is whole: of one story, or all of it."""
    from api.cli.stores import configured
    from api.cli.verify import verify as verify_log

    verify_log(configured(home=home), campaign, head, as_json=as_json)


@app.command()
def rebuild(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="The views; all when none is named.")
    ] = None,
    campaign: Annotated[
        str | None,
        typer.Option(
            "--campaign", help="Only the rows of this story.", autocompletion=campaign_ids, show_default=False
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether they are what the log makes of them; change nothing.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Only say how the views stand.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Build views anew from the log, beside those that serve until it is done."""
    from api.cli import rebuild as views
    from api.cli.stores import configured

    if status and (names or check):
        raise typer.BadParameter("--status shows all views, and checks none; name none.")
    if campaign is not None and (status or check):
        raise typer.BadParameter("--campaign names a story to build anew; --check and --status are about whole views.")
    if status:
        views.show_status(configured(home=home), as_json=as_json)
    elif check:
        views.check(configured(home=home), names or (), as_json=as_json)
    else:
        views.rebuild(configured(home=home), names or (), campaign, as_json=as_json)


@app.command()
def replay(
    candidate: Annotated[
        str,
        typer.Option(
            "--candidate",
            metavar="EXTRACTOR",
            help="A version, or a function of yours: module:function or path/file.py:function.",
        ),
    ],
    against: Annotated[
        str, typer.Option("--against", metavar="READING", help="A version, recorded, or in-force: what holds now.")
    ] = "in-force",
    campaign: Annotated[
        str | None,
        typer.Option("--campaign", help="Only this story.", autocompletion=campaign_ids, show_default=False),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write replay.html, .txt and .json there.", show_default=False),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.01, help="Seconds that a function of yours has for a reply.")
    ] = 2.0,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Run an extractor over every reply ever stored, and say what would change. Changes nothing."""
    from api.cli import replay as replays
    from api.cli.stores import configured

    replays.replay(
        configured(home=home),
        candidate,
        against=against,
        campaign=campaign,
        report=report,
        seconds=time_limit,
        as_json=as_json,
    )


app.add_typer(extractor_commands.app, name="extractor")


@app.command()
def worker(home: Home = None) -> None:
    """Keep the views of a store up to date, beside servers and other workers."""
    from api.cli.worker import work
    from api.config import read_config

    work(read_config({"home": home}))


app.add_typer(settings_commands.app, name="settings")


@app.command()
def doctor(
    home: Home = None,
    port: Port = None,
    endpoint: Endpoint = None,
    model: Model = None,
    leaks: Annotated[
        bool, typer.Option("--leaks", help="Count instead what of the protocol stayed in the stored narrations.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what is well, and what to do about what is not."""
    from api.cli.doctor import examine
    from api.cli.leaks import count_leaks
    from api.cli.stores import configured

    config = configured(home=home, port=port, endpoint=endpoint, model=model)
    if leaks:
        count_leaks(config, as_json=as_json)
    else:
        examine(config, as_json=as_json)
