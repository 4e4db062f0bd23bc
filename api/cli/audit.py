"""`fabula audit`: what a turn sent, to the byte, and what its server said it read."""

import shlex
from collections.abc import Iterator
from typing import Any

import orjson
from rich.table import Table

from api.cli.output import print_json, say, show, table, write_bytes
from api.cli.stores import existing_store
from api.config import Config
from api.use_cases.audit import SentRequest, prompt_answer, request_of, turn_of_node
from api.use_cases.stories import turns_answer
from api.wiring import Store

_PATHS = {"chat": "chat/completions", "completion": "completions"}
_TURN_COLUMNS = ("turn", "node", "opened", "ended", "read", "verdict")
_PARTS = ("protected", "knowledge", "history", "reply", "reserve", "transport")


def list_turns(config: Config, campaign: str, *, limit: int, before: int | None, as_json: bool) -> None:
    """Prints a page of the story's turns, newest first. Raises UnknownCampaign."""
    with existing_store(config) as store:
        page = turns_answer(store, campaign, limit, before)
    if as_json:
        return print_json(page)
    if not page["turns"]:
        return say("No turn has been taken yet, so nothing was sent.")
    show(table(_TURN_COLUMNS, map(_turn_row, page["turns"]), right=("node", "read")))
    if page["next"] is not None:
        say(f"Older ones: --before {page['next']}", "dim")
    return None


def show_record(config: Config, campaign: str, place: str, *, as_json: bool) -> None:
    """Prints the record of a turn, or of the turn that made a node. Raises UnknownNode, UnknownTurn."""
    with existing_store(config) as store:
        record = prompt_answer(store.log, store.bodies, campaign, _turn_at(store, campaign, place))
    if as_json:
        print_json(record)
    else:
        print_record(campaign, record)


def show_body(config: Config, campaign: str, place: str) -> None:
    """Writes the bytes that were sent, and nothing else. Raises as `show_record`."""
    with existing_store(config) as store:
        write_bytes(_sent(store, campaign, place)[0].body)


def show_command(config: Config, campaign: str, place: str) -> None:
    """Prints a command line that sends the same bytes to the same endpoint. Raises as `show_record`."""
    with existing_store(config) as store:
        sent, record = _sent(store, campaign, place)
    with_key = bool(config.api_key.get_secret_value())
    write_bytes(curl(f"{record['endpoint'].rstrip('/')}/{_PATHS[record['mode']]}", sent.body, with_key=with_key))


def curl(url: str, body: bytes, *, with_key: bool) -> bytes:
    """A command line for a shell, which sends exactly the body: `head` takes off the here-document's last newline."""
    end = _delimiter(body)
    key = b' -H "Authorization: Bearer $FABULA_API_KEY"' if with_key else b""
    return b"head -c %d <<'%s' | curl -sS -N %s -H 'Content-Type: application/json'%s --data-binary @-\n%s\n%s\n" % (
        len(body),
        end,
        shlex.quote(url).encode(),
        key,
        body,
        end,
    )


def print_record(campaign: str, record: dict[str, Any]) -> None:
    """The record, for people."""
    show(sections_table(record))
    show(table(("", ""), [(name, fact) for name, fact in _facts(campaign, record) if fact]))


def sections_table(record: dict[str, Any]) -> Table:
    """The sections of a prompt, with what each costs and why it is there."""
    rows = ((section["label"], section["tokens"], section["why"]) for section in record["sections"])
    return table(("section", "tokens", "why"), rows, right=("tokens",))


def _sent(store: Store, campaign: str, place: str) -> tuple[SentRequest, dict[str, Any]]:
    turn = _turn_at(store, campaign, place)
    return request_of(store.log, store.bodies, campaign, turn), prompt_answer(store.log, store.bodies, campaign, turn)


def _turn_at(store: Store, campaign: str, place: str) -> str:
    return turn_of_node(store.log, campaign, int(place)) if place.isascii() and place.isdecimal() else place


def _delimiter(body: bytes) -> bytes:
    end = b"FABULA_BODY"
    while end in body:
        end += b"_"
    return end


def _turn_row(turn: dict[str, Any]) -> tuple[object, ...]:
    account = orjson.loads(turn["accounting"]) if isinstance(turn["accounting"], str) else turn["accounting"] or {}
    ended = turn["ended"] or "running"
    return (
        turn["turn"],
        turn["node"] or turn["player_node"],
        turn["opened_at"],
        f"{ended}: {turn['error']}" if turn["error"] else ended,
        account.get("prompt_tokens"),
        account.get("status"),
    )


def _facts(campaign: str, record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    made = f"node {record['node']}" if record["node"] else "no node: the turn failed"
    yield "turn", f"{record['turn']} of {campaign}, which made {made}"
    public = " (public)" if record["public_endpoint"] else ""
    yield "sent", f"{record['at']} to {record['endpoint']}{public}, {record['mode']}"
    yield "model", record["model"] or "unnamed"
    yield "budget", _budget(record["tokens"])
    yield "window", _window(record["window"])
    yield "history", _history(record["history"])
    yield "prefix kept", _prefix(record["history"]["prefix_kept"])
    yield "verdict", _verdict(record["accounting"])
    yield "SHA-256", f"{record['body_sha256']} of {record['body_bytes']} bytes"


def _budget(tokens: dict[str, Any]) -> str:
    parts = ", ".join(f"{part} {tokens[part]}" for part in _PARTS if tokens.get(part) is not None)
    asked = (
        f" ({tokens['configured_budget']} are configured)" if tokens["budget"] != tokens["configured_budget"] else ""
    )
    exact = f", exactly {tokens['exact']}" if tokens["exact"] is not None else ""
    return f"{tokens['total']} tokens estimated{exact}, of {tokens['budget']}{asked}: {parts}"


def _window(window: dict[str, Any]) -> str:
    if window["tokens"] is None:
        return f"unknown. {window['detail']}"
    verified = "verified" if window["verified"] else "not verified"
    return f"{window['tokens']} tokens, {window['source']}, {verified}. {window['detail']}"


def _history(history: dict[str, Any]) -> str:
    if history["first_node"] is None:
        return f"none of {history['total']} nodes"
    span = f"nodes {history['first_node']} to {history['last_node']}, of a line of {history['total']}"
    cut = ", the oldest cut short" if history["oldest_truncated"] else ""
    if history["floor_depth"] is None:
        return f"{span}{cut}: the whole story fits"
    moved = f" (moved: {history['floor_moved']})" if history["floor_moved"] else ""
    return f"{span}{cut}; it begins at moment {history['floor_depth']}{moved}"


def _prefix(kept: float | None) -> str:
    return "" if kept is None else f"{kept:.1%} of the earlier request's bytes are repeated from its start"


def _verdict(account: dict[str, Any] | None) -> str:
    return "none: the turn ended before the server counted" if account is None else account["detail"]
