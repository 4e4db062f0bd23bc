"""JSON values, told apart as JSON does: to Python 1, 1.0 and true are equal."""

from typing import Any

import orjson


def same(one: Any, other: Any) -> bool:
    """Whether two values are one and the same JSON, whatever the order of keys."""
    return one is other or written(one) == written(other)


def written(value: Any) -> bytes:
    """The value with its keys in order. TypeError for what is no JSON, or nested too deep to be kept."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
