"""Adaptive experiments that keep every choice safe: bandits with the risk limit inside the allocation rule.

Names are imported when they are first used, so that `import safebandit` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from safebandit.version import __version__

if TYPE_CHECKING:
    from safebandit.client import Client as Client
    from safebandit.errors import SafebanditError as SafebanditError
    from safebandit.indices import IMED as IMED
    from safebandit.indices import BayesLower as BayesLower
    from safebandit.indices import BayesUpper as BayesUpper
    from safebandit.indices import BettingLower as BettingLower
    from safebandit.indices import BettingUpper as BettingUpper
    from safebandit.indices import EmpiricalLower as EmpiricalLower
    from safebandit.indices import EmpiricalUpper as EmpiricalUpper
    from safebandit.indices import HoeffdingLower as HoeffdingLower
    from safebandit.indices import HoeffdingUpper as HoeffdingUpper
    from safebandit.indices import JointDirichlet as JointDirichlet
    from safebandit.indices import JointThompson as JointThompson
    from safebandit.indices import JointUpper as JointUpper
    from safebandit.indices import KLLower as KLLower
    from safebandit.indices import KLUpper as KLUpper
    from safebandit.indices import SampledRisk as SampledRisk
    from safebandit.indices import Thompson as Thompson
    from safebandit.indices import VarianceLower as VarianceLower
    from safebandit.indices import VarianceUpper as VarianceUpper
    from safebandit.indices import evidence as evidence
    from safebandit.indices import lower as lower
    from safebandit.indices import permits as permits
    from safebandit.indices import steady as steady
    from safebandit.indices import upper as upper
    from safebandit.instances import Instance as Instance
    from safebandit.instances import instance_by_name as instance_by_name
    from safebandit.policies import DoublyOptimistic as DoublyOptimistic
    from safebandit.policies import PolicyMixture as PolicyMixture
    from safebandit.policies import bwcr as bwcr
    from safebandit.policies import docb as docb
    from safebandit.policies import empirical_kl as empirical_kl
    from safebandit.policies import joint_dirichlet as joint_dirichlet
    from safebandit.policies import joint_kl as joint_kl
    from safebandit.policies import joint_ts as joint_ts
    from safebandit.policies import klbayes as klbayes
    from safebandit.policies import naive_ts as naive_ts
    from safebandit.policies import pess as pess
    from safebandit.policies import safe_imed as safe_imed
    from safebandit.policies import slack_ts as slack_ts
    from safebandit.policies import topsi as topsi
    from safebandit.policies import tsbu as tsbu
    from safebandit.results import Result as Result
    from safebandit.simulation import extend as extend
    from safebandit.simulation import rerun as rerun
    from safebandit.simulation import simulate as simulate
    from safebandit.study import Study as Study
    from safebandit.trial import Trial as Trial

_HOMES = {
    "client": ["Client"],
    "errors": ["SafebanditError"],
    "indices": [
        "BayesLower", "BayesUpper", "BettingLower", "BettingUpper", "EmpiricalLower", "EmpiricalUpper",
        "HoeffdingLower", "HoeffdingUpper", "IMED", "JointDirichlet", "JointThompson", "JointUpper", "KLLower",
        "KLUpper", "SampledRisk", "Thompson", "VarianceLower", "VarianceUpper", "evidence", "lower", "permits",
        "steady", "upper",
    ],
    "instances": ["Instance", "instance_by_name"],
    "policies": [
        "DoublyOptimistic", "PolicyMixture", "bwcr", "docb", "empirical_kl", "joint_dirichlet", "joint_kl", "joint_ts",
        "klbayes", "naive_ts", "pess", "safe_imed", "slack_ts", "topsi", "tsbu",
    ],
    "results": ["Result"],
    "simulation": ["extend", "rerun", "simulate"],
    "study": ["Study"],
    "trial": ["Trial"],
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
