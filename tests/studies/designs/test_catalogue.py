"""Every characteristic against its plain definition, trial by trial, on trials that were made up."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from safebandit.core.sequences import mixture_bounds
from safebandit.errors import StudyError
from safebandit.studies.designs.asking import Key, difference, estimate, keys_of, read_key, values
from safebandit.studies.designs.catalogue import CHARACTERISTICS

from .made import ALPHA, MU, NU, made_cell, made_corrected, made_runs

CELL = made_cell(corrected=made_corrected())
RUNS = CELL.runs
BEST, UNSAFE = 1, (3,)  # the largest mu with nu <= alpha; nu > alpha
COSTS = [max(MU[BEST] - mu, nu - ALPHA, 0.0) for mu, nu in zip(MU, NU, strict=True)]


def by_trial(one):
    """The mean over trials of a number that is computed from one trial."""
    found = [one(i) for i in range(len(RUNS.size))]
    return np.mean([each for each in found if each is not None])


@pytest.mark.parametrize(
    ("text", "of_trial"),
    [
        ("selected: c", lambda i: RUNS.selected[i] == 2),
        ("none selected", lambda i: RUNS.selected[i] == -1),
        ("best selected", lambda i: RUNS.selected[i] == BEST),
        ("unsafe selected", lambda i: RUNS.selected[i] in UNSAFE),
        ("best excluded", lambda i: RUNS.excluded[i, BEST] == 1),
        ("excluded: d", lambda i: RUNS.excluded[i, 3]),
        ("dropped: a", lambda i: RUNS.dropped[i, 0]),
        ("units: b", lambda i: RUNS.plays[i, 1]),
        ("rewards: b", lambda i: RUNS.rewards[i, 1]),
        ("harms: d", lambda i: RUNS.harms[i, 0, 3]),
        ("harms by risk: risk", lambda i: sum(RUNS.harms[i, 0])),
        ("unsafe units", lambda i: RUNS.plays[i, 3]),
        ("unsafe units: more than 6", lambda i: RUNS.plays[i, 3] > 6),
        ("all rewards", lambda i: sum(RUNS.rewards[i])),
        ("all harms", lambda i: sum(RUNS.harms[i, 0])),
        ("size", lambda i: sum(RUNS.plays[i])),
        ("duration: mean", lambda i: RUNS.duration[i]),
        ("regret", lambda i: sum(n * cost for n, cost in zip(RUNS.plays[i], COSTS, strict=True))),
        ("stopped early", lambda i: RUNS.cause[i] != 0),
        ("stopped: harm", lambda i: RUNS.cause[i] == 3),
        # Only arm d has a mean reward above every other arm's.
        ("power", lambda i: RUNS.cause[i] == 4 and RUNS.selected[i] in (3, -1)),
        ("type I error", lambda i: RUNS.cause[i] == 4 and RUNS.selected[i] in (0, 1, 2)),
        ("ideal design", lambda i: None if RUNS.selected[i] < 0 else (MU[RUNS.selected[i]] - 0.2) / 0.5),
    ],
)
def test_means_and_shares(text, of_trial):
    expected = by_trial(of_trial)
    assert estimate(CELL, read_key(text)).value == pytest.approx(expected, abs=1e-12)
    assert 0.0 < abs(expected) < 100.0


@pytest.mark.parametrize(
    ("text", "plays", "totals", "truth"),
    [
        ("reward bias: b", RUNS.reward_plays[:, 1], RUNS.reward_totals[:, 1], MU[1]),
        ("risk bias: d", RUNS.risk_plays[:, 0, 3], RUNS.risk_totals[:, 0, 3], NU[3]),
    ],
)
def test_bias_rmse_and_coverage_of_an_arm(text, plays, totals, truth):
    heard = plays > 0
    errors = totals[heard] / plays[heard] - truth
    assert 0 < heard.sum() < len(heard)
    assert estimate(CELL, read_key(text)).value == pytest.approx(errors.mean())
    root = estimate(CELL, read_key(text.replace("bias", "rmse")))
    assert root.value == pytest.approx(math.sqrt(np.mean(errors**2)))
    low, high = stats.beta.interval(0.95, 1 + totals[heard], 1 + plays[heard] - totals[heard])
    covered = estimate(CELL, read_key(text.replace("bias", "coverage")))
    assert covered.value == pytest.approx(np.mean((low <= truth) & (truth <= high)))
    for word, bounds in (("exact", clopper_and_pearson), ("sequence", lambda n, s: mixture_bounds(n, s, 0.95))):
        ends = [bounds(float(n), float(s)) for n, s in zip(plays[heard], totals[heard], strict=True)]
        inside = np.mean([low <= truth <= high for low, high in ends])
        assert estimate(CELL, read_key(text.replace("bias", f"{word} coverage"))).value == pytest.approx(inside)
        assert 0.5 < inside <= 1.0


def clopper_and_pearson(n, s):
    found = stats.binomtest(int(s), int(n)).proportion_ci(0.95, method="exact")
    return found.low, found.high


@pytest.mark.parametrize(("what", "row", "truth"), [("reward", 0, MU), ("risk", 1, NU)])
def test_corrected_means_of_an_arm_and_of_the_selected_one(what, row, truth):
    found, few = CELL.corrected, len(CELL.corrected.means)
    of_arm = [found.means[i, row, 2] - truth[2] for i in range(few) if not np.isnan(found.means[i, row, 2])]
    chosen = [
        found.selected_means[i, row] - truth[k]
        for i, k in enumerate(RUNS.selected[:few])
        if k >= 0 and not np.isnan(found.selected_means[i, row])
    ]
    for key, errors in ((f"{what} corrected {{}}: c", of_arm), (f"selected {what} corrected {{}}", chosen)):
        assert 0 < len(errors) < few
        assert estimate(CELL, read_key(key.format("bias"))).value == pytest.approx(np.mean(errors))
        root = math.sqrt(np.mean(np.square(errors)))
        assert estimate(CELL, read_key(key.format("rmse"))).value == pytest.approx(root)
        inside = np.mean(np.abs(errors) <= 0.2)
        assert estimate(CELL, read_key(key.format("coverage"))).value == pytest.approx(inside)
    with pytest.raises(StudyError, match="has no"):
        estimate(made_cell(), read_key(f"{what} corrected bias: c"))


@pytest.mark.parametrize("what", ["reward", "risk"])
def test_bias_and_rmse_of_the_selected_arm(what):
    plays = RUNS.reward_plays if what == "reward" else RUNS.risk_plays[:, 0]
    totals = RUNS.reward_totals if what == "reward" else RUNS.risk_totals[:, 0]
    truth = MU if what == "reward" else NU
    errors = [totals[i, k] / plays[i, k] - truth[k] for i, k in enumerate(RUNS.selected) if k >= 0 and plays[i, k] > 0]
    assert estimate(CELL, Key(f"selected {what} bias")).value == pytest.approx(np.mean(errors))
    assert estimate(CELL, Key(f"selected {what} rmse")).value == pytest.approx(math.sqrt(np.mean(np.square(errors))))


def test_quantiles_and_spread_of_counts():
    size = np.sort(RUNS.size)
    assert estimate(CELL, read_key("size: q95")).value == size[math.ceil(0.95 * len(size)) - 1]
    assert estimate(CELL, read_key("size: median")).value == size[len(size) // 2 - 1]
    assert estimate(CELL, read_key("size: sd")).value == pytest.approx(np.std(size, ddof=1))


def test_the_best_arm_is_judged_by_the_designs_own_limits():
    assert made_cell(alpha=0.6, limits=(0.6,)).truth.best.tolist() == [False, False, False, True]
    assert made_cell(alpha=0.3, limits=(0.3,)).truth.best.tolist() == [False, True, False, False]
    # Two arms are as good: both are best.
    assert made_cell(mu=[0.2, 0.5, 0.5, 0.7]).truth.best.tolist() == [False, True, True, False]
    # The best safe arm is not good enough: none is best, and selecting none is right.
    wanting = made_cell(least_reward=0.6)
    assert not wanting.truth.best.any()
    assert estimate(wanting, Key("best selected")).value == np.mean(RUNS.selected < 0)
    assert estimate(wanting, Key("best excluded")).value == 0.0


def test_without_rewards_the_safe_arm_nearest_to_its_limit_is_best():
    cell = made_cell(rewarded=False)
    assert cell.truth.best.tolist() == [False, False, True, False]
    assert cell.truth.costs.tolist() == pytest.approx([0.0, 0.0, 0.0, 0.3])
    names = {key.name for key in keys_of(cell)}
    assert not names & {"rewards", "all rewards", "ideal design", "reward bias", "selected reward rmse"}
    assert {"selected", "harms", "risk bias", "regret"} <= names


def test_where_the_lowest_risk_is_compared_less_is_better():
    rule = SimpleNamespace(lowest=True)
    cell = made_cell(rewarded=False, stop=(rule,), nu=[0.25, 0.1, 0.3, 0.6], control="a")
    assert cell.truth.best.tolist() == [False, True, False, False]
    assert cell.truth.superior.tolist() == [False, True, False, False]
    assert cell.truth.ideal.tolist() == pytest.approx([0.7, 1.0, 0.6, 0.0])
    assert cell.truth.costs.tolist() == pytest.approx([0.15, 0.0, 0.2, 0.5])


def test_with_a_control_superior_means_above_the_control():
    cell = made_cell(control="c")
    expected = np.mean([(c == 4) and k in (1, 3, -1) for c, k in zip(RUNS.cause, RUNS.selected, strict=True)])
    assert estimate(cell, Key("power")).value == expected
    # All arms alike: whoever is declared superior is so wrongly, and there is no power to speak of.
    null = made_cell(mu=[0.4] * 4, control="a")
    assert estimate(null, Key("type I error")).value == np.mean(RUNS.cause == 4)
    assert Key("power") not in set(keys_of(null))
    assert math.isnan(estimate(null, Key("ideal design")).value)


def test_several_risks():
    cell = made_cell(alpha=(0.3, 0.2), risks=("pain", "fall"), nu=[NU, [0.1, 0.25, 0.1, 0.1]], runs=made_runs(risks=2))
    runs = cell.runs
    assert cell.truth.unsafe.tolist() == [False, True, False, True]
    assert estimate(cell, Key("harms", "b")).value == pytest.approx(runs.harms[:, :, 1].sum(axis=1).mean())
    assert estimate(cell, Key("harms by risk", "fall")).value == pytest.approx(runs.harms[:, 1].sum(axis=1).mean())
    heard = runs.risk_plays[:, 1, 2] > 0
    bias = (runs.risk_totals[heard, 1, 2] / runs.risk_plays[heard, 1, 2] - 0.1).mean()
    assert estimate(cell, read_key("risk bias: fall: c")).value == pytest.approx(bias)
    errors = [
        runs.risk_totals[i, 1, k] / runs.risk_plays[i, 1, k] - (0.1, 0.25, 0.1, 0.1)[k]
        for i, k in enumerate(runs.selected)
        if k >= 0 and runs.risk_plays[i, 1, k] > 0
    ]
    assert estimate(cell, Key("selected risk bias", "fall")).value == pytest.approx(np.mean(errors))


def test_every_characteristic_has_a_number_in_every_trial_and_each_is_listed_once():
    keys = list(keys_of(CELL, 4))
    assert len(set(keys)) == len(keys)
    assert {key.name for key in keys} == set(CHARACTERISTICS)
    assert Key("unsafe units", "more than 4") in keys
    for name, each in CHARACTERISTICS.items():
        for i, of in enumerate(each.parts(CELL)):
            assert each.values(CELL, i).shape == RUNS.size.shape, (name, of)


def test_pairs_are_compared_in_the_same_trials():
    other = made_cell(runs=made_runs(seed=4))
    found = difference(CELL, other, Key("size"))
    by_pair = RUNS.size - other.runs.size
    assert found.value == pytest.approx(by_pair.mean())
    assert found.se == pytest.approx(stats.sem(by_pair))
    # A design against itself: nothing is left to chance.
    assert difference(CELL, CELL, Key("best selected"))[:2] == (0.0, 0.0)
    assert values(CELL, Key("size")).tolist() == RUNS.size.tolist()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("stoped early", 'there is no characteristic "stoped early"; did you mean "stopped early"?'),
        ("selected: e", 'there is no "selected: e"; known: a, b, c, d'),
        ("selected", 'say of what: "selected: a", for example; known: a, b, c, d'),
        ("stopped early: a", '"stopped early" is one number of a trial, got "stopped early: a"; leave ": a" out'),
        ("size: q9", 'there is no "size: q9"; did you mean "q99"?'),
        ("stopped: harms", 'there is no "stopped: harms"; did you mean "harm"?'),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(text, says):
    with pytest.raises(StudyError) as problem:
        estimate(CELL, read_key(text))
    assert str(problem.value).startswith(says)
    assert "\n" not in str(problem.value)


def test_what_is_no_mean_is_not_compared():
    for text in ("size: q95", "reward rmse: a"):
        with pytest.raises(StudyError, match="is no mean of trials"):
            difference(CELL, CELL, read_key(text))


def test_a_design_without_the_characteristic_says_so():
    with pytest.raises(StudyError, match='the design "made" has no "power"'):
        estimate(made_cell(causes=("most units", "no arm", "policy")), Key("power"))
