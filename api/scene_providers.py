"""The providers of pictures and sounds, by their names. There are none: the scene packet is where one would begin."""

from collections.abc import Mapping
from types import MappingProxyType

from domain.narrative.providers import SceneProvider

SCENE_PROVIDERS: Mapping[str, SceneProvider] = MappingProxyType({})
