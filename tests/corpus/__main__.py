"""`python -m tests.corpus --server http://127.0.0.1:8420 --turns 60 FILE` plays the scripts, and keeps the replies.

The server is one that runs, with the narrator that is to be heard. `--state-pass` asks for each block in a second
request. `--counted FILE` counts the outcomes in a file that was written before; `--store DIR FILE` makes a store of it,
which `fabula replay --home DIR` can be run over.
"""

import argparse
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import httpx

from tests.corpus.playing import PlayedReply, played, read, written
from tests.corpus.stores import write_store
from tests.corpus.stories import SCRIPTS


def main() -> None:
    """Plays, or counts."""
    arguments = _arguments()
    path = Path(arguments.file)
    try:
        replies = read(path) if arguments.counted or arguments.store else _played(arguments, path)
    except (httpx.HTTPError, OSError) as error:
        sys.exit(f"{error}. Is the server running?")
    if arguments.store:
        write_store(replies, Path(arguments.store))
    sys.stdout.write(_counts(replies))


def _played(arguments: argparse.Namespace, path: Path) -> list[PlayedReply]:
    with httpx.Client(base_url=arguments.server, timeout=30) as server:
        settings = {"state_pass": arguments.state_pass, "mode": arguments.mode}
        server.patch("/api/settings", json=settings).raise_for_status()
        return [
            reply
            for script in SCRIPTS
            for reply in written(played(server, script, arguments.turns, partial(_tell, script.name)), path)
        ]


def _tell(story: str, number: int) -> None:
    sys.stderr.write(f"\r{story}: turn {number + 1}   ")
    sys.stderr.flush()


def _counts(replies: list[PlayedReply]) -> str:
    outcomes = Counter(reply.outcome or f"failed: {reply.error}" for reply in replies)
    lines = [f"{outcome}: {count}" for outcome, count in outcomes.most_common()]
    return "\n".join((f"{len(replies)} turns", *lines, ""))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("file", help="where the replies are kept, one JSON object a line; added to what is there")
    parser.add_argument("--server", default="http://127.0.0.1:8420", help="a running server")
    parser.add_argument("--turns", type=int, default=60, help="turns of each story")
    parser.add_argument("--state-pass", action="store_true", help="ask for the block alone after each narration")
    parser.add_argument("--mode", choices=("chat", "completion"), default="chat", help="how the prompt is sent")
    parser.add_argument("--store", help="write a store of the replies in the file there, and play nothing")
    parser.add_argument("--counted", action="store_true", help="count what a file holds, and play nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
