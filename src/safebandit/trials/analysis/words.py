"""An analysis in words: what is known of every arm, what may be claimed, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safebandit.trials.analysis.analyse import Analysis, Comparison, Estimate
    from safebandit.trials.analysis.paths import Sequence as Kind
    from safebandit.trials.analysis.units import AnalysedUnits

NOTHING = "nothing is known yet: no outcome was told"


def sentences(found: Analysis) -> Iterator[str]:
    """What is known of every arm, of each against the control, and what may be claimed."""
    if found.known == 0:
        yield NOTHING
        return
    for each in found.estimates:
        yield _estimate(each, found.sequence)
    for pair in found.comparisons:
        yield _comparison(pair, found.sequence)
    yield from _claims(found)


def _estimate(each: Estimate, kind: Kind) -> str:
    named = f'the {each.endpoint} of "{each.arm}"'
    if each.mean is None:
        return f"of {named} nothing is known yet, of {_count(each.units, 'unit')}"
    missing = ""
    if each.missing:
        more = _count(each.missing, "unit")
        missing = f"; between {each.worst[0]:.3f} and {each.worst[1]:.3f} whatever it is for {more} more"
    return (
        f"{named} has the mean {each.mean:.3f} over {_count(each.known, 'unit')} and lies "
        f"{_ends(each.interval)} ({_sure(kind)}){missing}"
    )


def _comparison(pair: Comparison, kind: Kind) -> str:
    named = f'the {pair.endpoint} of "{pair.arm}" less that of "{pair.control}"'
    if pair.difference is None:
        return f"of {named} nothing is known yet"
    return f"{named} is {pair.difference:+.3f} and lies {_ends(pair.interval)} ({_sure(kind)})"


def _ends(interval: tuple[float, float]) -> str:
    low, high = interval
    if low > high:
        return f"nowhere: no mean fits all looks ({low:.3f} and above, {high:.3f} and below), so an assumption fails"
    return f"between {low:.3f} and {high:.3f}"


def _sure(kind: Kind) -> str:
    return f"{100 * kind.confidence:g} % confidence sequence"


def _claims(found: Analysis) -> Iterator[str]:
    level = 1.0 - found.confidence
    stand = [claim for claim in found.claims if claim.stands]
    for claim in stand:
        yield f"claimed: {claim.what} (e-value {_e(claim.e)})"
    if found.claims:
        count = _count(len(found.claims), "claim")
        most = max(found.claims, key=lambda claim: claim.e)
        if stand:
            yield f"of what is claimed, at most {100 * level:.3g} % is false on average (e-BH over {count})"
        else:
            yield (
                f"nothing is claimed at {100 * level:.3g} % (e-BH over {count}); nearest: {most.what} (e-value "
                f"{_e(most.e)})"
            )


def _e(value: float) -> str:
    return f"{value:.3g}" if value < 1e6 else "over a million"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def assumptions(
    units: AnalysedUnits, kind: Kind, estimates: Sequence[Estimate], compared: bool
) -> Iterator[str]:  # fmt: skip
    """What all numbers rest on, in sentences."""
    yield (
        "The mean of an arm's next outcome, given all that happened before, is always the same. Nothing is assumed of "
        "the rule that gives arms, nor of when one looks or stops."
    )
    if units.in_order:
        yield (
            "Outcomes count as they are known now, in the order in which they were first told; when one is told does "
            "not depend on what it is."
        )
    else:
        yield (
            "A table of units does not say when outcomes were told: they count in the order of its rounds, or rows; "
            "which are known does not depend on what they are."
        )
    yield (
        f"Each interval is a {100 * kind.confidence:g} % confidence sequence ({kind.words}), the intersection over all "
        "looks: it holds at all looks at once, each interval by itself, if kind and plan were chosen before any data."
    )
    if compared:
        how = (
            "the difference of two sequences, each at half the error"
            if kind.kind == "betting"
            else "all pairs of means that the product of both arms' Beta(1, 1) mixtures does not refute"
        )
        yield f"Intervals of differences are {how}."
    yield from _pooled(units)
    yield from _missing(units, estimates)
    if any(math.isnan(limit) for limit in units.limits):
        yield "No alpha is known, so nothing is said of risks against it; say alpha."
    else:
        yield "Limits of risks are those in force now, as if they had been so from the start."


def of_one_stratum(units: AnalysedUnits) -> Iterator[str]:
    """That units are those of one stratum, where they are."""
    if units.stratum:
        yield f"These are the units of the stratum {units.stratum} alone; other strata say nothing here."


def of_unseen(units: AnalysedUnits) -> Iterator[str]:
    """That risks which nobody saw count as harm, where they do."""
    count = 0 if units.unseen is None or units.lost != "harm" else int(units.unseen.any(axis=1).sum())
    if count:
        yield (
            f"risks that nobody saw, of {_count(count, 'unit')} given up, count as harm: those of one arm make every "
            "other arm look safer beside it"
        )


def _pooled(units: AnalysedUnits) -> Iterator[str]:
    """What is assumed where units are told apart, or were not given every arm, and are taken together."""
    yield from of_one_stratum(units)
    if units.strata:
        yield (
            f"{len(units.strata)} strata are pooled: that holds if an arm's mean is the same in all of them. In each, "
            "arms were given by its own outcomes: where means differ, an arm's pooled mean, and its difference from "
            "another arm's, depend on who was given it; then analyse each stratum."
        )
    if units.masked:
        yield (
            f"{_count(units.masked, 'unit')} asked with only some arms eligible: an arm's mean is that of the units "
            "that could be given it, and arms are compared as if eligibility said nothing of outcomes."
        )


def _missing(units: AnalysedUnits, estimates: Sequence[Estimate]) -> Iterator[str]:
    lost, missing = int(units.given_up.sum()), sum(each.missing for each in estimates)
    if lost:
        fate = "count as harm" if units.lost == "harm" else "are left out"
        yield f"{_count(lost, 'unit')} given up: risks of them that nobody saw {fate}, rewards are left out."
        if units.lost == "harm":
            yield "In what is claimed, and in the interval whatever they are, they count as what speaks against it."
    if missing:
        yield (
            f"{_count(missing, 'outcome')} not known: left out of means, sequences and e-values; beside them stands "
            "the interval whatever they are."
        )
