"""What was sent to a narrator, and what its server said it read."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.campaign.events import NodeId
from domain.event import DomainEvent

Purpose = Literal["narration", "state"]
"""What a request is for: the story, or the block of state events alone."""

Mode = Literal["chat", "completion"]
AccountingStatus = Literal["unknown", "truncation_suspected", "exceeded", "fits"]
WindowSource = Literal["loaded", "parameters", "declared", "unknown"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Window(_Part):
    """How much the server will read, as far as that is known.

    `verified`: the server itself answered. `enforceable`: there is a number to cap to, the server's or a declared one.
    """

    tokens: int | None = None
    source: WindowSource = "unknown"
    verified: bool = False
    enforceable: bool = False
    model_max: int | None = None
    reachable: bool = False
    detail: str = ""


class StoredBody(_Part):
    """A request body as a difference from an earlier one of the same campaign, rebuilt to the byte.

    `copies` are (start in the earlier body, length); before copy i stand `literals[i]` bytes of the literal text, and
    after the last copy the rest of it. `literal` is that text, compressed (zlib) and in base 85. The compression looks
    back into the end of the earlier body and into the payloads of the stream's events whose versions are `words`: what
    is new in a prompt is what was said last, and that stands in the log already. Whole when `base` is None; `chain`
    counts the bodies that must be rebuilt first.
    """

    sha256: str
    length: Annotated[int, Field(ge=0)]
    base: str | None = None
    words: tuple[int, ...] = ()
    chain: Annotated[int, Field(ge=0)] = 0
    copies: tuple[tuple[int, int], ...] = ()
    literals: tuple[int, ...] = ()
    literal: str


class SectionSpan(_Part):
    """A section of the prompt: where in the body its text stands (byte ranges of JSON string content), and its price."""

    name: str
    label: str
    tokens: int
    why: str
    spans: tuple[tuple[int, int], ...]


class TokenTally(_Part):
    """The budget of one request, in tokens. `total` is the estimate of the whole prompt."""

    total: int
    budget: int
    configured_budget: int
    reply: int
    reserve: int
    transport: int
    protected: int
    knowledge: int = 0
    history: int
    exact: int | None = None


class HistorySpan(_Part):
    """Which of the line's nodes the prompt holds, and why it begins where it does.

    `floor_depth` is the depth of the oldest node, None while the whole story fits; `floor_moved` is the reason if this
    prompt moved it. `prefix_kept` is the share of the earlier prompt's bytes that this one repeats from its start.
    """

    first_node: int | None
    last_node: int | None
    total: int
    floor_depth: int | None = None
    floor_moved: str | None = None
    prefix_kept: float | None = None
    oldest_truncated: bool = False
    nodes: tuple[int, ...] = ()
    budget: int = 0


class PromptSent(DomainEvent):
    """A request is about to go to the narrator. Written before its first byte, also when the turn then fails.

    `public_endpoint`: the environment allowed the endpoint although it is public.
    """

    topic: ClassVar = "prompt.sent"
    actor: ClassVar = "fabula"

    turn: str
    purpose: Purpose = "narration"
    node: NodeId
    branch: int
    depth: int
    endpoint: str
    public_endpoint: bool = False
    server: str | None = None
    model: str
    mode: Mode
    body: StoredBody
    sections: tuple[SectionSpan, ...]
    tokens: TokenTally
    window: Window
    history: HistorySpan
    built_from: int


class Accounting(_Part):
    """What the server said it read, and what that means. Tokens throughout."""

    status: AccountingStatus
    prompt_tokens: int | None
    completion_tokens: int | None = None
    estimate: int
    exact: int | None = None
    difference: int | None
    observed_margin: int | None
    safety_reserve: int
    cached_tokens: int | None
    window_verified: bool
    detail: str


class ReplyAccounted(DomainEvent):
    """The server's count of one request was compared with ours. Written with the turn's outcome; it belongs to that take."""

    topic: ClassVar = "accounting.reply_accounted"
    actor: ClassVar = "fabula"

    turn: str
    purpose: Purpose = "narration"
    node: NodeId | None = None
    branch: int | None = None
    depth: int | None = None
    accounting: Accounting
