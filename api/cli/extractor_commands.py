"""`fabula extractor …`, as typer sees it."""

from typing import Annotated

import typer

from api.cli import extractor
from api.cli.completion import campaign_ids
from api.cli.options import AnyCampaign, Campaign, Home, Json

app = typer.Typer(
    help="What of a reply is story: which extractor decides it, and adopting another.", no_args_is_help=True
)


@app.command()
def adopt(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="The extractor's version.")],
    from_now: Annotated[bool, typer.Option("--from-now", help="It reads narrations from now on.")] = False,
    whole_history: Annotated[
        bool, typer.Option("--whole-history", help="It also reads anew all narrations that there are.")
    ] = False,
    campaign: Annotated[
        str | None,
        typer.Option(
            "--campaign",
            help="Only this story; else every story, and those that are begun later.",
            autocompletion=campaign_ids,
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would change.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Put an extractor in force. What was recorded stays, and adopting the former one goes back."""
    from api.cli.adoption import adopt_extractor
    from api.cli.stores import configured

    if from_now == whole_history:
        raise typer.BadParameter("Give one of --from-now and --whole-history.")
    scope = "from_now" if from_now else "whole_history"
    adopt_extractor(configured(home=home), version, scope, campaign, dry_run=dry_run, as_json=as_json)  # type: ignore[arg-type]  # one of the two words


@app.command()
def show(campaign: Campaign, home: Home = None, as_json: Json = False) -> None:
    """Show which extractor reads a story's new narrations."""
    from api.cli.adoption import show_extractor
    from api.cli.stores import configured

    show_extractor(configured(home=home), campaign, as_json=as_json)


@app.command()
def diff(campaign: AnyCampaign = None, home: Home = None, as_json: Json = False) -> None:
    """Show how what is in force differs from what was recorded, of one story or of all."""
    from api.cli.adoption import show_rereadings
    from api.cli.stores import configured

    show_rereadings(configured(home=home), campaign, as_json=as_json)


app.command()(extractor.texts)
app.command()(extractor.run)
