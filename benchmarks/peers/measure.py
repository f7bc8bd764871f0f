"""Play every library in a process of its own, in turns, and gather what each one says."""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from peers.environments import HERE, CannotRunError, last_line, python_for
from peers.libraries import Library
from peers.tables import Measured

Progress = Callable[[str, int], None]


def measure(
    libraries: Sequence[Library], *, horizon: int, turns: int, progress: Progress
) -> tuple[list[Measured], dict[str, str]]:
    """All libraries in turns, each time with new trials; and why a library could not be played.

    `progress` is told what goes on, and how many policies are done.
    """
    pythons, failures = _interpreters(libraries, progress)
    measured: dict[tuple[str, str], Measured] = {}
    for turn, library in itertools.product(range(turns), libraries):
        if library.name in failures:
            continue
        what = f"{library.name}, turn {turn + 1} of {turns}"
        progress(what, 0)
        try:
            for line in play(library, pythons[library.key], horizon=horizon, turn=turn):
                _add(measured, line)
                progress(what, 1)
        except CannotRunError as error:
            failures[library.name] = str(error)
    return list(measured.values()), failures


def _interpreters(libraries: Sequence[Library], progress: Progress) -> tuple[dict[str, Path], dict[str, str]]:
    pythons, failures = {}, {}
    for library in libraries:
        progress(f"environment of {library.name}", 0)
        try:
            pythons[library.key] = python_for(library)
        except CannotRunError as error:
            failures[library.name] = str(error)
    return pythons, failures


def play(library: Library, python: Path, *, horizon: int, turn: int) -> Iterator[dict[str, Any]]:
    """What a player says, line by line as it plays."""
    command = [str(python), "-m", f"peers.play_{library.key}"]
    command += ["--horizon", str(horizon), "--turn", str(turn)]
    for policy, trials in library.trials.items():
        command += ["--play", policy, str(trials)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=HERE.parent) as player:
            for line in player.stdout or ():
                yield {"library": library.name, **json.loads(line)}
        if player.returncode != 0:
            errors.seek(0)
            raise CannotRunError(f"cannot be played: {last_line(errors.read())}")


def _add(measured: dict[tuple[str, str], Measured], line: Mapping[str, Any]) -> None:
    key = line["library"], line["policy"]
    row = measured.setdefault(key, Measured(line["library"], line["version"], line["policy"], [], []))
    row.speeds.append(line["rounds"] / line["seconds"])
    row.regrets.extend(line["regrets"])
