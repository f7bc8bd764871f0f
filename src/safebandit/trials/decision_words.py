"""Why a decision gives this arm, or none, in words: by the trial's conduct, by the policy, or by what is routed."""

from __future__ import annotations

from dataclasses import replace

from safebandit.core.arms import Numbers
from safebandit.core.conduct import FREE
from safebandit.core.policies import HOLD, WAIT, Decision
from safebandit.trials.allocator import Allocator
from safebandit.trials.conduct_words import BARS, conduct_words, waiting_words
from safebandit.trials.explanation import Explanation, explain_decision, gate_words, policy_reason

# Of a unit for which only some arms are eligible.
NONE_ELIGIBLE = "no arm that is eligible for this unit is permissible"


def explain(allocator: Allocator, t: int, *, context: Numbers | None = None) -> Explanation:
    """What is known of every arm, who is permissible, and which arm `decide` gives, and why; nothing changes."""
    decision = allocator.judged(allocator.consider(t, context=context), t, aside=t, context=context)
    explained = explain_decision(
        allocator.policy, decision, allocator.memory, t, allocator.limits, allocator.risks,
        reason=reason_of(allocator, decision), bars=allocator.bars(),
    )  # fmt: skip
    if not allocator.routed:
        return explained
    views = (
        each._replace(why=_all_routed(allocator)) if each.permissible and not each.chosen else each
        for each in explained.arms
    )
    return replace(explained, arms=tuple(views))


def reason_of(allocator: Allocator, decision: Decision) -> str:
    """Why this arm, or why none, in words."""
    if allocator.routed:
        return _why_routed(allocator, decision)
    if not decision.by_policy:
        return conduct_words(allocator.conduct, allocator.course, decision.k, allocator.arms, allocator.bars())
    if decision.k == HOLD and decision.permissible.any() and allocator.memory.arms["masked"].any():
        return f"{NONE_ELIGIBLE}; arms that are not eligible for this unit may be"
    if decision.k == WAIT:
        return waiting_words(allocator.arms, allocator.bars(), decision.permissible)
    return policy_reason(allocator.policy, decision, allocator.limits, allocator.risks)


def _all_routed(allocator: Allocator) -> str:
    return f"all units are routed to the control, {allocator.arms[allocator.conduct.control]}"


def _why_routed(allocator: Allocator, decision: Decision) -> str:
    if decision.k >= 0:
        return _all_routed(allocator)
    control = allocator.conduct.control
    bar = allocator.bars()[control]
    if bar != FREE:
        return f"{_all_routed(allocator)}, and it {BARS[bar]}"
    words = gate_words(allocator.policy, control, decision, allocator.limits, allocator.risks, bar=bar)
    return f"{_all_routed(allocator)}, and it is {words}"
