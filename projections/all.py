"""Every view there is, and the one way to open them."""

from pathlib import Path

from projections.campaigns import CAMPAIGNS
from projections.engine import Engine
from projections.projection import Projection
from projections.prompts import PROMPTS
from projections.source import Source
from projections.story import STORY

ALL: tuple[Projection, ...] = (CAMPAIGNS, STORY, PROMPTS)


def open_views(directory: Path, log: Source) -> Engine:
    """The views of this log, in files below `directory`, which is made when it is missing."""
    return Engine(directory, log, ALL)
