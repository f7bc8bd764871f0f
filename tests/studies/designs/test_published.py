"""Reference designs beside numbers that others printed."""

import pytest

from safebandit.studies.designs.published import CASES, Case, Verdict, compare


# Some 60 comparisons at three standard errors and the last printed digit: a right program fails with a chance of about
# one in eight for another seed.
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} ({case.source})")
def test_what_others_printed_comes_out_here(case):
    trials = 200 if case.name.startswith("RAR") else 4_000
    for verdict in compare([case], trials=trials, seed=2, workers=1):
        assert verdict.agrees, verdict[1:]


def test_a_number_that_is_off_does_not_agree():
    case = Case("x", "boin", (0.1,), {}, "nobody", digit=0.01)
    assert Verdict(case, "size", 10.0, 10.004, 0.0).agrees
    assert not Verdict(case, "size", 10.0, 10.006, 0.0).agrees
    assert Verdict(case, "size", 10.0, 9.7, 0.1).agrees
    assert not Verdict(case, "size", 10.0, 9.69, 0.1).agrees
