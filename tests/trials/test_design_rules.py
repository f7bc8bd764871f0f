"""Every registered rule in a design: written, read back, and the same."""

import pytest

import safebandit as sb
from safebandit.core.rules import selection_rules, stopping_rules
from safebandit.trials.design import Design

# Values of the parameters that have no default, and policies that a rule goes with.
NEEDED = {"harms": 10, "share": 0.5, "units": 12, "width": 0.2}
POLICIES = {"crm-dose": "crm", "ts-dose": "dose-ts:model=independent", "three-plus-three-dose": "three-plus-three"}


def ours(kinds):
    return sorted(name for name, kind in kinds.items() if kind.__module__.startswith("safebandit."))


def design(stop=(), select="best-safe", policy="safe-ids"):
    return Design(
        ["low", "mid", "high"], 0.3, policy, 36, cohort=3, ordered=True, least_reward=0.2, control="low", stop=stop,
        select=select,
    )  # fmt: skip


def assert_written_and_read(one):
    for other in (Design.from_dict(one.to_dict()), Design.from_toml(one.to_toml())):
        assert other == one
        assert other.digest == one.digest


@pytest.mark.parametrize("name", ours(stopping_rules()))
def test_a_stopping_rule_in_a_design_is_written_and_read(name):
    kind = stopping_rules()[name]
    table = {key: NEEDED[key] for key in kind._fields if key not in kind._field_defaults}
    named = {"arm": "mid"} if "arm" in kind._fields else {"control": "mid"} if "control" in kind._fields else {}
    for one in (design({name: table}), design({name: {**table, **named}})):
        assert one.to_dict()["stop"][0]["rule"] == name
        assert_written_and_read(one)
    # An arm is written by its name.
    assert named.items() <= one.to_dict()["stop"][0].items()
    assert one.causes[-1] == name


@pytest.mark.parametrize("name", ours(selection_rules()))
def test_a_selection_rule_in_a_design_is_written_and_read(name):
    one = design(select={"rule": name}, policy=POLICIES.get(name, "safe-ids"))
    assert one.to_dict()["select"]["rule"] == name
    assert_written_and_read(one)


def test_rules_may_be_values():
    one = design([sb.Harm(0.9), sb.Enough(12, "mid")], sb.Isotonic())
    assert one.select.target == 0.3
    assert [rule["rule"] for rule in one.to_dict()["stop"]] == ["harm", "enough"]
    assert_written_and_read(one)
