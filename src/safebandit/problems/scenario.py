"""A scenario: a supposed truth, how units arrive, and how late outcomes come back, or never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.naming import read_number, read_value
from safebandit.core.timing import Timing
from safebandit.errors import InstanceError, at_key, suggest
from safebandit.names import normal, read_name
from safebandit.problems.curves import read_curve
from safebandit.problems.delays import Delay, read_delay
from safebandit.problems.instance import Instance
from safebandit.problems.limits import Alpha, check_unit
from safebandit.problems.named import as_instance
from safebandit.problems.stratified import Part, Supposed, mixed, parts_of, read_supposed, side_by_side

ARRIVALS = ("fixed", "poisson")
MOST_DAYS = 10**6


@dataclass(frozen=True, init=False, eq=False)
class Scenario:
    """An instance, with accrual in units per day, delays in days, and losses; alpha is the design's.

    Units arrive evenly ("fixed") or at random ("poisson"). Delays are numbers of days or laws: "uniform:0..30",
    "exponential:10", "weibull:shape=2,scale=20"; what has a delay of 0 is known before the next unit arrives. With
    chance `missing` nothing is ever heard of a unit, with `missing_risk` none of its risks; it is then given up
    `give_up_after` days after it got its arm. Without a `mu` there are no rewards.

    For a design with strata, `strata` says of each, by its name, what share of the units is of it, and where its means
    are others: {"site=b": {"share": 0.3, "nu": [0.2, 0.4, 0.7]}}. Nothing said, shares are equal and means the same.

    >>> scenario = Scenario("steep", mu=[0.2, 0.4, 0.5], nu="logistic:low=0.05,high=0.6", accrual=0.5, risk_delay=28)
    >>> scenario.instance.nu.round(3).tolist(), scenario.timing().risk_a
    ([0.05, 0.219, 0.6], 28.0)
    """

    name: str
    instance: Instance
    rewarded: bool
    accrual: float
    arrivals: str
    reward_delay: Delay
    risk_delay: Delay
    missing: float
    missing_risk: float
    give_up_after: float
    strata: tuple[Supposed, ...]
    # Whether the arms have names; those that are only numbered take the design's.
    named: bool

    def __init__(
        self,
        name: str,
        instance: Instance | str | None = None,
        *,
        mu: Any = None,
        nu: Any = None,
        correlation: Any = 0.0,
        arms: Sequence[str] | int | None = None,
        risks: Sequence[str] | None = None,
        doses: Sequence[float] | None = None,
        rewarded: bool | None = None,
        accrual: float = 1.0,
        arrivals: str = "fixed",
        reward_delay: float | str | Delay = 0.0,
        risk_delay: float | str | Delay = 0.0,
        missing: float = 0.0,
        missing_risk: float = 0.0,
        give_up_after: float = 100.0,
        strata: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if (instance is None) == (nu is None):
            raise InstanceError("a scenario has the mean risks nu (with mu, where there are rewards), or an instance")
        if instance is not None and any(each is not None for each in (mu, arms, risks, doses)):
            raise InstanceError("an instance has its own means, arms and risks; leave mu, arms, risks and doses out")
        title = read_name("a scenario's name", name, InstanceError)
        if instance is None:
            truth = _from_means(title, mu, nu, correlation, arms, risks, doses)
        else:
            truth = replace(as_instance(instance), allow_infeasible=True)
        values = {
            "name": title,
            "instance": truth,
            "rewarded": _rewarded(rewarded, mu is not None or instance is not None),
            "accrual": _positive("accrual", accrual),
            "arrivals": _arrivals(arrivals),
            "reward_delay": _delay("reward_delay", reward_delay),
            "risk_delay": _delay("risk_delay", risk_delay),
            "missing": _chance("missing", missing),
            "missing_risk": _chance("missing_risk", missing_risk),
            "give_up_after": _positive("give_up_after", give_up_after),
            "strata": _strata(strata, title, truth, mu, nu, correlation, risks, doses),
            "named": truth.arms != tuple(map(str, range(len(truth.arms)))),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self._check_losses()

    def _check_losses(self) -> None:
        known = [each.longest for each in (self.reward_delay, self.risk_delay) if each.longest < np.inf]
        loses = self.missing > 0.0 or self.missing_risk > 0.0
        if loses and self.give_up_after <= max(known, default=0.0):
            with at_key("give_up_after"):
                raise InstanceError(
                    f"give_up_after must be more days than the delays ({max(known):g}), got {self.give_up_after:g}; "
                    "nobody is given up while an outcome may still come"
                )

    def timing(self) -> Timing:
        """When units arrive and are heard of, as compiled code takes it."""
        return Timing(
            self.accrual, self.arrivals == "poisson", *self.reward_delay, *self.risk_delay, self.missing,
            self.missing_risk, self.give_up_after,
        )  # fmt: skip

    def fitted(
        self, arms: Sequence[str], alpha: Alpha, risks: Sequence[str], strata: Sequence[str] = ()
    ) -> Scenario:  # fmt: skip
        """The scenario for a design with these arms, limits, risks and strata; refused where its own are others."""
        own, count = self.instance.arms, len(self.instance.arms)
        if (self.named and [normal(arm) for arm in own] != [normal(arm) for arm in arms]) or count != len(arms):
            raise InstanceError(
                f'scenario "{self.name}" must have the arms of the design ({", ".join(arms)}), '
                f"got {', '.join(own) if self.named else count}"
            )
        if len(self.instance.limits) != len(risks):
            raise InstanceError(
                f'scenario "{self.name}" must have the risks of the design ({", ".join(risks)}), '
                f"got {len(self.instance.limits)}; give nu a row for each"
            )

        def fit(truth: Instance) -> Instance:
            return replace(
                truth, arms=tuple(arms), risks=tuple(risks), alpha=alpha, allow_infeasible=True, name=self.name
            )

        apart = tuple(each._replace(truth=each.truth and fit(each.truth)) for each in self.strata)
        fitted = self._with(instance=fit(self.instance), named=True, strata=apart)
        with at_key("strata"):
            fitted.parts(strata)
        return fitted

    def parts(self, strata: Sequence[str]) -> list[Part]:
        """The share and the truth of each of these strata of a design; of a design without any, of those that the
        scenario tells apart, if it does.
        """
        return parts_of(self.strata, strata, self.instance)

    def law_in(self, parts: Sequence[Part]) -> tuple[Any, list[int]]:
        """The law of outcomes, and which of its arms is the first of each of these parts."""
        if not self._differs:
            return self.instance.law, [0] * len(parts)
        return side_by_side(parts).law, [i * len(self.instance.arms) for i in range(len(parts))]

    def pooled(self, strata: Sequence[str]) -> Instance:
        """The truth of units of all strata together."""
        return mixed(self.parts(strata), self.instance) if self._differs else self.instance

    @property
    def _differs(self) -> bool:
        """Whether some stratum has means of its own."""
        return any(each.truth is not None for each in self.strata)

    def _with(self, **changes: Any) -> Scenario:
        made = object.__new__(Scenario)
        for each in fields(self):
            object.__setattr__(made, each.name, changes.get(each.name, getattr(self, each.name)))
        return made

    def describe(self) -> str:
        """The scenario in a line: its name, its means, and how units come and are heard of."""
        shown = [
            f"{risk} {_listed(row)}" for risk, row in zip(self.instance.risks, self.instance.risk_means, strict=True)
        ]
        means = [f"reward {_listed(self.instance.mu)}", *shown] if self.rewarded else shown
        how = "at random" if self.arrivals == "poisson" else "evenly"
        correlation = self.instance.to_dict().get("correlation")
        if correlation is not None:
            means.append(f"correlation of reward and risk {_correlated(correlation)}")
        parts = [*means, f"{self.accrual:g} {'unit' if self.accrual == 1 else 'units'} a day, {how}"]
        late = {"reward": self.reward_delay, "risk": self.risk_delay}
        parts += [f"{what} after {delay.words()}" for what, delay in late.items() if delay.mean > 0.0]
        lost = {"of": self.missing, "of the risk of": self.missing_risk}
        parts += [f"nothing is heard {what} {share:.4g} of them" for what, share in lost.items() if share > 0.0]
        parts += [f"{each.name}: {_of_stratum(each, self.rewarded)}" for each in self.strata]
        return f"{self.name}: {'; '.join(parts)}"

    def to_dict(self) -> dict[str, Any]:
        """All of the scenario as JSON can hold it, without what is as by default; `from_dict` reads it back."""
        truth = self.instance.to_dict()
        for key in ("alpha", "allow_infeasible", "name", *([] if self.named else ["arms"])):
            truth.pop(key, None)
        if truth["kind"] == "bernoulli":
            del truth["kind"]
            if not self.rewarded:
                del truth["mu"]
        elif not self.rewarded:
            truth["rewarded"] = False
        timing = {key: value.written() if isinstance(value := getattr(self, key), Delay) else value for key in _USUAL}
        strata = {"strata": {each.name: each.said for each in self.strata}} if self.strata else {}
        other = {key: value for key, value in timing.items() if value != _USUAL[key]}
        return {"name": self.name, **truth, **other, **strata}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, arms: Sequence[str] | int | None = None) -> Scenario:
        """The scenario that `to_dict` wrote, or that a file has; `arms` are the design's, for curves."""
        check_keys(document, (*_MEANS, *_LAWS, "instance"))
        if "name" not in document:
            raise InstanceError('a scenario needs a name; add name = "all safe", for example')
        if "kind" in document:
            return cls._from_law(document)
        rest = dict(document)
        if "nu" in rest and "arms" not in rest and arms is not None:
            rest["arms"] = arms if isinstance(arms, int) else len(arms)
        return cls(**rest)

    @classmethod
    def _from_law(cls, document: Mapping[str, Any]) -> Scenario:
        """A scenario whose instance has another law than bits."""
        timing = {key: value for key, value in document.items() if key in (*_USUAL, "name", "rewarded", "strata")}
        law = {key: value for key, value in document.items() if key not in timing}
        origin = str(law.pop("origin", ""))
        options = {key: law.pop(key) for key in ("arms", "risks") if key in law}
        truth = Instance.from_recipe(law, 1.0, name=str(document["name"]), allow_infeasible=True, **options)
        return cls(instance=replace(truth, origin=origin), **timing)

    @classmethod
    def from_data(
        cls,
        data: Any,
        *,
        name: str | None = None,
        missing_risk_rows: str = "refuse",
        risks: Sequence[str] | None = None,
        columns: Mapping[str, str] | str | None = None,
        **timing: Any,
    ) -> Scenario:
        """Past outcomes, resampled: a text (CSV) or Parquet file, or a table, with columns arm, reward, risk.

        `missing_risk_rows` says what becomes of rows without a risk: "refuse", "drop" or "worst".
        """
        truth = Instance.from_data(
            data, 1.0, missing_risk=missing_risk_rows, name=name, allow_infeasible=True, risks=risks, columns=columns
        )
        return cls(truth.name, truth, **timing)


_MEANS = ("mu", "nu", "correlation", "arms", "risks", "doses", "rewarded")
_LAWS = ("kind", "deviation", "outcomes", "origin")
_USUAL: dict[str, Any] = {
    "accrual": 1.0, "arrivals": "fixed", "reward_delay": 0.0, "risk_delay": 0.0, "missing": 0.0, "missing_risk": 0.0,
    "give_up_after": 100.0,
}  # fmt: skip


def check_keys(document: Mapping[str, Any], more: Sequence[str]) -> None:
    """Refuse keys besides those that every scenario has, and `more`."""
    known = ("name", *more, *_USUAL, "strata")
    for key in document:
        if key not in known:
            with at_key(key):
                raise InstanceError(f'a scenario has no key "{key}"; {suggest(key, known)}')


def _from_means(name: str, mu: Any, nu: Any, correlation: Any, arms: Any, risks: Any, doses: Any) -> Instance:
    """Bits of these means, which are lists or curves of doses; no rewards where there is no mu."""
    count = _count_arms(mu, nu, arms, doses)
    with at_key("nu"):
        harms = (
            [read_curve("nu", row, count, doses) for row in nu] if _is_rows(nu) else read_curve("nu", nu, count, doses)
        )
    with at_key("mu"):
        rewards = [0.0] * count if mu is None else read_curve("mu", mu, count, doses)
    names = None if arms is None or isinstance(arms, int) else arms
    return Instance.bernoulli(
        rewards, harms, 1.0, correlation=correlation, arms=names, name=name, allow_infeasible=True, risks=risks
    )


def _strata(
    declared: Any, name: str, usual: Instance, mu: Any, nu: Any, correlation: Any, risks: Any, doses: Any
) -> tuple[Supposed, ...]:
    """What is supposed of strata; one that says only some means has the others of the scenario."""

    def truth(own_mu: Any, own_nu: Any) -> Instance:
        if nu is None:
            raise InstanceError("an instance has its own means; a stratum of such a scenario has only its share")
        if own_mu is not None and mu is None:
            with at_key("mu"):
                raise InstanceError("a scenario without rewards has none in its strata; leave mu out")
        arms = len(usual.arms)
        found = _from_means(
            name, mu if own_mu is None else own_mu, nu if own_nu is None else own_nu, correlation, arms, risks, doses
        )
        if found.risk_means.shape != usual.risk_means.shape:
            with at_key("nu"):
                raise InstanceError(
                    f"nu must have a row for each of the {len(usual.limits)} risks, as the scenario has"
                )
        return found

    with at_key("strata"):
        return read_supposed(declared, truth)


def _of_stratum(each: Supposed, rewarded: bool) -> str:
    """What is supposed of a stratum, in words."""
    said = [] if each.share is None else [f"{each.share:.4g} of the units"]
    if each.truth is not None and rewarded and "mu" in each.said:
        said.append(f"reward {_listed(each.truth.mu)}")
    if each.truth is not None and "nu" in each.said:
        said += [f"{risk} {_listed(row)}" for risk, row in zip(each.truth.risks, each.truth.risk_means, strict=True)]
    return ", ".join(said)


def _listed(means: Numbers) -> str:
    return ", ".join(f"{mean:.3g}" for mean in means)


def _correlated(rows: Any) -> str:
    """One number where all are the same; else one for each arm, and of several risks a row for each."""
    flat = np.unique(np.asarray(rows, float))
    if len(flat) == 1:
        return f"{flat[0]:.3g}"
    return "; ".join(map(_listed, np.atleast_2d(np.asarray(rows, float))))


def _is_rows(nu: Any) -> bool:
    """Whether there is a row for every risk."""
    return (
        not isinstance(nu, str)
        and hasattr(nu, "__len__")
        and any(isinstance(row, str) or hasattr(row, "__len__") for row in nu)
    )


def _count_arms(mu: Any, nu: Any, arms: Any, doses: Any) -> int:
    """How many arms there are: by their names or doses, or by a list of means."""
    rows = [*nu] if _is_rows(nu) else [nu]
    for given in (arms, doses, mu, *rows):
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        if given is not None and not isinstance(given, str) and hasattr(given, "__len__"):
            return len(given)
    raise InstanceError("a scenario of curves alone must say how many arms there are; add arms or doses")


def _rewarded(given: Any, usual: bool) -> bool:
    with at_key("rewarded"):
        return usual if given is None else bool(read_value("rewarded", given, bool, InstanceError))


def _positive(key: str, value: Any) -> float:
    with at_key(key):
        number = float(read_number(key, value, float, InstanceError))
        if not 0.0 < number <= MOST_DAYS:
            raise InstanceError(f"{key} must be above 0 and at most {MOST_DAYS:,}, got {value}")
        return number


def _chance(key: str, value: Any) -> float:
    with at_key(key):
        return check_unit(key, value)


def _delay(key: str, value: Any) -> Delay:
    with at_key(key):
        delay = read_delay(key, value)
        if max(delay.a, delay.b) > MOST_DAYS:
            raise InstanceError(f"{key} must be at most {MOST_DAYS:,} days, got {value}")
        return delay


def _arrivals(value: Any) -> str:
    if value not in ARRIVALS:
        with at_key("arrivals"):
            raise InstanceError(f"arrivals must be one of {', '.join(ARRIVALS)}, got {value!r}")
    return str(value)
