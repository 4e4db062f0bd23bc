"""The reference part of README, written out of the code: settings, variables, commands, routes, events, codes.

`python -m api.reference README.md` rewrites what stands between the markers; with `--check` it only compares, and its
exit status is 1 when README is not what the code says.
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from api.cli.commands import app as commands
from api.config import Config
from api.http.app import create_app
from api.http.problems import STATUS_OF
from api.http.shapes.campaigns import NewCampaign
from domain.catalogue import EVENTS
from domain.installation import Settings
from domain.narrative.refusals import SENTENCES
from domain.narrative.schema import vocabulary_table

BEGIN = "<!-- reference: written by `make docs` -->"
END = "<!-- end of the reference -->"


def reference() -> str:
    """The reference, in Markdown."""
    parts = (
        ("### Settings", "`fabula settings set NAME VALUE`, or `PATCH /api/settings`.", _settings()),
        (
            "### Settings of a story",
            "`fabula campaigns new` and `revise`, or `POST /api/campaigns` and `PATCH /api/campaigns/{campaign}`.",
            _settings_of_a_story(),
        ),
        ("### Environment", "", _environment()),
        ("### Commands", "`fabula COMMAND --help` says more.", _commands()),
        ("### Routes", "`/docs` shows each with its shapes and examples.", _routes()),
        (
            "### State events",
            "What a narrator proposes and a player corrects with. `?` is optional, `[]` a list; sizes are in characters.",
            vocabulary_table(),
        ),
        ("### Refusals", "The `code` of a state event that is refused.", _refusals()),
        ("### Events", "What the log holds.", _events()),
        ("### Codes", "The `code` of a problem, and its HTTP status.", _codes()),
    )
    return "\n\n".join("\n\n".join(part for part in section if part) for section in parts)


def rewritten(readme: str) -> str:
    """The text with the reference of today between the markers. ValueError when they are missing."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("README has no place for the reference")
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Rewrites or checks the file that is named."""
    path = Path(arguments[0])
    readme = path.read_text(encoding="utf-8")
    if "--check" in arguments:
        return 0 if rewritten(readme) == readme else 1
    path.write_text(rewritten(readme), encoding="utf-8")
    return 0


def _table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _settings() -> str:
    return _table(("setting", "what it is", "default", "bounds"), _fields(Settings))


def _settings_of_a_story() -> str:
    return _table(("setting", "what it is", "default", "bounds"), _fields(NewCampaign))


def _fields(model: type[BaseModel], within: str = "") -> Iterator[Sequence[str]]:
    """A row for each field, and for each field of those that are models themselves."""
    schema = model.model_json_schema()["properties"]
    for name, field in model.model_fields.items():
        yield f"`{within}{name}`", field.description or "", _default(field), _bounds(schema[name])
        if isinstance(field.default, BaseModel):
            yield from _fields(type(field.default), f"{within}{name}.")


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is None:
        return "not set"
    if value in ("", ()) or isinstance(value, BaseModel):
        return "empty"
    return _literal(value)


def _literal(value: object) -> str:
    """A value as it is written in a variable, in JSON and on a command line."""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _bounds(schema: dict[str, Any]) -> str:
    """What a JSON schema allows, in words."""
    chosen = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    if "enum" in chosen:
        return ", ".join(f"`{value}`" if value else "empty" for value in chosen["enum"])
    low = chosen.get("minimum", chosen.get("exclusiveMinimum"))
    high = chosen.get("maximum")
    if low is not None and high is not None:
        return f"{'above ' if 'exclusiveMinimum' in chosen else ''}{low:,} to {high:,}"
    if "maxLength" in chosen:
        return f"at most {chosen['maxLength']:,} characters"
    if "maxItems" in chosen:
        return f"at most {chosen['maxItems']} items"
    return f"each {_bounds(chosen['items'])}" if "items" in chosen else ""


def _environment() -> str:
    rows = (
        (f"`FABULA_{name.upper()}`", field.description or "", "not set" if field.default_factory else _shown(field))
        for name, field in Config.model_fields.items()
    )
    return _table(("variable", "what it decides", "default"), rows)


def _shown(field: FieldInfo) -> str:
    value = field.default.get_secret_value() if hasattr(field.default, "get_secret_value") else field.default
    return "not set" if value == "" else _literal(value)


def _commands() -> str:
    group = typer.main.get_command(commands)
    return _table(("command", "what it does"), _lines(group, ""))


def _lines(group: Any, before: str) -> Iterator[Sequence[str]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield f"`{before}{name}`", command.get_short_help_str(limit=200)
        if hasattr(command, "commands"):
            yield from _lines(command, f"{before}{name} ")


def _routes() -> str:
    return _table(("route", "what it does"), _operations())


def _operations() -> Iterator[Sequence[str]]:
    for path, operations in create_app(Config(home=Path("unused"))).openapi()["paths"].items():
        for method, operation in operations.items():
            yield f"`{method.upper()} {path}`", operation["description"].splitlines()[0]


def _events() -> str:
    rows = ((f"`{event.topic}`", str(event.schema_version), _summary(event)) for event in EVENTS)
    return _table(("topic", "schema", "what it says, and when it is written"), rows)


def _summary(event: type[BaseModel]) -> str:
    return " ".join((inspect.getdoc(event) or "").split())


def _refusals() -> str:
    return _table(("code", "why"), ((f"`{code}`", sentence) for code, sentence in SENTENCES.items()))


def _codes() -> str:
    return _table(("code", "status"), ((f"`{code}`", str(status)) for code, status in STATUS_OF.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
