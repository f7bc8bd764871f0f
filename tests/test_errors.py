"""The tree of errors, and the remedy that a message names."""

import inspect

import pytest

from safebandit import errors
from safebandit.errors import AccessError, ExecutorError, RecordError, SafebanditError, suggest

RAISED = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__ and kind is not SafebanditError
]


def test_the_tree_in_the_docstring_is_the_tree_of_classes():
    drawn = {
        line.lstrip(" │").split()[1] for line in errors.__doc__.splitlines() if line.lstrip(" │").startswith(("├", "└"))
    }
    assert drawn == {kind.__name__ for kind in RAISED}


@pytest.mark.parametrize("kind", RAISED)
def test_every_error_is_caught_by_the_base_and_those_about_values_by_value_error(kind):
    with pytest.raises(SafebanditError):
        raise kind("x")
    # A database that cannot be reached, or a lost cluster, is nobody's wrong value.
    assert issubclass(kind, ValueError) != issubclass(kind, (ExecutorError, RecordError, AccessError))


def test_suggest_names_the_nearest_and_lists_all_in_order():
    assert suggest("dcob", ["tsbu", "docb"]) == 'did you mean "docb"? known: docb, tsbu'


def test_suggest_does_not_guess_when_nothing_is_near():
    assert suggest("zzzz", ["tsbu", "docb"]) == "known: docb, tsbu"
