"""Places in a story: moves, names, the tree, the difference of two."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from api.http.parameters import LARGEST_INTEGER
from api.http.shapes.position import POSITION, PositionShape
from api.http.shapes.schema import request_with_examples, with_examples
from api.http.shapes.turns import TurnShape

_SAVE_POINT: dict[str, Any] = {"id": "s_x4q7bd2mza", "name": "before the storm", "node": 12, "moment": 12}
Node = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
PlaceName = Annotated[str, Field(max_length=200)]


class HeadRequest(BaseModel):
    """Where to go: a node, or a save point's id."""

    model_config = request_with_examples({"node": 12}, {"save_point": "s_x4q7bd2mza"})

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

    text: str


class Corrected(BaseModel):
    """A node whose text was mended in place."""

    model_config = with_examples({"node": 12, "text": "I wait until the light changes", "position": POSITION})

    node: int
    text: str
    position: PositionShape


class Revised(TurnShape):
    """The answer to a revision: as to a turn, but no turn told it."""

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

    node: int
    parent: int | None
    kind: str
    branch: int
    depth: int


class TreeBranch(BaseModel):
    """A branch: where it grew from, and the node at its end."""

    branch: int
    parent_branch: int | None
    fork_depth: int
    tip: int
    tip_moment: int
    name: str


class TreeSavePoint(BaseModel):
    """A save point in the tree."""

    id: str
    name: str
    node: int


class TreeShape(BaseModel):
    """The whole tree. `head` is where the story is read, `tip` the node that Redo walks towards."""

    model_config = with_examples(
        {
            "nodes": [{"node": 1, "parent": None, "kind": "opening", "branch": 1, "depth": 1}],
            "branches": [{"branch": 1, "parent_branch": None, "fork_depth": 0, "tip": 1, "tip_moment": 1, "name": ""}],
            "save_points": [{"id": "s_x4q7bd2mza", "name": "before the storm", "node": 1}],
            "head": 1,
            "tip": 1,
        }
    )

    nodes: list[TreeNodeShape]
    branches: list[TreeBranch]
    save_points: list[TreeSavePoint]
    head: int
    tip: int


class DifferencePlace(BaseModel):
    """One of the two places, and how many moments lie between it and where the two parted."""

    reference: str
    node: int
    moment: int
    branch: int
    moments_since: int


class CommonPlace(BaseModel):
    """The last node that both lines share."""

    node: int
    moment: int
    branch: int
    text: str


class WordStretch(BaseModel):
    """A run of words on both sides, or on one. The left texts in a row are the left text, exactly; so the right."""

    side: Literal["same", "left", "right"]
    left: str
    right: str


class DifferingNode(BaseModel):
    """A node that only one of the two lines holds."""

    node: int
    moment: int
    kind: str
    text: str


class DifferingTakes(BaseModel):
    """Two nodes under one parent, compared word by word."""

    parent: int | None
    left: int
    right: int
    words: list[WordStretch]


class TextDifference(BaseModel):
    """The nodes of each side since they parted, and where they parted, word by word."""

    left: list[DifferingNode]
    right: list[DifferingNode]
    takes: list[DifferingTakes]


class StateDifference(BaseModel):
    """How the narrative states differ; empty until there is one."""

    changes: list[dict[str, Any]]


class MemoryDifference(BaseModel):
    """What the memory of one side holds alone; empty until there is one."""

    left: list[dict[str, Any]]
    right: list[dict[str, Any]]
    summaries: dict[str, Any]


class DifferingSection(BaseModel):
    """A section of the prompts that differs; `words` is null for the history, which `text` compares."""

    name: str
    label: str
    left_tokens: int
    right_tokens: int
    words: list[WordStretch] | None


class PromptDifference(BaseModel):
    """The turns of the newest prompt records of both sides, and the sections in which they differ."""

    left: str | None
    right: str | None
    sections: list[DifferingSection]


class Accounts(BaseModel):
    """What the turns of one side took, in tokens; how many were suspected of truncation, how many unknown."""

    turns: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    truncation_suspected: int
    unknown: int


class AccountsDifference(BaseModel):
    """The accounts of both sides since they parted."""

    left: Accounts
    right: Accounts


class DifferenceShape(BaseModel):
    """How two places of one story differ."""

    left: DifferencePlace
    right: DifferencePlace
    common: CommonPlace
    text: TextDifference
    state: StateDifference
    memory: MemoryDifference
    prompts: PromptDifference
    accounts: AccountsDifference
