"""Checks of dose-finding decisions: the code that decides is asked where others printed what comes next."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import integrate, stats

from safebandit.core.arms import Numbers
from safebandit.core.policies.dose.crm import skeleton_of
from safebandit.core.policies.dose.ladder import optimal_boundaries
from safebandit.problems.three_plus_three import exact_three_plus_three
from safebandit.studies.validation import numbers
from safebandit.studies.validation.check import SAME, Check, Extent, Obtained
from safebandit.trials.asking import Units, asked
from safebandit.trials.decision_table import DE_ESCALATE, ESCALATE, EXCLUDE, moves
from safebandit.trials.designs import design_from_text
from safebandit.trials.trial import Trial

GROUP = "dose decisions"
_EXACTLY = "every entry as printed"
_BOIN12 = "boin12:tolerated=.35,wanted=.25,units=36,enough=12"


@functools.cache
def _letters(text: str) -> dict[int, str]:
    """The moves of a design after n units, a letter for every number of harms."""
    frame = moves(design_from_text(text, arms=5)).frame
    # Rows that only repeat the one above are not in the table.
    last = frame.index[-1]
    sizes = [int(n) for n in frame.columns]
    return {n: "".join(str(frame[n][min(x, last)]) for x in range(n + 1)) for n in sizes}


def _boin_row(word: str) -> Callable[[Extent], Obtained]:
    def compute(_: Extent) -> Obtained:
        table = _letters("boin:target=.3,cohort=3,units=30,enough=1000")
        leaves = {"escalate": ESCALATE, "de-escalate": DE_ESCALATE + EXCLUDE, "eliminate": EXCLUDE}[word]
        found = []
        for letters in table.values():
            places = [x for x, letter in enumerate(letters) if letter in leaves]
            found.append(places[-1] if word == "escalate" else places[0])
        return Obtained(" ".join(map(str, found)))

    return compute


def _mtpi(_: Extent) -> Obtained:
    table = _letters("mtpi:target=.3,cohort=3,units=9")
    found = []
    for n, _up, _down in numbers.MTPI_STEPS:
        letters = table[n]
        down = next(x for x, letter in enumerate(letters) if letter in DE_ESCALATE + EXCLUDE)
        found.append(f"{n}: {letters.rindex(ESCALATE)}, {down}")
    return Obtained("; ".join(found))


def _path(_: Extent) -> Obtained:
    """The published trial, asked and told one patient after the other as at a desk."""
    trial, given = Trial(design=design_from_text(_BOIN12, arms=5), seed=1), []
    for cohort in numbers.BOIN12_PATH:
        for letter in cohort[1:]:
            unit = trial.ask()
            if unit.arm != trial.arms[int(cohort[0]) - 1]:
                return Obtained(f"dose {unit.arm} where the paper gives {cohort[0]}")
            trial.tell(unit.id, reward=int(letter in "EB"), risk=int(letter in "TB"))
        if trial.status == "open":
            given.append(str(1 + trial.arms.index(trial.explain().chosen or "")))
    return Obtained(" ".join([*given, "stop" if trial.status == "stopped" else "goes on"]))


@functools.cache
def _ranks() -> dict[tuple[int, int, int], float]:
    """Ranks among all admissible counts of 0, 3, 6 and 9 units, ties by their mean."""
    design, values = design_from_text(_BOIN12, arms=5), dict[tuple[int, int, int], float]()
    for n in (3, 6, 9):
        for harms in range(n + 1):
            for effects in range(n + 1):
                decision = asked(design, [Units(0, n, (harms,), effects)])
                # The dose above was never given: its desirability is that of no units.
                values[0, 0, 0] = round(float(decision.indices[4]), 10) if n == 3 and not harms else values[0, 0, 0]
                if decision.permissible[0]:
                    values[n, harms, effects] = round(float(decision.indices[0]), 10)
    return dict(zip(values, stats.rankdata(list(values.values())).tolist(), strict=True))


def _rank(counts: tuple[int, int, int]) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(_ranks().get(counts, math.nan))


def _risks_by_quadrature(plays: list[int], harms: list[int]) -> Numbers:
    """CRM's risks at the posterior mean of b, by SciPy."""
    skeleton = np.array(skeleton_of(0.05, 0.3, 3, 6))

    def weight(b: float) -> float:
        risks = skeleton ** math.exp(b)
        return float(np.exp(-b * b / (2 * 1.34)) * np.prod(risks**harms * (1 - risks) ** (np.array(plays) - harms)))

    options: Any = {"epsabs": 0, "epsrel": 1e-11, "limit": 400, "points": [-2.0, -1.0, 0.0, 1.0]}
    total = integrate.quad(weight, -6, 5, **options)[0]
    mean = integrate.quad(lambda b: (b + 20.0) * weight(b), -6, 5, **options)[0] / total - 20.0
    return np.asarray(skeleton ** math.exp(mean))


def _crm(_: Extent) -> Obtained:
    design, worst = design_from_text("crm:target=.3,cohort=3,units=36,guess=3", arms=6), 0.0
    for plays, harms in (([3, 3, 6, 0, 0, 0], [0, 0, 2, 0, 0, 0]), ([3, 3, 3, 9, 6, 0], [0, 0, 1, 2, 3, 0])):
        units = [Units(k, n, (x,)) for k, (n, x) in enumerate(zip(plays, harms, strict=True)) if n]
        found = asked(design, units).own["risk by the model"]
        worst = max(worst, float(np.abs(found - _risks_by_quadrature(plays, harms)).max()))
    return Obtained(worst)


def _boundary(target: float, place: int) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(optimal_boundaries(target, 0.6 * target, 1.4 * target)[place])


def _skeleton(k: int) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(float(skeleton_of(0.05, 0.3, 3, 6)[k]))


def _selected(k: int | None) -> Callable[[Extent], Obtained]:
    def compute(_: Extent) -> Obtained:
        exact = exact_three_plus_three(numbers.THREE_PLUS_THREE_RISKS)
        return Obtained(exact.none if k is None else float(exact.selected[k]))

    return compute


def _checks() -> Iterator[Check]:
    for target, *printed in numbers.BOIN_BOUNDARIES:
        for place, word in enumerate(("escalate up to", "de-escalate from")):
            yield Check(
                f"BOIN, target {target:g}: {word} a rate of",
                GROUP,
                "Liu and Yuan 2015, table 1",
                printed[place],
                _boundary(target, place),
                "half of the last printed digit",
                5e-4,
            )
    for word, row in numbers.BOIN_TABLE.items():
        yield Check(
            f"BOIN, target 0.3: harms of 3, 6, ... 30 to {word}",
            GROUP,
            "the BOIN table for a target of 0.3",
            " ".join(map(str, row)),
            _boin_row(word),
            _EXACTLY,
            sense=SAME,
        )
    steps = "; ".join(f"{n}: {up}, {down}" for n, up, down in numbers.MTPI_STEPS)
    yield Check(
        "mTPI, target 0.3: units: escalate up to, de-escalate from so many harms",
        GROUP,
        "Ji et al. 2010",
        steps,
        _mtpi,
        _EXACTLY,
        sense=SAME,
    )
    for counts, rank in numbers.BOIN12_RANKS.items():
        name = "BOIN12: rank of desirability of {} units, {} harms, {} efficacies".format(*counts)
        yield Check(name, GROUP, "Lin et al. 2020", rank, _rank(counts), _EXACTLY)
    path = " ".join([*map(str, numbers.BOIN12_NEXT), "stop"])
    yield Check(
        "BOIN12: next doses of the published trial, live",
        GROUP,
        "Lin et al. 2020",
        path,
        _path,
        _EXACTLY,
        sense=SAME,
    )
    for k, risk in enumerate(numbers.CRM_SKELETON):
        yield Check(
            f"CRM: skeleton of dose {k + 1}",
            GROUP,
            "the R package dfcrm, getprior(.05, .3, 3, 6)",
            risk,
            _skeleton(k),
            "half of the last printed digit",
            5e-5,
        )
    yield Check(
        "CRM: risks by the model, the largest difference",
        GROUP,
        "SciPy, integrate.quad",
        0.0,
        _crm,
        "digits that both promise: 7",
        1e-7,
    )
    for k, share in enumerate(numbers.THREE_PLUS_THREE):
        yield Check(
            f"3+3: chance that dose {k + 1} is selected",
            GROUP,
            "Wheeler et al., exact",
            share,
            _selected(k),
            "half of the last printed digit",
            0.005,
        )
    yield Check(
        "3+3: chance that none is selected",
        GROUP,
        "Wheeler et al., exact",
        numbers.THREE_PLUS_THREE_NONE,
        _selected(None),
        "half of the last printed digit",
        0.005,
    )


CHECKS = tuple(_checks())
