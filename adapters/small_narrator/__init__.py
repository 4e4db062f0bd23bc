"""The narrator that needs no set-up: llama.cpp's server with a small model, as a child process on loopback.

    with SmallNarrator() as narrator:
        narrator.wait_until_ready()
        ...  # ask narrator.endpoint for narrator.model, as one would any other server

The model writes poorly. It is there so that the first command on a fresh machine tells a story with real tokens.
"""

from adapters.small_narrator.errors import NarratorFailedToStart, NarratorPortTaken
from adapters.small_narrator.model_file import MODEL
from adapters.small_narrator.supervisor import DEFAULT_PORT, SmallNarrator

__all__ = ["DEFAULT_PORT", "MODEL", "NarratorFailedToStart", "NarratorPortTaken", "SmallNarrator"]
