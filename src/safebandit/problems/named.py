"""Problems by name: the data sets of the paper, and some of ours. Parameters follow a colon: `gaps-large:i=3`."""

from __future__ import annotations

from collections.abc import Callable

from safebandit.core.naming import call_by_name, kebab, read_number
from safebandit.errors import InstanceError
from safebandit.problems.instance import Instance
from safebandit.problems.limits import AnyAlpha

NAMED: dict[str, Callable[..., Instance]] = {}


def named_instance(constructor: Callable[..., Instance]) -> Callable[..., Instance]:
    """Enter a constructor into the list under its own name."""
    NAMED[kebab(constructor.__name__)] = constructor
    return constructor


def instance_by_name(text: str, alpha: AnyAlpha | None = None) -> Instance:
    """A problem by its name, at its own alpha or at another.

    >>> instance_by_name("drug-trial", 0.19).unsafe_arms.tolist()
    [1, 3, 4]
    """
    instance: Instance = call_by_name(text, NAMED, "instance", InstanceError)
    return instance if alpha is None else instance.with_alpha(alpha)


def as_instance(given: Instance | str, *, contexts: bool = False) -> Instance:
    """An instance, or the one of that name; one with contexts only where they are looked at."""
    if isinstance(given, str):
        given = instance_by_name(given)
    if not isinstance(given, Instance):
        raise InstanceError(
            f"an instance is wanted, or the name of one such as 'drug-trial', got {type(given).__name__}; "
            "make one: Instance.bernoulli(mu=..., nu=..., alpha=...)"
        )
    if given.in_contexts and not contexts:
        raise InstanceError(
            f'the instance "{given.name}" has contexts, which only simulate looks at; take one without contexts'
        )
    return given


def _step(i: int) -> int:
    number = read_number("i", i, int, InstanceError)
    if not 1 <= number <= 10:
        raise InstanceError(f"i must be a whole number from 1 to 10, got {i}")
    return int(number)


@named_instance
def drug_trial() -> Instance:
    """Efficacy and infections at five doses of a drug against rheumatoid arthritis (section on simulations)."""
    return Instance.bernoulli(
        mu=[0.360, 0.340, 0.469, 0.465, 0.537],
        nu=[0.160, 0.259, 0.184, 0.209, 0.293],
        alpha=0.21,
        arms=["0 mg", "25 mg", "75 mg", "150 mg", "300 mg"],
        name="drug-trial",
    )


@named_instance
def two_arm_example() -> Instance:
    """A harmless arm and a certain harm: where constraints in aggregate go wrong (equation eq:example)."""
    return Instance.bernoulli(mu=[0.5, 1.0], nu=[0.0, 1.0], alpha=0.5, name="two-arm-example")


@named_instance
def policy_case_1() -> Instance:
    """Two optimal mixtures, one of them on a single arm (section on prior formulations, case 1)."""
    return Instance.bernoulli(mu=[0, 0.4, 0.5, 0.6], nu=[0, 0.4, 0.5, 0.6], alpha=0.5, name="policy-case-1")


@named_instance
def policy_case_2() -> Instance:
    """A single optimal mixture, on one arm (section on prior formulations, case 2)."""
    return Instance.bernoulli(mu=[0, 0.4, 0.6, 0.6], nu=[0, 0.4, 0.5, 0.6], alpha=0.5, name="policy-case-2")


@named_instance
def gaps_large(i: int = 5) -> Instance:
    """Gaps of i/25 in reward or risk (section on dependence on gaps, large minimum gaps)."""
    gap = _step(i) / 25
    means = [0.5, 0.5 - gap, 0.5 + gap]
    return Instance.bernoulli(mu=means, nu=means, alpha=0.5, name=f"gaps-large:i={i}")


@named_instance
def gaps_small(i: int = 5) -> Instance:
    """Gaps of i/25 in reward or risk, with gaps ten times smaller beside (section on dependence on gaps)."""
    gap, small = _step(i) / 25, _step(i) / 250
    mu = [0.5, 0.5 - gap, 0.5 + small]
    nu = [0.5, 0.5 + small, 0.5 + gap]
    return Instance.bernoulli(mu=mu, nu=nu, alpha=0.5, name=f"gaps-small:i={i}")


@named_instance
def bayes_schedules() -> Instance:
    """The best arm's risk sits at alpha (appendix on BayesUCB quantiles)."""
    return Instance.bernoulli(mu=[0.4, 0.5, 0.6], nu=[0.4, 0.5, 0.6], alpha=0.5, name="bayes-schedules")


@named_instance
def naive_sampling() -> Instance:
    """Where sampled risks fail; the paper varies alpha from 0.5 to 0.68 (appendix on naive sampling)."""
    return Instance.bernoulli(mu=[0.3, 0.5, 0.7], nu=[0.3, 0.5, 0.7], alpha=0.5, name="naive-sampling")


@named_instance
def linear_doses() -> Instance:
    """Efficacy and toxicity that are linear in the dose, for eleven of them (made up, not of the paper)."""
    doses = [k / 10 for k in range(11)]
    return Instance.linear(
        features=[[1.0, dose] for dose in doses],
        reward=[0.2, 0.6],
        risk=[0.05, 0.5],
        alpha=0.325,
        arms=[f"{dose:g} mg" for dose in doses],
        name="linear-doses",
    )


@named_instance
def dose_by_patient() -> Instance:
    """Eleven doses whose effects, and so the best safe one, depend on age and weight (made up, not of the paper)."""
    doses = [k / 10 for k in range(11)]
    return Instance.linear(
        features=[[1.0, dose] for dose in doses],
        # Of 1, age and weight, by themselves and times the dose.
        reward=[0.2, 0.1, 0.0, 0.5, -0.2, 0.1],
        risk=[0.05, 0.1, 0.0, 0.3, 0.4, -0.2],
        alpha=0.3,
        contexts=["uniform", "uniform"],
        arms=[f"{dose:g} mg" for dose in doses],
        name="dose-by-patient",
    )


@named_instance
def dose_two_risks() -> Instance:
    """Efficacy, toxicity and nausea that rise with the dose; nausea sets the limit (made up, not of the paper)."""
    return Instance.bernoulli(
        mu=[0.15, 0.30, 0.45, 0.55, 0.60],
        nu=[[0.05, 0.09, 0.15, 0.24, 0.40], [0.04, 0.08, 0.14, 0.28, 0.45]],
        alpha=[0.3, 0.2],
        arms=["1 mg", "2 mg", "4 mg", "8 mg", "16 mg"],
        risks=["toxicity", "nausea"],
        name="dose-two-risks",
    )
