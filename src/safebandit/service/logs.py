"""Logs for machines: one JSON object a line on stderr, without secrets, cookies, bodies and ids of units."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

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


class Lines(logging.StreamHandler[TextIO]):
    """Writes what is no problem together, once for each turn of the loop in which it is logged: to write each line by
    itself takes as long as all the rest of it. Whatever is a problem is written at once, and so is all without a loop.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._waiting: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record, and have it written."""
        self._waiting.append(f"{self.format(record)}\n")
        try:
            turns = asyncio.get_running_loop()
        except RuntimeError:
            turns = None
        if turns is None or record.levelno > logging.INFO:
            self.flush()
        elif len(self._waiting) == 1:
            turns.call_soon(self.flush)

    def flush(self) -> None:
        """Write what waits; also when the process ends."""
        self.acquire()
        try:
            lines, self._waiting = self._waiting, []
            self.stream.write("".join(lines))
            self.stream.flush()
        except (OSError, ValueError):
            # Nobody reads it any more: that is no reason to answer nobody.
            return
        finally:
            self.release()


_write = json.JSONEncoder(default=str).encode


def note(message: str, fields: dict[str, Any]) -> None:
    """Log what is no problem; not from where in the code, which takes as long as all the rest."""
    if log.isEnabledFor(logging.INFO):
        log.handle(log.makeRecord(log.name, logging.INFO, "", 0, message, (), None, extra={"fields": fields}))


def log_to_stderr() -> None:
    """Send the service's log, and Uvicorn's warnings, to stderr."""
    # No line says by which thread or process it was logged: nobody need look.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = Lines(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("safebandit.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
