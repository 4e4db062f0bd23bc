"""The state events that a narrator may propose and a player may correct with, by their types."""

EVENT_TYPES: frozenset[str] = frozenset(
    {
        "create_entity",
        "rename_entity",
        "describe_entity",
        "set_entity_status",
        "set_entity_attribute",
        "set_possession",
        "set_current_location",
        "add_fact",
        "invalidate_fact",
        "set_relationship",
        "end_relationship",
        "open_thread",
        "resolve_thread",
        "set_scene",
    }
)
