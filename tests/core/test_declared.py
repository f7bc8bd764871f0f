"""What classes say of themselves, and the older way to say it, which warns and works."""

from typing import NamedTuple

import pytest

from safebandit.core.arms import Sizes
from safebandit.core.indices import KLUpper, Thompson, steady
from safebandit.core.policies import sizes


def test_without_a_word_an_index_promises_nothing_and_a_policy_keeps_nothing():
    assert (steady(KLUpper()), steady(Thompson()), steady(object())) == (True, False, False)
    assert sizes(object(), 5, 2) == Sizes(0, 0, 0)


def test_answers_by_functions_are_deprecated_and_hold():
    class Patient(NamedTuple):
        steadfast: bool = True

    class Keeping(NamedTuple):
        numbers: int = 3

    with pytest.warns(
        DeprecationWarning, match=r"@steady\.register goes with version 0\.11; write `steady` into .* Patient"
    ):

        @steady.register(Patient)
        def is_steady(index):
            return index.steadfast

    with pytest.warns(
        DeprecationWarning, match=r"@sizes\.register goes with version 0\.11; write `sizes` into .* Keeping"
    ):

        @sizes.register(Keeping)
        def keeps(policy, arms, risks):
            return Sizes(trial=policy.numbers * arms + risks)

    assert (steady(Patient()), steady(Patient(False))) == (True, False)
    assert sizes(Keeping(), 5, 2) == Sizes(0, 0, 17)
