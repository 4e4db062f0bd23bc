"""What is well with an installation, and what needs doing: the checks behind `fabula doctor`. They change nothing."""

import asyncio
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import httpx

from adapters.endpoint_policy import EndpointPolicy, policed_client
from adapters.event_log import chain
from adapters.event_log.tables import LOG_FORMAT
from adapters.model_server import OpenAICompatibleNarrator
from adapters.small_narrator import MODEL, NarratorFailedToStart
from adapters.small_narrator.model_file import installed_model_file
from adapters.window_probe import ServerWindowProbe
from api.config import Config
from api.use_cases.connection import connection_answer
from api.use_cases.views import stopped_view
from api.wiring import VERSION, Store, open_store, place_of_the_log, small_narrator_defaults
from domain.errors import FabulaError, StoreFailure
from domain.event import Recorded
from domain.installation import SettingsInForce
from domain.log import EventLog

Standing = Literal["well", "note", "to_do"]
"""Well; worth knowing; needs doing."""

USUAL_SERVERS: Mapping[str, str] = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
}
"""Where the model servers that people run listen unless they are told otherwise."""

ENOUGH_BYTES = 200 * 2**20
ANSWER_SECONDS = 3.0

_NEWEST_EVENTS = 200
_NAMED_MODELS = 5


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, and a sentence about it that says what to do where something is to be done."""

    about: str
    standing: Standing
    detail: str


async def diagnose(config: Config, usual_servers: Mapping[str, str] = USUAL_SERVERS) -> list[Finding]:
    """Everything that is worth looking at, in the order in which one would mend it."""
    findings = [_python(), *_directory(config.home)]
    stored, settings = _store(config)
    narrated_here = settings.endpoint == small_narrator_defaults(config).endpoint
    policy = EndpointPolicy(config.public_endpoints)
    async with policed_client(policy, connect_seconds=ANSWER_SECONDS) as client:
        key = config.api_key.get_secret_value() or None
        narrator = OpenAICompatibleNarrator(client, policy, api_key=key, models_seconds=ANSWER_SECONDS)
        keyless = OpenAICompatibleNarrator(client, policy, models_seconds=ANSWER_SECONDS)
        probe = ServerWindowProbe(client, policy, api_key=key)
        others = {name: url for name, url in usual_servers.items() if url != settings.endpoint}
        asked = await asyncio.gather(
            _endpoint(settings, narrator, probe, narrated_here=narrated_here),
            _port(client, config),
            *(_usual_server(keyless, name, url) for name, url in others.items()),
        )
    findings += [*stored, *_public_endpoints(policy)]
    return [*findings, _model_file(needed=narrated_here), *(found for some in asked for found in some)]


async def fabula_answers(config: Config) -> bool:
    """Whether what listens where this Fabula would is a Fabula itself."""
    async with policed_client(EndpointPolicy(), connect_seconds=ANSWER_SECONDS) as client:
        return any(found.standing == "note" for found in await _port(client, config))


def _python() -> Finding:
    return Finding("Python", "well", f"Fabula {VERSION} runs on Python {platform.python_version()}.")


def _directory(home: Path) -> Iterator[Finding]:
    """Whether data can be kept; a directory that is not there yet is judged by where it would be made."""
    nearest = next(path for path in (home, *home.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        why = f"{home} cannot be written ({error.strerror}). Mend that, or name another directory with FABULA_HOME."
        yield Finding("data directory", "to_do", why)
        return
    yield Finding(
        "data directory", "well", f"{home} can be written{'' if home.exists() else ', and is not there yet'}."
    )
    free = shutil.disk_usage(nearest).free
    enough = free >= ENOUGH_BYTES
    left = f"{free / 2**30:.1f} GiB are free there"
    yield Finding("disk", "well" if enough else "to_do", f"{left}." if enough else f"{left}: make room.")


def _public_endpoints(policy: EndpointPolicy) -> Iterator[Finding]:
    for endpoint in sorted(policy.public_endpoints):
        allowed = (
            f"FABULA_PUBLIC_ENDPOINT allows {endpoint}: what a story holds leaves your network when it is told there."
        )
        yield Finding("public endpoint", "note", allowed)


def _store(config: Config) -> tuple[list[Finding], SettingsInForce]:
    """What there is to say about the store, and the settings in force; those of a store that cannot be read are none."""
    try:
        if not place_of_the_log(config).holds_a_store():
            return [Finding("store", "note", "There is no store yet; the first story makes one.")], _without_store(
                config
            )
        with open_store(config, following=False) as store:
            where = f" at {store.where}" if config.database_url.get_secret_value() else ""
            opened = Finding("store", "well", f"The store{where} opens; its format is {LOG_FORMAT}, which is today's.")
            return [opened, _newest_events(store.log), *_views(store)], store.settings.in_force()
    except StoreFailure as error:
        return [Finding("store", "to_do", error.message)], _without_store(config)


def _without_store(config: Config) -> SettingsInForce:
    defaults = small_narrator_defaults(config)
    endpoint = config.endpoint or defaults.endpoint
    public = EndpointPolicy(config.public_endpoints).is_public(endpoint)
    return SettingsInForce(endpoint=endpoint, model=config.model or defaults.model, public_endpoint=public)


def _newest_events(log: EventLog) -> Finding:
    """Whether the newest events can be read and follow from one another."""
    events = log.read(max(0, log.max_position() - _NEWEST_EVENTS), _NEWEST_EVENTS)
    ends: dict[str, Recorded] = {}
    for recorded in events:
        before = ends.get(recorded.stream)
        if before is not None and not _follows(before, recorded):
            why = f"Event {recorded.version} of {recorded.stream} does not follow from the one before it. `fabula verify` says more; restore the store from a backup."
            return Finding("log", "to_do", why)
        ends[recorded.stream] = recorded
    return Finding(
        "log", "well", f"The newest {len(events)} events fit; `fabula verify` walks all {log.max_position()}."
    )


def _follows(before: Recorded, recorded: Recorded) -> bool:
    link = chain.link(
        before.chain,
        stream=recorded.stream,
        version=before.version + 1,
        topic=recorded.topic,
        schema_version=recorded.schema_version,
        event_id=recorded.event_id,
        at=recorded.at,
        turn=recorded.turn,
        actor=recorded.actor,
        hash_of_payload=recorded.payload_hash,
    )
    return link == recorded.chain


def _views(store: Store) -> Iterator[Finding]:
    standing = store.views.status()
    stopped = [view for view in standing if view.state in ("failed", "parked")]
    for view in stopped:
        yield Finding("views", "to_do", stopped_view(view))
    if not stopped:
        lag = max((view.lag for view in standing), default=0)
        behind = f"; the slowest has {lag} positions to go, and catches up by itself" if lag else ""
        yield Finding("views", "well", f"{len(standing)} views follow the log{behind}.")


def _model_file(*, needed: bool) -> Finding:
    try:
        path = installed_model_file()
    except NarratorFailedToStart as error:
        return Finding("small narrator", "to_do" if needed else "note", error.message)
    return Finding("small narrator", "well", f"Its model is installed ({path.name}, {path.stat().st_size >> 20} MiB).")


async def _endpoint(
    settings: SettingsInForce, narrator: OpenAICompatibleNarrator, probe: ServerWindowProbe, *, narrated_here: bool
) -> list[Finding]:
    answer = await connection_answer(settings, narrator, probe)
    where = settings.endpoint
    if not answer["reachable"]:
        if narrated_here:
            idle = "The small narrator does not run now; `fabula play` and `fabula serve` start it."
            return [Finding("model server", "note", idle)]
        todo = f"{answer['detail']} `fabula settings set endpoint URL` names another server."
        return [Finding("model server", "to_do", todo)]
    listed = answer["model_listed"] or not settings.model
    told = f"{where} answers and offers {settings.model}." if answer["model_listed"] else f"{where}: {answer['detail']}"
    advice = "" if listed else " `fabula settings set model NAME` chooses one."
    return [Finding("model server", "well" if listed else "to_do", told + advice), _window(answer["window"])]


def _window(window: Mapping[str, object]) -> Finding:
    if window["tokens"] is None:
        advice = "`fabula settings set context_window_override TOKENS` declares what it reads."
        return Finding("window", "note", f"{window['detail']} {advice}")
    return Finding("window", "well", f"The server reads {window['tokens']} tokens. {window['detail']}".strip())


async def _port(client: httpx.AsyncClient, config: Config) -> list[Finding]:
    """Who listens where `fabula serve` would."""
    if config.port == 0:
        return []
    where = f"http://{_own_host(config.host)}:{config.port}"
    try:
        response = await client.get(f"{where}/api/health", timeout=ANSWER_SECONDS, headers=_token(config))
    except httpx.ConnectError:
        return [Finding("port", "well", f"Port {config.port} is free for `fabula serve`.")]
    except (httpx.HTTPError, FabulaError):
        return [_stranger(config.port)]
    return [_answered(response, where, config.port)]


def _answered(response: httpx.Response, where: str, port: int) -> Finding:
    try:
        said = response.json()
    except ValueError:
        said = None
    if isinstance(said, dict) and "projections" in said:
        return Finding("port", "note", f"Fabula {said.get('version', '')} serves at {where} already.")
    if isinstance(said, dict) and said.get("code") == "token_required":
        return Finding("port", "note", f"A Fabula that asks for a token serves at {where} already.")
    return _stranger(port)


def _stranger(port: int) -> Finding:
    todo = f"Another program listens on port {port}. Stop it, or choose another port with FABULA_PORT or --port."
    return Finding("port", "to_do", todo)


def _token(config: Config) -> dict[str, str]:
    token = config.token.get_secret_value()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _own_host(host: str) -> str:
    """Where this machine reaches a server that listens there."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host  # noqa: PLR2004  # the versions of IP have no other names


async def _usual_server(narrator: OpenAICompatibleNarrator, name: str, endpoint: str) -> list[Finding]:
    """What a server on its usual port offers; nothing when there is none."""
    try:
        models = [model for model in await narrator.models(endpoint) if model != MODEL]
    except FabulaError:
        return []
    use = f"To use it: `fabula settings set endpoint {endpoint}`"
    if not models:
        return [Finding(name, "note", f"{name} answers at {endpoint} and offers no model. Load one there. {use}.")]
    named = ", ".join(models[:_NAMED_MODELS]) + (", …" if len(models) > _NAMED_MODELS else "")
    chosen = f"`fabula settings set model {models[0]}`"
    return [Finding(name, "note", f"{name} answers at {endpoint} and offers {named}. {use}, then {chosen}.")]
