"""The process in which an extractor from outside of the package runs: requests and answers are lines of JSON on pipes.

`python -P -m replays.candidate_child SPEC BYTES`, where SPEC is `module:function` or `path/file.py:function` and BYTES
the most memory that it may have. A request is {"number": n, "raw": reply}. An answer is {"number": n, "reading": …} or
{"number": n, "error": …}; the first, number 0, says whether the function was found.

Standard input and output are put out of reach of what is loaded here: what it prints goes nowhere, and cannot be taken
for an answer. Nothing of a reply is ever evaluated.
"""

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

_LONGEST_ERROR = 300


def main() -> None:
    """Answers requests until there are no more."""
    asked, answers = _own_pipes()
    spec, most_bytes = sys.argv[1:]
    _limit_memory(int(most_bytes))
    function = _answered(answers, 0, lambda: {"found": _load(spec)}, shown=False)
    process = os.getpid()
    while function is not None and (line := asked.readline()):
        request = json.loads(line)
        _answered(answers, request["number"], lambda: {"reading": _plain(function(request["raw"]))}, process=process)  # noqa: B023  # called at once


def _own_pipes() -> tuple[TextIO, TextIO]:
    """Standard input and output, under other numbers; in their places is what nobody reads and writes."""
    asked, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return open(asked, encoding="utf-8"), open(answers, "w", encoding="utf-8")  # noqa: PTH123  # for as long as it runs


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # where there are no such limits
        return
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _load(spec: str) -> Callable[[str], Any]:
    """The function. Raises whatever importing its file raises, and LookupError where it is not there."""
    place, _, name = spec.rpartition(":")
    if place.endswith(".py"):
        sys.path.insert(0, str(Path(place).resolve().parent))
        found = importlib.util.spec_from_file_location(Path(place).stem, place)
        if found is None or found.loader is None:
            raise LookupError(f"{place} is no Python file")
        module = importlib.util.module_from_spec(found)
        sys.modules[found.name] = module
        found.loader.exec_module(module)
    else:
        sys.path.insert(0, str(Path.cwd()))
        module = importlib.import_module(place)
    function = getattr(module, name, None)
    if not callable(function):
        raise LookupError(f"{place} has no function {name!r}")  # noqa: TRY004  # it is not there
    return function  # type: ignore[no-any-return]  # it is called, and what it returns is looked at


def _answered(
    answers: TextIO, number: int, work: Callable[[], dict[str, Any]], *, shown: bool = True, process: int = 0
) -> Any:
    """Answers with what the work comes to, whatever it raises; and gives that back, None where it raised."""
    result: Any = None
    try:
        done = work()
        result = next(iter(done.values()))
        line = json.dumps({"number": number, **(done if shown else {})})
    except BaseException as error:  # noqa: BLE001  # SystemExit and all: it is to be told, and the next reply read
        line = json.dumps({"number": number, "error": f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]})
    if process and os.getpid() != process:
        os._exit(0)  # the function forked, and this is what came of it
    answers.write(f"{line}\n")
    answers.flush()
    return result


def _plain(result: Any) -> dict[str, Any]:
    """What a function returned, as JSON values: a mapping, or an object with attributes of those names."""
    found = {name: _part(result, name) for name in ("prose", "removals", "events", "block")}
    if not isinstance(found["prose"], str):
        raise TypeError("it returned no `prose`")
    removals = [_removal(removal) for removal in found["removals"] or ()]
    events = found["events"]
    proposed = "absent" if events is None else events if isinstance(events, str) else list(events)
    return {"prose": found["prose"], "removals": removals, "events": proposed, "block": found["block"]}


def _removal(removal: Any) -> dict[str, Any]:
    """{rule, start, end} of the three in this order, or by their names."""
    if isinstance(removal, tuple | list):
        rule, start, end = removal
        return {"rule": rule, "start": start, "end": end}
    return {name: _part(removal, name) for name in ("rule", "start", "end")}


def _part(whole: Any, name: str) -> Any:
    return whole.get(name) if isinstance(whole, Mapping) else getattr(whole, name, None)


if __name__ == "__main__":
    main()
