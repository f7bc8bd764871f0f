"""Designs by name, each one expression: the reference designs that reviewers ask for, and safe policies.

A text leaves the arms out: `boin:target=0.25,cohort=3,units=30,enough=9`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from inspect import Parameter, signature
from typing import Any, TypeAlias

from safebandit.core.naming import call, kebab, split_call, write_value
from safebandit.core.policies import policy_from_text
from safebandit.core.stopping.words import rule_name
from safebandit.errors import DesignError, suggest
from safebandit.trials.design import Design
from safebandit.trials.dose_ts_design import dose_ts
from safebandit.trials.exploring_designs import md_apt, md_sar, md_ucbe, tf_lucb

Arms: TypeAlias = Sequence[str] | int
Alpha: TypeAlias = float | Sequence[float] | None

DESIGNS: dict[str, Callable[..., Design]] = {}


def named_design(constructor: Callable[..., Design]) -> Callable[..., Design]:
    """Enter a constructor into the catalogue under its own name."""
    DESIGNS[kebab(constructor.__name__)] = constructor
    return constructor


@named_design
def equal(
    arms: Arms, *, units: int, alpha: Alpha = None, cohort: int = 1, title: str = "", rewarded: bool = True,
    ordered: bool = False, control: Any = None, least_reward: float | None = None, risks: Any = None,
) -> Design:  # fmt: skip
    """Equal randomisation: every arm once in each block, in random order; no arm is ever excluded.

    Selected is the arm of the largest mean reward among those that are probably safe; without rewards, of ordered
    doses, the one whose isotonic rate of harms is nearest to alpha.
    """
    return Design(
        arms, _limit("equal", "alpha", alpha), "equal", units, title=title, risks=risks, rewarded=rewarded,
        ordered=ordered, control=control, least_reward=least_reward, cohort=cohort, waits=False,
        pending_cap=_no_cap(units),
    )  # fmt: skip


@named_design
def three_plus_three(
    arms: Arms, *, alpha: Alpha = None, deescalate: bool = True, cohort: int = 3, units: int | None = None,
    title: str = "", rewarded: bool = False,
) -> Design:  # fmt: skip
    """3+3 (Storer 1989): three units at a dose; none harmed: escalate; one: three more; two: the dose is too high.

    With `deescalate` six units are treated at the dose that is selected, or three at the highest. Without `units` it
    lasts as long as it needs.
    """
    if cohort != 3:
        raise DesignError(f'design "three-plus-three" has cohorts of 3, got {cohort}; leave cohort out')
    names = _count(arms)
    return _dose_finding(
        arms, 1 / 3 if alpha is None else alpha, _policy("three-plus-three", deescalate=deescalate),
        units=6 * names if units is None else units, cohort=cohort, title=title, rewarded=rewarded,
        select="three-plus-three-dose",
    )  # fmt: skip


@named_design
def boin(
    arms: Arms, *, target: float | None = None, cohort: int = 3, units: int = 30, enough: int | None = None,
    cutoff: float = 0.95, stay_at_one_of_three: bool = False, alpha: Alpha = None, title: str = "",
    rewarded: bool = False,
) -> Design:  # fmt: skip
    """BOIN (Liu and Yuan 2015): escalate below one rate of harms at the present dose, de-escalate above another.

    The target is alpha unless given. Doses whose risk is above the target with a chance of more than `cutoff` are out.
    With `enough` units on the present dose the trial ends where it would stay. Selected is the dose whose isotonic rate
    of harms is nearest to the target.
    """
    aim = _limit("boin", "target", alpha if target is None else target)
    policy = _policy("boin", target=aim, enough=enough, cutoff=cutoff, stay_at_one_of_three=stay_at_one_of_three)
    return _dose_finding(
        arms, aim if alpha is None else alpha, policy, units=units, cohort=cohort, title=title, rewarded=rewarded,
        select=_rule("isotonic", target=aim, confidence=cutoff),
    )  # fmt: skip


@named_design
def boin12(
    arms: Arms, *, tolerated: float | None = None, wanted: float | None = None, cohort: int = 3, units: int = 36,
    enough: int | None = 12, cutoff: float = 0.95, futile: float = 0.90, worth: float = 0.6, alpha: Alpha = None,
    least_reward: float | None = None, title: str = "", rewarded: bool = True,
) -> Design:  # fmt: skip
    """BOIN12 (Lin et al. 2020): the dose of the best trade of efficacy for harm, among the present one and its
    neighbours.

    `tolerated` is the largest risk (alpha unless given), `wanted` the least efficacy. Selected is the dose of the
    largest utility among those that are not too toxic, up to the one whose isotonic rate of harms is tolerated.
    """
    limit = _limit("boin12", "tolerated", alpha if tolerated is None else tolerated)
    least = least_reward if wanted is None else wanted
    if least is None:
        raise DesignError('design "boin12" needs wanted, the least efficacy; add wanted=0.25, for example')
    policy = _policy(
        "boin12", tolerated=limit, wanted=least, enough=enough, cutoff=cutoff, futile=futile, worth=worth
    )  # fmt: skip
    return _dose_finding(
        arms, limit if alpha is None else alpha, policy, units=units, cohort=cohort, title=title, rewarded=rewarded,
        least_reward=least, select=_rule(
            "utility", target=limit, least_reward=least, neither=100 * (1 - worth), confidence=cutoff,
            reward_confidence=futile,
        ),
    )  # fmt: skip


@named_design
def crm(
    arms: Arms, *, target: float | None = None, cohort: int = 3, units: int = 36, halfwidth: float = 0.05,
    guess: int | None = None, skeleton: Any = None, alpha: Alpha = None, title: str = "", rewarded: bool = False,
) -> Design:  # fmt: skip
    """CRM (O'Quigley, Pepe and Fisher 1990; as the R package dfcrm): the dose whose risk by a model of one parameter,
    skeleton^exp(b), is nearest to the target; one level up at most, and never where
    the last cohort had the target rate of harms or more.

    The skeleton follows from `halfwidth` and the dose that is guessed to be right, from 1 (the middle one unless given;
    Lee and Cheung 2009), unless it is given: a list, or "0.1 0.2 0.35".
    """
    aim = _limit("crm", "target", alpha if target is None else target)
    listed = skeleton if skeleton is None or isinstance(skeleton, str) else " ".join(map(repr, skeleton))
    policy = _policy("crm", target=aim, skeleton=listed, halfwidth=halfwidth, guess=guess)
    return _dose_finding(
        arms, aim if alpha is None else alpha, policy, units=units, cohort=cohort, title=title, rewarded=rewarded,
        select="crm-dose",
    )  # fmt: skip


@named_design
def mtpi(
    arms: Arms, *, target: float | None = None, cohort: int = 3, units: int = 30, epsilon: float = 0.05,
    cutoff: float = 0.95, alpha: Alpha = None, title: str = "", rewarded: bool = False,
) -> Design:  # fmt: skip
    """The design mTPI (Ji et al. 2010): escalate, stay or de-escalate as the interval of risks below, around or above
    the target has the largest posterior mass for its length; the middle one is `epsilon` wide to either side.

    Selected is the dose whose isotonic rate of harms is nearest to the target.
    """
    aim = _limit("mtpi", "target", alpha if target is None else target)
    policy = _policy("mtpi", target=aim, epsilon1=epsilon, epsilon2=epsilon, cutoff=cutoff)
    return _dose_finding(
        arms, aim if alpha is None else alpha, policy, units=units, cohort=cohort, title=title, rewarded=rewarded,
        select=_rule("isotonic", target=aim, confidence=cutoff),
    )  # fmt: skip


@named_design
def rar(
    arms: Arms, *, units: int, burn_in: int = 0, soften: float = 1.0, floor: float = 0.0, floors: str = "mixed",
    control: Any = None, control_share: float | None = None, superiority: float | None = 0.99,
    inferiority: float | None = 0.99, equivalence: float | None = None, difference: float = 0.05, looks: Any = None,
    lowest: bool = False, alpha: Alpha = None, cohort: int = 1, title: str = "", rewarded: bool = True,
    risks: Any = None,
) -> Design:  # fmt: skip
    """Response-adaptive randomisation (Thall and Wathen 2007; as the R package adaptr): shares follow the chances to be
    best, to the power of `soften`, and none is below `floor`; they change when the data are looked at.

    Best is the largest reward, or the `lowest` first risk. At a look an arm is dropped that is not best with a chance
    of `inferiority`; the trial stops with one that is best with a chance of `superiority`, or with arms that differ by
    less than `difference` with a chance of `equivalence`; a rule whose chance is `none` is left out. Selected is the
    arm that is most likely best. Without an alpha every risk is tolerated.
    """
    policy = _policy(
        "response-adaptive", soften=soften, floor=floor, floors=floors, control=control, control_share=control_share,
        lowest=lowest,
    )  # fmt: skip
    levels = {"inferiority": inferiority, "superiority": superiority}
    stop = [_rule(name, level=level, lowest=lowest) for name, level in levels.items() if level is not None]
    if equivalence is not None:
        stop.append(_rule("equivalence", level=equivalence, difference=difference, lowest=lowest))
    return Design(
        arms, 1.0 if alpha is None else alpha, policy, units, title=title, risks=risks, rewarded=rewarded,
        control=control, cohort=cohort, waits=False, burn_in=burn_in, looks=looks, pending_cap=_no_cap(units),
        stop=stop, select=_rule("best-probability", lowest=lowest),
    )  # fmt: skip


@named_design
def safe(
    arms: Arms, *, policy: str | None = None, alpha: Alpha = None, units: int, cohort: int = 1, steps: int = 0,
    climb: float | None = None, ordered: bool | None = None, control: Any = None, least_reward: float | None = None,
    harm: float | None = None,
    futility: float | None = None, enough: int | None = None, waits: bool | None = None,
    pending_cap: int | None = None, looks: Any = None, title: str = "", rewarded: bool = True, risks: Any = None,
) -> Design:  # fmt: skip
    """Any safe policy, in cohorts and steps; by default the one that suits the size of the trial.

    `harm` and `futility` are confidences at which the trial stops because no arm is safe, or none has the least
    reward; `enough` is how many units on one arm end it. Selected is the largest mean reward among arms that are
    probably safe.
    """
    chances = {"harm": harm, "futility": futility}
    stop = [_rule(name, confidence=chance) for name, chance in chances.items() if chance is not None]
    return Design(
        arms, _limit("safe", "alpha", alpha), policy, units, title=title, risks=risks, rewarded=rewarded,
        ordered=steps > 0 if ordered is None else ordered, control=control, least_reward=least_reward, cohort=cohort,
        waits=waits, steps=steps, climb=climb, pending_cap=pending_cap, looks=looks,
        stop=[*stop, *([] if enough is None else [_rule("enough", units=enough)])],
    )  # fmt: skip


for _elsewhere in (dose_ts, md_apt, md_ucbe, md_sar, tf_lucb):
    named_design(_elsewhere)


def design_from_text(
    text: str, *, arms: Arms, rewarded: bool | None = None, defaults: Mapping[str, Any] | None = None
) -> Design:
    """A design by its name and parameters, for these arms; `defaults` are what the text need not say itself, and
    `rewarded` is whether units have a reward.

    >>> design_from_text("boin:target=.25,cohort=3,units=30,enough=9", arms=5).policy
    'boin:target=0.25,enough=9'
    """
    name, parameters = split_call(text, DesignError)
    if name not in DESIGNS:
        raise DesignError(f'unknown design "{name}"; {suggest(name, DESIGNS)}')
    accepted, where = signature(DESIGNS[name]).parameters, f'design "{name}"'
    if "arms" in parameters:
        raise DesignError(f"{where} gets its arms from the scenario or the file; leave arms out")
    usual = {**(defaults or {}), **({} if rewarded is None else {"rewarded": rewarded})}
    taken = {key: value for key, value in usual.items() if key in accepted and value is not None}
    if DESIGNS[name] is three_plus_three:
        taken.pop("cohort", None)
    given = {"arms": arms, **taken, **{key: _or_none(value, accepted.get(key)) for key, value in parameters.items()}}
    missing = [key for key, each in accepted.items() if each.default is each.empty and key not in given]
    if missing:
        raise DesignError(f"{where} needs {missing[0]}; write {name}:{missing[0]}=..., for example")
    made: Design = call(DESIGNS[name], given, where, DesignError)
    names = usual.get("risks")
    if names is None or "risks" in accepted or len(names) != len(made.risks):
        return made
    # A design that knows of one risk calls it as those do that it is compared with.
    return Design.from_dict({**made.to_dict(), "risks": list(names)})


def _or_none(value: str, parameter: Parameter | None) -> str | None:
    """What a text gives; `none` is nothing where a parameter may be that."""
    return None if value == "none" and parameter is not None and "None" in str(parameter.annotation) else value


def design_to_text(design: Design) -> str:
    """The text that `design_from_text` reads back as this design, for its arms; only designs by name have one.

    >>> design_to_text(boin(5, target=0.25, enough=9))
    'boin:target=0.25,enough=9'
    """
    values = {**_levels(design), **policy_from_text(design.policy)._asdict(), **vars(design)}
    for name, constructor in DESIGNS.items():
        text = _shortest(name, _changed(constructor, values), design)
        if text is not None:
            return text
    raise DesignError(f"only a design by name has a text ({', '.join(DESIGNS)}); write this one as TOML")


def _changed(constructor: Callable[..., Design], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a constructor that are not as by default, as a text can have them."""
    written: dict[str, Any] = {}
    for key, parameter in signature(constructor).parameters.items():
        value = values.get(key)
        if value is None and parameter.default is not None and "None" in str(parameter.annotation):
            written[key] = "none"
        elif key == "looks" and isinstance(value, tuple) and len(value) > 1:
            written[key] = f"{value[0]}..{value[-1]}/{value[1] - value[0]}"
        elif key != "arms" and isinstance(value, str | int | float) and value != parameter.default:
            written[key] = value.name if isinstance(value, IntEnum) else value
    return written


def _levels(design: Design) -> dict[str, Any]:
    """What constructors call by the name of a stopping rule."""
    levels = {}
    for rule in design.stop:
        found = [getattr(rule, key) for key in ("confidence", "level", "units") if key in rule._fields]
        levels[rule_name(rule)] = found[0] if found else None
        levels["difference"] = getattr(rule, "difference", levels.get("difference"))
    return levels


def _shortest(name: str, written: Mapping[str, Any], design: Design) -> str | None:
    """The text with as few of these parameters as give the design back, if all together do."""
    kept = dict(written)
    if not _reads_back(name, kept, design):
        return None
    for key in reversed([*written]):
        fewer = {each: value for each, value in kept.items() if each != key}
        kept = fewer if _reads_back(name, fewer, design) else kept
    return _text(name, kept)


def _reads_back(name: str, parameters: Mapping[str, Any], design: Design) -> bool:
    try:
        return design_from_text(_text(name, parameters), arms=design.arms) == design
    except ValueError:
        return False


def _text(name: str, parameters: Mapping[str, Any]) -> str:
    listed = ",".join(f"{key}={write_value(value)}" for key, value in parameters.items())
    return f"{name}:{listed}" if listed else name


def _policy(name: str, **parameters: Any) -> str:
    """The text of a policy, without parameters that are as by default."""
    usual = {key: write_value(value) for key, value in policy_from_text(name)._asdict().items()}
    return _text(name, {key: value for key, value in parameters.items() if write_value(value) != usual[key]})


def _rule(name: str, **parameters: Any) -> dict[str, Any]:
    return {"rule": name, **parameters}


def _dose_finding(arms: Arms, alpha: Any, policy: str, **rest: Any) -> Design:
    """A design whose policy moves from dose to dose, cohort after cohort."""
    return Design(arms, alpha, policy, ordered=True, waits=True, **rest)


def _limit(design: str, key: str, value: Any) -> Any:
    if value is None:
        raise DesignError(f'design "{design}" needs {key}, the risk that is tolerated; add {key}=0.3, for example')
    return value


def _no_cap(units: Any) -> int:
    """A pending cap that nobody meets."""
    return min(max(int(units), 1), 10**6)


def _count(arms: Arms) -> int:
    return arms if isinstance(arms, int) else len(arms)
