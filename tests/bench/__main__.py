"""`python -m tests.bench`: every figure out of one run, with its target."""

import argparse
import logging
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import structlog
from rich.console import Console

from tests.bench import appending, extraction, reading, rebuilding, replaying, size, tree, turns
from tests.bench.prose import SEED
from tests.bench.table import Figure, show

BENCHES: dict[str, tuple[str, Callable[..., list[Figure]]]] = {
    "appending": ("1. Appending a turn's events, against SQLite alone", appending.measure),
    "turns": ("2. The product's own share of a turn, with an instant model", turns.measure),
    "size": ("3. The size of a store", size.measure),
    "reading": ("4. Reading", reading.measure),
    "rebuilding": ("5. Building the views anew", rebuilding.measure),
    "tree": ("6. Going about in the tree, with the work that it takes", tree.measure),
    "replaying": ("7. Replaying an extractor over every reply", replaying.measure),
    "extraction": ("8. Extracting what is story", extraction.measure),
}


def main() -> None:
    arguments = _arguments()
    # Warnings tell a player of a model server that says odd things, and this one makes its counts up.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    console = Console(width=120, highlight=False, soft_wrap=True)
    _describe(console)
    begun = perf_counter()
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as directory:
        for name in arguments.only or BENCHES:
            title, measure = BENCHES[name]
            show(title, measure(Path(directory) / name, quick=arguments.quick), console)
    console.print(f"{perf_counter() - begun:.0f} seconds")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and shorter stories; about a minute")
    parser.add_argument("--only", action="append", choices=sorted(BENCHES), help="one bench; may be repeated")
    return parser.parse_args()


def _describe(console: Console) -> None:
    console.print(
        f"{' '.join(['python -m tests.bench', *sys.argv[1:]])}\n"
        f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, load {os.getloadavg()[0]:.1f}, seed {SEED}\n"
        "Figures are medians unless they say otherwise.\n"
    )


if __name__ == "__main__":
    main()
