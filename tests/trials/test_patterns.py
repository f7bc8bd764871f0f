"""Patterns of ids, against Python's own regular expressions where both read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safebandit.errors import TrialError
from safebandit.trials.patterns import matches, read_pattern

ONE = st.sampled_from(["a", "b", "[ab]", "[^a]", r"\d", ".", r"\.", "1", "[0-9-]"])
COUNT = st.sampled_from(["", "?", "*", "+", "{2}", "{0,2}", "{1,}", "{3}"])
ROW = st.lists(st.tuples(ONE, COUNT).map("".join), min_size=1, max_size=5).map("".join)


@given(st.lists(ROW, min_size=1, max_size=3).map("|".join), st.text("ab1.-", max_size=8))
def test_a_pattern_means_what_it_means_in_python(pattern, text):
    assert matches(pattern, text) == (re.fullmatch(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    "pattern",
    ["", "(a+)+b", "a|", "|", "[a", "a]", "[]", "[b-a]", "{2}", "a{2", "a{3,2}", "a{23}{2}", "a**", "^a$", "\\", r"\q",
     r"\1", "[a--b]", "x" * 201, "(?i)a", "a{,3}"],
)  # fmt: skip
def test_a_bad_pattern_is_refused_in_one_line(pattern):
    with pytest.raises(TrialError, match=r"\Aids must be [^\n]*\Z"):
        read_pattern(pattern)


def test_no_pattern_takes_long():
    """Python's own matcher would try more ways than there are atoms; here each part looks at each place once."""
    assert not matches("a*" * 99 + "b", "a" * 200)
    assert matches("a*" * 100, "a" * 200)
