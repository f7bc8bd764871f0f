"""The tolerated risks: one number alpha or one per risk, and the risks' names; read, checked and shown in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from safebandit.errors import InstanceError, SafebanditError

# One risk has a number, several have a tuple of them.
Alpha: TypeAlias = float | tuple[float, ...]
# What people may write for it.
AnyAlpha: TypeAlias = float | Sequence[float]

ONE_RISK = ("risk",)


def check_unit(what: str, value: Any, error: type[SafebanditError] = InstanceError) -> float:
    """Read a number in [0, 1]; an error names the value that is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise error(f"{what} must be a number in [0, 1], got {value!r}") from None
    if not 0.0 <= number <= 1.0:
        raise error(f"{what} must lie in [0, 1], got {value}")
    return number


def is_listed(value: Any) -> bool:
    """Whether a value is a list of values: anything with a length but a text and an array without axes."""
    return hasattr(value, "__len__") and not isinstance(value, str) and getattr(value, "ndim", 1) > 0


def read_limits(alpha: Any, risks: int | None, error: type[SafebanditError] = InstanceError) -> tuple[float, ...]:
    """The limit of every risk: one number is that of each, a list has one per risk.

    `risks` is how many there are; where that is not known (None), the list says it.

    >>> read_limits(0.2, 2), read_limits([0.2, 0.3], None), read_limits(0.2, None)
    ((0.2, 0.2), (0.2, 0.3), (0.2,))
    """
    if not is_listed(alpha):
        return (check_unit("alpha", alpha, error),) * (1 if risks is None else risks)
    if len(alpha) == 0:
        raise error(f"alpha must be a number in [0, 1], or one per risk, got {alpha!r}")
    limits = tuple(check_unit(f"alpha[{j}]", value, error) for j, value in enumerate(alpha))
    if risks is not None and len(limits) != risks:
        raise error(
            f"there must be one alpha for all risks or one per risk ({risks}), got {len(limits)}: {show_alpha(limits)}"
        )
    return limits


def plain_alpha(limits: tuple[float, ...]) -> Alpha:
    """The limits as an attribute `alpha` holds them: a number for one risk, else all."""
    return limits[0] if len(limits) == 1 else limits


def show_alpha(alpha: Alpha) -> str:
    """Alpha as people read it.

    >>> show_alpha(0.21), show_alpha((0.3, 0.2))
    ('0.21', '0.3, 0.2')
    """
    return ", ".join(f"{limit:g}" for limit in alpha) if isinstance(alpha, tuple) else f"{alpha:g}"


def write_alpha(alpha: Alpha) -> float | list[float]:
    """Alpha as JSON holds it."""
    return list(alpha) if isinstance(alpha, tuple) else alpha


def read_risk_names(names: Any, risks: int, error: type[SafebanditError] = InstanceError) -> tuple[str, ...]:
    """The risks' names, as given or by number.

    >>> read_risk_names(None, 1), read_risk_names(None, 2), read_risk_names(["toxicity", "nausea"], 2)
    (('risk',), ('risk 1', 'risk 2'), ('toxicity', 'nausea'))
    """
    if names is None:
        return ONE_RISK if risks == 1 else tuple(f"risk {j}" for j in range(1, risks + 1))
    read = list_risk_names(names, error)
    if len(read) != risks:
        raise error(f"there must be one name per risk ({risks}), got {len(read)}: {', '.join(read)}")
    return read


def list_risk_names(names: Any, error: type[SafebanditError] = InstanceError) -> tuple[str, ...]:
    """The names of risks as a tuple, checked to differ."""
    if not is_listed(names) or len(names) == 0:
        raise error(f"risks must be a list of names, got {names!r}")
    read = tuple(str(name) for name in names)
    if len(set(read)) != len(read):
        raise error(f"names of risks must differ, got {', '.join(read)}")
    return read
