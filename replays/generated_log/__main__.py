"""`python -m replays.generated_log --seed 1 --events 200000 STORE` writes a log out of a seed.

STORE is a directory, where it becomes log.db, or the URL of a PostgreSQL database.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter

from adapters.event_log.postgresql import PostgresqlStore
from domain.errors import StoreFailure
from replays.generated_log.writing import EVENTS_A_CAMPAIGN, StoreNotEmpty, write


def main() -> None:
    """Writes a log, and tells how far it is on standard error."""
    arguments = _arguments()
    begun = perf_counter()
    try:
        events = write(
            _place(arguments.store),
            seed=arguments.seed,
            events=arguments.events,
            campaigns=arguments.campaigns,
            progress=_tell,
        )
    except (StoreNotEmpty, StoreFailure, ValueError) as error:
        sys.exit(str(error))
    sys.stderr.write("\r")
    sys.stdout.write(f"{events:,} events in {perf_counter() - begun:.1f} seconds\n")


def _place(store: str) -> Path | PostgresqlStore:
    if "://" in store:
        return PostgresqlStore(store)
    directory = Path(store)
    directory.mkdir(parents=True, exist_ok=True)
    return directory / "log.db"


def _tell(written: int, wanted: int) -> None:
    sys.stderr.write(f"\r{written:,} of {wanted:,} events")
    sys.stderr.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m replays.generated_log", description=__doc__)
    parser.add_argument("store", help="a directory, which is made when it is missing, or postgresql://…")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and sizes give the same log")
    parser.add_argument("--events", type=_at_least_one, default=10_000, help="about how many the log ends up with")
    parser.add_argument(
        "--campaigns", type=_at_least_one, help=f"about how many; else one for each {EVENTS_A_CAMPAIGN:,} events"
    )
    return parser.parse_args()


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return number


if __name__ == "__main__":
    main()
