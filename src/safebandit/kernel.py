"""The compiled loop: play many trials of one policy on one law, one round after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.arms import Counts, Numbers, State, at
from safebandit.dispatch import compiled
from safebandit.instances.laws import draw
from safebandit.policies.interface import begin, choose, learn_reward, learn_risk
from safebandit.streams import Streams

# How often a running trial looks whether it should stop.
STOP_EVERY = 1 << 16


class Costs(NamedTuple):
    """What a play of each arm costs, which arms are unsafe, and what a round without a play costs."""

    regret: Numbers
    unsafe: NDArray[np.bool_]
    hold: float


class Trials(NamedTuple):
    """What is kept of each trial (rows): at checkpoints (columns), per arm (columns), and single counts."""

    regret: Numbers
    unsafe_plays: Counts
    plays: Counts
    reward: Numbers
    risk: Numbers
    none_permissible: Counts
    held: Counts
    finished: NDArray[np.bool_]


def _run_trial(
    policy: Any,
    law: Any,
    alpha: float,
    costs: Costs,
    checkpoints: Counts,
    state: State,
    outcomes: Streams,
    out: Trials,
    row: int,
    stop: Counts,
) -> None:
    """Play one trial to the last checkpoint and write it to `row` of `out`. One loop: it is the hot one."""
    begin(policy, state, alpha)
    t, rounds, none_permissible, held = 1, 0, 0, 0
    for c in range(checkpoints.shape[0]):
        while rounds < checkpoints[c]:
            if rounds % STOP_EVERY == 0 and stop[0] != 0:
                return
            rounds += 1
            k, none = choose(policy, state, t, alpha)
            none_permissible += none
            if k < 0:
                # A round without a play does not move the clock: waiting never loosens the limit.
                held += 1
                continue
            reward, risk = draw(law, k, outcomes[k])
            arm = at(state.first, k)
            play = arm.asked
            arm.asked = play + 1
            learn_reward(policy, state, k, play, reward, alpha)
            learn_risk(policy, state, k, play, risk, alpha)
            t += 1
        out.regret[row, c] = costs.hold * held
        for k in range(state.count):
            plays = at(state.first, k).asked
            out.regret[row, c] += costs.regret[k] * plays
            out.unsafe_plays[row, c] += plays if costs.unsafe[k] else 0
    for k in range(state.count):
        arm = at(state.first, k)
        out.plays[row, k] = arm.asked
        out.reward[row, k] = arm.reward.total
        out.risk[row, k] = arm.risk.total
    out.none_permissible[row] = none_permissible
    out.held[row] = held
    out.finished[row] = True


run_trial = compiled(_run_trial)
