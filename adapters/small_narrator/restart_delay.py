"""How long to wait before a dead child is started again."""

_FIRST_SECONDS = 0.2
_LONGEST_SECONDS = 10.0
_HEALTHY_SECONDS = 60.0


def restart_delay(previous: float | None, healthy_for: float) -> float:
    """Seconds: 0.2, then twice the previous up to 10; 0.2 again after a minute of health."""
    if previous is None or healthy_for >= _HEALTHY_SECONDS:
        return _FIRST_SECONDS
    return min(previous * 2, _LONGEST_SECONDS)
