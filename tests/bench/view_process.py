"""What is done with a store's views in a process of its own, so that its memory and its start can be told apart.

`python -m tests.bench.view_process STORE VIEWS [NAME]` rebuilds a view and prints its seconds and by how many megabytes
the process grew; without a name it reads a row of each view and prints nothing.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

from sqlalchemy import select

from api.cli.stores import keep_what_is_loaded
from projections.all import ALL
from projections.engine.engine import Engine
from tests.bench.stores import Store, quiet


def main() -> None:
    """Rebuilds a view, or starts and reads."""
    quiet()
    address, directory, *names = sys.argv[1:]
    with Store(address, Path(directory)).opened() as views:
        keep_what_is_loaded()  # as the commands do
        for name in names:
            print(json.dumps(_rebuilt(views, name)))
        if not names:
            _read(views)


def _rebuilt(views: Engine, name: str) -> dict[str, float]:
    before, begun = peak(), perf_counter()
    views.rebuild(name)
    return {"seconds": perf_counter() - begun, "megabytes": peak() - before}


def _read(views: Engine) -> None:
    for projection in ALL:
        with views.reading(projection.name) as connection:
            for table in projection.tables.sorted_tables:
                connection.execute(select(table).limit(1)).all()


def peak() -> float:
    """The most memory that this process ever had, in megabytes. What `getrusage` says includes its parent's."""
    status = Path("/proc/self/status")
    if not status.exists():  # not Linux
        return 0.0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
