"""Go through the checks, and put what was found into one document."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from safebandit.studies.validation.check import FAILS, NOTED, PASSES, Extent, Verdict
from safebandit.studies.validation.installation import installation
from safebandit.studies.validation.registry import GROUPS, chosen

FORMAT = 1


def validate(
    groups: Sequence[str] = (),
    *,
    full: bool = False,
    workers: int | None = None,
    prepared_by: str = "",
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Run every check, and say what was found; `progress` is told of checks done, of how many, and what is next."""
    began, cpu = time.perf_counter(), time.process_time()
    checks, extent = chosen(list(groups), full=full), Extent(full, workers)
    found = []
    for done, check in enumerate(checks):
        if progress is not None:
            progress(done, len(checks), f"{check.group}: {check.name}")
        found.append(check.run(extent))
    if progress is not None:
        progress(len(checks), len(checks), "done")
    return {
        "format": FORMAT,
        "extent": "full" if full else "quick",
        "groups": {name: GROUPS[name][1] for name in GROUPS if any(check.group == name for check in checks)},
        "all_groups": not groups,
        "prepared_by": prepared_by,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(time.process_time() - cpu, 1),
        "installation": installation(),
        "checks": [each.to_dict() for each in found],
        "summary": summary(found),
    }


def summary(found: Sequence[Verdict]) -> dict[str, Any]:
    """Counts of verdicts, and what chance alone would do to a correct program."""
    off = [each for each in (verdict.errors_off for verdict in found) if each is not None]
    return {
        "checks": len(found),
        **{word: sum(each.verdict == word for each in found) for word in (PASSES, NOTED, FAILS)},
        "simulated": sum(each.check.errors > 0 for each in found),
        "false_alarm": sum(each.check.false_alarm for each in found),
        "beyond_two": sum(each > 2 for each in off),
        "beyond_two_by_chance": round(0.0455 * len(off), 1),
    }
