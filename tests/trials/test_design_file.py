"""Design files: a design, others beside it, scenarios; mistakes are told with the file, the line and the key."""

from __future__ import annotations

import json

import pytest

import safebandit as sb
from safebandit.trials.design_file import parse_design_file, read_design_file
from safebandit.trials.templates import KINDS, template

FILE = """
title = "Small"
arms = ["low", "high"]
alpha = 0.3
policy = "tsbu"
units = 12
cohort = 2
compare = ["equal", "boin:enough=6", "safe:cohort=1"]

[stop.harm]
confidence = 0.9

[[scenario]]
name = "means"
mu = [0.2, 0.4]
nu = [0.1, 0.5]
risk_delay = "exponential:7"

[[scenario]]
name = "curves"
mu = "linear:low=0.2,high=0.4"
nu = "flat:value=0.2"

[[scenario]]
law = "rising:nu=0..0.5"
count = 2
seed = 3
accrual = 2

[simulate]
trials = 500
seed = 7
"""


def test_a_file_says_designs_scenarios_and_trials():
    read = parse_design_file(FILE)
    assert read.design == sb.Design.from_toml(FILE)
    assert (read.trials, read.seed) == (500, 7)
    assert list(read.designs) == ["Small", "equal", "boin:enough=6", "safe:cohort=1"]
    for design in read.designs.values():
        assert (design.arms, design.alpha, design.units) == (("low", "high"), 0.3, 12)
    assert [design.cohort for design in read.designs.values()] == [2, 2, 2, 1]
    assert read.compare["boin:enough=6"].policy == "boin:target=0.3,enough=6"
    assert [scenario.name for scenario in read.scenarios] == ["means", "curves", "rising 1", "rising 2"]
    for scenario in read.scenarios:
        assert (scenario.instance.arms, scenario.instance.alpha) == (("low", "high"), 0.3)
    assert read.scenarios[1].instance.mu.tolist() == [0.2, 0.4]
    assert read.scenarios[3].timing().accrual == 2.0
    assert [scenario.to_dict()["nu"] for scenario in read.scenarios[2:]] == [
        each.to_dict()["nu"] for each in sb.random_scenarios("rising:nu=0..0.5,arms=2", 2, seed=3)
    ]
    assert json.loads(json.dumps(read.to_dict()))["simulate"] == {"trials": 500, "seed": 7}


def test_designs_to_compare_call_the_risk_as_the_file_does():
    """Also those that know of one risk and have no parameter for its name."""
    texts = ["equal", "boin", "boin12", "crm", "mtpi", "three-plus-three", "dose-ts", "safe"]
    text = f"""
arms = ["low", "high"]
alpha = 0.3
units = 12
cohort = 3
least_reward = 0.2
risks = ["toxicity"]
compare = {json.dumps(texts)}
"""
    read = parse_design_file(text)
    assert {name: design.risks for name, design in read.compare.items()} == dict.fromkeys(texts, ("toxicity",))
    plain = parse_design_file(text.replace('risks = ["toxicity"]', ""))
    for name, design in read.compare.items():
        renamed = {**design.to_dict(), "risks": ["risk"]}
        assert sb.Design.from_dict(renamed) == plain.compare[name]


def test_only_the_design_is_needed():
    read = parse_design_file('arms = ["a"]\nalpha = 0.2\nunits = 5')
    assert (read.compare, read.scenarios, read.trials, read.seed) == ({}, (), 10_000, 0)
    assert list(read.designs) == ["design"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_template_is_read_and_is_a_design_of_its_own(kind):
    read = parse_design_file(template(kind))
    assert sb.Design.from_toml(read.design.to_toml()) == read.design
    assert len(read.scenarios) >= 3
    assert len({parse_design_file(template(each)).design.digest for each in KINDS}) == len(KINDS)


def test_past_data_stand_beside_the_file(tmp_path):
    (tmp_path / "past.csv").write_text("dose,reward,risk\nlow,1,0\nlow,0,1\nhigh,1,0\n")
    text = 'arms = ["low", "high"]\nalpha = 0.3\nunits = 9\n[[scenario]]\nname = "past"\ndata = "past.csv"\n'
    path = tmp_path / "design.toml"
    path.write_text(text + 'columns = "arm=dose"\nrisk_delay = 3\n')
    (scenario,) = read_design_file(path).scenarios
    assert (scenario.instance.mu.tolist(), scenario.timing().risk_a) == ([0.5, 1.0], 3.0)
    with pytest.raises(
        sb.DesignError, match=r"line 6, scenario\[1\].data: past data are read beside a design file only"
    ):
        parse_design_file(text)


MISTAKES = {
    "a value of a rule": (("confidence = 0.9", "confidence = 9"), "line 11, stop.harm.confidence: confidence of Harm"),
    "a key of a rule": (
        ("confidence = 0.9", "confidense = 9"),
        'line 11, stop.harm.confidense: stopping rule "harm" has',
    ),
    "a rule": (
        ("[stop.harm]", "[stop.hram]"),
        'line 10, stop.hram: unknown stopping rule "hram"; did you mean "harm"?',
    ),
    "a key": (("cohort = 2", "cohorts = 2"), 'line 7, cohorts: a design has no key "cohorts"; did you mean "cohort"?'),
    "a key of the file": (
        ("compare =", "compere ="),
        'line 8, compere: a design has no key "compere"; did you mean "compare"',
    ),
    "a value": (("cohort = 2", "cohort = 13"), "line 7, cohort: cohort must lie between 1 and units (12), got 13"),
    "a key that is missing": (("units = 12\n", ""), "a design needs units; add units = 36, for example"),
    "a design to compare": (('"equal"', '"eqal"'), 'line 8, compare: unknown design "eqal"; did you mean "equal"?'),
    "designs to compare": (
        ('["equal", ', '[1, "equal", '),
        "line 8, compare: compare must be a list of designs by text",
    ),
    "a design twice": (('["equal"', '["equal", "equal"'), "line 8, compare: each design is compared once"),
    "other arms": (
        ("nu = [0.1, 0.5]", "nu = [0.1, 0.5, 0.6]"),
        "line 13, scenario[1]: mu and nu must have the same length",
    ),
    "arms by other names": (
        ('name = "means"', 'name = "means"\narms = ["a", "b"]'),
        'line 13, scenario[1]: scenario "means" must have the arms of the design (low, high), got a, b',
    ),
    "a scenario without rewards": (
        ("mu = [0.2, 0.4]\n", ""),
        'line 13, scenario[1]: scenario "means" has no rewards, and units of the design have',
    ),
    "a curve": (('"flat:value', '"falt:value'), 'line 22, scenario[2].nu: unknown curve "falt"; did you mean "flat"?'),
    "a delay": (
        ("exponential:7", "exponential:x"),
        "line 17, scenario[1].risk_delay: risk_delay must be a finite number",
    ),
    "a key of a scenario": (
        ("risk_delay", "risk_dely"),
        'line 17, scenario[1].risk_dely: a scenario has no key "risk_dely"',
    ),
    "two scenarios of a name": (
        ('name = "curves"', 'name = "means"'),
        'line 19, scenario[2]: names of scenarios must differ, got "means" twice',
    ),
    "a law": (
        ("rising:nu", "rissing:nu"),
        'line 24, scenario[3]: unknown law of scenarios "rissing"; did you mean "rising"?',
    ),
    "a key beside a law": (
        ("accrual = 2", "accural = 2"),
        'line 28, scenario[3].accural: a scenario has no key "accural"; did you mean "accrual"?',
    ),
    "trials": (
        ("trials = 500", "trials = 0"),
        "line 31, simulate.trials: trials must lie between 1 and 10,000,000, got 0",
    ),
    "a key of simulate": (
        ("seed = 7", "sed = 7"),
        'line 32, simulate.sed: simulate has no key "sed"; did you mean "seed"?',
    ),
    "the TOML": (("alpha = 0.3", "alpha = .3"), "line 4, column 9, alpha: invalid value; write 0.3 for .3"),
}


@pytest.mark.parametrize(("change", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_line_and_key(change, message, tmp_path):
    assert FILE.count(change[0]) == 1
    path = tmp_path / "dose.toml"
    path.write_text(FILE.replace(*change))
    with pytest.raises(sb.DesignError) as problem:
        read_design_file(path)
    assert str(problem.value).startswith(f"dose.toml, {message}")
    assert "\n" not in str(problem.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(sb.DesignError, match="No such file or directory"):
        read_design_file(tmp_path / "no.toml")
    (tmp_path / "x.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(sb.DesignError, match=r"x\.toml must be UTF-8, byte 9 is not; save it as UTF-8"):
        read_design_file(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_bytes(b"# " + b"x" * 1_000_001)
    with pytest.raises(sb.DesignError, match="must have at most 1,000,000 bytes"):
        read_design_file(tmp_path / "x.toml")
    # As some editors save it.
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbf" + FILE.encode())
    assert read_design_file(tmp_path / "x.toml").design.title == "Small"


def test_the_page_of_designs_shows_the_template_and_every_key():
    from dataclasses import fields
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "how-to" / "designs.md").read_text(encoding="utf-8")
    assert f"```toml\n{template('phase-1-2')}```" in page
    listed = page.partition("## What a design says")[2].partition("## Scenarios")[0]
    assert [line.split("`")[1] for line in listed.splitlines() if line.startswith("| `")] == [
        # What happens where a rule is reached stands in the rule's own table.
        field.name
        for field in fields(sb.Design)
        if field.name != "then"
    ]
    shown = page.partition("DesignError: ")[2].partition("\n")[0]
    broken = template("phase-1-2").replace("confidence = 0.95", "confidence = 1.5", 1)
    with pytest.raises(sb.DesignError) as problem:
        parse_design_file(broken)
    assert f"dose.toml, {problem.value}" == shown
