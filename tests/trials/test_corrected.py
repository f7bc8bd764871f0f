"""Corrected means against biases that are counted out by hand: every course of a tiny trial, with its chance."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit.trials.analysis.correction import LEAST_TRIALS, SHRINKAGE, Sums, correct
from safebandit.trials.settings import Settings

# One unit on each arm, then one more on each, unless both were harmed: the trial then stops.
STOPS = sb.Design(
    ["a", "b"], 0.5, "equal", 4, rewarded=False, looks=2, stop=[{"rule": "too-many-harms", "harms": 2}], select="none"
)
FIXED = sb.Design(["a", "b"], 0.5, "equal", 6, select="none")


def courses(p, q):
    """Every way in which a trial of STOPS can go: its chance, and plays and harms of both arms."""
    for x, y, later_x, later_y in product((0, 1), repeat=4):
        chance = np.prod([m if bit else 1 - m for bit, m in ((x, p), (y, q), (later_x, p), (later_y, q))])
        yield chance, *(((1, 1), (1, 1)) if x and y else ((2, 2), (x + later_x, y + later_y)))


def bias_of(p, q):
    """The exact bias of the mean harm of arm a."""
    return sum(chance * (harms[0] / plays[0] - p) for chance, plays, harms in courses(p, q))


def known(plays, harms):
    """Sums of a trial without rewards."""
    return {"plays": [[0, 0], plays], "totals": [[0, 0], harms]}


def test_the_bias_is_that_of_every_course_with_its_chance():
    # By hand: both harmed at once, a mean of 1 stands where (1 + p) / 2 was to be expected.
    assert bias_of(0.4, 0.7) == pytest.approx(0.4 * 0.7 * (1 - 0.4) / 2)
    found = sb.corrected(STOPS, **known((2, 2), (1, 1)), trials=20_000, steps=1, seed=1, workers=1)
    p = (1 + SHRINKAGE * 2.5 / 5) / (2 + SHRINKAGE)
    bias, error = found.overall.bias[1], found.overall.bias_error[1]
    # One test in 15,000 would fail by chance, two-sided.
    assert abs(bias - bias_of(p, p)).max() < 4 * error.max()
    spread = sum(chance * (harms[0] / plays[0] - p) ** 2 for chance, plays, harms in courses(p, p)) - bias_of(p, p) ** 2
    # That sums have mean 0 takes error off; none is added.
    assert (error > 0.0).all()
    assert (error < 0.5 * np.sqrt(spread / 20_000)).all()
    assert found.overall.mean[1] == pytest.approx(0.5 - bias)
    assert np.isnan(found.overall.mean[0]).all()


def test_corrected_means_are_nearer_to_the_truth_over_all_courses():
    p, q = 0.5, 0.6
    off = {"plain": 0.0, "corrected": 0.0}
    for plays, harms in {course[1:] for course in courses(p, q)}:
        chance = sum(each[0] for each in courses(p, q) if each[1:] == (plays, harms))
        found = sb.corrected(STOPS, **known(plays, harms), trials=2_000, seed=1, workers=1)
        off["plain"] += chance * (harms[0] / plays[0] - p)
        off["corrected"] += chance * (found.overall.mean[1, 0] - p)
    assert off["plain"] == pytest.approx(bias_of(p, q)) == pytest.approx(0.075)
    assert abs(off["corrected"]) < 0.5 * off["plain"]


def test_where_shares_are_fixed_nothing_is_corrected_and_the_interval_is_the_posteriors():
    design = sb.Design(["a", "b"], 0.5, "equal", 60, select="none")
    plays, totals = np.full((2, 2), 30), np.array([[12, 15], [8, 20]])
    found = sb.corrected(design, plays=plays, totals=totals, trials=1_000, seed=3, workers=1)
    assert np.abs(found.overall.bias).max() < 1e-12
    assert found.overall.mean == pytest.approx(totals / 30)
    low, high = stats.beta.interval(0.95, 1 + totals, 31 - totals)
    # Shares over their own standard errors spread a little more than 1.
    assert found.overall.low == pytest.approx(low, abs=0.03)
    assert found.overall.high == pytest.approx(high, abs=0.03)


def test_the_same_seed_gives_the_same_bits_however_many_workers():
    asked = {**known((2, 2), (2, 1)), "trials": 300}
    one, same, other = (
        sb.corrected(STOPS, **asked, seed=seed, workers=workers) for seed, workers in ((5, 1), (5, 2), (6, 1))
    )
    assert one.to_dict() == same.to_dict()
    assert one.overall.bias[1, 0] != other.overall.bias[1, 0]


def test_of_the_selected_arm_the_bias_is_that_of_trials_that_select_it():
    """Two arms of three units each; the larger total is selected, arm 0 where both are the same."""
    n, rng = 3, np.random.default_rng(2)

    def simulate(means):
        totals = rng.binomial(n, means[None], (40_000, *means.shape)).astype(float)
        plays = np.full(totals.shape, n)
        chosen = np.where(totals[:, 0, 0] >= totals[:, 0, 1], 0, 1)
        return SimpleNamespace(
            reward_plays=plays[:, 0], reward_totals=totals[:, 0], risk_plays=plays[:, 1:], risk_totals=totals[:, 1:],
            selected=chosen,
        )  # fmt: skip

    sums = Sums(np.full((2, 2), 3.0), np.array([[2.0, 1.0], [1.0, 0.0]]))
    _, chosen, share = correct(simulate, sums, 0, steps=1)
    p, q = sums.shrunk(sums.means)[0]
    cells = [(stats.binom.pmf(x, n, p) * stats.binom.pmf(y, n, q), x) for x in range(4) for y in range(x + 1)]
    chance = sum(weight for weight, _ in cells)
    exact = sum(weight * x / n for weight, x in cells) / chance - p
    # One test in 15,000 would fail by chance, two-sided; what is selected says nothing of risks.
    assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / 40_000)
    assert abs(chosen.bias[0] - exact) < 4 * chosen.bias_error[0] < 0.01 < exact
    assert abs(chosen.bias[1]) < 4 * chosen.bias_error[1]
    assert chosen.mean[0] == pytest.approx(2 / 3 - chosen.bias[0])
    # Where too few trials select it, no number is said.
    assert correct(simulate, sums, None, steps=1)[1] is None


def test_what_is_hardly_ever_heard_of_has_no_number():
    def simulate(means):
        plays = np.zeros((LEAST_TRIALS, 1, 2))
        plays[:-1, :, 0] = 1
        plays[:, :, 1] = 1
        return SimpleNamespace(
            reward_plays=plays[:, 0], reward_totals=0 * plays[:, 0], risk_plays=plays, risk_totals=0 * plays,
            selected=np.zeros(LEAST_TRIALS),
        )  # fmt: skip

    overall, _, _ = correct(simulate, Sums(np.ones((2, 2)), np.ones((2, 2))), None)
    assert np.isnan(overall.mean).tolist() == [[True, False]] * 2
    assert np.isnan(overall.error).tolist() == np.isnan(overall.low).tolist() == [[True, False]] * 2


def told(units, *, design=FIXED, risk=0):
    trial = sb.Trial(design, seed=3) if isinstance(design, sb.Design) else sb.Trial(design, 0.5, "equal", seed=3)
    for i in range(units):
        trial.tell(trial.ask().id, reward=i % 2, risk=risk)
    return trial


def test_a_live_trial_is_corrected_by_its_own_design():
    found = sb.analyse(told(6), corrected=100, seed=1).corrected
    assert (found.units, found.trials, found.seed, found.selected) == (6, 100, 1, None)
    assert found.sums.plays.tolist() == [[3, 3], [3, 3]]
    assert found.overall.mean == pytest.approx(found.sums.means)
    assert "by 100 simulated trials of the same rules" in found.says()
    assert "(seed 1; at most 6 units; " in found.says()
    assert "corrected" not in sb.analyse(told(2)).to_dict()
    # Before its end it is simulated as far as it is; without a design, too.
    early = sb.analyse(told(4), corrected=100)
    assert early.corrected.units == 4
    assert early.to_dict()["corrected"]["arms"]["a"]["reward"]["known"] == 2
    assert sb.analyse(told(4, design=["a", "b"]), corrected=100, delay=1).corrected.delay == 1


def test_what_cannot_be_simulated_is_refused():
    amended = told(2, design=["a", "b"])
    amended.amend(reason="safer", alpha=0.4)
    for trial, says in (
        (amended, "was amended, and a correction simulates a trial whose rules stay"),
        (told(2, risk=0.5), "a correction simulates bits"),
        (told(0), "no outcome is known yet"),
        (sb.Trial(2, alpha=0.5, policy="equal", context=["age"]), "units without a context and arms without features"),
    ):
        with pytest.raises(sb.BadValueError) as problem:
            sb.analyse(trial, corrected=100)
        assert says in str(problem.value)
        assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"plays": [[1, 1]]}, "plays and totals have a row per quantity and a column per arm, (2, 2); got (1, 2)"),
        ({"plays": "many"}, "plays and totals are tables of numbers, got 'many'"),
        ({"totals": [[0, 0], [3, 0]]}, "every sum lies between 0 and how many outcomes are known"),
        ({"totals": [[0, 0], [0.5, 0]]}, "outcomes between 0 and 1 were told"),
        ({"selected": "c"}, 'selected must be one of the arms (a, b), got "c"'),
        ({"units": 3}, "units must be at least 4, of which outcomes are known, got 3"),
        ({"units": 5}, "units must be at most those of the design, 4, got 5"),
        ({"trials": 20}, "trials must lie between 30 and 1,000,000, got 20"),
        ({"steps": 0}, "steps must lie between 1 and 10, got 0"),
        ({"delay": -1}, "delay must lie between 0 and 10,000,000, got -1"),
        ({"confidence": 1}, "confidence must lie between 0 and 1, got 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(changes, says):
    with pytest.raises(sb.BadValueError) as problem:
        sb.corrected(STOPS, **{**known((2, 2), (1, 1)), **changes})
    assert says in str(problem.value)
    assert "\n" not in str(problem.value)


def test_settings_without_a_design_say_how_many_units_there_were():
    settings = Settings.read(["a", "b"], alpha=0.5, policy="equal")
    with pytest.raises(sb.BadValueError, match="say how many units had an arm"):
        sb.corrected(settings, **known((2, 2), (1, 1)))
