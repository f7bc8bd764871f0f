"""What a trial says at a look: by the formulas on its own sums, in words, and where nothing is known."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import safebandit as sb
from safebandit.core.e_values import log_wealth_above, wealth_larger
from safebandit.core.sequences import betting_bounds, difference_bounds, mixture_bounds, planned_bounds
from safebandit.trials.analysis.evidence import Claim, combine_claims
from safebandit.trials.analysis.paths import looks_at


def table(**changes):
    """Three arms, 90 units; the last ten risks of "high" are not known."""
    rng = np.random.default_rng(4)
    arm = np.tile(["placebo", "low", "high"], 30)
    shares = {"placebo": (0.1, 0.05), "low": (0.4, 0.1), "high": (0.9, 0.5)}
    reward, risk = ((rng.random(90) < [shares[name][j] for name in arm]).astype(float) for j in (0, 1))
    risk[np.flatnonzero(arm == "high")[-10:]] = math.nan
    return pd.DataFrame({"arm": arm, "reward": reward, "risk": risk} | changes)


def known(rows, arm, endpoint):
    return rows[endpoint][(rows["arm"] == arm) & rows[endpoint].notna()].to_numpy()


def running(values, bounds):
    """The intersection over all looks, by definition."""
    ends = [bounds(float(n), float(values[:n].sum())) for n in looks_at(len(values))]
    return max(low for low, _ in ends), min(high for _, high in ends)


def test_every_number_is_that_of_its_formula():
    rows = table()
    found = sb.analyse(rows, alpha=0.2, control="placebo")
    for arm in ("placebo", "low", "high"):
        for endpoint in ("reward", "risk"):
            values, each = known(rows, arm, endpoint), found.estimate(arm, endpoint)
            assert (each.known, each.units) == (len(values), 30)
            assert each.mean == pytest.approx(values.mean())
            assert each.interval == running(values, lambda n, s: mixture_bounds(n, s, 0.95))
        s, n = values.sum(), float(len(values))
        assert each.e_above == pytest.approx(math.exp(log_wealth_above(s, n, 0.2, 1.0, 1.0)))
        assert each.e_below == pytest.approx(math.exp(log_wealth_above(n - s, n, 0.8, 1.0, 1.0)))
    high, placebo = known(rows, "high", "reward"), known(rows, "placebo", "reward")
    against = next(each for each in found.comparisons if (each.arm, each.endpoint) == ("high", "reward"))
    assert against.difference == pytest.approx(high.mean() - placebo.mean())
    assert against.e_above == wealth_larger(high.sum(), 30.0, placebo.sum(), 30.0)
    now = difference_bounds(30.0, high.sum(), 30.0, placebo.sum(), 0.95)
    assert now[0] <= against.interval[0] < against.difference < against.interval[1] <= now[1]
    # Whatever the ten are: all harms, or none.
    risk = found.estimate("high", "risk")
    total = known(rows, "high", "risk").sum()
    outwards = (mixture_bounds(30.0, total, 0.95)[0], mixture_bounds(30.0, total + 10, 0.95)[1])
    assert risk.worst == (min(outwards[0], risk.interval[0]), max(outwards[1], risk.interval[1]))


def test_other_kinds_of_sequences_are_named_and_used():
    rows = table()
    values = known(rows, "low", "risk")
    planned = sb.analyse(rows, planned=30, confidence=0.9)
    assert planned.estimate("low", "risk").interval == running(values, lambda n, s: planned_bounds(n, s, 0.9, 30.0))
    assert "mixture, planned for 30 outcomes of an arm" in " ".join(planned.assumptions)
    betting = sb.analyse(rows.assign(reward=0.5), kind="betting", alpha=0.2, control="placebo")
    low, high = betting_bounds(values, np.arange(1, 31), 0.95)
    assert betting.estimate("low", "risk").interval == pytest.approx((low.max(), high.min()), abs=0.02)
    # Constant outcomes are where bets are far narrower than a mixture.
    narrow, wide = (np.diff(each.estimate("low").interval) for each in (betting, sb.analyse(rows.assign(reward=0.5))))
    assert narrow < 0.5 * wide
    design = sb.Design(["a", "b"], alpha=0.3, policy="docb", units=41)
    assert sb.analyse(sb.Trial(design, seed=1)).sequence.planned == 21


def test_claims_stand_together_and_say_what_they_rest_on():
    found = sb.analyse(table(), alpha=0.2, control="placebo")
    assert len(found.claims) == 3 * 2 + 2 * 2 * 2
    stand = {claim.what for claim in found.claims if claim.stands}
    assert 'the reward of "high" is above that of "placebo"' in stand
    assert all(f"claimed: {what}" in " ".join(found.sentences) for what in stand)
    assert any("10 outcomes not known" in sentence for sentence in found.assumptions)
    assert any("does not say when outcomes were told" in sentence for sentence in found.assumptions)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["sequence"] == "mixture, Beta(1, 1)"
    assert [claim["stands"] for claim in document["claims"]] == [claim.stands for claim in found.claims]
    assert list(found.table()["low"]) == [each.interval[0] for each in found.estimates]
    assert len(found.comparison_table()) == 4
    assert found.claim_table()["stands"].sum() == len(stand)


def test_evidence_of_trials_that_follow_each_other_multiplies():
    once = [Claim("drug", "risk", True, 0.2, 8.0), Claim("drug", "risk", False, 0.2, 0.1)]
    again = [Claim("drug", "risk", True, 0.2, 6.0)]
    both = combine_claims([once, again])
    assert [(claim.e, claim.stands) for claim in both] == [(48.0, True), (0.1, False)]
    assert not any(claim.stands for claim in combine_claims([once]))


def test_nothing_known_yet_is_an_answer():
    trial = sb.Trial(["placebo", "drug"], alpha=0.2, policy="docb", seed=7)
    for found in (sb.analyse(trial), sb.analyse(trial, control="drug", kind="betting")):
        assert found.sentences == ("nothing is known yet: no outcome was told",)
        assert {each.interval for each in found.estimates} == {(0.0, 1.0)}
        assert {each.e_above for each in found.estimates if each.limit is not None} == {1.0}
        assert not any(claim.stands for claim in found.claims)
        json.dumps(found.to_dict(), allow_nan=False)
    empty = pd.DataFrame({"arm": [], "reward": [], "risk": []})
    assert sb.analyse(empty).sentences == ("nothing is known yet: no outcome was told",)
    # One arm alone known: what is not says so.
    alone = sb.analyse(pd.DataFrame({"arm": ["a", "b"], "risk": [0.0, None]}), control="a", alpha=0.2)
    assert 'of the risk of "b" nothing is known yet, of 1 unit' in alone.sentences
    assert alone.comparisons[0].interval == (-1.0, 1.0)


def test_units_given_up_count_as_the_trial_says():
    trial = sb.Trial(["a"], alpha=0.2, policy="docb", seed=7, pending_cap=9)
    for _ in range(3):
        trial.ask()
    trial.tell("1", reward=1, risk=0)
    trial.give_up("2", reason="left")
    found = sb.analyse(trial)
    risk, reward = found.estimate("a", "risk"), found.estimate("a")
    assert (risk.known, risk.mean, risk.missing, risk.given_up) == (2, 0.5, 1, 1)
    assert (reward.known, reward.mean, reward.missing) == (1, 1.0, 2)
    assert any(sentence.startswith("1 unit given up: risks of them that nobody saw count as harm")
               for sentence in found.assumptions)  # fmt: skip


def test_a_correction_changes_the_value_and_not_its_place():
    trial = sb.Trial(["a"], alpha=0.2, policy="docb", seed=7, pending_cap=9)
    for risk in (0, 0, 1):
        trial.tell(trial.ask().id, reward=1, risk=risk)
    before = sb.analyse(trial).estimate("a", "risk").path
    trial.correct("1", risk=1, reason="read again")
    after = sb.analyse(trial).estimate("a", "risk").path
    assert before.mean == pytest.approx([0, 0, 1 / 3])
    assert after.mean == pytest.approx([1, 1 / 2, 2 / 3])


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"confidence": 1.0}, "confidence must lie between 0 and 1, got 1.0"),
        ({"confidence": math.nan}, "confidence must"),
        ({"control": "plcebo"}, 'the control must be an arm, got "plcebo"; did you mean "placebo"?'),
        ({"kind": "exact"}, 'the kind of a sequence must be one of mixture, betting, got "exact"'),
        ({"kind": "betting", "planned": 10}, 'planned is for the kind "mixture"'),
        ({"planned": 0}, "planned must be at least 1 outcome of an arm, got 0"),
        ({"alpha": 1.5}, "alpha"),
        ({"lost": "safe"}, "lost must be"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(said, message):
    with pytest.raises(sb.TrialError) as refused:
        sb.analyse(table(), **said)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_picture_has_a_panel_for_each_endpoint():
    figure = sb.analyse(table(), alpha=0.2).plot()
    assert [axis.get_ylabel() for axis in figure.axes] == ["reward", "risk"]
    assert "95 % confidence sequences (mixture, Beta(1, 1))" in figure.get_suptitle()


def test_what_nobody_saw_is_claimed_of_no_arm():
    """Risks of units given up count as harm, and as no evidence of it."""
    trial = sb.Trial(["a", "b"], alpha=0.3, policy="docb", seed=1, pending_cap=100)
    for i in range(40):
        trial.ask(str(i))
    for unit, arm in trial.pending.items():
        if arm == "a":
            trial.tell(unit, reward=1, risk=0)
        else:
            trial.give_up(unit, reason="moved away")
    found = sb.analyse(trial, control="a")
    of_b = found.estimate("b", "risk")
    assert (of_b.mean, of_b.e_above < 1.0, of_b.worst[0]) == (1.0, True, 0.0)
    assert not [claim.what for claim in found.claims if claim.stands and claim.arm == "b" and claim.above]
    assert any("they count as what speaks against it" in said for said in found.assumptions)


def test_a_trial_whose_policy_goes_by_the_context_has_no_mean_of_an_arm():
    trial = sb.Trial(["a", "b"], alpha=0.3, policy="linear", seed=1, context=["age"])
    with pytest.raises(sb.TrialError, match="an arm's mean moves with whom it is given to"):
        sb.analyse(trial)
    assert sb.analyse(sb.Trial(["a", "b"], alpha=0.3, policy="docb", seed=1, context=["age"])).units == 0
