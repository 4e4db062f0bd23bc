"""Logs go to standard error, one line an event; at the default level they hold no story text."""

import logging
import sys

import structlog

from api.config import Config


def configure(config: Config) -> None:
    """Sets up structlog, and the standard library's logging for the libraries beneath."""
    level = getattr(logging, config.log_level.upper())
    logging.basicConfig(stream=sys.stderr, level=max(level, logging.WARNING), format="%(name)s: %(message)s")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
