"""mTPI and TPI: masses of their intervals by SciPy, and the step of the largest."""

import numpy as np
import pytest
from scipy import special

from safebandit.core.policies import HOLD
from safebandit.errors import PolicyError
from safebandit.studies.validation.numbers import MTPI_STEPS

from .stand import Stand, is_too_toxic, random_counts

DOSES, TARGET = 5, 0.3
COLUMNS = ("mass to escalate", "mass to stay", "mass to de-escalate")


def unit_masses(n, y):
    ends = np.array([0, TARGET - 0.05, TARGET + 0.05, 1])
    return np.diff(special.betainc(1 + y, 1 + n - y, ends)) / np.diff(ends)


def posterior_masses(n, y):
    a, b = 0.005 + y, 0.005 + n - y
    deviation = np.sqrt(a * b / (a + b + 1)) / (a + b)
    ends = np.clip([0, TARGET - 1.5 * deviation, TARGET + deviation, 1], 0, 1)
    return np.diff(special.betainc(a, b, ends))


@pytest.mark.parametrize(("text", "masses"), [("mtpi", unit_masses), ("tpi", posterior_masses)])
def test_the_step_of_the_largest_mass_is_taken(text, masses):
    stand, met = Stand(text, DOSES, TARGET), set()
    for present, plays, harms, _ in random_counts(DOSES, 7, 500):
        found = stand.at(present, plays, harms).next()
        for k in range(DOSES):
            expected = masses(plays[k], harms[k])
            assert [stand.own(name)[k] for name in COLUMNS] == pytest.approx(expected, abs=1e-11)
        out = [is_too_toxic(TARGET, n, y) for n, y in zip(plays, harms, strict=True)]
        doses = out.index(True) if True in out else DOSES
        assert (stand.permissible == (np.arange(DOSES) < doses)).all()
        if doses == 0:
            assert found == HOLD
            continue
        step = 1 - int(np.argmax(masses(plays[present], harms[present])))
        wanted = min(max(0, present + step), max(doses - 1, present)) if present < doses else doses - 1
        assert found == wanted
        met.add(found - present)
    assert met >= {-1, 0, 1}


def test_the_published_decisions_of_mtpi():
    """Ji et al. (2010), target 0.3, intervals of 0.05: escalate up to, de-escalate from so many harms of n units."""
    stand = Stand("mtpi", DOSES, TARGET)
    for n, up, down in MTPI_STEPS:
        steps = [stand.at(1, [3, n, 0, 0, 0], [0, y, 0, 0, 0]).next() - 1 for y in range(n + 1)]
        assert steps == [1] * (up + 1) + [0] * (down - up - 1) + [-1] * (n + 1 - down)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("mtpi:epsilon1=0.3", "epsilon1 must lie between 0 and 0.3, got 0.3"),
        ("mtpi:epsilon2=0.7", "epsilon2 must lie between 0 and 0.7"),
        ("mtpi:prior=0", "prior must be above 0"),
        ("tpi:above=-1", "above must be above 0, got -1"),
    ],
)
def test_bad_parameters_are_refused(text, rule):
    with pytest.raises(PolicyError, match=rule):
        Stand(text, DOSES, TARGET)
