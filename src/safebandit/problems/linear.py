"""Instances whose means are linear in features: the law, and the means, from features and coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.contexts import ContextLaws
from safebandit.core.laws import bit_laws
from safebandit.errors import InstanceError
from safebandit.problems.contexts import Contexts, least_and_most, read_contexts
from safebandit.problems.limits import is_listed

LINKS = ("linear", "logistic")
# Sums of products may leave [0, 1] by so much only by rounding.
ROUNDING = 1e-9


def linear(features: Any, reward: Any, risk: Any, contexts: Any = None, link: Any = "linear") -> Any:
    """Bits whose means are z'theta, or with contexts (z (x) (1, x))'theta, or the logistic function of that.

    The law, the mean rewards, the mean risks (a row per risk), and the parameters as JSON holds them.
    """
    if link not in LINKS:
        raise InstanceError(f'link must be "linear" or "logistic", got {link!r}')
    arms = read_features(features)
    read = None if contexts is None else read_contexts(contexts)
    width = 1 if read is None else 1 + read.width
    several = is_listed(risk) and len(risk) > 0 and all(is_listed(row) for row in risk)
    named = [
        ("reward", reward),
        *(((f"risk[{j}]", row) for j, row in enumerate(risk)) if several else [("risk", risk)]),
    ]
    vectors = np.array([_coefficients(what, given, arms.shape[1], width) for what, given in named])
    # Of (1, x), for every quantity (first) and arm.
    of_arms = np.einsum("ki,jiw->jkw", arms, vectors.reshape(len(vectors), arms.shape[1], width))
    plain = {"features": arms.tolist(), "reward": vectors[0].tolist()}
    plain["risk"] = vectors[1:].tolist() if several else vectors[1].tolist()
    plain |= {} if read is None else {"contexts": read.plain}
    plain |= {} if link == "linear" else {"link": link}
    if link == "linear":
        _check_range(of_arms, read, [what for what, _ in named])
    means = _means(of_arms, read, link == "logistic")
    if read is None:
        return bit_laws(means[0], means[1:], means[1:]), means[0], means[1:], plain
    return _law(of_arms, read, link == "logistic"), means[0], means[1:], plain


# Of larger numbers the squares drown all others, and no arm's index can be computed.
LARGEST_FEATURE = 1e6


def read_features(given: Any) -> Numbers:
    """A row of finite numbers for every arm, all of the same length."""
    rule = "features must be a row of numbers for every arm, all of the same length"
    if not is_listed(given) or len(given) == 0 or not all(is_listed(row) for row in given):
        raise InstanceError(f"{rule}, got {given!r}")
    lengths = [len(row) for row in given]
    if len(set(lengths)) > 1 or lengths[0] == 0:
        raise InstanceError(f"{rule}, got rows of {', '.join(map(str, lengths))}")
    try:
        arms = np.array(given, float)
    except (TypeError, ValueError):
        raise InstanceError(f"{rule}, got {given!r}") from None
    if not np.isfinite(arms).all():
        k = int(np.flatnonzero(~np.isfinite(arms).all(axis=1))[0])
        raise InstanceError(f"features must be finite, got {arms[k].tolist()} of arm {k}")
    if (np.abs(arms) > LARGEST_FEATURE).any():
        k = int(np.flatnonzero((np.abs(arms) > LARGEST_FEATURE).any(axis=1))[0])
        raise InstanceError(
            f"features must lie within {LARGEST_FEATURE:g} of 0, got {arms[k].tolist()} of arm {k}; scale them"
        )
    return arms


def _coefficients(what: str, given: Any, features: int, width: int) -> Numbers:
    wanted = features * width
    of = f"{features} features" if width == 1 else f"{features} features times 1 and {width - 1} numbers of a context"
    rule = f"{what} must have {wanted} coefficients, finite numbers, one for each of {of}"
    if not is_listed(given) or len(given) != wanted:
        raise InstanceError(f"{rule}, got {len(given) if is_listed(given) else repr(given)}")
    try:
        vector = np.array(given, float)
    except (TypeError, ValueError):
        raise InstanceError(f"{rule}, got {given!r}") from None
    if vector.shape != (wanted,) or not np.isfinite(vector).all():
        raise InstanceError(f"{rule}, got {given!r}")
    return vector


def _check_range(of_arms: Numbers, contexts: Contexts | None, names: list[str]) -> None:
    """Means must lie in [0, 1], in every context that can be."""
    for j, what in enumerate(names):
        for k, row in enumerate(of_arms[j]):
            low, high = (row[0], row[0]) if contexts is None else least_and_most(contexts, row)
            if low < -ROUNDING or high > 1.0 + ROUNDING:
                where = "" if contexts is None else " in some context"
                raise InstanceError(
                    f"the mean {what} of arm {k} must lie in [0, 1], got {low if low < 0 else high:.4g}{where}; change "
                    'the coefficients, or take link="logistic"'
                )


def _means(of_arms: Numbers, contexts: Contexts | None, logistic: bool) -> Numbers:
    """The means of every quantity (rows) and arm, over all contexts.

    They are rounded to 15 digits: 0.1 + 0.2 is 0.3, which alpha = 0.3 permits. A logistic mean over a law of contexts
    is that over points which fill it evenly.
    """
    if contexts is None:
        sums = of_arms[:, :, 0]
    elif not logistic:
        sums = of_arms @ np.array([1.0, *contexts.mean])
    else:
        points = contexts.points()
        ones = np.column_stack([np.ones(len(points)), points])
        return np.asarray(_logistic(np.einsum("jkw,nw->jkn", of_arms, ones)).mean(axis=2))
    means = _logistic(sums) if logistic else np.clip(sums, 0.0, 1.0)
    return np.array([[float(f"{mean:.15g}") for mean in row] for row in means])


def _logistic(values: Numbers) -> Numbers:
    return np.asarray(1.0 / (1.0 + np.exp(-values)))


def _law(of_arms: Numbers, contexts: Contexts, logistic: bool) -> ContextLaws:
    """The law as compiled code takes it; what is not used has one row, so that all laws have one type."""
    width = contexts.width
    unused = np.zeros((1, width))
    by_table = len(contexts.table) > 0
    return ContextLaws(
        logistic,
        np.ascontiguousarray(of_arms),
        len(contexts.table),
        np.ascontiguousarray(contexts.table) if by_table else unused,
        np.zeros(width, np.int64) if by_table else contexts.kinds.astype(np.int64),
        np.zeros((width, 2)) if by_table else np.ascontiguousarray(contexts.parameters, float),
    )
