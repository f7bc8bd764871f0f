"""What the fields of a design must be to each other; the rules are completed with what the design says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safebandit.core.policies import policy_from_text
from safebandit.core.rules import completed
from safebandit.core.stopping.words import rule_name
from safebandit.errors import DesignError, at_key
from safebandit.trials.design_reading import finds_doses
from safebandit.trials.reading import check_named_arms
from safebandit.trials.rules import cause_names

if TYPE_CHECKING:
    from safebandit.trials.design import Design


def check_design(design: Design) -> dict[str, Any]:
    """The stopping and selection rules as the design completes them, if nothing in it contradicts the rest."""
    _check_order(design)
    _check_start(design)
    _check_policy(design)
    return _complete_rules(design)


def _check_order(design: Design) -> None:
    """Steps and exclusion upwards are about doses in their order."""
    for key, wanted in (("steps", design.steps > 0), ("upwards", design.upwards)):
        if wanted and not design.ordered:
            with at_key(key):
                raise DesignError(
                    f"{key} is for arms in order, from the lowest dose to the highest, and these are not; "
                    f"say ordered = true, or leave {key} out"
                )
    for key, given in (("known_below", design.known_below), ("climb", design.climb)):
        if given > 0 and design.steps == 0:
            with at_key(key):
                raise DesignError(
                    f"{key} says when a step up is allowed, and this design has no steps, got {given}; "
                    f"say steps = 1, or leave {key} out"
                )


def _check_start(design: Design) -> None:
    """The first arm, the steps and a burn-in must agree on who gets what at the beginning."""
    if design.burn_in > 0 and design.steps > 0:
        with at_key("burn_in"):
            raise DesignError(
                f"a burn-in gives every arm from the beginning, and steps = {design.steps} does not allow that, got "
                f"burn_in = {design.burn_in}; leave one of them out"
            )
    if design.first is not None and design.steps > 0 and design.arms.index(design.first) > design.steps:
        allowed = ", ".join(design.arms[: design.steps + 1])
        with at_key("first"):
            raise DesignError(
                f"the first arm must be at most {design.steps} above the lowest, as steps says ({allowed}), got "
                f'"{design.first}"; begin lower, or allow more steps'
            )


def _check_policy(design: Design) -> None:
    policy: Any = policy_from_text(design.policy)
    with at_key("policy"):
        check_named_arms(policy, design.arms)
        if finds_doses(policy) and not design.ordered:
            raise DesignError(
                f'policy "{design.policy}" moves between doses in their order, and these arms have none; '
                "say ordered = true"
            )
        if "reward" in getattr(policy, "needs", ()) and not design.rewarded:
            raise DesignError(
                f'policy "{design.policy}" decides by rewards, and units of this design have none (rewarded = false); '
                "choose one that needs risks only, such as boin"
            )
        design.prepared()


def _complete_rules(design: Design) -> dict[str, Any]:
    stop = []
    for name, rule, then in zip(cause_names(design.stop), design.stop, design.then, strict=True):
        with at_key("stop"), at_key(name.partition(" ")[0]):
            _check_rule(design, rule)
            _check_then(design, rule, then)
            stop.append(completed(rule, design))
    with at_key("select"):
        _check_rule(design, design.select)
        return {"stop": tuple(stop), "select": completed(design.select, design)}


def _check_then(design: Design, rule: Any, then: str) -> None:
    """A rule that drops an arm does nothing to the trial; and units are routed to a control that there is."""
    with at_key("then"):
        if then != "stop" and getattr(rule, "drops", False):
            raise DesignError(f'{rule_name(rule)} drops an arm, and then = "{then}" is for rules that stop the trial')
        if then == "route" and design.control is None:
            raise DesignError('then = "route" gives every unit the control, and this design has none; say control')


def _check_rule(design: Design, rule: Any) -> None:
    """What a rule says that it needs: a reward, a control, a least reward, arms in order."""
    has = {
        "reward": (design.rewarded, "rewarded = true"),
        "control": (design.control is not None, 'control = "ARM"'),
        "least_reward": (design.least_reward is not None, "least_reward = 0.2"),
        "order": (design.ordered, "ordered = true"),
    }
    for need in getattr(rule, "needs", ()):
        there, remedy = has[need]
        if not there:
            raise DesignError(
                f"{rule_name(rule)} needs {'a ' if need != 'order' else ''}{need.replace('_', ' ')}, and this design "
                f"has none; say {remedy}, or leave the rule out"
            )
