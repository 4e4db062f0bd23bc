"""What a command is given: texts that can be stored, models that are valid, JSON out of a file or standard input."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from api.cli.output import remark
from api.http.bounded_body import MAX_BODY
from domain.errors import InvalidInput
from domain.text import without_lone_surrogates

_Model = TypeVar("_Model", bound=BaseModel)


def cleaned(value: Any) -> tuple[Any, int]:
    """The same without lone surrogates, which an argument that is no UTF-8 holds, and how many there were."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, dict):
        pairs = [(cleaned(key), cleaned(one)) for key, one in value.items()]
        return {key: one for (key, _), (one, _) in pairs}, sum(k + one for (_, k), (_, one) in pairs)
    if isinstance(value, list):
        listed = [cleaned(one) for one in value]
        return [one for one, _ in listed], sum(count for _, count in listed)
    return value, 0


def valid(model: type[_Model], fields: Mapping[str, Any]) -> _Model:
    """The model of these fields. Raises InvalidInput, which names what is wrong."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise InvalidInput({".".join(map(str, one["loc"])): one["msg"] for one in error.errors()}) from error


def json_from(file: Path | None, what: str) -> Any:
    """The JSON of a file, or of standard input for `-` or none. Raises InvalidInput, also for more than a body may have.

    `what` names to a person at a terminal what should be typed.
    """
    raw = _bytes_of(file, what)
    if len(raw) > MAX_BODY:
        raise InvalidInput({"input": f"it has more than {MAX_BODY:,} bytes; send it in parts"})
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput({"input": f"it is no JSON in UTF-8 ({error})"}) from error


def _bytes_of(file: Path | None, what: str) -> bytes:
    if file is None or str(file) == "-":
        if sys.stdin.isatty():
            remark(f"Type {what} as JSON; Ctrl-D ends it.")
        return _some_of(sys.stdin.buffer)
    try:
        with file.open("rb") as opened:
            return _some_of(opened)
    except OSError as error:
        raise InvalidInput({"file": f"{file} cannot be read: {error.strerror}"}) from error


def _some_of(stream: BinaryIO) -> bytes:
    """As much as shows whether it is too much."""
    return stream.read(MAX_BODY + 1)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
