"""Values of the state as people read them."""

import json
from typing import Any


def said(value: Any) -> str:
    """Text as it is, a list by its entries, nothing as a dash, everything else as JSON has it."""
    if value is None or value in ("", []):
        return "–"
    if isinstance(value, list):
        return ", ".join(map(said, value))
    return value if isinstance(value, str) else json.dumps(value)
