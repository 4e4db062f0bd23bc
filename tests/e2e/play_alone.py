"""Plays one turn with the small narrator, and says as one line of JSON what came of it and which network there was.

Run as `python -m tests.e2e.play_alone DIRECTORY` in a network namespace of its own.
"""

import fcntl
import json
import socket
import struct
import sys
from pathlib import Path

from tests.e2e.player import Player
from tests.e2e.server_process import Launch, ServerProcess, start_installed

_SIOCSIFFLAGS = 0x8914
_UP_AND_RUNNING = 0x41


def main(directory: Path) -> None:
    """Play it."""
    _bring_up_loopback()
    launch = Launch(directory / "home", more=(), environment={"FABULA_NARRATOR_PORT": "18421"})
    with ServerProcess(launch, directory, start_installed) as server:
        server.until_ready()
        server.client.patch("/api/settings", json={"max_output_tokens": 24}).raise_for_status()
        player = Player.of_a_new_story(server)
        taken = player.act("I step through the door").raise_for_status().json()
        played = {
            "interfaces": [name for _, name in socket.if_nameindex()],
            "outside": _outside(),
            "prose": taken["prose"],
            "story": player.get("/story")["nodes"],
            "model": player.get(f"/turns/{taken['turn']}/prompt")["model"].lower(),
            "status": server.stop(),
            "log": server.stderr,
        }
    print(json.dumps(played))


def _bring_up_loopback() -> None:
    """As `ip link set lo up` does, where there is no `ip`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))


def _outside() -> str:
    try:
        socket.create_connection(("192.0.2.1", 80), 2).close()
    except OSError:
        return "unreachable"
    return "reachable"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
