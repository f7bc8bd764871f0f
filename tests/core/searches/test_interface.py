"""What searches note: records of which Numba takes none for another's."""

import itertools

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.registry import cpu_target

from safebandit.core.arms import ARM, CELL, OWN, QUANTITY
from safebandit.core.policies import policy_from_text
from safebandit.core.searches import notes_of, search_for
from safebandit.core.searches.interface import NOTES, ByDefinition
from safebandit.core.streams import STATE

from .. import driving

RECORDS = {
    **{f"{kind.__name__}.work": notes.work for kind, notes in NOTES.items()},
    **{f"{kind.__name__}.notes": notes.notes for kind, notes in NOTES.items()},
    "arm": ARM, "quantity": QUANTITY, "own": OWN, "cell": CELL, "stream": STATE,
}  # fmt: skip


def taken_for(one, other):
    """Whether Numba accepts the record `one` where it has compiled for `other`."""
    return cpu_target.typing_context.can_convert(numba.from_dtype(one), numba.from_dtype(other)) is not None


def test_no_record_is_taken_for_anothers():
    pairs = [(one, other) for one, other in itertools.permutations(RECORDS, 2) if RECORDS[one] != RECORDS[other]]
    assert len(pairs) > 100
    assert [pair for pair in pairs if taken_for(*(RECORDS[name] for name in pair))] == []


def test_the_check_would_notice_a_record_that_begins_as_another():
    longer = np.dtype([*ARM.descr, ("more", "f8")])
    with pytest.warns(NumbaExperimentalFeatureWarning, match="has been considered a subtype"):
        assert taken_for(longer, ARM)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("docb", "ByLines"), ("bayes-upper+bayes-lower", "ByLines"), ("safe-imed", "ByLeastCost"), ("tsbu", "ByBar"),
        ("joint-ts", "ByBar"), ("joint-dirichlet", "ByBar"), ("bwcr", "ByCurves"),
        ("naive-ts", "ByDefinition"), ("thompson+bayes-lower:reward.prior_a=2", "ByDefinition"),
        ("kl-upper+sampled-risk", "ByDefinition"),
        ("point-ts", "ByDefinition"), ("thompson+betting-gate", "ByBar"), ("kl-upper+mixture-gate", "ByLines"),
        ("kl-upper+kl-upper-risk", "ByDefinition"),
    ],
)  # fmt: skip
def test_every_policy_has_the_search_that_serves_it(text, name):
    search = search_for(driving.ready(policy_from_text(text), ["0", "1"], (0.3,)))
    assert type(search).__name__ == name
    assert notes_of(search) == NOTES[type(search)]


def test_a_class_derived_from_one_with_a_search_has_none():
    from safebandit.core.indices import KLLower, Thompson
    from safebandit.core.policies import DoublyOptimistic

    class Mine(Thompson):
        pass

    policy = DoublyOptimistic(Mine(), KLLower(), -1)
    assert search_for(policy) == ByDefinition()
