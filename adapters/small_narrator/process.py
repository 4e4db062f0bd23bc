"""The program that the child process runs: llama.cpp's server, for as long as its parent lives.

It is run by its path and imports nothing of Fabula, so that it starts at once and whatever the working directory is.
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LOOPBACK = "127.0.0.1"
_STDIN = 0
# A prompt of 8,192 tokens takes 188 MB. llama.cpp would keep 8 GB of prompts that it read before.
_PROMPT_CACHE_MIB = 256
_PARENT_CHECK_SECONDS = 0.5
# Threads that wait for each other spin, and so take the processor from the one they wait for. Measured on two busy cores:
# 2 tokens a second, and 17 where they sleep after this many turns; on two idle ones 80 and 70.
_SPIN_COUNT = "1000"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the parent is gone. 1 where the server cannot start; llama.cpp has then said why on stderr."""
    parent = os.getppid()
    options = _options(arguments)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        server = _serve(options)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _outlast(parent)
    del server  # it serves as long as it is referred to
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="small_narrator", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--alias", required=True, help="the name that the model answers to")
    parser.add_argument("--port", type=int, required=True, help=f"on {_LOOPBACK}")
    parser.add_argument("--context", type=int, required=True, help="the window, in tokens")
    return parser.parse_args(arguments)


def _end_with_stdin() -> None:
    """Leave when stdin ends, which is when the parent dies, however it dies: the kernel closes its end of the pipe.

    A parent that is killed can tell nobody, so nothing that it would do at its end is enough. `_exit`, since an
    ordinary exit would only end this thread, and ending the server properly would wait for the reply it is writing.
    """
    while os.read(_STDIN, 1024):
        pass
    os._exit(0)


def _outlast(parent: int) -> None:
    """Return when the parent is gone. Needed beside stdin: a process that the parent forked holds the pipe open too."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)


def _serve(options: argparse.Namespace) -> Any:
    """The server, which answers by now. Raises RuntimeError where the model or the port is not to be had."""
    os.environ.setdefault("GOMP_SPINCOUNT", _SPIN_COUNT)  # OpenMP reads it once, at the import
    import xllamacpp  # type: ignore[import-untyped]  # a compiled module without stubs

    return xllamacpp.Server(_parameters(xllamacpp.CommonParams(), options))


def _parameters(parameters: Any, options: argparse.Namespace) -> Any:
    """Loopback only, one reply at a time, and nothing of the story for a web page that the player has open.

    Web pages can reach loopback. llama.cpp lets every origin read its answers unless told, and `/slots` tells what is
    being read and written.
    """
    parameters.model.path = str(options.model)
    parameters.model_alias = {options.alias}  # a set: of a string it would take each letter
    parameters.hostnames = [_LOOPBACK]
    parameters.port = options.port
    parameters.cors_origins = f"http://{_LOOPBACK}:{options.port}"
    parameters.endpoint_slots = False
    parameters.ui = False
    parameters.n_ctx = options.context
    parameters.n_parallel = 1
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    return parameters


if __name__ == "__main__":
    # `_exit` for the same reason as above: the parent is gone or the server never was, and nothing needs an orderly end.
    status = main()
    sys.stderr.flush()
    os._exit(status)
