"""The commands, as typer sees them. Each imports what it needs when it runs, so that help and completion are instant."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="fabula",
    help="Interactive stories told with a language model that you run yourself.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from api.wiring import VERSION

        typer.echo(f"fabula {VERSION}")
        raise typer.Exit


@app.callback()
def _fabula(
    _: Annotated[bool, typer.Option("--version", help="Say the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Interactive stories told with a language model that you run yourself."""


Home = Annotated[Path | None, typer.Option("--home", help="The data directory. [env: FABULA_HOME]")]
Endpoint = Annotated[str | None, typer.Option("--endpoint", help="The model server. [env: FABULA_ENDPOINT]")]
Model = Annotated[str | None, typer.Option("--model", help="The model's name. [env: FABULA_MODEL]")]
NoNarrator = Annotated[bool, typer.Option("--no-narrator", help="Do not start the small narrator.")]


@app.command()
def serve(
    home: Home = None,
    port: Annotated[int | None, typer.Option("--port", help="The port to listen on. [env: FABULA_PORT]")] = None,
    endpoint: Endpoint = None,
    model: Model = None,
    no_narrator: NoNarrator = False,
    guide: Annotated[bool, typer.Option("--guide", help="Say how to begin, once it is ready.")] = False,
) -> None:
    """Serve the HTTP API on this machine."""
    from api.cli.serve import serve as serve_api
    from api.config import read_config

    given = {"home": home, "port": port, "endpoint": endpoint, "model": model}
    serve_api(read_config(given, narrator=False if no_narrator else None), guide=guide)
