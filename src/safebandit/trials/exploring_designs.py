"""Designs that only explore: which arms are feasible, or which feasible arm is best. `designs` has them by name."""

from __future__ import annotations

from typing import Any

from safebandit.core.policies import policy_to_text
from safebandit.core.policies.exploring import MdApt, MdSar, MdUcbe, TfLucb
from safebandit.errors import DesignError
from safebandit.trials.design import Design


def md_apt(
    arms: Any, *, units: int, alpha: Any = None, safe_set: str | None = None, tolerance: float = 0.0, title: str = "",
    risks: Any = None,
) -> Design:  # fmt: skip
    """MD-APT (Katz-Samuels and Scott 2018): which arms are feasible, by as many units as there are; an arm nearer to
    the boundary of the safe set gets more.

    The safe set is a text such as "risk1 + risk2 <= 0.5"; without one every risk must be at most its alpha. Selected is
    the best of the arms that are named as feasible.
    """
    return _exploring("md-apt", arms, alpha, MdApt(safe_set, tolerance), units, title, risks)


def md_ucbe(
    arms: Any, *, units: int, alpha: Any = None, safe_set: str | None = None, explore: float | None = None,
    title: str = "", risks: Any = None,
) -> Design:  # fmt: skip
    """MD-UCBE (Katz-Samuels and Scott 2018): which arms are feasible, told how much to explore.

    `explore` should be (25/36) (units - arms) / H, H the sum of the inverse squares of the arms' true distances to the
    boundary of the safe set; unless given they are supposed to be 0.1.
    """
    return _exploring("md-ucbe", arms, alpha, MdUcbe(safe_set, explore), units, title, risks)


def md_sar(
    arms: Any, *, units: int, alpha: Any = None, safe_set: str | None = None, title: str = "", risks: Any = None
) -> Design:
    """MD-SAR (Katz-Samuels and Scott 2018): which arms are feasible, in phases; after each the arm furthest from the
    boundary of the safe set is settled, and the trial ends with the last.
    """
    return _exploring("md-sar", arms, alpha, MdSar(safe_set), units, title, risks)


def tf_lucb(
    arms: Any, *, units: int, alpha: Any = None, safe_set: str | None = None, delta: float = 0.1, title: str = "",
    risks: Any = None,
) -> Design:  # fmt: skip
    """TF-LUCB (Katz-Samuels and Scott 2019): which feasible arm is best, wrong with a chance of at most `delta`; the
    trial ends when that is sure, or with the most units.
    """
    return _exploring("tf-lucb", arms, alpha, TfLucb(safe_set, delta), units, title, risks)


def _exploring(name: str, arms: Any, alpha: Any, policy: Any, units: int, title: str, risks: Any) -> Design:
    if alpha is None:
        raise DesignError(f'design "{name}" needs alpha, the risk that is tolerated; add alpha=0.3, for example')
    return Design(arms, alpha, policy_to_text(policy), units, title=title, risks=risks, select="top-feasible")
