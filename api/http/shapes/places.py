"""Places in a story: moves, names, the tree, the difference of two."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from api.http.parameters import LARGEST_INTEGER
from api.http.shapes.position import POSITION, PositionShape
from api.http.shapes.schema import as_integer, request_with_examples, with_examples
from api.http.shapes.turns import TurnShape
from domain.campaign.naming import NAME_CHARACTERS

Node = Annotated[int, Field(ge=1, le=LARGEST_INTEGER), BeforeValidator(as_integer)]
PlaceName = Annotated[str, Field(max_length=NAME_CHARACTERS)]
SomeText = Annotated[str, Field(json_schema_extra={"pattern": r"\S"})]
"""Text that is more than white space. Whether it is, the domain says; here it is only described."""

_SAVE_POINT: dict[str, Any] = {"id": "s_x4q7bd2mza", "name": "before the storm", "node": 12, "moment": 12}
_ONE_OF_THEM: Any = [
    {
        "required": ["node"],
        "properties": {
            "node": {"type": "integer", "minimum": 1, "maximum": LARGEST_INTEGER},
            "save_point": {"type": "null"},
        },
    },
    {
        "required": ["save_point"],
        "properties": {"node": {"type": "null"}, "save_point": {"type": "string", "maxLength": 64}},
    },
]
_NODE: dict[str, Any] = {"node": 1, "parent": None, "kind": "opening", "branch": 1, "depth": 1}
_BRANCH: dict[str, Any] = {
    "branch": 1,
    "parent_branch": None,
    "fork_depth": 0,
    "tip": 1,
    "tip_moment": 1,
    "name": "the harbour",
}
_TREE_SAVE_POINT: dict[str, Any] = {"id": "s_x4q7bd2mza", "name": "before the storm", "node": 1}
_WORDS: list[dict[str, Any]] = [
    {"side": "same", "left": "The door", "right": "The door"},
    {"side": "left", "left": " gives.", "right": ""},
    {"side": "right", "left": "", "right": " holds."},
]
_PLACE: dict[str, Any] = {"reference": "12", "node": 12, "moment": 12, "branch": 1, "moments_since": 1}
_OTHER_PLACE: dict[str, Any] = {
    "reference": "before the storm",
    "node": 15,
    "moment": 12,
    "branch": 2,
    "moments_since": 1,
}
_COMMON: dict[str, Any] = {"node": 11, "moment": 11, "branch": 1, "text": "I push"}
_LEFT: dict[str, Any] = {"node": 12, "moment": 12, "kind": "narration", "text": "The door gives."}
_RIGHT: dict[str, Any] = {"node": 15, "moment": 12, "kind": "narration", "text": "The door holds."}
_TAKES: dict[str, Any] = {"parent": 11, "left": 12, "right": 15, "words": _WORDS}
_CORRECTED: dict[str, Any] = {"node": 3, "moment": 3, "words": _TAKES["words"]}
_TEXT: dict[str, Any] = {"left": [_LEFT], "right": [_RIGHT], "takes": [_TAKES], "corrected": [_CORRECTED]}
_LEAF: dict[str, Any] = {"path": "possessions.lamp", "left": "oren", "right": None}
_STATE: dict[str, Any] = {"changes": [_LEAF]}
_MEMORY: dict[str, Any] = {"left": [], "right": [], "summaries": {"left": None, "right": None}}
_SECTION: dict[str, Any] = {
    "name": "history",
    "label": "The story so far",
    "left_tokens": 412,
    "right_tokens": 415,
    "words": None,
}
_PROMPTS: dict[str, Any] = {"left": "t_4m2kq7xw3a", "right": "t_8s6hc1vn0e", "sections": [_SECTION]}
_ACCOUNTS: dict[str, Any] = {
    "turns": 1,
    "prompt_tokens": 431,
    "completion_tokens": 58,
    "cached_tokens": 400,
    "truncation_suspected": 0,
    "unknown": 0,
}


class HeadRequest(BaseModel):
    """Where to go: a node, or a save point's id."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "oneOf": _ONE_OF_THEM,
            "examples": [{"node": 12}, {"save_point": "s_x4q7bd2mza"}],
        },
    )

    node: Node | None = None
    save_point: Annotated[str, Field(max_length=64)] | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.node is None) == (self.save_point is None):
            raise ValueError("name either a node or a save point")
        return self


class TextRequest(BaseModel):
    """The new text of a node."""

    model_config = request_with_examples({"text": "I wait until the light changes"})

    text: SomeText


class Corrected(BaseModel):
    """A node whose text was mended in place."""

    model_config = with_examples({"node": 12, "text": "I wait until the light changes", "position": POSITION})

    node: int
    text: str
    position: PositionShape


class Revised(TurnShape):
    """The answer to a revision: as to a turn, but no turn told it."""

    model_config = with_examples(
        {
            "turn": None,
            "player_node": 11,
            "node": 16,
            "prose": "The door gives at last.",
            "finish_reason": None,
            "position": {**POSITION, "head": 16, "moment": 12, "label": "Moment 12", "takes": [12, 15, 16]},
            "state_changes": [],
            "proposal": {"outcome": "absent", "accepted": [], "refused": []},
            "accounting": None,
        }
    )

    turn: None  # type: ignore[assignment]  # a turn's name, narrowed away


class NewSavePoint(BaseModel):
    """A name for a node, or for where the reader is."""

    model_config = request_with_examples({"name": "before the storm"}, {"name": "the harbour", "node": 31})

    name: PlaceName
    node: Node | None = None


class SavePoint(BaseModel):
    """A name for a node."""

    model_config = with_examples(_SAVE_POINT)

    id: str
    name: str
    node: int
    moment: int


class SavePointList(BaseModel):
    """The save points of a story, in the order in which they were set."""

    model_config = with_examples({"save_points": [_SAVE_POINT]})

    save_points: list[SavePoint]


class BranchNameRequest(BaseModel):
    """A name for a branch; an empty one takes its name away."""

    model_config = request_with_examples({"name": "the harbour"}, {"name": ""})

    name: PlaceName


class NamedBranch(BaseModel):
    """A branch with its name and the node at its end."""

    model_config = with_examples({"branch": 3, "name": "the harbour", "tip": 31})

    branch: int
    name: str
    tip: int


class TreeNodeShape(BaseModel):
    """A node of the tree, without its text."""

    model_config = with_examples(_NODE)

    node: int
    parent: int | None
    kind: str
    branch: int
    depth: int


class TreeBranch(BaseModel):
    """A branch: where it grew from, and the node at its end."""

    model_config = with_examples(_BRANCH)

    branch: int
    parent_branch: int | None
    fork_depth: int
    tip: int
    tip_moment: int
    name: str


class TreeSavePoint(BaseModel):
    """A save point in the tree."""

    model_config = with_examples(_TREE_SAVE_POINT)

    id: str
    name: str
    node: int


class TreeShape(BaseModel):
    """The whole tree. `head` is where the story is read, `tip` the node that Redo walks towards."""

    model_config = with_examples(
        {"nodes": [_NODE], "branches": [_BRANCH], "save_points": [_TREE_SAVE_POINT], "head": 1, "tip": 1}
    )

    nodes: list[TreeNodeShape]
    branches: list[TreeBranch]
    save_points: list[TreeSavePoint]
    head: int
    tip: int


class DifferencePlace(BaseModel):
    """One of the two places, and how many moments lie between it and where the two parted."""

    model_config = with_examples(_PLACE)

    reference: str
    node: int
    moment: int
    branch: int
    moments_since: int


class CommonPlace(BaseModel):
    """The last node that both lines share."""

    model_config = with_examples(_COMMON)

    node: int
    moment: int
    branch: int
    text: str


class WordStretch(BaseModel):
    """A run of words on both sides, or on one. The left texts in a row are the left text, exactly; so the right."""

    model_config = with_examples(*_WORDS)

    side: Literal["same", "left", "right"]
    left: str
    right: str


class DifferingNode(BaseModel):
    """A node that only one of the two lines holds."""

    model_config = with_examples(_LEFT)

    node: int
    moment: int
    kind: str
    text: str


class DifferingTakes(BaseModel):
    """Two nodes under one parent, compared word by word."""

    model_config = with_examples(_TAKES)

    parent: int | None
    left: int
    right: int
    words: list[WordStretch]


class DifferingText(BaseModel):
    """A node of both lines that reads otherwise on one, which is named by a position of the log."""

    model_config = with_examples(_CORRECTED)

    node: int
    moment: int
    words: list[WordStretch]


class TextDifference(BaseModel):
    """The nodes of each side since they parted, where they parted, and what was corrected before, word by word."""

    model_config = with_examples(_TEXT)

    left: list[DifferingNode]
    right: list[DifferingNode]
    takes: list[DifferingTakes]
    corrected: list[DifferingText]


class DifferingLeaf(BaseModel):
    """A leaf of the state that is another on one side; null where it does not exist."""

    model_config = with_examples(_LEAF)

    path: str
    left: Any
    right: Any


class StateDifference(BaseModel):
    """The leaves in which the states of the two places differ."""

    model_config = with_examples(_STATE)

    changes: list[DifferingLeaf]


class MemoryDifference(BaseModel):
    """What the memory of one side holds alone; empty until there is one."""

    model_config = with_examples(_MEMORY)

    left: list[dict[str, Any]]
    right: list[dict[str, Any]]
    summaries: dict[str, Any]


class DifferingSection(BaseModel):
    """A section of the prompts that differs; `words` is null for the history, which `text` compares."""

    model_config = with_examples(_SECTION)

    name: str
    label: str
    left_tokens: int
    right_tokens: int
    words: list[WordStretch] | None


class PromptDifference(BaseModel):
    """The turns of the newest prompt records of both sides, and the sections in which they differ."""

    model_config = with_examples(_PROMPTS)

    left: str | None
    right: str | None
    sections: list[DifferingSection]


class Accounts(BaseModel):
    """What the turns of one side took, in tokens; how many were suspected of truncation, how many unknown."""

    model_config = with_examples(_ACCOUNTS)

    turns: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    truncation_suspected: int
    unknown: int


class AccountsDifference(BaseModel):
    """The accounts of both sides since they parted."""

    model_config = with_examples({"left": _ACCOUNTS, "right": _ACCOUNTS})

    left: Accounts
    right: Accounts


class DifferenceShape(BaseModel):
    """How two places of one story differ."""

    model_config = with_examples(
        {
            "left": _PLACE,
            "right": _OTHER_PLACE,
            "common": _COMMON,
            "text": _TEXT,
            "state": _STATE,
            "memory": _MEMORY,
            "prompts": _PROMPTS,
            "accounts": {"left": _ACCOUNTS, "right": _ACCOUNTS},
        }
    )

    left: DifferencePlace
    right: DifferencePlace
    common: CommonPlace
    text: TextDifference
    state: StateDifference
    memory: MemoryDifference
    prompts: PromptDifference
    accounts: AccountsDifference
