"""Guardrails in the record: what is kept beside the log is what the log gives, from process to process."""

import pytest

import safebandit as sb
from safebandit.trials.analysis.analyse import analyse
from safebandit.trials.analysis.units import read_units
from safebandit.trials.batch_files import read_askings
from safebandit.trials.record.export import export
from safebandit.trials.record.overview import overview
from safebandit.trials.record.verification import verify
from safebandit.trials.rehearsal import rehearse
from safebandit.trials.settings import Settings

STRATA = {"site": ["a", "b"]}
ARMS = ["placebo", "low", "high"]


def settings(**others):
    given = {"policy": "tsbu", "seed": 3, "pending_cap": 9, "strata": STRATA, "control": "placebo", **others}
    return Settings.read(ARMS, 0.3, **given)


def play(ledger, name, units):
    for i in range(units):
        eligible = ["low", "high"] if i % 5 == 0 else None
        given = ledger.ask(name, f"p{i}", stratum={"site": "ab"[i % 2]}, eligible=eligible)
        if given.arm is not None:
            ledger.tell(name, f"p{i}", reward=float(i % 3 == 0), risk=float(i % 7 == 0))


def test_a_trial_with_strata_masks_and_a_route_is_kept_verified_and_exported(ledger):
    ledger.create("knee", settings(control_floor=0.2))
    play(ledger, "knee", 24)
    ledger.correct("knee", "p1", reward=0.5, reason="typed")
    ledger.set_status("knee", "route", reason="an alarm")
    assert ledger.ask("knee", "r", stratum={"site": "a"}).arm == "placebo"
    ledger.set_status("knee", "unroute", reason="all clear")
    assert verify(ledger, "knee").holds
    memory = sb.Trial.from_json(export(ledger, "knee", "json", whole=True).decode())
    given = [
        each("more", stratum={"site": "b"}).arm for each in (memory.ask, lambda *a, **k: ledger.ask("knee", *a, **k))
    ]
    assert given[0] == given[1]
    seen = overview(ledger, "knee")
    assert [each.stratum for each in seen.strata] == ["site=a", "site=b"]
    assert sum(each.units for each in seen.strata) == seen.units
    for arm in ARMS:
        plays = [one["plays"] for each in seen.strata for one in each.arms if one["arm"] == arm]
        assert sum(plays) == next(each.plays for each in seen.arms if each.arm == arm)
    head = export(ledger, "knee", "csv").decode().splitlines()
    assert head[0].startswith('"unit","round","arm","asked","eligible","stratum site","reward"')
    assert '"low;high"' in head[1]


def test_analyses_of_a_stratum_and_of_all_say_what_they_assume(ledger):
    ledger.create("knee", settings())
    play(ledger, "knee", 30)
    pooled, one = analyse(ledger, "knee"), analyse(ledger, "knee", stratum={"site": "a"})
    assert any("2 strata are pooled" in each for each in pooled.assumptions)
    assert any("6 units asked with only some arms eligible" in each for each in pooled.assumptions)
    assert any("the stratum site=a alone" in each for each in one.assumptions)
    parts = [read_units(ledger, "knee", stratum=f"site={site}") for site in "ab"]
    assert sum(each.size for each in parts) == read_units(ledger, "knee").size == pooled.units
    assert parts[0].control == "placebo"


def test_an_analysis_is_refused_where_arms_were_ever_given_by_context(ledger):
    ledger.create("knee", Settings.read(["a", "b"], 0.3, policy="linear", context=["age:18..90"], seed=1))
    ledger.tell("knee", ledger.ask("knee", "p1", context=[44]).unit, reward=1, risk=0)
    ledger.amend("knee", policy="docb", reason="simpler")
    with pytest.raises(sb.TrialError, match="or one before an amendment, gives arms by the unit's context"):
        analyse(ledger, "knee")


def test_a_file_of_units_has_columns_for_factors_and_eligible_arms():
    table = "unit,site,eligible\np1,a,low; high\np2,b,\n"
    assert read_askings(table, settings(), "units.csv") == [
        {"id": "p1", "stratum": {"site": "a"}, "eligible": ["low", "high"]},
        {"id": "p2", "stratum": {"site": "b"}},
    ]


def test_a_stratum_is_rehearsed_as_a_trial_of_its_own():
    found, alone = (
        rehearse(made, mu=[0.3, 0.5, 0.6], nu=[0.1, 0.1, 0.1], units=units, times=5, seed=2)
        for made, units in ((settings(), 21), (settings(strata=None), 11))
    )
    assert found.runs.plays.tolist() == alone.runs.plays.tolist()
