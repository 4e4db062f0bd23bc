"""What routes take from the path, the query and the headers."""

from typing import Annotated, Literal

from fastapi import Header, Path, Query

from domain.narrative.vocabulary import SLUG, SLUG_CHARACTERS

LARGEST_INTEGER = 2**53 - 1
"""The largest that every JSON reader keeps exactly; more than any log will hold."""

CampaignId = Annotated[str, Path(description="The story's id.", examples=["c_k3v9m2x7qa"])]
TurnId = Annotated[
    str, Path(description="The turn's id, which every answer to a turn names.", examples=["t_4m2kq7xw3a"])
]
NodeNumber = Annotated[
    int, Path(ge=1, le=LARGEST_INTEGER, description="A node of the story; the opening is 1.", examples=[3])
]
ProjectionName = Annotated[str, Path(description="The view's name, as the list gives it.", examples=["story"])]
OfCampaign = Annotated[str | None, Query(description="Only the rows of this story.", examples=["c_k3v9m2x7qa"])]
Waiting = Annotated[
    bool, Query(description="Whether to answer when it is done; else at once, and the list says how far it is.")
]

BranchNumber = Annotated[
    int, Path(ge=1, le=LARGEST_INTEGER, description="A branch, as the tree numbers it.", examples=[3])
]
SavePointId = Annotated[str, Path(description="The save point's id, as the list gives it.", examples=["s_x4q7bd2mza"])]
Reference = Annotated[
    str,
    Query(
        min_length=1,
        max_length=250,
        pattern=r"\S",
        description="A node's number, a save point's id or name, a branch's name, `head`, `tip`, or `position:N`.",
        examples=["12"],
    ),
]
AtNode = Annotated[
    int | None, Query(ge=1, le=LARGEST_INTEGER, description="The line that ends at this node.", examples=[12])
]
AtPosition = Annotated[
    int | None,
    Query(ge=1, le=LARGEST_INTEGER, description="The story as it was at this position of the log.", examples=[41]),
]
AsRead = Annotated[
    Literal["in_force", "recorded"],
    Query(alias="as", description="With the prose as it is read now, or as it was recorded with each narration."),
]
StateAtNode = Annotated[
    int | None,
    Query(ge=1, le=LARGEST_INTEGER, description="At this node; without it, where the story stands.", examples=[12]),
]
LeafPath = Annotated[
    str,
    Query(
        min_length=1,
        max_length=400,
        description="Section, id and field with dots between them. In an attribute's name `~` is `~0` and `.` is `~1`.",
        examples=["possessions.crystal", "entities.imani.location"],
    ),
]
EntityId = Annotated[
    str,
    Path(
        max_length=SLUG_CHARACTERS,
        pattern=f"^{SLUG.pattern}$",
        description="The entity's id, as the state has it.",
        examples=["imani"],
    ),
]

Purpose = Annotated[Literal["narration", "state"], Query(description="Which of a turn's requests.")]
PageSize = Annotated[int, Query(ge=1, le=500, description="At most so many.", examples=[50])]
EventPageSize = Annotated[int, Query(ge=1, le=1000, description="At most so many.", examples=[100])]
AfterCampaign = Annotated[
    int | None, Query(ge=0, le=LARGEST_INTEGER, description="The `next` of the page before.", examples=[4211])
]
BeforeNode = Annotated[
    int | None,
    Query(ge=1, le=LARGEST_INTEGER, description="Only nodes older than this node of the line.", examples=[41]),
]
AfterPosition = Annotated[
    int, Query(ge=0, le=LARGEST_INTEGER, description="Only events after this position of the log.", examples=[41])
]

Accept = Annotated[str, Header(include_in_schema=False)]
"""What the client would like; which media types there are stands with the responses."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]+$",
        description="Repeats of a request with one key are one turn, also after a restart. ASCII without blanks.",
        examples=["b7e1c9a2-step-through-the-door"],
    ),
]
LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=32,
        description="The id of the last event that a follower has seen, which browsers send by themselves when they "
        "connect again.",
        examples=["41"],
    ),
]


def wants_stream(accept: str) -> bool:
    """Whether the client asks for server-sent events."""
    return "text/event-stream" in accept.lower()
