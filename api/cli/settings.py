"""`fabula settings`: what holds for every story."""

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
import typer

from adapters.endpoint_policy import policed_client
from adapters.model_server import OpenAICompatibleNarrator
from adapters.window_probe import ServerWindowProbe
from api.cli.exits import NOT_SO
from api.cli.output import print_json, remark, say, show, table
from api.config import Config
from api.use_cases.connection import connection_answer
from api.wiring import Store, open_store
from domain.installation import Settings, SettingsInForce


def show_all(config: Config, *, as_json: bool) -> None:
    """Prints the settings in force, and where each comes from."""
    with open_store(config) as store:
        _print(config, store, store.settings.in_force(), as_json=as_json)


def change(config: Config, name: str, value: str, *, as_json: bool) -> None:
    """Sets one, and prints those in force. Raises InvalidInput, EndpointRefused."""
    if name not in Settings.model_fields:
        raise typer.BadParameter(f"There is no setting {name!r}. There are: {', '.join(Settings.model_fields)}.")
    with open_store(config) as store:
        settings = store.settings.change({name: meant(name, value)})
        _print(config, store, settings, as_json=as_json, only=None if as_json else (name,))
    if getattr(config, name, ""):
        remark(f"FABULA_{name.upper()} is set, and wins over this in every command that is started with it.")


def meant(name: str, value: str) -> Any:
    """What was typed, as JSON if it is that; text, with quotation marks or without, for a setting that is text."""
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    is_text = isinstance(Settings.model_fields[name].get_default(), str)
    return value if is_text and not isinstance(parsed, str | None) else parsed


def examine(config: Config, *, as_json: bool) -> None:
    """Asks the configured server. Ends with 1 when it does not answer or does not list the model."""
    with open_store(config) as store:
        answer = asyncio.run(_asked(config, store))
    if as_json:
        print_json(answer)
    else:
        _print_test(answer)
    if not (answer["reachable"] and (answer["model_listed"] or not answer["model"])):
        raise typer.Exit(NOT_SO)


async def _asked(config: Config, store: Store) -> dict[str, Any]:
    key = config.api_key.get_secret_value() or None
    async with policed_client(store.policy) as client:
        narrator = OpenAICompatibleNarrator(client, store.policy, api_key=key)
        probe = ServerWindowProbe(client, store.policy, api_key=key)
        return await connection_answer(store.settings.in_force(), narrator, probe)


def _print_test(answer: dict[str, Any]) -> None:
    window = answer["window"]
    rows = (
        ("endpoint", answer["endpoint"] + (" (public)" if answer["public_endpoint"] else "")),
        ("model", answer["model"] or "the first that the server offers"),
        ("offers", ", ".join(answer["models"]) or "nothing"),
        ("window", f"{window['tokens']} tokens" if window["tokens"] else "unknown"),
        ("", window["detail"]),
    )
    show(table(("", ""), [row for row in rows if row[1]]))
    say(answer["detail"], "green" if answer["reachable"] and answer["model_listed"] else "yellow")


def _print(
    config: Config, store: Store, settings: SettingsInForce, *, as_json: bool, only: Iterable[str] | None = None
) -> None:
    values = settings.model_dump(mode="json")
    if as_json:
        return print_json(values)
    stored = store.log.settings().set_at
    if settings.public_endpoint:
        values["endpoint"] += " (public)"
    names = only or Settings.model_fields
    rows = [(name, _origin(config, stored, settings, name), _shown(values[name])) for name in names]
    return show(table(("setting", "from", "value"), rows))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _origin(config: Config, stored: Any, settings: Settings, name: str) -> str:
    given = getattr(config, name, "") if name in ("endpoint", "model") else ""
    if given and given == getattr(settings, name):
        return f"FABULA_{name.upper()} or --{name}"
    if name in stored:
        return "set"
    return "the small narrator" if name in ("endpoint", "model") and getattr(settings, name) else "default"
