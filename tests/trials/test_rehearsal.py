"""Rehearsals: the same decisions as a real trial's, the same numbers as the simulator's, and clocks done by hand."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import replace

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.laws import draw
from safebandit.core.streams import trial_streams
from safebandit.errors import InstanceError, SimulationError
from safebandit.trials.rehearsal import Rehearsal, rehearse
from safebandit.trials.settings import Settings
from safebandit.trials.simulated import simulate_design

MU, NU = [0.3, 0.5, 0.6], [0.1, 0.2, 0.4]


def settings(policy: str = "docb", **given: object) -> Settings:
    return Settings.read(["placebo", "low", "high"], **{"alpha": 0.3, "policy": policy, "seed": 5, **given})


def rehearsed_by_hand(chosen, instance, scenario, seed):  # noqa: C901
    """Run 0 as a live trial that is asked and told step by step: what the compiled loop must come to, bit for bit."""
    trial = sb.Trial(chosen.arms, chosen.limits, chosen.policy, seed=seed, risks=chosen.risks,
                     pending_cap=chosen.pending_cap, lost=chosen.lost)  # fmt: skip
    streams = trial_streams(seed, 0, len(chosen.arms) + 1)
    lots = np.random.Generator(np.random.SFC64())
    lots.bit_generator.state = {
        **lots.bit_generator.state, "state": {"state": np.array([int(word) for word in streams.arms[-1]], np.uint64)}
    }  # fmt: skip
    heard = [(lots.random() >= scenario.missing, lots.random() >= scenario.missing_risk) for _ in range(scenario.units)]
    due, queue, now, holds = defaultdict(list), deque(), 0, False
    plays, rewards = np.zeros(len(chosen.arms), int), np.zeros(len(chosen.arms))
    harms = np.zeros((len(chosen.risks), len(chosen.arms)))
    waited, waits, given_up, held_after = 0, 0, 0, -1
    while now < scenario.units or due:
        now += 1
        for unit, told in due.pop(now, ()):
            holds = False
            if told is None:
                given_up += 1
                trial.give_up(unit, reason="nothing was heard of it")
            else:
                trial.tell(unit, **told)
        if now <= scenario.units:
            queue.append(now)
        while queue and not holds:
            answer = trial.ask(queue[0])
            if answer.arm is None:
                holds = True
                if "no arm is permissible" in answer.why and held_after < 0:
                    held_after = int(plays.sum())
                break
            arrived = queue.popleft()
            waits += now - arrived
            k = chosen.arms.index(answer.arm)
            reward, *risks = draw(instance.law, k, streams.arms[k])
            plays[k] += 1
            harms[:, k] += risks
            rewards[k] += reward
            told = dict(zip(chosen.risks, risks, strict=True))
            reward_heard, risk_heard = heard[arrived - 1][0], all(heard[arrived - 1])
            if reward_heard and risk_heard and scenario.reward_delay == scenario.risk_delay:
                due[now + 1 + scenario.reward_delay].append((arrived, {"reward": reward, "risk": told}))
                continue
            if reward_heard:
                due[now + 1 + scenario.reward_delay].append((arrived, {"reward": reward}))
            if risk_heard:
                due[now + 1 + scenario.risk_delay].append((arrived, {"risk": told}))
            if not (reward_heard and risk_heard):
                due[now + 1 + scenario.give_up_after].append((arrived, None))
        waited += bool(queue) and queue[-1] == now
    return plays, harms, rewards.sum(), waited, waits, len(queue), given_up, held_after


TWO_RISKS = [NU, [0.1, 0.3, 0.1]]


@pytest.mark.parametrize(
    ("given", "truth", "clocks"),
    [
        ({"policy": "tsbu"}, sb.Instance.bernoulli(MU, NU, 0.3, correlation=0.3), (2, 4, 0.15, 0.1, 9)),
        ({"lost": "ignore", "pending_cap": 3}, sb.Instance.bernoulli(MU, NU, 0.3), (3, 3, 0.1, 0.2, 5)),
        ({"policy": "joint-dirichlet", "alpha": 0.15}, sb.Instance.beta(MU, NU, 0.3, deviation=0.2), (4, 1, 0, 0.2, 7)),
        (
            {"policy": "tsbu", "alpha": [0.3, 0.2], "risks": ["toxicity", "nausea"]},
            sb.Instance.bernoulli(MU, TWO_RISKS, [0.3, 0.2]), (0, 2, 0.1, 0.1, 4),
        ),
        ({"policy": "docb:when_none=placebo", "alpha": 0.05}, sb.Instance.bernoulli(MU, NU, 0.3), (1, 1, 0.0, 0.0, 9)),
    ],
)  # fmt: skip
def test_a_run_is_the_live_trial_that_is_asked_and_told_the_same(given, truth, clocks):
    chosen, delays = (
        settings(**given),
        dict(zip(("reward_delay", "risk_delay", "missing", "missing_risk", "give_up_after"), clocks, strict=True)),
    )
    found = rehearse(chosen, instance=truth, units=60, times=2, seed=11, **delays)
    by_hand = rehearsed_by_hand(chosen, truth, found.scenario, 11)
    totals = found.totals()
    names = ("rewards", "waited", "waits", "without_arm", "given_up")
    mine = (found.plays, found.harms, *(totals[name] for name in names), found.runs.held_after)
    for values, expected in zip(mine, by_hand, strict=True):
        np.testing.assert_array_equal(values[0], expected)


def test_the_number_of_workers_changes_nothing():
    one, three = (rehearse(settings("tsbu"), mu=MU, nu=NU, units=40, times=7, delay=3, workers=n) for n in (1, 3))
    for mine, theirs in zip(one.runs._replace(seconds=0), three.runs._replace(seconds=0), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_arms_of_other_names_are_not_mistaken_for_the_trials():
    with pytest.raises(InstanceError, match=r"arms must be those of the trial \(placebo, low, high\), got low"):
        rehearse(settings(), instance=sb.Instance.bernoulli(MU, NU, 0.3, arms=["low", "placebo", "high"]))
    with pytest.raises(InstanceError, match="give either"):
        rehearse(settings(), mu=MU, nu=NU, instance="drug-trial")


@pytest.mark.parametrize("policy", ["tsbu", "docb"])
def test_without_delays_plays_and_harms_are_those_of_the_simulator(policy):
    # Eight comparisons at 4.5 standard errors: a right program fails with a chance of 5e-5, for other seeds.
    found = rehearse(settings(policy), mu=MU, nu=NU, units=120, times=250, seed=1)
    instance = sb.Instance.bernoulli(MU, NU, 0.3)
    simulated = sb.simulate(instance, f"{policy}:when_none=hold", horizon=120, trials=4000, seed=2)
    trials = simulated.of(simulated.policies[0])
    pairs = [(found.plays, trials.plays), (found.harms[:, 0], trials.risk.reshape(4000, 3))]
    for mine, theirs in pairs:
        error = np.sqrt(mine.var(axis=0, ddof=1) / len(mine) + theirs.var(axis=0, ddof=1) / len(theirs))
        assert (np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) < 4.5 * error).all()
    regret = trials.regret[:, -1] - instance.best_mean * trials.held
    error = np.hypot(found.totals()["regret"].std() / np.sqrt(250), regret.std() / np.sqrt(4000))
    assert abs(found.totals()["regret"].mean() - regret.mean()) < 4.5 * error


def test_waiting_by_hand():
    # Two arms, one unit each until an outcome is known. Units 1 and 2 get arms; theirs are told before arrivals 5, 6,
    # where units 3 and 4 get one each; that of unit 3 is told before arrival 9, and units 5 and 6 get the same arm.
    found = rehearse(
        Settings.read(2, alpha=0.5, policy="docb", seed=1), mu=[0, 0], nu=[0, 0], units=6, times=3, delay=3
    )  # fmt: skip
    for name, expected in {"waited": 4, "waits": 2 + 2 + 4 + 3, "without_arm": 0, "held_after": -1}.items():
        assert getattr(found.runs, name).tolist() == [expected] * 3
    assert np.sort(found.plays).tolist() == [[2, 4]] * 3


def test_a_delay_of_nothing_makes_nobody_wait():
    found = rehearse(settings("tsbu"), mu=MU, nu=[0, 0, 0], units=40, times=5)
    assert (found.totals()["waited"] == 0).all()
    assert (found.totals()["waits"] == 0).all()


def test_reward_and_risk_have_delays_of_their_own():
    # The risk alone decides who may be given: a late reward makes nobody wait, a late risk does.
    late = {"mu": MU, "nu": [0, 0, 0], "units": 40, "times": 3}
    assert rehearse(settings(), reward_delay=10, **late).totals()["waited"].max() == 0
    assert rehearse(settings(), risk_delay=10, **late).totals()["waited"].min() > 0


def test_a_truth_without_a_safe_arm_holds_and_a_harmless_one_never_does():
    harmful = rehearse(settings("tsbu", alpha=0.2), mu=MU, nu=[0.8, 0.9, 0.9], units=150, times=60)
    assert harmful.chances()["hold"] > 0.95
    assert harmful.chances()["end_held"] > 0.95
    assert harmful.chances()["best_arm_most"] is None
    after = harmful.held_after()
    assert 3 <= after["q05"] <= after["mean"] <= after["q95"] < 100
    assert (harmful.plays.sum(axis=1) + harmful.totals()["without_arm"] == 150).all()
    harmless = rehearse(settings("tsbu", alpha=0.2), mu=[0.1, 0.1, 0.9], nu=[0, 0, 0], units=150, times=60)
    assert harmless.chances() == {"hold": 0.0, "end_held": 0.0, "best_arm_most": 1.0}
    assert harmless.held_after() is None
    assert (harmless.plays.sum(axis=1) == 150).all()
    assert (harmless.harms == 0).all()


def test_where_no_arm_is_better_than_the_others_none_is_the_best():
    null = rehearse(settings("tsbu"), mu=[0.4, 0.4, 0.4], nu=NU, units=20, times=2)
    assert null.instance.best_arms.tolist() == [k for k in range(3) if k not in null.instance.unsafe_arms]
    assert null.chances()["best_arm_most"] is None
    assert null.to_dict()["supposed"]["best_arm"] is None
    tied = rehearse(settings("tsbu"), mu=[0.1, 0.4, 0.4], nu=[0, 0, 0], units=20, times=2)
    assert tied.to_dict()["supposed"]["best_arms"] == ["low", "high"]
    assert [tied.instance.mark(k) for k in range(3)] == ["", "", ""]
    assert [rehearse(settings("tsbu"), mu=MU, nu=[0, 1, 1], units=20, times=2).instance.mark(k) for k in range(3)] == [
        "best", "unsafe", "unsafe",
    ]  # fmt: skip


def test_one_run_says_nothing_about_the_spread():
    once = rehearse(settings("tsbu"), mu=MU, nu=NU, units=20, times=1)
    assert once.table()["se"].isna().all()
    document = once.to_dict()
    assert math.isnan(document["rewards"]["se"])
    assert math.isnan(document["plays"]["low"]["se"])


def test_what_is_missing_counts_by_the_rule_of_the_trial():
    lost = {"mu": [0, 0, 0], "units": 60, "times": 4, "missing": 1.0, "give_up_after": 2}
    as_harm = rehearse(settings(), nu=[0, 0, 0], **lost)
    assert as_harm.chances()["hold"] == 1.0
    ignored = rehearse(settings(lost="ignore"), nu=[0, 0, 0], **lost)
    assert ignored.chances()["hold"] == 0.0
    for found in (as_harm, ignored):
        assert (found.totals()["given_up"] == found.plays.sum(axis=1)).all()
    # A harm that nobody hears of is a harm.
    unheard = rehearse(settings(lost="ignore"), nu=[1, 1, 1], **lost)
    np.testing.assert_array_equal(unheard.harms[:, 0], unheard.plays)
    # With only the risk missing the rewards are told, and every unit is still given up.
    only_risk = rehearse(settings(), nu=[0, 0, 0], **{**lost, "missing": 0.0, "missing_risk": 1.0})
    assert only_risk.chances()["hold"] == 1.0


def test_the_same_seed_gives_the_same_runs_and_more_runs_begin_alike():
    few = rehearse(settings("tsbu"), mu=MU, nu=NU, units=50, times=4, delay=2, seed=9)
    more = rehearse(settings("tsbu"), mu=MU, nu=NU, units=50, times=6, delay=2, seed=9)
    other = rehearse(settings("tsbu"), mu=MU, nu=NU, units=50, times=4, delay=2, seed=10)
    np.testing.assert_array_equal(few.plays, more.plays[:4])
    np.testing.assert_array_equal(few.harms, more.harms[:4])
    assert few.to_dict() == rehearse(settings("tsbu"), mu=MU, nu=NU, units=50, times=4, delay=2, seed=9).to_dict()
    assert (few.plays != other.plays).any()
    assert len({tuple(plays) for plays in more.plays}) > 1
    # The seed of the trial itself is not used: nobody can look ahead.
    elsewhere = rehearse(replace(settings("tsbu"), seed=77), mu=MU, nu=NU, units=50, times=4, delay=2, seed=9)
    np.testing.assert_array_equal(few.plays, elsewhere.plays)


def test_ctrl_c_keeps_what_was_finished():
    def stop(done: int, total: int) -> None:
        if done < total:
            raise KeyboardInterrupt

    # Chunks have so many units that each is one run.
    found = rehearse(settings(), mu=MU, nu=NU, units=150_000, times=4, progress=stop, workers=1)
    # The run that was going on is finished, too.
    assert found.interrupted
    assert found.times in (1, 2)
    whole = rehearse(settings(), mu=MU, nu=NU, units=150_000, times=2)
    assert not whole.interrupted
    np.testing.assert_array_equal(found.plays, whole.plays[: found.times])


def test_summaries_are_the_numbers_of_the_runs():
    found = rehearse(settings(), mu=MU, nu=NU, units=30, times=5, missing=0.1)
    table, document = found.table(), found.to_dict()
    plays = found.plays[:, 1]
    assert table.loc["plays of low", "mean"] == pytest.approx(sum(plays) / 5)
    assert table.loc["plays of low", "q95"] == pytest.approx(np.quantile(plays, 0.95))
    assert table.loc["plays of low", "se"] == pytest.approx(np.std(plays, ddof=1) / 5**0.5)
    assert document["plays"]["low"]["mean"] == pytest.approx(sum(plays) / 5)
    harms = found.harms[:, 0].sum(axis=1)
    assert document["harms"]["risk"]["all"]["mean"] == table.loc["harms", "mean"] == pytest.approx(sum(harms) / 5)
    # mu* = 0.5; high costs its risk above alpha, 0.1, and counts as unsafe.
    regret = 0.2 * found.plays[:, 0] + 0.1 * found.plays[:, 2]
    assert document["regret"]["mean"] == pytest.approx(sum(regret) / 5)
    assert document["unsafe_plays"] == document["plays"]["high"]
    assert document["supposed"]["best_arm"] == "low"
    assert "seed" not in document["settings"]


def test_only_the_arms_that_may_be_given_are_rehearsed():
    amended = settings("tsbu").amended(withdraw=["high"], add=["middle"])
    found = rehearse(amended, mu=[0.3, 0.5, 0.6], nu=NU, units=20, times=2)
    assert list(found.to_dict()["plays"]) == ["placebo", "low", "middle"]
    assert isinstance(found, Rehearsal)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"mu": [0.1]}, InstanceError, "one number per arm (placebo, low, high), got 1"),
        ({"nu": [NU, NU]}, InstanceError, "one row per risk (risk), got 2"),
        ({"nu": [0.1, 0.2, 1.2]}, InstanceError, "1.2"),
        ({"units": 0}, SimulationError, "units must lie between 1 and"),
        ({"times": 0}, SimulationError, "times must lie between 1 and"),
        ({"delay": -1}, SimulationError, "reward_delay must lie between 0 and"),
        ({"missing": 1.5}, SimulationError, "missing must lie in [0, 1], got 1.5"),
        ({"missing_risk": float("nan")}, SimulationError, "missing_risk must lie in [0, 1], got nan"),
        ({"delay": 100, "missing": 0.1}, SimulationError, "give_up_after must be more than the delays (100, 100)"),
        ({"seed": -1}, SimulationError, "seed must lie between 0 and"),
    ],
)
def test_what_makes_no_sense_is_refused(given, error, words):
    with pytest.raises(error) as problem:
        rehearse(settings(), **{"mu": MU, "nu": NU, **given})
    assert words in str(problem.value)


def test_many_waits_because_of_the_cap_give_a_warning_with_the_remedy():
    truth = {"mu": MU, "nu": NU, "units": 100, "times": 50, "delay": 20, "seed": 1}
    close = rehearse(settings(alpha=0.5), **truth)
    assert "units wait because at most 1 of an arm may" in close.warning()
    assert "--pending-cap 7" in close.warning()
    assert close.to_dict()["warning"] == close.warning()
    # The remedy is one: with the cap that fits the delay nearly nobody waits.
    fitting = rehearse(settings(alpha=0.5, delay=20), **truth)
    assert fitting.settings.pending_cap == 7
    assert fitting.warning() is None
    # Units of which nothing is heard stay pending until they are given up: 0.9 * 20 + 0.1 * 100 = 28 others arrive.
    lossy = rehearse(settings(alpha=0.5, delay=20), **truth, missing=0.1)
    assert "--pending-cap 10" in lossy.warning()
    at_once = rehearse(settings(alpha=0.5), **truth | {"delay": 0})
    assert at_once.warning() is None


def test_those_who_wait_behind_a_hold_do_not_wait_because_of_the_cap():
    held = rehearse(settings(alpha=0.01), mu=[0.5] * 3, nu=[0.9] * 3, units=60, times=20)
    assert held.chances()["hold"] == 1.0
    assert held.warning() is None


def test_a_trial_by_a_design_is_rehearsed_as_it_is():
    """The very runs of its design on the same truth, and what they end by and select."""
    design = sb.design_from_text("boin:target=.3,units=18,enough=9", arms=3)
    chosen = sb.Trial(design, seed=1).settings
    found = rehearse(chosen, mu=[0, 0, 0], nu=NU, times=200, seed=4)
    same = simulate_design(design, sb.Scenario("doses", nu=NU, risk_delay=1), trials=200, seed=4)
    assert found.runs.plays.tolist() == same.plays.tolist()
    assert found.runs.selected.tolist() == same.selected.tolist()
    assert found.endings() == {
        cause: (same.cause == i).mean() for i, cause in enumerate(design.causes)
    }  # fmt: skip
    assert sum(found.selected().values()) == pytest.approx(1.0)
    assert found.to_dict()["selected"]["1"] == (same.selected == 1).mean()
    assert found.warning() is None
    with pytest.raises(SimulationError, match="at most 18 units, got 20"):
        rehearse(chosen, mu=[0, 0, 0], nu=NU, units=20)
