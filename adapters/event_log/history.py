"""What the log says of an earlier position: found by halving, since in a stream positions grow with versions."""

import orjson
from sqlalchemy import Connection, bindparam, select

from adapters.event_log.tables import event, stream_head

_END = select(stream_head.c.version).where(stream_head.c.stream == bindparam("of"))
_POSITION = select(event.c.position).where(event.c.stream == bindparam("of"), event.c.version == bindparam("numbered"))
_BACKWARDS = (
    select(event.c.topic, event.c.payload)
    .where(event.c.stream == bindparam("of"), event.c.version <= bindparam("numbered"))
    .order_by(event.c.version.desc())
)


def version_at(connection: Connection, stream: str, position: int) -> int:
    """The version of the stream's newest event at or before a position, 0 before its first."""
    low, high = 0, connection.execute(_END, {"of": stream}).scalar() or 0
    while low < high:
        middle = (low + high + 1) // 2
        stands_at = connection.execute(_POSITION, {"of": stream, "numbered": middle}).scalar_one()
        low, high = (middle, high) if stands_at <= position else (low, middle - 1)
    return low


def head_at(connection: Connection, stream: str, position: int) -> int | None:
    """The head as it was at a position, None before the story began. Few events lie between two that set it."""
    newest = {"of": stream, "numbered": version_at(connection, stream, position)}
    with connection.execute(_BACKWARDS, newest, execution_options={"yield_per": 20}) as rows:
        return next((head for row in rows if (head := _head_set_by(row.topic, row.payload)) is not None), None)


def _head_set_by(topic: str, payload: bytes) -> int | None:
    """The node that an event made the head; None for one that left it."""
    match topic:
        case "campaign.started":
            return 1
        case "story.head_moved":
            return int(orjson.loads(payload)["to_node"])
        case "story.player_acted" | "story.node_revised":
            return int(orjson.loads(payload)["node"])
        case "story.narration_accepted":
            data = orjson.loads(payload)
            return None if data["late"] else int(data["node"])
        case _:
            return None
