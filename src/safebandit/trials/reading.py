"""What a trial's settings and a design have in common, read as people write it: arms, alpha, risks, policy, ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from safebandit.core.naming import read_number
from safebandit.core.policies import arms_in, name_arms, plan, policy_from_text, policy_to_text, with_arms
from safebandit.errors import TrialError
from safebandit.names import find_name, read_name
from safebandit.problems.limits import AnyAlpha, list_risk_names, read_limits, read_risk_names
from safebandit.trials.texts import check_text

MOST_ARMS = 1000
MOST_UNITS = 10**9
MOST_PENDING = 10**6
# What a unit that is given up counts as where its risk is not known.
LOST = ("harm", "ignore")


def read_alpha(alpha: AnyAlpha, risks: int | None) -> tuple[float, ...]:
    """The limit of every risk."""
    # Added to 0.0, a -0.0 loses its sign.
    return tuple(limit + 0.0 for limit in read_limits(alpha, risks, TrialError))


def fitting_cap(delay: int, arms: int) -> int:
    """The smallest cap with which nobody need wait where so many more units arrive before a unit's risk is known.

    `delay` + 1 units are pending at a time, on all arms together. While nothing is known of the arms, each may have an
    equal part of them.

    >>> fitting_cap(0, 3), fitting_cap(20, 3)
    (1, 7)
    """
    return -(-(delay + 1) // arms)


def check_cap(pending_cap: int) -> int:
    """How many units of an arm may wait for their risk, within bounds."""
    if not 1 <= pending_cap <= MOST_PENDING:
        raise TrialError(f"pending_cap must lie between 1 and {MOST_PENDING:,}, got {pending_cap}")
    return pending_cap


def check_lost(lost: Any) -> str:
    """What a unit that is given up counts as."""
    if lost not in LOST:
        raise TrialError(f"lost must be one of {', '.join(LOST)}, got {lost!r}")
    return str(lost)


def read_cap(pending_cap: Any, delay: Any, arms: int) -> int:
    """A cap as it is given, or the one that fits a delay in units."""
    expected = int(read_number("delay", delay, int, TrialError))
    if not 0 <= expected <= 10**6:
        raise TrialError(f"delay must lie between 0 and 1,000,000 units, got {delay}")
    if pending_cap is None:
        # That there is an arm at all is checked with the rest.
        return fitting_cap(expected, max(arms, 1))
    if expected > 0:
        raise TrialError("a delay gives the pending_cap that fits it; give either")
    return int(read_number("pending_cap", pending_cap, int, TrialError))


def read_ids(ids: Any) -> str:
    """The pattern of a unit's id, or nothing."""
    if not isinstance(ids, str):
        raise TrialError(f"ids must be a pattern such as P-[0-9]{{4}}, got {ids!r}")
    return ids


def read_risks(risks: Any, count: int) -> tuple[str, ...]:
    """The names of so many risks."""
    named = [read_name("a risk's name", name, TrialError) for name in read_risk_names(risks, count, TrialError)]
    return list_risk_names(named, TrialError)


def read_policy(policy: Any, arms: Sequence[str], units: int | None = None) -> str:
    """The text of a policy for so many planned units, with its arms by name: a number would mean another arm when one
    is withdrawn.
    """
    given = policy_from_text(check_text("policy", policy)) if isinstance(policy, str) else policy
    named = name_arms(plan(given, units), arms)
    for key, arm in arms_in(named).items():
        named = with_arms(named, {key: find_name(arm, arms) or arm})
    return policy if isinstance(policy, str) and named == given else check_text("policy", policy_to_text(named))


def check_named_arms(policy: Any, arms: Sequence[str]) -> None:
    """A policy names arms by their names: a number would mean another arm when one is withdrawn."""
    for parameter, arm in arms_in(policy).items():
        if arm not in arms:
            raise TrialError(
                f"{parameter} of a policy must be the name of an arm that may be given ({', '.join(arms)}), "
                f"got {arm!r}; write it as {parameter}=NAME"
            )


def read_units(units: Any) -> int | None:
    """How many units are planned, if that is known."""
    planned = None if units is None else int(read_number("units", units, int, TrialError))
    if planned is not None and not 1 <= planned <= MOST_UNITS:
        raise TrialError(f"units must lie between 1 and {MOST_UNITS:,} (how many are planned), got {planned}")
    return planned


def read_arms(arms: Any) -> tuple[str, ...]:
    """Arms by their names, or so many, which are numbered."""
    if isinstance(arms, str) or not isinstance(arms, int | Sequence) or isinstance(arms, bool):
        raise TrialError(f"arms must be a list of names or a number of arms, got {arms!r}")
    if isinstance(arms, int):
        if not 1 <= arms <= MOST_ARMS:
            raise TrialError(f"a trial has 1 to {MOST_ARMS} arms, got {arms}")
        return tuple(str(k) for k in range(arms))
    names = [read_name("an arm's name", arm, TrialError) for arm in arms]
    check_different(names)
    return tuple(names)


def check_count(arms: Sequence[str]) -> None:
    """No more arms than a trial may have."""
    if len(arms) > MOST_ARMS:
        raise TrialError(f"a trial has at most {MOST_ARMS} arms, got {len(arms)}")


def check_different(names: Sequence[str]) -> None:
    """Names that tell arms apart."""
    if len(set(names)) != len(names):
        raise TrialError(f"names of arms must differ, got {', '.join(names)}")
