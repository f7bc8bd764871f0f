"""Logs for machines: one JSON object a line on stderr, without secrets, cookies, bodies and ids of units."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

log = logging.getLogger("safebandit.service")


class JsonLines(logging.Formatter):
    """Each record as one line of JSON; what is passed as `extra={"fields": {...}}` stands beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record as a line of JSON."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time.replace("+00:00", "Z"), "level": record.levelname.lower()}
        line |= {"logger": record.name, "message": record.getMessage(), **getattr(record, "fields", {})}
        if record.exc_info and record.exc_info[0] is not None:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return _write(line)


_write = json.JSONEncoder(default=str).encode


def note(message: str, fields: dict[str, Any]) -> None:
    """Log what is no problem; not from where in the code, which takes as long as all the rest."""
    if log.isEnabledFor(logging.INFO):
        log.handle(log.makeRecord(log.name, logging.INFO, "", 0, message, (), None, extra={"fields": fields}))


def log_to_stderr() -> None:
    """Send the service's log, and Uvicorn's warnings, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("safebandit.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
