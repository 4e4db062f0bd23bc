"""The window that a prompt is built for: what the server says, and where it says nothing, what the player declares."""

from domain.prompt.events import Window


def with_declared(window: Window, override: int | None) -> Window:
    """The window with the player's declaration in the hole that the server left; it never moves a known window."""
    if override is None or window.enforceable:
        return window
    ceiling = override if window.model_max is None else min(override, window.model_max)
    detail = f"{window.detail} The settings declare {ceiling:,} tokens.".strip()
    return window.model_copy(update={"tokens": ceiling, "source": "declared", "enforceable": True, "detail": detail})
