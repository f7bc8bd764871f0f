"""Policies: rules that choose the next arm. `catalogue` has them by name, `interface` the questions they answer."""

from safebandit.core.policies.catalogue import (
    POLICIES,
    bwcr,
    docb,
    empirical_kl,
    joint_dirichlet,
    joint_kl,
    joint_ts,
    klbayes,
    naive_ts,
    pess,
    recommended,
    safe_imed,
    slack_ts,
    topsi,
    tsbu,
)
from safebandit.core.policies.door import prepare
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.interface import (
    HOLD,
    WAIT,
    begin,
    choose,
    learn_pair,
    learn_reward,
    learn_risk,
    look,
    widths,
)
from safebandit.core.policies.mixture import PolicyMixture
from safebandit.core.policies.texts import policy_from_text, policy_to_text

__all__ = [
    "HOLD", "POLICIES", "WAIT", "DoublyOptimistic", "PolicyMixture", "begin", "bwcr", "choose", "docb", "empirical_kl",
    "joint_dirichlet", "joint_kl", "joint_ts", "klbayes", "learn_pair", "learn_reward", "learn_risk", "look",
    "naive_ts", "pess", "policy_from_text", "policy_to_text", "prepare", "recommended", "safe_imed", "slack_ts",
    "topsi", "tsbu", "widths",
]  # fmt: skip
