"""How much fits. Integer arithmetic, in tokens."""

from dataclasses import dataclass

from domain.prompt.events import Window

MESSAGE_OVERHEAD = 5
"""What a chat template adds to a message: two borders, its role, two line breaks (ChatML, Llama 3 and Gemma alike)."""

SEPARATOR = 1
"""The blank line between two sections."""


@dataclass(frozen=True)
class Budget:
    """The bounds of one request: what the server will read, and the part of it that is spoken for."""

    configured: int
    effective: int
    reply: int
    reserve: int

    @property
    def window_binds(self) -> bool:
        """Whether the server's window, and not the setting, is the bound."""
        return self.effective < self.configured


def budget_for(configured: int, window: Window, reply: int) -> Budget:
    """The budget under a window; a window that is not enforceable bounds nothing."""
    known = window.tokens if window.enforceable else None
    effective = configured if known is None else min(configured, known)
    return Budget(configured, effective, reply, safety_reserve(effective))


def safety_reserve(effective: int) -> int:
    """What stays free for the drift between our count and the server's: max(256, ceil(effective × 5 / 100))."""
    return max(256, -(-effective * 5 // 100))
