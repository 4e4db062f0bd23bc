"""The options and arguments that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.completion import campaign_ids

PORT_LAST = 65535

Home = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The data directory. [env: FABULA_HOME]", show_default=False),
]
Host = Annotated[
    str | None,
    typer.Option("--host", help="The address to listen on. [env: FABULA_HOST]", show_default=False),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port", min=0, max=PORT_LAST, help="The port of the HTTP API. [env: FABULA_PORT]", show_default=False
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option("--endpoint", metavar="URL", help="The model server. [env: FABULA_ENDPOINT]", show_default=False),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model's name. [env: FABULA_MODEL]", show_default=False),
]
NoNarrator = Annotated[bool, typer.Option("--no-narrator", help="Do not start the small narrator.")]
Json = Annotated[bool, typer.Option("--json", help="Print the JSON that the HTTP API answers with.")]
Campaign = Annotated[
    str,
    typer.Argument(
        metavar="CAMPAIGN", help="The story's id; `fabula campaigns` lists them.", autocompletion=campaign_ids
    ),
]
AnyCampaign = Annotated[
    str | None,
    typer.Argument(metavar="CAMPAIGN", help="The story's id.", autocompletion=campaign_ids, show_default=False),
]
Place = Annotated[
    str,
    typer.Argument(
        help="A node's number, a save point, a branch's name, head, tip or position:N; c_…:12 names the story."
    ),
]
