"""Every view there is, and the one way to open them."""

from pathlib import Path

from projections.campaigns import CAMPAIGNS
from projections.engine.engine import Engine
from projections.engine.place import Storage
from projections.engine.source import Source
from projections.projection import Projection
from projections.prompts import PROMPTS
from projections.story import STORY

ALL: tuple[Projection, ...] = (CAMPAIGNS, STORY, PROMPTS)


def open_views(storage: Storage | Path, log: Source) -> Engine:
    """The views of this log, in files below a directory, which is made when it is missing, or in another storage."""
    return Engine(storage, log, ALL)
