"""`fabula extractor texts` and `run`: our own texts, and what an extractor makes of a reply. Neither needs a store."""

import sys
from typing import Annotated, Any

import typer

from api.cli.options import Json
from domain.extraction.extraction import Extraction

Version = Annotated[
    str | None,
    typer.Option("--version", metavar="V", help="The extractor's version, else the default.", show_default=False),
]


def texts(as_json: Json = False) -> None:
    """Print the texts of ours that extractors look for, by the names that cases of extraction give them."""
    from api.cli.output import print_json, say
    from domain.extraction.case_texts import case_texts

    if as_json:
        print_json(case_texts())
        return
    for name, text in case_texts().items():
        say(name, "bold")
        say(f"{text}\n")


def run(version: Version = None) -> None:
    """Read a raw reply from standard input, and print as JSON what an extractor makes of it."""
    from api.cli.output import print_json
    from domain.extraction.extractors import DEFAULT_VERSION, EXTRACTORS, extract

    if version is not None and version not in EXTRACTORS:
        raise typer.BadParameter(f"There is no extractor {version!r}. There are: {', '.join(EXTRACTORS)}.")
    print_json(_shown(extract(_reply(), version or DEFAULT_VERSION)))


def _reply() -> str:
    if sys.stdin.isatty():
        raise typer.BadParameter("Give the reply on standard input: fabula extractor run < reply.txt")
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"The reply is no UTF-8: byte {error.start + 1} cannot be read.") from None


def _shown(extraction: Extraction) -> dict[str, Any]:
    return {
        "prose": extraction.prose,
        "events": extraction.proposal,
        "block": extraction.block,
        "removals": [removal.model_dump(mode="json") for removal in extraction.removals],
    }
