"""What to type next after a mistake: the library says what is wrong, and the command line which command helps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

_Step: TypeAlias = str | Callable[[re.Match[str]], str]
_TRIAL = "safebandit trial new knee --arms low,high --alpha .2"
# A part of a message, and the command that helps; found in the order of this list.
STEPS: tuple[tuple[str, _Step], ...] = (
    (r"give a problem by --instance|unknown instance", "safebandit instances"),
    (r"unknown policy", "safebandit policies"),
    (r"unknown (stopping|selection) rule", "safebandit rules"),
    (r"(?:No such file or directory:|there is no file) (\S+\.toml)", lambda found: f"safebandit design new {found[1]}"),
    (r"there is no file \S+\.parquet", "safebandit simulate --instance drug-trial --out results"),
    (r"give a design file, or", "safebandit design new dose.toml"),
    (r"there is no database|a trial needs --arms", _TRIAL),
    (r"there is no trial", "safebandit trial list"),
    (r"give one unit, or a table", 'safebandit trial ask knee "patient 1"'),
    (r"is no validation report|there is no file \S+\.json", "safebandit validate"),
    (r"needs a second person in this trial; propose it", "the same command with --propose"),
    (r"must be migrated|of an older version", "safebandit db migrate"),
)  # fmt: skip


def with_next_step(message: str) -> str:
    """The message, and a command to try where one helps and the message does not name it.

    >>> with_next_step('unknown policy "x"; known: docb, tsbu')
    'unknown policy "x"; known: docb, tsbu; try: safebandit policies'
    """
    for pattern, step in STEPS:
        found = re.search(pattern, message)
        if found:
            command = step if isinstance(step, str) else step(found)
            return message if " ".join(command.split()[:3]) in message else f"{message}; try: {command}"
    return message
