"""A design: what follows from what is given, as compiled code takes it, and written and read back."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.selection import BestSafe
from safebandit.core.stopping import ArmHarm, Enough, Futility, Harm, Precision, SuperiorityE, TooManyHarms
from safebandit.trials.designs import DESIGNS, design_from_text, design_to_text

DOSES = ["low", "mid", "high"]
STEPPED = {"ordered": True, "cohort": 3, "steps": 1}

WRITTEN = {
    "plain": sb.Design(2, 0.2, "tsbu", 10),
    "stepped": sb.Design(DOSES, 0.3, "safe-ids", 36, **STEPPED),
    "all fields": sb.Design(
        DOSES, {"tox": 0.3, "nausea": 0.2}, "tsbu:when_none=low", 90, title='A "title" of µ', ordered=True,
        control="low", least_reward=0.25, cohort=2, waits=False, first="mid", steps=1, known_below=4, upwards=False,
        looks=[10, 30, 90], pending_cap=5, lost="ignore", ids="P-[0-9]{4}", select="best-safe:confidence=0.8",
        stop=[
            Harm(0.9), ArmHarm(arm="high"), ArmHarm(0.99), Futility(confidence=0.8), TooManyHarms(12.0),
            Enough(40, "mid"), Precision(0.2, of_risk=True), SuperiorityE(),
        ],
    ),
    "burn-in": sb.Design(DOSES, [0.3, 0.1], "equal", 60, burn_in=12, looks=20, select="none"),
    "rules in turns": sb.Design(2, 0.2, "tsbu", 10, stop=[Harm(0.9), Enough(4), Harm(0.8, least=5)]),
    "risks alone": sb.Design(3, 0.25, "boin:enough=9", 30, cohort=3, rewarded=False),
}  # fmt: skip


@pytest.mark.parametrize("design", WRITTEN.values(), ids=WRITTEN)
def test_a_design_is_read_back_as_it_was_written(design):
    document = json.loads(json.dumps(design.to_dict(), allow_nan=False))
    for again in (sb.Design.from_dict(document), sb.Design.from_toml(design.to_toml())):
        assert again == design
        assert again.to_dict() == document
        assert again.digest == design.digest
        assert again.stop == design.stop
        assert again.causes == design.causes
        for mine, yours in zip(again.conduct(), design.conduct(), strict=True):
            assert np.array_equal(mine, yours)
    assert pickle.loads(pickle.dumps(design)) == design


def test_designs_that_differ_have_other_digests():
    digests = {design.digest for design in WRITTEN.values()}
    assert len(digests) == len(set(WRITTEN.values())) == len(WRITTEN)
    more = dataclasses.replace(WRITTEN["stepped"], units=39)
    assert more != WRITTEN["stepped"]
    assert more.digest != WRITTEN["stepped"].digest
    # The order of rules is part of the design.
    rules = [Harm(), Enough(4)]
    assert sb.Design(2, 0.2, "tsbu", 10, stop=rules) != sb.Design(2, 0.2, "tsbu", 10, stop=rules[::-1])


def test_defaults_that_follow_from_other_fields():
    plain, stepped = sb.Design(DOSES, 0.3, "tsbu", 36), WRITTEN["stepped"]
    assert (plain.waits, plain.first, plain.known_below, plain.upwards, plain.pending_cap) == (False, None, 0, False, 1)
    assert (stepped.waits, stepped.first, stepped.known_below, stepped.upwards) == (True, "low", 3, True)
    assert stepped.pending_cap == 3
    assert plain.policy == "tsbu"
    # What a policy takes from the number of units is kept.
    assert stepped.policy == "safe-ids:odds=0.1,confidence=0.95,units=36"
    assert sb.Design(DOSES, 0.3, units=36).policy == stepped.policy
    dosed = sb.Design(DOSES, 0.3, "boin", 30)
    assert (dosed.ordered, dosed.waits) == (True, True)


def test_conduct_is_what_was_written():
    conduct = WRITTEN["all fields"].conduct()
    assert conduct._replace(looks=None) == (90, 2, False, 1, 0, 1, 4, False, None, 5, True, False, 0.5, 0)
    assert conduct.looks.tolist() == [10, 30, 90]
    assert not WRITTEN["risks alone"].conduct().rewarded
    assert WRITTEN["plain"].conduct().first == -1
    assert WRITTEN["burn-in"].conduct().burn_in == 12
    in_cohorts = sb.Design(DOSES, 0.3, "tsbu", 9, cohort=3).conduct()
    assert (in_cohorts.waits, in_cohorts.upwards) == (True, False)


@pytest.mark.parametrize(
    ("looks", "times"),
    [
        (None, [3, 6, 9, 10]),
        (4, [4, 8, 10]),
        (5, [5, 10]),
        ([2, 7], [2, 7]),
        ("4..10/3", [4, 7, 10]),
        (10, [10]),
    ],
)
def test_looks(looks, times):
    assert sb.Design(2, 0.2, "tsbu", 10, cohort=3, looks=looks).conduct().looks.tolist() == times


def test_rules_are_completed_with_what_the_design_says():
    design = WRITTEN["all fields"]
    assert design.stop[1].arm == 2
    assert design.stop[3].least_reward == 0.25
    assert design.stop[5].arm == 1
    assert design.stop[7].control == 0
    assert design.causes == (
        "most units", "no arm", "policy", "harm", "arm-harm", "arm-harm 2", "futility", "too-many-harms", "enough",
        "precision", "superiority-e",
    )  # fmt: skip


def test_rules_are_written_in_three_ways():
    as_values = sb.Design(2, 0.2, "tsbu", 10, stop=[Harm(0.9), Enough(4)], select="best-safe:confidence=0.8")
    as_texts = sb.Design(
        2, 0.2, "tsbu", 10, stop=["harm:confidence=0.9", "enough:units=4"],
        select={"rule": "best-safe", "confidence": 0.8},
    )  # fmt: skip
    as_tables = sb.Design(
        2, 0.2, "tsbu", 10, stop={"harm": {"confidence": 0.9}, "enough": [{"units": 4}]},
        select=BestSafe(confidence=0.8),
    )  # fmt: skip
    assert as_values == as_texts == as_tables
    assert sb.Design(2, 0.2, "tsbu", 10, stop=Harm(0.9)).stop == (Harm(0.9),)


def test_what_is_selected_by_default():
    assert sb.Design(2, 0.2, "tsbu", 10).to_dict()["select"]["rule"] == "best-safe"
    assert sb.Design(2, 0.2, "boin", 10, rewarded=False).to_dict()["select"]["rule"] == "isotonic"
    assert sb.Design(2, 0.2, "equal", 10, rewarded=False).to_dict()["select"]["rule"] == "none"


def test_describe_has_every_rule_and_number():
    words = WRITTEN["all fields"].describe()
    for part in ('A "title" of µ', "low, mid, high", "tox (at most 0.3)", "nausea (at most 0.2)", "at least 0.25",
                 "at most 90, in cohorts of 2", 'arm "mid"', "at most 1 above", "after 4 known", "10, 30, 90 units",
                 "at most 5 of an arm", "not seen", "P-[0-9]{4}", "12 harms", "0.99", "at least 0.8"):  # fmt: skip
        assert part in words, part
    assert words.count("\nstop ") == 8


TEXTS = [
    "equal:units=30,alpha=0.3",
    "equal:units=30,alpha=0.3,cohort=2,rewarded=false",
    "three-plus-three",
    "three-plus-three:alpha=0.3,deescalate=false",
    "boin:target=0.25,enough=9",
    "boin:target=0.25,units=24,cutoff=0.9,stay_at_one_of_three=true,alpha=0.3",
    "boin12:tolerated=0.35,wanted=0.25",
    "boin12:tolerated=0.35,wanted=0.25,enough=9,worth=0.5",
    "crm:target=0.3",
    "crm:target=0.3,cohort=1,guess=2",
    "crm:target=0.3,skeleton=0.1 0.2 0.3 0.4 0.5",
    "mtpi:target=0.25",
    "dose-ts:target=0.3",
    "dose-ts:target=0.3,model=independent,cutoff=1.0,skips=true",
    "rar:units=400",
    "rar:units=400,inferiority=none,superiority=none",
    "rar:units=200,soften=0.5,control=0,control_share=0.4,looks=50,burn_in=30,inferiority=none,alpha=0.3",
    "rar:units=2000,floor=0.15,floors=raised,superiority=0.9814,equivalence=0.9,difference=0.04,looks=300..2000/100,"
    "lowest=true,rewarded=false",
    "boin12:tolerated=0.35,wanted=0.25,enough=none",
    "safe:alpha=0.3,units=36",
    "safe:alpha=0.3,units=36,cohort=3,steps=1,harm=0.95,enough=20",
    'safe:policy="tsbu:schedule=theory",alpha=0.3,units=36',
    'md-apt:units=60,alpha=0.3,safe_set="risk <= 0.4, reward >= 0.2",tolerance=0.01',
    "md-ucbe:units=60,alpha=0.3,explore=0.5",
    "md-sar:units=60,alpha=0.3",
    "tf-lucb:units=300,alpha=0.3,delta=0.2",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_design_by_name_is_written_as_its_text(text):
    design = design_from_text(text, arms=5)
    assert design_from_text(design_to_text(design), arms=5) == design
    assert sb.Design.from_toml(design.to_toml()) == design
    assert len(design_to_text(design)) <= len(text) + 30
    design.prepared()


def test_every_design_has_a_text_here_and_takes_units_cohort_and_title():
    assert {text.partition(":")[0] for text in TEXTS} == DESIGNS.keys()
    for text in TEXTS:
        more = f"{text}{',' if ':' in text else ':'}title=Mine"
        assert design_from_text(more, arms=5).title == "Mine"


def test_reference_designs_as_people_ask_for_them():
    boin = design_from_text("boin:target=.25,cohort=3,units=30,enough=9", arms=5)
    assert (boin.policy, boin.alpha, boin.units, boin.cohort) == ("boin:target=0.25,enough=9", 0.25, 30, 3)
    assert boin.to_dict()["select"] == {"rule": "isotonic", "confidence": 0.95, "least": 3}
    both = design_from_text("boin12:tolerated=.35,wanted=.25,cohort=3,units=36,enough=12", arms=5)
    assert (both.least_reward, both.rewarded, both.select.neither) == (0.25, True, 40.0)
    ours = design_from_text("safe:policy=safe-ids,steps=1", arms=DOSES, defaults={"alpha": 0.3, "units": 36})
    assert (ours.steps, ours.ordered, ours.first, ours.units) == (1, True, "low", 36)


def test_defaults_give_way_to_the_text():
    shared = {"alpha": 0.3, "units": 40, "cohort": 2, "rewarded": True, "least_reward": None}
    boin = design_from_text("boin:units=21", arms=4, defaults=shared)
    assert (boin.alpha, boin.units, boin.cohort, boin.rewarded) == (0.3, 21, 2, True)
    assert boin.policy == "boin:target=0.3"
    # Its cohorts are three, whatever those of others are.
    assert design_from_text("three-plus-three", arms=4, defaults=shared).cohort == 3
    assert not design_from_text("boin:target=0.3", arms=4, rewarded=False).rewarded
