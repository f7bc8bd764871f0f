"""The text of an event: one for every value, as Python's own JSON writes it; and times as they are written."""

import hashlib
import json
import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.trials import events
from safebandit.trials.events import canonical, hash_of, is_time

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)
# Words that look like numbers, and all that a JSON text must write otherwise.
TEXTS = st.text() | st.sampled_from(
    ["1e-7", "safe-ids", "e-5 mg", "null", '"', "\\", "\x00\x1f\x7f", "é\u2028\U0001f600"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def plain(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@given(VALUES, st.booleans())
@example([1e-5, 1.5e-7, 1e-10, 1e16, 1e22, 5e-324, -0.0, 9.999e-5, 0.0001], False)
@example([np.float64(1e-7), np.float64(0.5)], False)
def test_every_value_has_the_text_that_python_writes(value, finite):
    assert canonical(value, finite=finite) == plain(value)


def test_the_orjson_that_is_installed_here_is_used():
    """Where it does not agree Python writes all, and the tests of its texts would be none."""
    assert events._AGREES


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_wherever_it_stands(bad):
    for value in (bad, [bad], {"a": [None, bad]}, {"a": None, "b": bad}):
        with pytest.raises(ValueError, match="JSON"):
            canonical(value)


@pytest.mark.parametrize("other", [np.int64(1), {1, 2}, datetime.now(UTC), object()])
def test_what_json_does_not_have_is_refused(other):
    with pytest.raises(TypeError):
        canonical([other])


@given(st.tuples(TEXTS, st.integers(0, 2**63), TEXTS, TEXTS))
def test_the_hash_is_that_of_the_text(fields):
    assert hash_of(fields) == hashlib.sha256(plain(list(fields)).encode()).hexdigest()


def test_half_of_a_surrogate_pair_has_no_hash():
    with pytest.raises(ValueError, match="surrogates"):
        hash_of(("knee", 1, "\ud800"))


WRITTEN = "2026-02-28T12:00:00.123456Z"


@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.integers(0, 26), st.characters())
@example(datetime(2026, 2, 28), 9, "9")
@example(datetime(2026, 2, 28), 21, "²")
@example(datetime(2026, 2, 28), 21, "٣")
@example(datetime(2026, 2, 28), 26, "z")
def test_a_time_is_one_that_is_written_the_same_when_it_is_read(when, place, other):
    text = when.isoformat(timespec="microseconds") + "Z"
    assert is_time(text)
    for changed in (text[:place] + other + text[place + 1 :], text[:place] + other + text[place:], text[:place]):
        try:
            again = datetime.fromisoformat(changed).isoformat(timespec="microseconds")[:-6] + "Z"
        except ValueError:
            again = None
        assert is_time(changed) == (again == changed)


@pytest.mark.parametrize("other", [None, 7, [], b"2026-02-28T12:00:00.123456Z", {}])
def test_what_is_no_text_is_no_time(other):
    assert not is_time(other)
