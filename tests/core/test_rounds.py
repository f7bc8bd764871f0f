"""Long simulations: rounds that are called by an address, and trials around them that are compiled once."""

import pickle

import numpy as np
import pytest

from safebandit import Instance, instance_by_name
from safebandit.core.kernels import Costs, empty_trials, memory_for
from safebandit.core.rounds import play_trials, player_for
from safebandit.core.searches import notes_of, search_for
from safebandit.core.searches.interface import as_cells
from safebandit.core.streams import STATE, trial_streams
from tests.core.driving import ready, simulated

INSTANCE = instance_by_name("drug-trial")
HORIZON = 300


def played(policy, checkpoints, stop=0, trials=2, instance=INSTANCE):
    """Trials of a policy: how many were finished, and what is kept of them."""
    policy = ready(policy, instance.arms, instance.limits, risks=instance.nu)
    count, streams = len(instance.mu), [trial_streams(3, i, len(instance.mu)) for i in range(trials)]
    outcomes, own = np.zeros((trials, count), STATE), np.zeros(trials, STATE)
    for i, random in enumerate(streams):
        outcomes[i], own[i] = random.arms, random.policy[0]
    memory = memory_for(policy, np.array([random.keys for random in streams]), own, instance.limits)
    out = empty_trials(trials, len(checkpoints), count)
    costs = Costs(instance.costs, instance.unsafe, instance.best_mean)
    work, notes = notes_of(search_for(policy)).room(trials, count)
    ended = play_trials(
        player_for(policy), instance.law, costs, np.array(checkpoints), memory, *as_cells(work, notes), outcomes, out,
        np.array([stop]),
    )  # fmt: skip
    return ended, out


@pytest.mark.parametrize("policy", ["docb", "tsbu", "equal"])
def test_rounds_go_on_where_they_were_however_they_are_cut(policy):
    ended, whole = played(policy, [HORIZON])
    again, cut = played(policy, [1, 7, 8, 150, HORIZON])
    assert ended == again == 2
    assert whole.plays.sum(axis=1).tolist() == [HORIZON, HORIZON]
    assert whole.regret[:, -1].tolist() == cut.regret[:, -1].tolist()
    same(whole, cut)


def same(whole, cut):
    for name in ("plays", "reward", "risk", "none_permissible", "held"):
        assert getattr(whole, name).tolist() == getattr(cut, name).tolist(), name


def test_rounds_without_a_play_are_counted_however_they_are_cut():
    policy = "docb:when_none=hold"
    harmful = Instance.bernoulli([0.3, 0.6], [0.7, 0.8], 0.1, allow_infeasible=True)
    _, whole = played(policy, [HORIZON], instance=harmful)
    _, cut = played(policy, [1, 60, 61, HORIZON], instance=harmful)
    assert (whole.held > 60).all()
    assert whole.none_permissible.tolist() == whole.held.tolist()
    assert (whole.plays.sum(axis=1) + whole.held).tolist() == [HORIZON, HORIZON]
    same(whole, cut)


def test_none_is_finished_once_it_should_stop():
    ended, out = played("docb", [HORIZON], stop=1)
    assert ended == 0
    assert out.plays.sum() == 0


def test_what_is_around_the_rounds_is_compiled_once_for_all_policies_and_searches():
    # An index with numbers of its own, and one that a search has no notes of.
    for policy in ("docb", "tsbu", "equal", "empirical-kl"):
        simulated(policy, INSTANCE, 20, 1)
    assert len(play_trials.overloads) == 1


def test_an_address_does_not_leave_its_process():
    with pytest.raises(TypeError, match="send the policy"):
        pickle.dumps(player_for(ready("docb", INSTANCE.arms, INSTANCE.limits, risks=INSTANCE.nu)))
