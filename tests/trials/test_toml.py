"""TOML is written so that the standard library reads it back, and mistakes are found by line and key."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safebandit.errors import DesignError
from safebandit.trials.toml import find_line, read_toml, write_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALAR = st.one_of(
    st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False), TEXT
)  # fmt: skip
VALUE = st.one_of(SCALAR, st.lists(SCALAR, max_size=3), st.lists(st.lists(SCALAR, max_size=2), max_size=2))
TABLE = st.recursive(
    st.dictionaries(TEXT, VALUE, max_size=3),
    lambda inner: st.dictionaries(TEXT, st.one_of(VALUE, inner, st.lists(inner, min_size=1, max_size=2)), max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(TABLE)
def test_whatever_is_written_is_read_back(document):
    assert tomllib.loads(write_toml(document)) == document


def test_it_is_written_as_people_write_it():
    document = {
        "units": 36, "title": None, "stop": {"harm": {"confidence": 0.95}, "enough": [{"units": 9}, {"units": 12}]},
        "arms": ["a", "b c"],
    }  # fmt: skip
    assert write_toml(document) == (
        'units = 36\narms = ["a", "b c"]\n\n[stop.harm]\nconfidence = 0.95\n\n[[stop.enough]]\nunits = 9\n\n'
        "[[stop.enough]]\nunits = 12\n"
    )


LINES = '''# alpha = 0.1 is no key
units = 36
"title" = """
alpha = 0.2
[stop.harm]
"""
alpha = 0.3

[stop.harm]
confidence = 0.9
[[scenario]]
name = "a"
[[ scenario ]]
nu = [
  0.1,
]
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("units", 2),
        ("title", 3),
        ("alpha", 7),
        ("stop.harm", 9),
        ("stop.harm.confidence", 10),
        ("stop.harm[1].confidence", 10),
        ("stop.harm.least", 9),
        ("scenario[1].name", 12),
        ("scenario[2]", 13),
        ("scenario[2].nu", 14),
        ("scenario[2].nu[3]", 14),
        ("select.rule", None),
        ("", None),
    ],
)
def test_the_line_of_a_key_or_of_the_table_that_should_have_it(key, line):
    tomllib.loads(LINES)
    assert find_line(LINES, key) == line


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("units = 36\nalpha = = 0.3", "line 2, column 9, alpha: invalid value"),
        ('units = 36\n[stop.harm]\nconfidence = "0.9', "line 3, "),
        ("units = 36\nunits = 30\n", "line 2, column 11, units: cannot overwrite a value"),
        ("units", "line 1: expected '=' after a key in a key/value pair"),
        ("arms = [", "line 1, arms: "),
    ],
)
def test_a_mistake_in_the_toml_is_told_with_line_and_key(text, where):
    with pytest.raises(DesignError) as problem:
        read_toml(text)
    assert str(problem.value).startswith(where)
    assert "\n" not in str(problem.value)
    assert str(problem.value).endswith("; correct the TOML there")
