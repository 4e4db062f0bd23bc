"""Logs go to standard error, one line an event; at the default level they hold no story text."""

import logging
import sys
from typing import Any

import structlog

from api.config import Config


def configure(config: Config, *, quiet: bool = False) -> None:
    """Sets up structlog, and the standard library's logging for the libraries beneath.

    `quiet` is for commands whose result is what matters: warnings and errors only, unless the environment names a level.
    """
    level = _level(config, quiet=quiet)
    logging.basicConfig(stream=sys.stderr, level=max(level, logging.WARNING), format="%(name)s: %(message)s")
    logging.getLogger("fabula").setLevel(level)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        logger_factory=_to_standard_error,
        cache_logger_on_first_use=False,
    )


def _level(config: Config, *, quiet: bool) -> int:
    level: int = getattr(logging, config.log_level.upper())
    return max(level, logging.WARNING) if quiet and "log_level" not in config.model_fields_set else level


def _to_standard_error(*_: Any) -> structlog.PrintLogger:
    return structlog.PrintLogger(sys.stderr)
