"""Policies: rules that choose the next arm. `catalogue` has them by name, `interface` the questions they answer."""

from safebandit.core.policies.adaptive import Floor, ResponseAdaptive
from safebandit.core.policies.catalogue import (
    POLICIES,
    docb,
    empirical_kl,
    equal,
    joint_dirichlet,
    joint_kl,
    joint_ts,
    klbayes,
    naive_ts,
    point_ts,
    recommended,
    safe_ids,
    safe_imed,
    slack_ts,
    topsi,
    tsbu,
)
from safebandit.core.policies.checking import arms_in, name_arms, plan, prepare, with_arms
from safebandit.core.policies.conservative import Conservative
from safebandit.core.policies.dose import Boin, Boin12, Crm, DoseTs, Mtpi, RiskModel, ThreePlusThree, Tpi
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.equal import EqualRandomisation
from safebandit.core.policies.exploring import MdApt, MdSar, MdUcbe, TfLucb
from safebandit.core.policies.floored import Floored
from safebandit.core.policies.information import InformationDirected
from safebandit.core.policies.interface import HOLD, WAIT, Policy, Setup, begin, decide, learned, learned_pair, sizes
from safebandit.core.policies.knapsacks import Knapsacks
from safebandit.core.policies.linear import (
    Colts,
    Doss,
    Linear,
    SafeLts,
    SafeLucb,
    colts,
    doss,
    linear,
    safe_lts,
    safe_lucb,
)
from safebandit.core.policies.mixture import PolicyMixture
from safebandit.core.policies.optimistic_in_set import OptimisticInSet
from safebandit.core.policies.rivals import Bounds, bwcr, bwk, con_lcb, conservative, pess
from safebandit.core.policies.texts import policy_from_text, policy_to_text
from safebandit.core.policies.words import Decision, forbids, risk_word, why

__all__ = [
    "HOLD",
    "POLICIES",
    "WAIT",
    "Boin",
    "Boin12",
    "Bounds",
    "Colts",
    "Conservative",
    "Crm",
    "Decision",
    "DoseTs",
    "Doss",
    "DoublyOptimistic",
    "EqualRandomisation",
    "Floor",
    "Floored",
    "InformationDirected",
    "Knapsacks",
    "Linear",
    "MdApt",
    "MdSar",
    "MdUcbe",
    "Mtpi",
    "OptimisticInSet",
    "Policy",
    "PolicyMixture",
    "ResponseAdaptive",
    "RiskModel",
    "SafeLts",
    "SafeLucb",
    "Setup",
    "TfLucb",
    "ThreePlusThree",
    "Tpi",
    "arms_in",
    "begin",
    "bwcr",
    "bwk",
    "colts",
    "con_lcb",
    "conservative",
    "decide",
    "docb",
    "doss",
    "empirical_kl",
    "equal",
    "forbids",
    "joint_dirichlet",
    "joint_kl",
    "joint_ts",
    "klbayes",
    "learned",
    "learned_pair",
    "linear",
    "naive_ts",
    "name_arms",
    "pess",
    "plan",
    "point_ts",
    "policy_from_text",
    "policy_to_text",
    "prepare",
    "recommended",
    "risk_word",
    "safe_ids",
    "safe_imed",
    "safe_lts",
    "safe_lucb",
    "sizes",
    "slack_ts",
    "topsi",
    "tsbu",
    "why",
    "with_arms",
]  # fmt: skip
