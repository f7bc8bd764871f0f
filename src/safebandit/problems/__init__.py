"""Instances: supposed truths to simulate. `instance` has the class, `named` those with a name."""

from safebandit.core.laws import BernoulliPairs, BetaLaws, FiniteLaws, draw, draw_reward, draw_risk
from safebandit.problems.instance import Instance
from safebandit.problems.named import NAMED, as_instance, instance_by_name

__all__ = [
    "NAMED",
    "BernoulliPairs",
    "BetaLaws",
    "FiniteLaws",
    "Instance",
    "as_instance",
    "draw",
    "draw_reward",
    "draw_risk",
    "instance_by_name",
]
