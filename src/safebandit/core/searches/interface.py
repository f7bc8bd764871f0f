"""What a search is: another way to the arm that a policy's definition gives, with notes of its own from round to round.

Searches serve the simulator, where every arm is always available and only the arm that was played learns. What they
note is never kept: of each arm in the records `work`, of the trial in the record `notes`, both all 0 at first.
A deterministic policy's search gives its definition's arm, bit for bit; a sampling policy's gives each arm with the
same chance, by other random numbers.

No search's record may begin with all the fields of another's: Numba would take the longer one for the shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numba import from_dtype
from numba.extending import intrinsic

from safebandit.core.arms import CELL, Records, State
from safebandit.core.dispatch import generic
from safebandit.core.policies.interface import decide

NOTHING = np.dtype([("nothing", "i8")])
# No round is as late.
NEVER = 1 << 62


class Notes(NamedTuple):
    """The types of what a search notes: of each arm, and of the trial.

    So many plain `numbers` of each arm lie behind the records of all arms, those of one kind side by side: the
    processor compares several at once.
    """

    work: np.dtype[np.void] = NOTHING
    notes: np.dtype[np.void] = NOTHING
    numbers: int = 0

    def room(self, trials: int, arms: int) -> tuple[Records, Records]:
        """The records `work` of so many trials, a row each, with room for the numbers; and their records `notes`."""
        behind = -(-8 * self.numbers * arms // self.work.itemsize)
        return np.zeros((trials, arms + behind), self.work), np.zeros(trials, self.notes)


NOTES: dict[type, Notes] = {}


def as_cells(work: Records, notes: Records) -> tuple[Records, Records]:
    """What a search notes of every arm, and of every trial, without its type: for `work_of` and `notes_at`."""
    return work.view(CELL), notes[:, None].view(CELL)


def _read_as(part: str) -> Any:
    """Read a record as what a search notes there."""

    def type_reading(typing_context: Any, search: Any, record: Any) -> Any:
        found: Any = from_dtype(getattr(NOTES[search.instance_class], part))

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[1], context.get_value_type(found))

        return found(search, record), generate

    return intrinsic(type_reading)


# The first record of the arms, and that of the trial, from records of type CELL at the same places.
work_of: Callable[[Any, Any], Any] = cast(Any, _read_as("work"))
notes_at: Callable[[Any, Any], Any] = cast(Any, _read_as("notes"))


class ByDefinition(NamedTuple):
    """No search: every arm is looked at."""


NOTES[ByDefinition] = Notes()


@generic
def find(search: object, policy: Any, state: State, work: Any, notes: Any, t: int) -> tuple[int, bool]:
    """The arm of round t and whether no arm was permissible, as `decide` says; what it gives is played."""
    raise NotImplementedError


@find.register(ByDefinition)
def _by_definition(search: ByDefinition, policy: Any, state: State, work: Any, notes: Any, t: int) -> tuple[int, bool]:
    return decide(policy, state, t)
