"""Why there is no small narrator."""

from collections.abc import Sequence

from domain.errors import FabulaError


class NarratorPortTaken(FabulaError):
    code = "narrator_port_taken"
    title = "The small narrator's port is taken"

    def __init__(self, port: int) -> None:
        super().__init__(
            f"The small narrator needs port {port} on 127.0.0.1, and another program listens there. Set "
            "FABULA_NARRATOR_PORT to a free port, or start with --no-narrator to use a model server of your own.",
            port=port,
        )


class NarratorFailedToStart(FabulaError):
    """`fields["lines"]` are the last lines that the child said, oldest first; empty where it said nothing."""

    code = "narrator_failed_to_start"
    title = "The small narrator did not start"

    def __init__(self, why: str, lines: Sequence[str] = ()) -> None:
        said = "".join(f"\n    {line}" for line in lines)
        super().__init__(
            f"The small narrator did not start: {why}. Mend the cause, or start with --no-narrator to use a model "
            f"server of your own.{' It said last:' if said else ''}{said}",
            why=why,
            lines=list(lines),
        )
