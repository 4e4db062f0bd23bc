"""What whoever draws or sounds a scene has to offer. Nothing here does: it is what a provider will be written against."""

from dataclasses import dataclass
from typing import Literal, Protocol

from domain.narrative.scene_packet import ScenePacket

SceneMedium = Literal["picture", "sound"]


@dataclass(frozen=True)
class Rendition:
    """A scene as a picture or as sound. `media_type` is that of the bytes; `scene_id` is the packet's."""

    scene_id: str
    media_type: str
    data: bytes


class SceneProvider(Protocol):
    """Makes one medium of a scene out of its packet alone, and so never sees another line of the story.

    The same packet may be asked for again: `scene_id` says when the scene is the same one.
    """

    @property
    def name(self) -> str:
        """The name by which a player would choose it."""
        ...

    @property
    def medium(self) -> SceneMedium:
        """What it makes."""
        ...

    async def render(self, packet: ScenePacket) -> Rendition:
        """The scene of the packet. Raises a FabulaError when it cannot be made; nothing in the story depends on it."""
        ...
