"""Simulated trials of designs with strata, and of truths with strata that a design does not tell apart.

Sums are compared with what their plays lead to expect, given which arm each unit got: a difference of more than 4.5
standard errors comes by chance once in 150,000 such comparisons, and there are fewer than 40.
"""

import numpy as np
import pytest

import safebandit as sb
from safebandit.trials.rehearsal import rehearse
from safebandit.trials.settings import Settings
from safebandit.trials.simulated import simulate_design

MU, NU, FRAIL = (0.2, 0.5, 0.6), (0.1, 0.25, 0.5), (0.3, 0.5, 0.8)
SITES = {"site": ["a", "b"]}
TRUTH = sb.Scenario("frail", mu=MU, nu=NU, strata={"site=b": {"share": 0.3, "nu": FRAIL}})


def design(strata=SITES, **others):
    return sb.Design(3, 0.3, "docb", 60, pending_cap=20, strata=strata, **others)


@pytest.mark.parametrize("strata", [SITES, None], ids=["decided apart", "not told apart"])
def test_units_are_of_strata_in_their_shares_and_outcomes_are_those_of_their_stratum(strata):
    made = design(strata)
    runs = simulate_design(made, made.fit(TRUTH), trials=400)
    assert (runs.plays_in.sum(axis=1) == runs.plays).all()
    in_strata = runs.plays_in.sum(axis=0)
    # Units that never got an arm may be of either.
    arrived, lost = runs.plays.sum() + runs.without_arm.sum(), runs.without_arm.sum()
    in_b = in_strata[1 if strata else 0].sum()
    assert abs(in_b - 0.3 * arrived) < 4.5 * np.sqrt(0.21 * arrived) + lost
    assert lost < 0.02 * arrived
    risks = np.array([NU, FRAIL] if strata else [FRAIL, NU])
    for found, means in ((runs.harms[:, 0], risks), (runs.rewards, np.array([MU, MU]))):
        expected, variance = (in_strata * means).sum(axis=0), (in_strata * means * (1 - means)).sum(axis=0)
        assert (np.abs(found.sum(axis=0) - expected) < 4.5 * np.sqrt(variance)).all()


def test_shares_of_several_strata():
    made = design({"site": ["a", "b", "c"]}, stop=[])
    truth = sb.Scenario("alike", mu=MU, nu=(0.0, 0.0, 0.0), strata={"site=a": {"share": 0.2}, "site=c": {"share": 0.5}})
    runs = simulate_design(made, made.fit(truth), trials=200)
    units = runs.plays_in.sum(axis=(0, 2))
    shares = np.array([0.2, 0.3, 0.5])
    assert (runs.size == 60).all()
    assert (np.abs(units - shares * units.sum()) < 4.5 * np.sqrt(shares * (1 - shares) * units.sum())).all()


def test_strata_decide_by_what_is_known_of_their_own_units():
    """The highest arm is safe in one stratum alone: there it is given most, in the other least."""
    made = design(None, stop=[])
    truth = sb.Scenario(
        "apart", mu=MU, nu=(0.05, 0.05, 0.05), strata={"site=b": {"share": 0.5, "nu": (0.05, 0.05, 0.95)}}
    )
    together = simulate_design(made, made.fit(truth), trials=200).plays_in.mean(axis=0)
    made = design(stop=[])
    apart = simulate_design(made, made.fit(truth), trials=200).plays_in.mean(axis=0)
    assert apart[0, 2] > 2 * apart[1, 2]
    # Without strata nobody knows whose unit it is: both get it alike.
    assert together[0, 2] == pytest.approx(together[1, 2], rel=0.1)


def test_a_stratum_that_gives_no_arm_keeps_nobody_else_waiting():
    made = design(stop=[])
    truth = sb.Scenario(
        "one is lost", mu=MU, nu=(0.0, 0.0, 0.0), strata={"site=b": {"share": 0.5, "nu": (1.0, 1.0, 1.0)}}
    )
    runs = simulate_design(made, made.fit(truth), trials=50)
    assert (runs.size + runs.without_arm == 60).all()
    assert (runs.without_arm > 5).all()
    assert (runs.held_after > 0).all()
    assert {made.causes[cause] for cause in runs.cause} == {"no arm"}
    # Those of the other stratum all got an arm: about half of sixty, 4.5 standard deviations aside.
    assert (np.abs(runs.plays_in[:, 0].sum(axis=1) - 30) < 4.5 * np.sqrt(15)).all()
    assert (runs.waited == 0).all()


def test_the_same_bits_on_any_number_of_threads():
    made = design(stop=["harm:confidence=0.8", "arm-harm:confidence=0.8"])
    one, three = (simulate_design(made, made.fit(TRUTH), trials=70, seed=5, workers=workers) for workers in (1, 3))
    for name, mine, theirs in zip(one._fields, one, three, strict=True):
        assert name == "seconds" or np.array_equal(mine, theirs), name
    assert one.dropped.any()


def test_units_are_judged_in_their_own_stratum(tmp_path):
    made = design(stop=[])
    found = sb.operating_characteristics([made, design(None, stop=[])], TRUTH, trials=40)
    for label, played in zip(found.designs, found.played, strict=True):
        unsafe = np.array([NU, FRAIL]) > 0.3
        rows = played.runs.plays_in if played.design.strata else played.runs.plays_in[:, ::-1]
        counted = (rows * unsafe).sum(axis=(1, 2))
        assert found.estimate(label, "frail", "unsafe units").value == pytest.approx(counted.mean())
    truth = found.played[0].cell.truth
    assert truth.instance.nu == pytest.approx(0.7 * np.array(NU) + 0.3 * np.array(FRAIL))
    assert (truth.unsafe.tolist(), truth.best.tolist()) == ([False, True, True], [True, False, False])
    again = sb.Characteristics.load(found.save(tmp_path / "found.parquet"))
    assert np.array_equal(again.played[0].runs.plays_in, found.played[0].runs.plays_in)
    assert again.table().equals(found.table())


def test_an_arm_that_is_unsafe_for_some_is_unsafe_where_it_is_selected_for_all():
    """On average it is safe, and so it is what a design selects that pools its strata."""
    frail = {"site=b": {"share": 0.2, "nu": (0.05, 0.6)}}
    truth = sb.Scenario("some", mu=(0.2, 0.8), nu=(0.05, 0.05), strata=frail)
    made = sb.Design(2, 0.3, "docb", 60, pending_cap=20, strata=SITES, select="best-safe", title="pooled")
    found = sb.operating_characteristics(made, truth, trials=60)
    assert found.played[0].cell.truth.instance.nu[1] == pytest.approx(0.16)
    assert found.estimate("pooled", "some", "unsafe selected").value > 0.5


def test_a_trial_by_a_design_with_strata_is_rehearsed():
    made = design(stop=["too-many-harms:harms=8"])
    found = rehearse(Settings.by_design(made), mu=MU, nu=NU, times=30)
    assert found.runs.plays_in.shape == (30, 2, 3)
    assert (found.runs.plays_in.sum(axis=(1, 2)) == found.runs.size).all()


def test_corrections_are_refused():
    with pytest.raises(sb.StudyError, match="without strata"):
        sb.operating_characteristics(design(), TRUTH, trials=4, corrected=1)
