"""Outcomes counted anew by compiled code, against the plain definition: event by event, one unit at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safebandit.trials.recounting import in_order
from safebandit.trials.settings import Settings
from safebandit.trials.units import Unit, as_table, with_units

ARMS = ["a", "b", "c"]
# Sums of these depend on their order.
VALUES = st.sampled_from([0.0, 1.0, 0.1, 0.2, 0.3, 0.7])


DECLARED = ["age:18..90", "smoker"]


def settings_of(policy, risks, lost):
    features = [[1.0, 0.1], [1.0, 0.7], [0.3, 2.0]] if policy == "linear" else None
    given = {"policy": policy, "seed": 3, "lost": lost, "pending_cap": 2, "context": DECLARED, "features": features}
    return Settings.read(ARMS, [0.4] * risks, **given)


def allocator(policy, risks, lost):
    return settings_of(policy, risks, lost).allocator()


def counted_plainly(units, chosen, lost):
    """Give every unit its arm, then count what each event told, in the order of events."""
    told = []
    for unit in units:
        if unit.voided_at is None:
            if unit.arm in chosen.arms:
                chosen.give(chosen.arms.index(unit.arm), unit.round)
            told += [(at, 0, unit) for at in {at for at in unit.told_at if at is not None}]
            told += [(unit.lost_at, 1, unit)] if unit.lost_at is not None else []
    for number, gone, unit in sorted(told, key=lambda each: each[:2]):
        if unit.arm not in chosen.arms:
            continue
        parts = list(zip(unit.outcome, unit.told_at, strict=True))
        known = [value if at is not None and (at < number or (gone and at == number)) else None for value, at in parts]
        if gone:
            harm = 1.0 if lost == "harm" else None
            news = [None, *(harm if value is None else None for value in known[1:])]
        else:
            news = [value if at == number else None for value, at in parts]
        context = np.array([(unit.context[0] - 18) / (90 - 18), unit.context[1]])
        place = (chosen.arms.index(unit.arm), unit.play, unit.round)
        chosen.learn(*place, tuple(known), tuple(news), lost=bool(gone), context=context)
    return chosen.to_bytes(), chosen.bars()


@st.composite
def histories(draw, risks):
    """Units told, in any order and in parts, given up, found again later, and voided."""
    units, plays = [], dict.fromkeys([*ARMS, "gone"], 0)
    # As many as eight units can take; each one more would be drawn, too.
    numbers = iter(draw(st.permutations(range(1, 25))))
    for i in range(draw(st.integers(0, 8))):
        arm = draw(st.sampled_from([*ARMS, "gone"]))
        context = [draw(st.sampled_from([18.0, 33.3, 90.0])), draw(VALUES)]
        unit = Unit(str(i), arm, i + 1, plays[arm], 0, [None] * (1 + risks), context=context)
        plays[arm] += 1
        units.append(unit)
        state = draw(st.sampled_from(["told", "told", "lost", "void"]))
        if state == "void":
            unit.voided_at = next(numbers)
            continue
        events = sorted(next(numbers) for _ in range(3))
        unit.lost_at = events[2] if state == "lost" else None
        for j in range(1 + risks):
            at = draw(st.sampled_from([None, *events[: 3 if state == "lost" else 2]]))
            if at is not None:
                unit.outcome[j], unit.told_at[j] = draw(VALUES), at
    return units


@pytest.mark.parametrize(("policy", "risks"), [("docb", 1), ("docb", 2), ("joint-dirichlet", 1), ("linear", 2)])
@pytest.mark.parametrize("lost", ["harm", "ignore"])
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_counting_anew_gives_the_bytes_of_the_definition(policy, risks, lost, data):
    units = data.draw(histories(risks))
    expected = counted_plainly(units, allocator(policy, risks, lost), lost)
    chosen = allocator(policy, risks, lost)
    chosen.count(*in_order(as_table(units), chosen.arms, lost_is_harm=lost == "harm", declared=DECLARED))
    assert (chosen.to_bytes(), chosen.bars()) == expected


@settings(max_examples=60, deadline=None)
@given(histories(1), st.data())
def test_a_table_that_was_read_ahead_is_brought_up_to_date(units, data):
    """Some rows were there before, otherwise, and some units came later: the same is counted."""
    early = units[: data.draw(st.integers(0, len(units)))]
    before = [
        Unit(unit.id, unit.arm, unit.round, unit.play, 0, [0.5, None], [101, None], context=unit.context)
        for unit in early
    ]
    table = with_units(as_table(before), {unit.id: row for row, unit in enumerate(before)}, units)
    chosen = allocator("linear", 1, "harm")
    chosen.count(*in_order(table, chosen.arms, lost_is_harm=True, declared=DECLARED))
    assert chosen.to_bytes() == counted_plainly(units, allocator("linear", 1, "harm"), "harm")[0]
