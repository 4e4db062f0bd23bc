"""The hash chain of a stream: each event's hash is over its own fields and the hash before it."""

import hashlib

from domain.event import canonical_json

BEGINNING = b""
"""What the first event of a stream is chained to."""


def payload_hash(payload: bytes) -> bytes:
    """sha256 over the stored bytes."""
    return hashlib.sha256(payload).digest()


def link(
    previous: bytes,
    *,
    stream: str,
    version: int,
    topic: str,
    schema_version: int,
    event_id: str,
    at: str,
    turn: str | None,
    actor: str,
    hash_of_payload: bytes,
) -> bytes:
    """sha256 over the canonical JSON array of these, hashes in hexadecimal."""
    fields = [previous.hex(), stream, version, topic, schema_version, event_id, at, turn, actor, hash_of_payload.hex()]
    return hashlib.sha256(canonical_json(fields)).digest()
