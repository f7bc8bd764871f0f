"""Adaptive experiments that keep every choice safe: bandits with the risk limit inside the allocation rule.

Names are imported when they are first used, so that `import safebandit` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from safebandit.version import __version__

if TYPE_CHECKING:
    from safebandit.core.indices import IMED as IMED
    from safebandit.core.indices import BayesLower as BayesLower
    from safebandit.core.indices import BayesUpper as BayesUpper
    from safebandit.core.indices import BettingLower as BettingLower
    from safebandit.core.indices import BettingUpper as BettingUpper
    from safebandit.core.indices import EmpiricalLower as EmpiricalLower
    from safebandit.core.indices import EmpiricalUpper as EmpiricalUpper
    from safebandit.core.indices import HoeffdingLower as HoeffdingLower
    from safebandit.core.indices import HoeffdingUpper as HoeffdingUpper
    from safebandit.core.indices import JointDirichlet as JointDirichlet
    from safebandit.core.indices import JointThompson as JointThompson
    from safebandit.core.indices import JointUpper as JointUpper
    from safebandit.core.indices import KLLower as KLLower
    from safebandit.core.indices import KLUpper as KLUpper
    from safebandit.core.indices import SampledRisk as SampledRisk
    from safebandit.core.indices import Thompson as Thompson
    from safebandit.core.indices import VarianceLower as VarianceLower
    from safebandit.core.indices import VarianceUpper as VarianceUpper
    from safebandit.core.indices import evidence as evidence
    from safebandit.core.indices import lower as lower
    from safebandit.core.indices import permits as permits
    from safebandit.core.indices import steady as steady
    from safebandit.core.indices import upper as upper
    from safebandit.core.policies import DoublyOptimistic as DoublyOptimistic
    from safebandit.core.policies import PolicyMixture as PolicyMixture
    from safebandit.core.policies import bwcr as bwcr
    from safebandit.core.policies import docb as docb
    from safebandit.core.policies import empirical_kl as empirical_kl
    from safebandit.core.policies import joint_dirichlet as joint_dirichlet
    from safebandit.core.policies import joint_kl as joint_kl
    from safebandit.core.policies import joint_ts as joint_ts
    from safebandit.core.policies import klbayes as klbayes
    from safebandit.core.policies import naive_ts as naive_ts
    from safebandit.core.policies import pess as pess
    from safebandit.core.policies import safe_imed as safe_imed
    from safebandit.core.policies import slack_ts as slack_ts
    from safebandit.core.policies import topsi as topsi
    from safebandit.core.policies import tsbu as tsbu
    from safebandit.errors import SafebanditError as SafebanditError
    from safebandit.problems import Instance as Instance
    from safebandit.problems import instance_by_name as instance_by_name
    from safebandit.service.client import Client as Client
    from safebandit.simulation.results import Result as Result
    from safebandit.simulation.simulate import extend as extend
    from safebandit.simulation.simulate import rerun as rerun
    from safebandit.simulation.simulate import simulate as simulate
    from safebandit.simulation.study import Study as Study
    from safebandit.trials.trial import Trial as Trial

_HOMES = {
    "service.client": ["Client"],
    "errors": ["SafebanditError"],
    "core.indices": [
        "BayesLower", "BayesUpper", "BettingLower", "BettingUpper", "EmpiricalLower", "EmpiricalUpper",
        "HoeffdingLower", "HoeffdingUpper", "IMED", "JointDirichlet", "JointThompson", "JointUpper", "KLLower",
        "KLUpper", "SampledRisk", "Thompson", "VarianceLower", "VarianceUpper", "evidence", "lower", "permits",
        "steady", "upper",
    ],
    "problems": ["Instance", "instance_by_name"],
    "core.policies": [
        "DoublyOptimistic", "PolicyMixture", "bwcr", "docb", "empirical_kl", "joint_dirichlet", "joint_kl", "joint_ts",
        "klbayes", "naive_ts", "pess", "safe_imed", "slack_ts", "topsi", "tsbu",
    ],
    "simulation.results": ["Result"],
    "simulation.simulate": ["extend", "rerun", "simulate"],
    "simulation.study": ["Study"],
    "trials.trial": ["Trial"],
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
