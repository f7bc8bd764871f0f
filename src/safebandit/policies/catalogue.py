"""Policies by name, and the door through which every policy enters: named, written out, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar, get_type_hints

from safebandit.errors import PolicyError, suggest
from safebandit.indices import (
    DESCRIPTIONS,
    IMED,
    BayesLower,
    Description,
    EmpiricalLower,
    EmpiricalUpper,
    JointDirichlet,
    JointThompson,
    JointUpper,
    KLLower,
    KLUpper,
    Level,
    SampledRisk,
    Schedule,
    Thompson,
    lower,
    upper,
)
from safebandit.naming import call, call_by_name, kebab, read_number, read_value, split_call
from safebandit.policies.doubly_optimistic import DoublyOptimistic
from safebandit.policies.interface import LEAST_RISKY, Limits, choose
from safebandit.policies.mixture import PolicyMixture, risk_bound

C = TypeVar("C", bound=Callable[..., Any])

# How "hold" is written for compiled code; any negative number but LEAST_RISKY would do.
_HOLD_CODE = LEAST_RISKY - 1
# What a policy written as two indices may be told beside their parameters.
_PAIR_OPTIONS = ("when_none", "each_first", "head_start")


class Entry(NamedTuple):
    """A policy of the catalogue: its constructor, and where it comes from."""

    constructor: Callable[..., Any]
    formula: str
    source: str


POLICIES: dict[str, Entry] = {}


def named_policy(formula: str, source: str) -> Callable[[C], C]:
    """Enter a constructor into the catalogue under its own name."""

    def enter(constructor: C) -> C:
        POLICIES[kebab(constructor.__name__)] = Entry(constructor, formula, source)
        return constructor

    return enter


@named_policy("play argmax U among arms with L <= alpha; U, L by KL-UCB", "Algorithm 1 with KL-UCB")
def docb(level: Level = Level.practical, when_none: Any = None) -> DoublyOptimistic:
    """Doubly optimistic confidence bounds."""
    return DoublyOptimistic(KLUpper(level), KLLower(level), when_none)


@named_policy("play argmax of draws from Beta(R+1, N-R+1) among arms with L <= alpha; L by KL-UCB", "Algorithm 2")
def topsi(level: Level = Level.practical, when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling with optimistic safety indices."""
    return DoublyOptimistic(Thompson(), KLLower(level), when_none)


@named_policy(
    "play argmax of draws from Beta(R+1, N-R+1) among arms with Q(Beta(S, N-S+1), delta_t) <= alpha", "Algorithm 3"
)
def tsbu(schedule: Schedule = Schedule.practical, when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling with BayesUCB."""
    return DoublyOptimistic(Thompson(), BayesLower(schedule), when_none, each_first=False)


@named_policy(
    "play argmax U among arms with Q(Beta(S, N-S+1), delta_t) <= alpha; U by KL-UCB",
    "introduction: the fourth combination, left unstudied",
)
def klbayes(
    level: Level = Level.practical, schedule: Schedule = Schedule.practical, when_none: Any = None
) -> DoublyOptimistic:
    """KL-UCB on rewards with BayesUCB on risks."""
    return DoublyOptimistic(KLUpper(level), BayesLower(schedule), when_none)


@named_policy(
    "play argmax of draws from Beta(R+1, N-R+1) among arms whose draw from Beta(S+1, N-S+1) is <= alpha",
    "appendix on a naive Thompson sampling based safety index",
)
def naive_ts(when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling for rewards and risks alike; linear regret when the best arm's risk is near alpha."""
    return DoublyOptimistic(Thompson(), SampledRisk(0.0), when_none, each_first=False)


@named_policy(
    "as naive-ts, with draws <= alpha + slack * deviation * sqrt(log t)",
    "appendix on a naive Thompson sampling based safety index",
)
def slack_ts(slack: float = 0.25, when_none: Any = None) -> DoublyOptimistic:
    """Naive sampling, with a slack in proportion to the risk posterior's standard deviation."""
    return DoublyOptimistic(Thompson(), SampledRisk(slack), when_none, each_first=False)


@named_policy(
    "play argmax U among arms with L <= alpha; U, L by K_inf of the outcomes' histogram",
    "ours with empirical KL-UCB (Cappe et al. 2013): for outcomes that vary less than bits",
)
def empirical_kl(level: Level = Level.practical, bins: int = 32, when_none: Any = None) -> DoublyOptimistic:
    """Doubly optimistic confidence bounds from the whole law of the outcomes, not from their means alone."""
    return DoublyOptimistic(EmpiricalUpper(level, bins), EmpiricalLower(level, bins), when_none)


class Evidence(IntEnum):
    """How evidence against an arm's safety is measured: N d_>(mean||alpha), or -log P(Bin(N, alpha) >= S)."""

    kl = 0
    tail = 1


@named_policy(
    "play argmax max{ q : N [d(mean||q) + d_>(risk||alpha)] <= gamma_t } among arms with L <= alpha",
    "ours: one budget for both kinds of evidence, as in the lower bound",
)
def joint_kl(level: Level = Level.practical, head_start: int = 0, when_none: Any = None) -> DoublyOptimistic:
    """Doubly optimistic confidence bounds that share one budget; never looser than docb."""
    return DoublyOptimistic(JointUpper(level), KLLower(level), when_none, head_start=head_start)


@named_policy(
    "play argmin N d_<(mean||m) + evidence + log N among permissible arms, m the largest mean of those",
    "ours: indexed minimum empirical divergence with risk",
)
def safe_imed(
    evidence: Evidence = Evidence.tail, discount: float = 0.0, head_start: int = 0, when_none: Any = None
) -> DoublyOptimistic:
    """The arm against which the least evidence speaks, of reward and risk together."""
    safety = BayesLower() if evidence == Evidence.tail else KLLower()
    return DoublyOptimistic(IMED(discount), safety, when_none, head_start=head_start)


@named_policy(
    "as tsbu; an arm whose drawn risk is above alpha loses its optimism: min(draw, mean)",
    "ours: Thompson sampling of both outcomes",
)
def joint_ts(soft: float = 0.0, head_start: int = 0, when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling in which reward and risk must both look good; `soft` tests log t times as leniently."""
    return DoublyOptimistic(JointThompson(soft), BayesLower(), when_none, each_first=False, head_start=head_start)


@named_policy(
    "as joint-ts, with reward and risk drawn together from Dirichlet(1/2 + counts of both outcomes)",
    "ours: for outcomes that depend on each other",
)
def joint_dirichlet(soft: float = 1.0, head_start: int = 1_000, when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling that learns how reward and risk depend on each other; one risk."""
    return DoublyOptimistic(JointDirichlet(soft), BayesLower(), when_none, each_first=False, head_start=head_start)


@named_policy(
    "play from the mixture that maximises U among those with mean L <= alpha; U, L by KL-UCB",
    "section on prior formulations: bandits with convex knapsacks, doubly optimistic",
)
def bwcr(level: Level = Level.practical, when_none: Any = None) -> PolicyMixture:
    """The best mixture of arms by optimistic rewards and optimistic risks; safe in aggregate, not per round."""
    return PolicyMixture(KLUpper(level), KLLower(level), when_none=when_none)


@named_policy(
    "play from the mixture that maximises U among those with mean upper risk index <= alpha; both by KL-UCB",
    "section on prior formulations: optimistic rewards, pessimistic risks, a known safe arm",
)
def pess(
    level: Level = Level.practical, safe_arm: Any = 0, safe_risk: float | None = None, when_none: Any = None
) -> PolicyMixture:
    """The best mixture of arms by optimistic rewards and pessimistic risks, around an arm known to be safe."""
    return PolicyMixture(KLUpper(level), KLUpper(level), safe_arm, safe_risk, when_none, each_first=False)


def recommended(risks: int = 1) -> str:
    """The policy to use where nothing speaks for another, by the arena's evidence."""
    return "joint-dirichlet" if risks == 1 else "tsbu"


def reward_indices() -> dict[str, type]:
    """Every reward index by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in upper.formulas}


def safety_indices() -> dict[str, type]:
    """Every safety index by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in lower.formulas}


def policy_from_text(text: str) -> Any:
    """A policy by its name, or two indices joined by "+"; parameters after a colon.

    >>> policy_from_text("tsbu:schedule=theory").safety.schedule.name
    'theory'
    >>> policy_from_text("kl-upper+sampled-risk:safety.slack=0.5,when_none=hold").safety.slack
    0.5
    """
    name = text.partition(":")[0]
    if "+" not in name:
        return call_by_name(text, {key: entry.constructor for key, entry in POLICIES.items()}, "policy", PolicyError)
    return _pair_from_text(text)


def _pair_from_text(text: str) -> DoublyOptimistic:
    name, parameters = split_call(text, PolicyError)
    reward_name, _, safety_name = name.partition("+")
    groups: dict[str, dict[str, Any]] = {"reward": {}, "safety": {}, "": {}}
    for key, value in parameters.items():
        group, _, rest = key.rpartition(".")
        if group not in groups:
            raise PolicyError(
                f'parameter "{key}" must begin with "reward." or "safety.", or be one of {", ".join(_PAIR_OPTIONS)}'
            )
        groups[group][rest] = value
    reward = _index(reward_name, reward_indices(), "reward index", groups["reward"])
    safety = _index(safety_name, safety_indices(), "safety index", groups["safety"])
    for key in groups[""]:
        if key not in _PAIR_OPTIONS:
            raise PolicyError(f'unknown parameter "{key}"; {suggest(key, _PAIR_OPTIONS)}')
    return call(DoublyOptimistic, {"reward": reward, "safety": safety, **groups[""]}, "policy", PolicyError)


def _index(name: str, known: Mapping[str, type], what: str, parameters: Mapping[str, Any]) -> Any:
    if name not in known:
        raise PolicyError(f'unknown {what} "{name}"; {suggest(name, known)}')
    return call(known[name], parameters, f'{what} "{name}"', PolicyError)


def policy_to_text(policy: Any) -> str:
    """The text that `policy_from_text` reads back as the same policy, for policies made of registered parts.

    >>> policy_to_text(tsbu()), policy_to_text(tsbu(Schedule.theory))
    ('tsbu', 'thompson+bayes-lower:safety.schedule=theory,each_first=false')
    """
    for name, entry in POLICIES.items():
        if _same(entry.constructor(), policy):
            return name
    if not isinstance(policy, DoublyOptimistic):
        return repr(policy)
    parts = [f"reward.{text}" for text in _changed(policy.reward)]
    parts += [f"safety.{text}" for text in _changed(policy.safety)]
    parts += [f"when_none={_written(policy.when_none)}"] if policy.when_none is not None else []
    parts += [] if policy.each_first else ["each_first=false"]
    parts += [f"head_start={policy.head_start}"] if policy.head_start else []
    name = f"{kebab(type(policy.reward).__name__)}+{kebab(type(policy.safety).__name__)}"
    return f"{name}:{','.join(parts)}" if parts else name


def _same(first: Any, second: Any) -> bool:
    """Whether two values have the same types all through; as tuples, KLUpper() and BayesUpper() would be equal."""
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)


def _written(arm: Any) -> str:
    """An arm as `arm_number` reads it back: "#0" for a number, a name as it is, quoted where it has commas."""
    if not isinstance(arm, str):
        return f"#{arm}"
    return f'"{arm}"' if set(arm) & {",", " ", "#"} else arm


def _changed(index: Any) -> list[str]:
    defaults = type(index)._field_defaults
    changed = {key: value for key, value in index._asdict().items() if value != defaults.get(key)}
    return [f"{key}={getattr(value, 'name', value)}" for key, value in changed.items()]


def prepare(policy: Any, arms: Sequence[str], when_none: str, *, limits: Limits, risks: Any = None) -> Any:
    """The policy as compiled code takes it: texts read, parameters checked, arms and `when_none` as numbers.

    `when_none` is what a policy does that does not say; `limits` are the tolerated risks, `risks` the mean risks, where
    they are known.
    """
    if isinstance(policy, str):
        policy = policy_from_text(policy)
    if not (isinstance(policy, tuple) and hasattr(policy, "_fields") and choose.knows(type(policy))):
        raise PolicyError(f"a policy is a name such as tsbu, or a DoublyOptimistic(...), got {policy!r}")
    if isinstance(policy, PolicyMixture):
        return _prepare_mixture(policy, arms, when_none, limits, risks)
    if not isinstance(policy, DoublyOptimistic):
        return policy
    if len(limits) > 1 and DESCRIPTIONS.get(type(policy.reward), Description()).one_risk:
        kind = type(policy.reward).__name__
        raise PolicyError(f"{kind} asks how the reward depends on one risk, got {len(limits)}; take joint-ts")
    head_start = int(read_number("head_start", policy.head_start, int, PolicyError))
    if head_start < 0:
        raise PolicyError(f"head_start must be at least 0 (rounds), got {policy.head_start}")
    return DoublyOptimistic(
        _checked(policy.reward, upper, "reward index"),
        _checked(policy.safety, lower, "safety index"),
        _when_none_code(when_none if policy.when_none is None else policy.when_none, arms),
        read_value("each_first", policy.each_first, bool, PolicyError),
        head_start,
    )


def _prepare_mixture(policy: PolicyMixture, arms: Sequence[str], when_none: str, limits: Limits, risks: Any) -> Any:
    if len(limits) > 1:
        raise PolicyError(f"bwcr and pess mix arms under one risk, got {len(limits)}; take a doubly optimistic policy")
    (alpha,) = limits
    safe_arm = -1 if policy.safe_arm is None else arm_number("safe_arm", policy.safe_arm, arms)
    safe_risk = policy.safe_risk
    if safe_arm >= 0 and safe_risk is None:
        if risks is None:
            raise PolicyError(f'the mean risk of the safe arm "{arms[safe_arm]}" must be known; give safe_risk=')
        safe_risk = risks[safe_arm]
    safe_risk = read_number("safe_risk", 0.0 if safe_risk is None else safe_risk, float, PolicyError)
    if not 0.0 <= safe_risk <= alpha:
        raise PolicyError(f"the safe arm's mean risk must lie in [0, alpha] = [0, {alpha:g}], got {safe_risk:g}")
    return PolicyMixture(
        _checked(policy.reward, upper, "reward index"),
        _checked(policy.risk, risk_bound if risk_bound.knows(type(policy.risk)) else lower, "risk index"),
        safe_arm,
        float(safe_risk),
        _when_none_code(when_none if policy.when_none is None else policy.when_none, arms),
        read_value("each_first", policy.each_first, bool, PolicyError),
    )


def arm_number(what: str, arm: Any, arms: Sequence[str]) -> int:
    """An arm by its name, or by its number from 0, which a text may write as "#0" to tell it from a name."""
    if arm in arms:
        return list(arms).index(arm)
    try:
        number = int(read_number(what, arm.removeprefix("#") if isinstance(arm, str) else arm, int, PolicyError))
    except PolicyError:
        number = -1
    if not 0 <= number < len(arms):
        raise PolicyError(f"{what} must be an arm (0 to {len(arms) - 1}, or one of {', '.join(arms)}), got {arm!r}")
    return number


def _checked(index: Any, question: Any, what: str) -> Any:
    """An index with its parameters read by their annotations and held to the rules of its class."""
    kind = type(index)
    if not hasattr(index, "_fields") or not any(question.knows(base) for base in kind.__mro__[:-1]):
        raise PolicyError(f"a {what} is a NamedTuple with a formula registered for {question.name}, got {index!r}")
    hints, rules = get_type_hints(kind), DESCRIPTIONS.get(kind, Description())
    values = {}
    for key, value in index._asdict().items():
        values[key] = read_value(key, value, hints.get(key, Any), PolicyError)
        if key in rules.positive and not values[key] > 0:
            raise PolicyError(f"{key} of {kind.__name__} must be above 0, got {value!r}")
        if key in rules.not_negative and not values[key] >= 0:
            raise PolicyError(f"{key} of {kind.__name__} must be at least 0, got {value!r}")
    # Plain numbers: compiled code compares them, and Numba recognises their types fastest.
    return kind(**{key: int(value) if isinstance(value, IntEnum) else value for key, value in values.items()})


def _when_none_code(when_none: Any, arms: Sequence[str]) -> int:
    """`least_risky`, `hold`, or an arm by its name or its number from 0."""
    if when_none == "least_risky":
        return LEAST_RISKY
    if when_none == "hold":
        return _HOLD_CODE
    return arm_number("when_none, unless least_risky or hold,", when_none, arms)
