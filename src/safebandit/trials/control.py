"""The control of a trial: which arm it is, the floor under its chance, and the policy with that floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from safebandit.core.naming import read_number
from safebandit.core.policies import Floored, policy_from_text
from safebandit.errors import SafebanditError, TrialError, suggest
from safebandit.names import find_name


def read_control(control: Any, arms: Sequence[str], error: type[SafebanditError] = TrialError) -> str | None:
    """The arm that is the control, by its name: a number could mean its place, or a name that is a number."""
    if control is None:
        return None
    found = find_name(control, arms) if isinstance(control, str) else None
    if found is None:
        raise error(f"control must be the name of an arm, got {control!r}; {suggest(str(control), arms)}")
    return found


def read_floor(floor: Any, control: str | None, error: type[SafebanditError] = TrialError) -> float:
    """The least chance of the control; 0 where there is none."""
    number = float(read_number("control_floor", floor, float, error))
    if not 0.0 <= number < 1.0:
        raise error(f"control_floor must lie in [0, 1), the least chance of the control, got {number:g}")
    if number > 0.0 and control is None:
        raise error(
            f"control_floor is the least chance of the control, and none is named, got {number:g}; name control"
        )
    return number + 0.0


def check_control(control: Any, floor: Any, active: Sequence[str]) -> None:
    """Refuse a control that is none of the arms that may be given, and a floor that is none: a log may say anything."""
    if control is not None and control not in active:
        which = f"an arm that may be given ({', '.join(active)})" if active else "said by the design"
        raise TrialError(f"the control must be {which}, got {control!r}")
    if type(floor) is not float:
        raise TrialError(f"control_floor must be a number, got {floor!r}")
    read_floor(floor, control)


def with_control(policy: str, control: str | None, floor: float) -> Any:
    """A policy by its text, with a floor under the chance of the control."""
    own = policy_from_text(policy)
    return Floored(own, floor, control) if floor > 0.0 else own
