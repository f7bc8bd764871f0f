"""Gates of a steady safety index, asked only when they may have changed: of the arm that learnt, and of closed ones in
the round in which they open, which bisection finds. A steady gate that is open stays open until its arm learns.

What it buys: with K arms a round asks one gate instead of K.
"""

from __future__ import annotations

from typing import Any

from safebandit.core.arms import State, at, quantity
from safebandit.core.dispatch import apart, piece
from safebandit.core.indices.interface import permits
from safebandit.core.policies.choice import asked_round
from safebandit.core.searches.interface import NEVER

# Of each arm: whether its gate is open, whether it was asked since this was last looked at, and in which round a closed
# gate is asked again.
ARM_FIELDS = [("open", "i8"), ("changed", "i8"), ("ask_at", "i8")]
# Of the trial: 1 + the arm that was played last (0: none was yet), how many gates are open, the round in which a closed
# gate may open, and how far that was looked for.
TRIAL_FIELDS = [("played", "i8"), ("open_arms", "i8"), ("ask_at", "i8"), ("looked_until", "i8")]


@piece
def follow_gates(policy: Any, state: State, work: Any, notes: Any, t: int) -> bool:
    """Bring the gates up to round t, and say whether others than the arm played last were asked.

    `changed` is set of every arm that was asked: because it learnt, or because its gate may have opened.
    """
    t += policy.head_start
    if notes.played == 0 or t >= notes.ask_at:
        _ask_several(policy, state, work, notes, t)
        return True
    arm = at(work, notes.played - 1)
    _ask(policy, state, arm, notes, notes.played - 1, t)
    notes.ask_at = min(notes.ask_at, arm.ask_at)
    return False


@apart
def _ask_several(policy: Any, state: State, work: Any, notes: Any, t: int) -> None:
    """Ask the gate of the arm played last, and those that may have opened; at first all."""
    notes.ask_at = NEVER
    for k in range(state.size):
        arm = at(work, k)
        if notes.played == 0 or k == notes.played - 1 or arm.ask_at <= t:
            _ask(policy, state, arm, notes, k, t)
        notes.ask_at = min(notes.ask_at, arm.ask_at)


@piece
def _ask(policy: Any, state: State, arm: Any, notes: Any, k: int, t: int) -> None:
    """Ask one gate; if it is closed, note when it opens, or up to when it surely does not."""
    arm.changed = 1
    is_open = _permits(policy, state, k, t)
    notes.open_arms += is_open - arm.open
    arm.open = is_open
    arm.ask_at = NEVER
    if not is_open:
        if notes.looked_until <= t:
            # The same round for all arms, so that they are looked through together, and seldom.
            notes.looked_until = t + t // 16 + 8
        arm.ask_at = _opens_at(policy, state, k, t, notes.looked_until)


@apart
def _opens_at(policy: Any, state: State, k: int, t: int, until: int) -> int:
    """The first round after t in which the gate opens, or the one behind `until`."""
    closed, opened = t, until + 1
    while opened - closed > 1:
        # The last round first: mostly the gate is closed there, too.
        middle = until if opened > until else (closed + opened) // 2
        if _permits(policy, state, k, middle):
            opened = middle
        else:
            closed = middle
    return opened


@piece
def _permits(policy: Any, state: State, k: int, t: int) -> int:
    for j in range(1, 1 + state.risks):
        risk = quantity(state, k, j)
        clock = asked_round(policy.safety, risk, t, state.risks, policy.lasting)
        if not permits(policy.safety, risk, clock, risk.limit, state.stream):
            return 0
    return 1
