"""BOIN12: desirability as published, the published path, and every decision by its authors' rule, transcribed."""

import numpy as np
import pytest
from scipy import special, stats

from safebandit.core.arms import INDEX
from safebandit.core.policies import HOLD
from safebandit.core.policies.dose.ladder import optimal_boundaries
from safebandit.core.policies.interface import DONE
from safebandit.errors import PolicyError
from safebandit.studies.validation.numbers import BOIN12_INADMISSIBLE, BOIN12_NEXT, BOIN12_PATH, BOIN12_RANKS

from .stand import Stand, chance_below, is_too_toxic, random_counts

DOSES = 5
TOLERATED, WANTED = 0.35, 0.25
# Utilities of efficacy without harm 100, neither 40, both 60, harm alone 0, at the two limits, if independent.
LOW = 1.0 * WANTED * (1 - TOLERATED) + 0.4 * (1 - WANTED) * (1 - TOLERATED) + 0.6 * WANTED * TOLERATED
DESIRED = LOW + (1 - LOW) / 2


@pytest.fixture(scope="module")
def stand():
    return Stand("boin12:tolerated=0.35,wanted=0.25", DOSES, 0.35)


@pytest.fixture(scope="module")
def ending():
    return Stand("boin12:tolerated=0.35,wanted=0.25,enough=12", DOSES, 0.35)


def desirability(n, harms, effects):
    utility = 0.6 * effects + 0.4 * (n - harms)
    return 1 - special.betainc(1 + utility, 1 + n - utility, DESIRED)


def is_futile(n, effects):
    return n >= 3 and chance_below(WANTED, n, effects) > 0.9


def test_desirability_ranks_as_in_the_published_table(stand):
    """Ranks among all admissible counts of 0, 3, 6 and 9 units, ties by their mean."""
    kept, values = [], []
    for n in (0, 3, 6, 9):
        for harms in range(n + 1):
            for effects in range(n + 1):
                stand.at(0, [n, 0, 0, 0, 0], [harms, 0, 0, 0, 0], [effects, 0, 0, 0, 0]).next()
                value = stand.memory.table["value"][0, INDEX]
                assert value == pytest.approx(desirability(n, harms, effects), abs=1e-12)
                if stand.permissible[0]:
                    kept.append((n, harms, effects))
                    values.append(round(value, 10))
    ranks = dict(zip(kept, stats.rankdata(values), strict=True))
    assert {counts: ranks[counts] for counts in BOIN12_RANKS} == BOIN12_RANKS
    assert BOIN12_INADMISSIBLE not in ranks


def test_the_published_path(ending):
    plays, harms, effects = (np.zeros(DOSES, int) for _ in range(3))
    given = []
    for cohort in BOIN12_PATH:
        k = int(cohort[0]) - 1
        plays[k] += 3
        harms[k] += sum(letter in "TB" for letter in cohort[1:])
        effects[k] += sum(letter in "EB" for letter in cohort[1:])
        given.append(ending.at(k, plays, harms, effects).next())
    assert tuple(k + 1 for k in given[:-1]) == BOIN12_NEXT
    assert given[-1] == DONE


def plain(present, plays, harms, effects, enough):
    """Every dose that may come next (more than one where there is a tie), by the authors' script."""
    low, high = optimal_boundaries(TOLERATED, 0.6 * TOLERATED, 1.4 * TOLERATED)
    open_doses = set()
    for k in range(DOSES):
        if is_too_toxic(TOLERATED, plays[k], harms[k]):
            break
        if not is_futile(plays[k], effects[k]):
            open_doses.add(k)
    if not open_doses:
        return {HOLD}
    n, y = plays[present], harms[present]
    if n >= enough:
        return {DONE}
    below = max((k for k in open_doses if k < present), default=None)
    above = min((k for k in open_doses if k > present), default=None)
    if y >= n * high:
        choice = {present if below is None else below}
        return choice & open_doses or {HOLD}
    able = {present, below} | ({above} if n < 6 or y <= n * low else set())
    values = {k: round(desirability(plays[k], harms[k], effects[k]), 12) for k in able & open_doses}
    if not values:
        return {HOLD}
    if n >= 9 and above is not None and plays[above] == 0:
        return {above}
    return {k for k in values if values[k] == max(values.values())}


@pytest.mark.parametrize("enough", [10**9, 12])
def test_every_decision_is_the_rule(stand, ending, enough):
    asked, met = ending if enough == 12 else stand, set()
    for present, plays, harms, random in random_counts(DOSES, 6, 800):
        effects = random.binomial(plays, random.random(DOSES))
        expected = plain(present, plays, harms, effects, enough)
        found = asked.at(present, plays, harms, effects).next()
        assert found in expected
        assert asked.none == (found == HOLD)
        met.add(found if found < 0 else np.sign(found - present))
    assert met == {HOLD, -1, 0, 1} | ({DONE} if enough == 12 else set())


def test_equal_desirability_is_drawn(stand):
    stand.at(1, [3, 3, 0, 0, 0], [0, 0, 0, 0, 0], [2, 2, 0, 0, 0])
    # The dose above, never given, is less desirable than three units with two efficacies and no harm.
    assert desirability(3, 0, 2) > desirability(0, 0, 0)
    counts = stand.counts(1, 2_000)
    # By chance in 1 of 10,000 seeds.
    assert stats.binomtest(int(counts[0]), 2_000).pvalue > 1e-4
    assert counts[0] + counts[1] == 2_000


def test_efficacy_that_is_not_known_of_all_units_counts_by_its_worth(stand):
    stand.at(0, [6, 0, 0, 0, 0], [1, 0, 0, 0, 0], [2, 0, 0, 0, 0])
    stand.set(0, 0, 4, 2)
    stand.next()
    total, units = 0.6 * 2 + 0.4 * 5, 0.6 * 4 + 0.4 * 6
    expected = stats.beta.sf(DESIRED, 1 + total, 1 + units - total)
    assert stand.memory.table["value"][0, INDEX] == pytest.approx(expected, abs=1e-12)


def test_wanted_must_be_given():
    with pytest.raises(PolicyError, match="wanted must be given"):
        Stand("boin12:tolerated=0.35", DOSES, 0.35)
