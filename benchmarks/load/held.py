"""Processes that are held to a share of a core each: what they do tells of them then, not of the number of cores.

The system stops a process that has had its share of a period until the next one begins (cgroups, version 1 or 2); the
periods are short, so that nobody waits long for it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
PERIOD_MICROSECONDS = 10_000
_numbers = itertools.count(1)


class CannotHoldError(Exception):
    """The system does not let this process hold another one."""


class Place(NamedTuple):
    """Where groups are made, the group that this process is in, and whether they are of version 2."""

    parent: Path
    own: Path
    second: bool


@contextlib.contextmanager
def held(pids: Sequence[int], share: float) -> Iterator[None]:
    """Hold each of these processes, with all its threads, to this share of a core by itself."""
    with contextlib.ExitStack() as stack:
        for pid in pids:
            try:
                (stack.enter_context(_group(share)) / "cgroup.procs").write_text(str(pid), encoding="ascii")
            except OSError as problem:
                raise CannotHoldError(f"processes cannot be held to a share of a core here: {problem}") from problem
        yield


@contextlib.contextmanager
def _group(share: float) -> Iterator[Path]:
    """A group whose processes may have this share of a core together."""
    place, quota = find_place(), round(share * PERIOD_MICROSECONDS)
    group = place.parent / f"safebandit-bench-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        if place.second:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_MICROSECONDS}", encoding="ascii")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS), encoding="ascii")
            (group / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")
        yield group
    finally:
        # Only a group that nobody is in can be removed.
        for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):
                (place.own / "cgroup.procs").write_text(pid, encoding="ascii")
        group.rmdir()


def find_place() -> Place:
    """Where a group that is limited in processor time can be made, as near to this process as there is one."""
    lines = OWN.read_text(encoding="ascii").splitlines() if OWN.is_file() else []
    groups = [line.split(":", 2) for line in lines]
    paths = {controller: path.lstrip("/") for _, names, path in groups for controller in names.split(",")}
    if "cpu" in paths:
        # In a container the path may be the one outside.
        for own in (ROOT / "cpu" / paths["cpu"], ROOT / "cpu"):
            if (own / "cpu.cfs_quota_us").is_file():
                return Place(own, own, second=False)
    own = ROOT / paths.get("", "")
    for parent in (own, *own.parents):
        controlled = parent / "cgroup.subtree_control"
        if controlled.is_file() and "cpu" in controlled.read_text(encoding="ascii").split():
            return Place(parent, own, second=True)
    raise CannotHoldError("processes cannot be held to a share of a core here: there is no cgroup that limits them")
