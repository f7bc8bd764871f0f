"""Stopping and selection rules by name, and checked as they enter; users' own included."""

from __future__ import annotations

from typing import Any

from safebandit.core.policies.checking import check_index
from safebandit.core.selection import select
from safebandit.core.stopping import measure
from safebandit.core.stopping.words import rule_name


def stopping_rules() -> dict[str, type]:
    """Every stopping rule by name, users' own included.

    >>> sorted(stopping_rules())[:3]
    ['arm-futility', 'arm-futility-e', 'arm-harm']
    """
    return {rule_name(kind): kind for kind in measure.formulas}


def selection_rules() -> dict[str, type]:
    """Every selection rule by name, users' own included.

    >>> {"best-safe", "isotonic", "none", "utility"} <= selection_rules().keys()
    True
    """
    return {rule_name(kind): kind for kind in select.formulas}


def check_stopping(rule: Any) -> Any:
    """A stopping rule with its parameters read by their annotations and held to the rules of its class."""
    return check_index(rule, measure, "stopping rule")


def check_selection(rule: Any) -> Any:
    """A selection rule with its parameters read by their annotations and held to the rules of its class."""
    return check_index(rule, select, "selection rule")


def completed(rule: Any, design: Any) -> Any:
    """The rule with what it takes from the design: the control, the least reward, the target."""
    own: Any = getattr(rule, "completed", None)
    return rule if own is None else own(design)
