"""Rehearsals: the same decisions as a real trial's, the same numbers as the simulator's, and clocks done by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import InstanceError, SimulationError
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.store import DatabaseStore
from safebandit.trials.record.verification import verify
from safebandit.trials.rehearsal import Rehearsal, rehearse
from safebandit.trials.rehearsed_run import REASON, MemoryDesk, RunInProgress, Supposition, draw_fates

MU, NU = [0.3, 0.5, 0.6], [0.1, 0.2, 0.4]


def settings(policy: str = "docb", **given: object) -> Settings:
    return Settings.read(["placebo", "low", "high"], **{"alpha": 0.3, "policy": policy, "seed": 5, **given})


class LedgerDesk:
    """The desk of a real trial: every step is an event in a database."""

    def __init__(self, ledger: Ledger, writing: object) -> None:
        self.ledger, self.writing = ledger, writing
        self.holds = False

    def ask(self, unit: str) -> tuple[str | None, bool]:
        given = self.writing.trial("knee").ask(unit, actor="desk")
        self.holds = given.held
        return given.arm, "no arm is permissible" in given.why

    def tell(self, unit: str, reward: float | None, risk: list[float | None] | None) -> None:
        told = risk[0] if risk is not None and len(risk) == 1 else risk
        assert self.writing.trial("knee").tell(unit, reward=reward, risk=told, actor="desk").new
        self.holds = False

    def give_up(self, unit: str) -> None:
        assert self.writing.trial("knee").give_up(unit, reason=REASON, actor="desk").new
        self.holds = False


@pytest.mark.parametrize(
    ("given", "nu"),
    [
        ({"policy": "tsbu"}, NU),
        ({"policy": "docb", "lost": "ignore", "pending_cap": 3}, NU),
        ({"policy": "joint-dirichlet", "alpha": 0.15}, NU),
        ({"policy": "tsbu", "alpha": [0.3, 0.2], "risks": ["toxicity", "nausea"]}, [NU, [0.1, 0.3, 0.1]]),
    ],
)
def test_a_run_is_the_trial_that_a_ledger_would_keep_bit_for_bit(given, nu, tmp_path):
    chosen = settings(**given)
    instance = sb.Instance.bernoulli(MU, nu, given.get("alpha", 0.3), arms=chosen.arms, allow_infeasible=True)
    supposed = Supposition(instance, 60, 2, 4, 0.15, 0.1, 9)
    fates = draw_fates(supposed, np.random.default_rng(3))
    desk = MemoryDesk(chosen)
    rehearsed = RunInProgress(desk, supposed, fates).play()
    with Ledger(tmp_path / "trials.db") as ledger:
        with ledger.writing() as writing:
            writing.create("knee", chosen, actor="desk")
            kept = RunInProgress(LedgerDesk(ledger, writing), supposed, fates).play()
        state = ledger.state("knee")
        assert verify(ledger, "knee").holds
        with ledger.reading() as connection:
            units = list(DatabaseStore(connection, "knee").units())
    for mine, theirs in zip(rehearsed, kept, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert rehearsed.given_up > 0
    assert units == list(desk.store.units())
    assert state.allocator.to_bytes() == desk.state.allocator.to_bytes()
    assert state.allocator.position == desk.state.allocator.position
    counted = ("number", "units", "decisions", "waiting", "version", "status", "held_at")
    assert [getattr(state, name) for name in counted] == [getattr(desk.state, name) for name in counted]


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
    for run in found.runs:
        assert (run.waited, run.waits, run.without_arm, run.held_after) == (4, 2 + 2 + 4 + 3, 0, -1)
        assert sorted(run.plays) == [2, 4]


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
    assert len({tuple(run.plays) for run in more.runs}) > 1
    # The seed of the trial itself is not used: nobody can look ahead.
    elsewhere = rehearse(replace(settings("tsbu"), seed=77), mu=MU, nu=NU, units=50, times=4, delay=2, seed=9)
    np.testing.assert_array_equal(few.plays, elsewhere.plays)


def test_ctrl_c_keeps_what_was_finished():
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    found = rehearse(settings(), mu=MU, nu=NU, units=30, times=10, progress=stop)
    assert (len(found.runs), found.interrupted) == (3, True)
    whole = rehearse(settings(), mu=MU, nu=NU, units=30, times=3)
    assert not whole.interrupted
    np.testing.assert_array_equal(found.plays, whole.plays)


def test_summaries_are_the_numbers_of_the_runs():
    found = rehearse(settings(), mu=MU, nu=NU, units=30, times=5, missing=0.1)
    table, document = found.table(), found.to_dict()
    plays = [run.plays[1] for run in found.runs]
    assert table.loc["plays of low", "mean"] == pytest.approx(sum(plays) / 5)
    assert table.loc["plays of low", "q95"] == pytest.approx(np.quantile(plays, 0.95))
    assert table.loc["plays of low", "se"] == pytest.approx(np.std(plays, ddof=1) / 5**0.5)
    assert document["plays"]["low"]["mean"] == pytest.approx(sum(plays) / 5)
    harms = [run.harms[0].sum() for run in found.runs]
    assert document["harms"]["risk"]["all"]["mean"] == table.loc["harms", "mean"] == pytest.approx(sum(harms) / 5)
    # mu* = 0.5; high costs its risk above alpha, 0.1, and counts as unsafe.
    regret = [0.2 * run.plays[0] + 0.1 * run.plays[2] for run in found.runs]
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
