"""A process that has imported Fabula and forks it: each fork is a `fabula serve` of its own, ready in a moment.

Importing takes two seconds, which forty servers cannot each spend. The fork runs the program's own entry point, with
its arguments, environment and streams; only the import is shared. One JSON object a line: a request on standard input,
its answer on standard output.
"""

import ctypes
import json
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

_CLONE_NEWNS = 0x00020000


def main() -> None:
    """Serve until standard input ends."""
    _import_everything()
    print(json.dumps({"ready": os.getpid(), "threads": threading.active_count()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def _import_everything() -> None:
    for module in ("api.cli.commands", "api.cli.serve"):
        import_module(module)
    from adapters.tokens import TiktokenCounter

    TiktokenCounter().count("the table is loaded")


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if "reap" in request:
        _, status = os.waitpid(request["reap"], 0)
        return {"status": os.waitstatus_to_exitcode(status)}
    pid = os.fork()
    if pid == 0:
        _become(request)
    return {"pid": pid}


def _become(request: dict[str, Any]) -> NoReturn:
    status = 70
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        _connect(request["stdout"], request["stderr"])
        os.environ.update(request["environment"])
        if request["mounts_of"]:
            _enter_mounts(request["mounts_of"])
        _run(request["arguments"], request["stop_at"], request["control"])
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001  # a fork must never return into its parent's loop
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _connect(stdout: str, stderr: str) -> None:
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, stdout, os.O_WRONLY), (2, stderr, os.O_WRONLY)):
        descriptor = os.open(path, flags | (os.O_APPEND | os.O_CREAT if number else 0), 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    # As a new process has them; these of the parent have been read and written.
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, "w" if number else "r", closefd=False) for number in range(3)
    )


def _enter_mounts(pid: int) -> None:
    """See the file systems that this process sees."""
    libc = ctypes.CDLL(None, use_errno=True)
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    if libc.setns(namespace, _CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "cannot enter the mount namespace")
    os.close(namespace)


def _run(arguments: list[str], stop_at: str | None, control: str | None) -> None:
    if stop_at and control:
        import api.wiring
        from tests.e2e.stopping_log import stopping_at

        api.wiring.SqlEventLog = stopping_at(stop_at, Path(control))  # type: ignore[attr-defined]  # the one change to the program
    from api.cli import main as fabula

    sys.argv = ["fabula", *arguments]
    fabula()


if __name__ == "__main__":
    main()
