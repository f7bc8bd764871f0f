"""Flags that cannot be used are refused by every command, and mistakes name the flags that can be typed."""

from __future__ import annotations

import json

import pytest
import typer

import safebandit as sb
from safebandit.cli import app
from safebandit.cli.flags import RULES

# A value for every flag that a pair needs.
VALUES = {
    "--instance": "drug-trial", "--mu": ".3,.5", "--nu": ".1,.2", "--correlation": "0.1", "--arms": "2",
    "--risks": "tox", "--data": "past.csv", "--columns": "arm=dose", "--missing-risk": "drop", "--alpha": ".3",
    "--data-missing-risk": "drop", "--seed": "1", "--workers": "1", "--dask": "local", "--out": "out",
    "--prior": "ordered", "--give-up-after": "9", "--delay": "3", "--reward-delay": "1", "--risk-delay": "1",
    "--design": "dose.toml", "--policy": "docb", "--pending-cap": "2", "--lost": "harm", "--title": "Doses",
    "--ids": "P-[0-9]", "--units": "9", "--add": "c", "--trials": "9", "--most": "9",
    "--check": "report.json", "--prepared-by": "me",
    "--safe-set": "risk <= 0.3", "--file": "rows.csv", "--reward": "1", "--risk": "0",
}  # fmt: skip
MEANS, NAMED, DATA = "--mu --nu", "--instance", "--data"
# What is given, and which flags it refuses.
REFUSED = {
    "simulate": {
        "study.toml": f"{NAMED} --mu --nu --correlation --arms --risks {DATA} --columns --missing-risk --alpha "
        "--allow-infeasible --safe-set",
        NAMED: f"--safe-set --mu --nu --correlation --arms --risks {DATA} --columns --missing-risk --allow-infeasible",
        f"{MEANS} --alpha": f"{NAMED} {DATA} --columns --missing-risk",
        f"{DATA} --alpha": f"{NAMED} --mu --nu --correlation --arms",
        "": "--nu --correlation --arms --risks --columns --missing-risk --alpha --allow-infeasible",
    },
    "bounds": {NAMED: "--mu --nu --risks", "": "--nu --risks"},
    "recommend": {
        NAMED: f"--arms --prior --mu --nu --correlation --risks {DATA} --columns --missing-risk",
        MEANS: f"--arms --prior {NAMED} {DATA} --columns --missing-risk",
        DATA: f"--arms --prior {NAMED} --mu --nu --correlation",
        "": "--nu --correlation --risks --columns --missing-risk",
    },
    "arena": {"--list": "--seed --workers --dask --out --json"},
    "paper": {
        "--list": "--seed --workers --dask --out --until-decided",
        "--trials": "--quick --until-decided",
        "--until-decided": "--quick",
        "": "--most",
    },
    "validate": {"--check": "--full --prepared-by --list --workers --out", "--list": "--prepared-by --workers --out"},
    "design table": {"dose.toml": "--arms"},
    "design protocol": {"dose.toml": "--arms", "--design": "--trials --workers"},
    "trial analyse t": {"": "--alpha --lost --delay --seed"},
    "trial new t": {
        "--design": "--alpha --risks --policy --pending-cap --delay --lost --title --ids --units",
    },
    # Without a file they would do it, where a preview was asked for.
    "trial tell t": {"u": "--each --preview", "--file": "--reward --risk", "--file --preview": "--each"},
    "trial correct t --reason why": {
        "u": "--each --preview",
        "--file": "--reward --risk",
        "--file --preview": "--each",
    },
    "trial give-up t --reason why": {"u": "--each --preview", "--file --preview": "--each"},
    "trial void t --reason why": {"u": "--each --preview", "--file --preview": "--each"},
    "trial amend t --reason why": {"--design": "--alpha --policy --pending-cap --ids --add"},
    "trial rehearse t": {
        NAMED: f"--mu --nu --correlation --risks {DATA} --columns --data-missing-risk",
        MEANS: f"{NAMED} --risks {DATA} --columns --data-missing-risk",
        DATA: f"{NAMED} --mu --nu --correlation",
        f"{MEANS} --delay --reward-delay": "--risk-delay",
        f"{MEANS} ": "--give-up-after",
    },
}
PAIRS = [
    (command, given, flag)
    for command, table in REFUSED.items()
    for given, flags in table.items()
    for flag in flags.split()
]


def with_values(flags):
    return [word for flag in flags.split() for word in ([flag, VALUES[flag]] if flag in VALUES else [flag])]


@pytest.mark.parametrize(("name", "given", "flag"), PAIRS)
def test_what_cannot_be_used_is_refused_by_name_and_nothing_is_done(name, given, flag, tmp_path, command):
    done = command(*name.split(), *with_values(given), *with_values(flag), cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert "cannot be used" in done.err
    assert flag in done.err or (flag == "--risk-delay" and "--delay" in done.err)
    assert list(tmp_path.iterdir()) == []


def commands(group=None, before=()):
    """Every command by its whole name."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), command


def test_every_command_looks_at_its_flags_and_every_rule_is_about_flags_that_there_are():
    found = dict(commands())
    assert {type(command).__name__ for command in found.values()} == {"Command"}
    assert set(RULES) <= set(found)
    # Commands share rules, and each has some of their flags.
    known = {param.name for name in RULES for param in found[name].params}
    assert {flag for rules in RULES.values() for rule in rules for flag in rule.flags} <= known


def test_a_flag_that_can_be_used_is_used(tmp_path, command):
    small = ["--policy", "docb", "--horizon", "20", "--trials", "2", "--json"]
    infeasible = ["--instance", "drug-trial", "--alpha", ".1"]
    refused = command("simulate", *infeasible, *small)
    assert "or allow it (--allow-infeasible)" in refused.err
    assert command("simulate", *infeasible, "--allow-infeasible", *small).status == 0
    (tmp_path / "past.csv").write_text("dose;reward;risk\na;0,5;\na;1;0\nb;1;0\n")
    data = ["--data", "past.csv", "--alpha", ".3", *small]
    assert "--columns arm=..." in command("simulate", *data, cwd=tmp_path).err
    missing = command("simulate", *data, "--columns", "arm=dose", cwd=tmp_path)
    assert "(first: line 2)" in missing.err
    assert "say --missing-risk drop to leave them out or --missing-risk worst to" in missing.err
    done = command("simulate", *data[:-1], "--columns", "arm=dose", "--missing-risk", "drop", cwd=tmp_path)
    said = "past.csv: 3 rows, separated by semicolons, with decimal commas, 1 without a risk dropped (a: 1)"
    assert said in done.out


def test_a_safe_set_says_which_arms_are_safe(tmp_path, command):
    small = ["--policy", "docb", "--horizon", "20", "--trials", "2", "--json"]
    means = ["--mu", ".3,.5,.7", "--nu", ".05,.15,.35", "--nu", ".05,.1,.25"]
    found = {}
    for bound in (".5", ".3", "1"):
        done = command("simulate", *means, "--safe-set", f"risk1 + risk2 <= {bound}", *small)
        found[bound] = sb.Instance.from_dict(json.loads(done.out)["instance"])
    assert [instance.best_arm for instance in found.values()] == [1, 1, 2]
    assert found[".3"].safe_set == "risk1 + risk2 <= .3"
    # A named problem keeps its alpha, and its arms are safe by the set.
    named = command("simulate", "--instance", "drug-trial", "--safe-set", "risk <= .17", *small)
    document = json.loads(named.out)["instance"]
    assert (document["alpha"], document["safe_set"]) == (0.21, "risk <= .17")
    for text, why in (
        ("risk1 <= .01", "no arm has mean risks in the safe set"),
        (" ", "--safe-set must be half-spaces"),
    ):
        wrong = command("simulate", *means, "--safe-set", text, *small)
        assert (wrong.status, len(wrong.err.splitlines())) == (2, 1)
        assert why in wrong.err


def test_in_a_study_file_the_remedy_is_a_key(tmp_path, command):
    (tmp_path / "past.csv").write_text("arm,reward,risk\na,1,\na,1,0\n")
    study = tmp_path / "study.toml"
    text = 'policies = ["docb"]\n[[instances]]\ndata = "past.csv"\nalpha = 0.3\n'
    study.write_text(text)
    assert 'say missing_risk="drop" to' in command("simulate", str(study)).err
    study.write_text(text + "nu = [0.3]\n")
    assert 'an instance from data has no key "nu"' in command("simulate", str(study)).err
    study.write_text('policies = ["docb"]\n[[instances]]\nname = "drug-trial"\narms = ["a"]\n')
    assert 'the named instance "drug-trial" has no key "arms"' in command("simulate", str(study)).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bounds", "--mu", ".3", "--nu", ".5", "--alpha", ".2"], "raise alpha, add a safe arm\n"),
        (["simulate", "--mu", ".3", "--nu", ".1"], "add --alpha 0.2, for example"),
        (["simulate", "--instance", "drug-trial", "--trials", "0"], "--trials must be at least 1"),
        (["trial", "new", "t", "--arms", "a,b", "--alpha", ".2", "--pending-cap", "0"], "--pending-cap"),
    ],
)
def test_messages_name_what_can_be_typed(arguments, words, tmp_path, command):
    done = command(*arguments, cwd=tmp_path)
    assert done.status == 2
    assert words in done.err


def test_rehearsals_on_data(tmp_path, command):
    db = ["--db", str(tmp_path / "t.db")]
    command("trial", "new", "t", "--arms", "a,b", "--alpha", ".3", "--policy", "docb", *db)
    (tmp_path / "past.csv").write_text("dose,reward,harm\na,1,\na,1,0\nb,1,0\n")
    small = ["--data", str(tmp_path / "past.csv"), "--units", "20", "--times", "2", *db]
    columns = ["--columns", "arm=dose,risk=harm"]
    refused = command("trial", "rehearse", "t", *small, *columns)
    assert "say --data-missing-risk drop to" in refused.err
    done = command("trial", "rehearse", "t", *small, *columns, "--data-missing-risk", "worst")
    assert done.status == 0, done.err
    assert "past.csv: 3 rows, 1 without a risk counted as risk 1 (a: 1)" in done.out
