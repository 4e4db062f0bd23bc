"""`fabula doctor`: what is well, and what to do about what is not."""

import asyncio
from dataclasses import asdict

import typer
from rich.text import Text

from api.cli.exits import NOT_SO
from api.cli.output import console, print_json, say
from api.cli.terminal_text import harmless
from api.config import Config
from api.use_cases.diagnosis import Finding, Standing, diagnose

_MARKS: dict[Standing, tuple[str, str]] = {"well": ("✓", "green"), "note": ("·", "dim"), "to_do": ("!", "bold yellow")}


def examine(config: Config, *, as_json: bool) -> None:
    """Prints every finding. Ends with 1 when something needs doing."""
    findings = asyncio.run(diagnose(config))
    to_do = [finding for finding in findings if finding.standing == "to_do"]
    if as_json:
        print_json({"ok": not to_do, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings, to_do)
    if to_do:
        raise typer.Exit(NOT_SO)


def _print(findings: list[Finding], to_do: list[Finding]) -> None:
    screen = console()
    for finding in findings:
        mark, style = _MARKS[finding.standing]
        screen.print(Text.assemble((f"{mark} ", style), harmless(finding.detail)), soft_wrap=True)
    say(f"{len(to_do)} to do, marked with an exclamation mark." if to_do else "All is well.", "bold")
