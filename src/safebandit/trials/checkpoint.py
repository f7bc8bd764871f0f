"""A checkpoint: how far a log was recomputed and held, and what it gave by then, for the next time to go on from.

It is kept by whoever verifies, not by the database that is verified. It is not taken at its word where that can be
helped: its text must give its own hash; its event must be in the log, at the end of a chain of which every hash is made
again; and its counts must be what its units give when all of them are counted anew. What is taken at its word is that
the decisions up to there were made again, and were what the log says.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import fields
from typing import Any

from safebandit.errors import SafebanditError, TrialError
from safebandit.sources import formulas_hash
from safebandit.trials.events import canonical, read_json
from safebandit.trials.replay import Replay
from safebandit.trials.state import TrialState
from safebandit.trials.units import Unit
from safebandit.version import __version__

_KIND = "safebandit checkpoint"
_UNIT = tuple(each.name for each in fields(Unit))
_READ = ("number", "hash", "decisions", "unrepeated", "misdated", "certain", "newer", "formulas_in_force")


def write_checkpoint(replay: Replay) -> str:
    """What a log gave that was read to its end, and held."""
    if replay.state is None or replay.missing is not None:
        raise TrialError("a checkpoint is made of a log that holds, to its end")
    row = replay.state.to_row()
    row["memory"] = base64.b64encode(row["memory"]).decode()
    said = {
        "kind": _KIND,
        "trial": replay.name,
        "software": __version__,
        "formulas": formulas_hash(),
        "read": {name: getattr(replay, name) for name in _READ},
        "seen": sorted(replay.formulas),
        "state": row,
        "units": [[getattr(unit, name) for name in _UNIT] for unit in replay.store.units()],
    }
    return canonical({**said, "digest": _digest(said)}) + "\n"


def go_on_from(replay: Replay, text: str) -> None:
    """Put a replay that has read nothing where a checkpoint says; one that cannot be right is refused."""
    try:
        said = dict(read_json(text))
        digest = said.pop("digest", None)
        if said.get("kind") != _KIND or _digest(said) != digest:
            raise ValueError("its text does not give its own hash")
        if said["trial"] != replay.name:
            raise ValueError(f'it is one of trial "{said["trial"]}"')
        if said["formulas"] != formulas_hash():
            raise ValueError(f"other formulas made it ({said['formulas']}, these are {formulas_hash()})")
        _restore(replay, said)
    except (SafebanditError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise TrialError(f"the checkpoint cannot be used: {problem}; verify without it") from None


def _restore(replay: Replay, said: dict[str, Any]) -> None:
    for values in said["units"]:
        replay.store.put(Unit(**dict(zip(_UNIT, values, strict=True))))
    row = _Row({**said["state"], "memory": base64.b64decode(said["state"]["memory"])})
    replay.state = TrialState.from_row(replay.name, row, replay.store)
    anew = TrialState.from_row(replay.name, row, replay.store)
    anew.count(replay.store)
    if anew.to_row() != row.kept or replay.state.to_row() != row.kept:
        raise ValueError("its counts are not what its units give")
    for name in _READ:
        setattr(replay, name, said["read"][name])
    if (replay.number, replay.hash) != (row.kept["number"], row.kept["hash"]):
        raise ValueError("its state is that of another event")
    replay.formulas = set(said["seen"])


class _Row:
    """A row of the table of trials, as a state is read from it."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self.kept = kept

    def __getattr__(self, name: str) -> Any:
        return self.kept[name]


def _digest(said: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(said).encode()).hexdigest()
