"""The command line as people use it: what commands print, and what they leave behind."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

import safebandit as sb

from .helpers import COMMAND, interrupted

SMALL = ["--instance", "drug-trial", "--policy", "docb", "--policy", "tsbu", "--horizon", "300", "--trials", "6"]


def safebandit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=300)


def test_version():
    done = safebandit("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"safebandit {sb.__version__}")


def test_python_runs_it_as_a_module_too():
    for arguments, status in ((["--version"], 0), (["simulat"], 2)):
        as_module = [sys.executable, "-m", "safebandit", *arguments]
        done = subprocess.run(as_module, capture_output=True, text=True, timeout=300)
        expected = safebandit(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (status, expected.stdout, expected.stderr)


def test_without_a_command_it_says_where_to_begin(command):
    done = command()
    assert done.status == 0
    for words in ("safebandit simulate --instance drug-trial", "design new", "trial new", "--help"):
        assert words in done.out
    assert done.err == ""


def test_simulate_json_is_one_document_and_equals_the_python_call():
    done = safebandit("simulate", *SMALL, "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    result = sb.simulate(sb.instance_by_name("drug-trial"), ["docb", "tsbu"], horizon=300, trials=6, seed=3)
    expected = result.to_dict()
    for summary in (*document["policies"].values(), *expected["policies"].values()):
        assert summary.pop("rounds_per_second") > 0
    assert document == json.loads(json.dumps(expected))
    assert list(document["policies"]["docb"]["regret"]) == ["mean", "se", "median", "q05", "q95", "q99", "max"]


def test_simulate_writes_a_table_pictures_and_a_file_that_can_be_extended_and_rerun(tmp_path, command):
    done = command("simulate", *SMALL, "--out", str(tmp_path / "out"))
    assert done.status == 0, done.err
    assert "regret" in done.out
    assert "unsafe plays" in done.out
    assert "100 % of" in done.err
    folder = tmp_path / "out"
    names = {path.name for path in folder.iterdir()}
    assert names == {"result.parquet", "summary.csv", "curves.png", "curves.svg", "boxes.png", "boxes.svg"}
    with (folder / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    result = sb.Result.load(folder / "result.parquet")
    assert [row["policy"] for row in rows] == result.policies == ["docb", "tsbu"]
    assert float(rows[0]["regret mean"]) == result.final("docb").mean()

    again = command("rerun", str(folder / "result.parquet"), "--workers", "1")
    assert again.status == 0
    assert "identical, bit for bit" in again.out

    more = command("extend", str(folder / "result.parquet"), "--trials", "9", "--json")
    assert json.loads(more.out)["trials"] == 9
    at_once = sb.simulate(sb.instance_by_name("drug-trial"), ["docb", "tsbu"], horizon=300, trials=9)
    assert sb.Result.load(folder / "result.parquet").same_trials(at_once)

    shown = command("show", str(folder / "result.parquet"))
    assert "9 trials of 300 rounds" in shown.out


def test_a_summary_can_be_kept_shown_extended_and_rerun(tmp_path, command):
    folder = tmp_path / "out"
    done = command("simulate", *SMALL, "--keep", "summary", "--out", str(folder))
    assert done.status == 0, done.err
    assert "quantiles are within 0.1 %" in done.out
    names = {path.name for path in folder.iterdir()}
    assert names == {"result.parquet", "summary.csv", "curves.png", "curves.svg", "boxes.png", "boxes.svg"}
    file = str(folder / "result.parquet")
    again = command("rerun", file, "--workers", "1")
    assert again.status == 0
    assert "identical, bit for bit" in again.out
    more = command("extend", file, "--trials", "9", "--json")
    document = json.loads(more.out)
    at_once = sb.simulate(
        sb.instance_by_name("drug-trial"), ["docb", "tsbu"], horizon=300, trials=9, workers=1, keep="summary"
    )
    assert document["trials"] == 9
    assert document["quantile_accuracy"] == at_once.quantile_accuracy
    assert document["policies"]["docb"]["regret"] == at_once.to_dict()["policies"]["docb"]["regret"]
    assert sb.Result.load(file).same_trials(at_once)
    assert "quantiles are within 0.1 %" in command("show", file).out


def test_only_trials_or_a_summary_can_be_kept(command):
    done = command("simulate", *SMALL, "--keep", "all")
    assert done.status == 2
    assert 'keep must be "trials" or "summary", got \'all\'' in done.err


def test_a_result_that_was_changed_is_found_different(tmp_path, command):
    result = sb.simulate(sb.instance_by_name("drug-trial"), ["docb"], horizon=50, trials=2)
    result.of("docb").regret[0, -1] += 1.0
    path = result.save(tmp_path / "changed.parquet")
    done = command("rerun", str(path))
    assert done.status == 1
    assert "different" in done.out


def test_a_result_of_other_sources_is_not_extended_and_is_shown_as_such(tmp_path, command, edited):
    file = str(sb.simulate("drug-trial", ["docb"], horizon=50, trials=2).save(tmp_path / "x.parquet"))
    assert command("show", file).err == ""
    edited()
    before = (tmp_path / "x.parquet").read_bytes()
    done = command("extend", file, "--trials", "4")
    assert done.status == 2
    assert "made by other sources" in done.err
    assert (tmp_path / "x.parquet").read_bytes() == before
    assert "other sources than these" in command("show", file).err
    again = command("rerun", file)
    assert "other sources than these: identical, bit for bit" in again.out


def test_means_and_data_on_the_command_line(tmp_path, command):
    arms = ["--mu", ".3,.6", "--nu", ".1,.2", "--alpha", ".25", "--arms", "low,high", "--correlation", "-0.1"]
    done = command("simulate", *arms, "--policy", "tsbu", "--horizon", "50", "--trials", "2", "--json")
    assert done.status == 0, done.err
    instance = json.loads(done.out)["instance"]
    assert instance["arms"] == ["low", "high"]
    assert instance["correlation"] == [-0.1, -0.1]

    data = tmp_path / "past.csv"
    data.write_text("arm,reward,risk\na,1,0\na,0,0\nb,1,1\nb,1,\n")
    refused = command("simulate", "--data", str(data), "--alpha", "0.3")
    assert refused.status == 2
    assert "missing risk never counts as safe" in refused.err
    common = ("--data", str(data), "--alpha", "0.3", "--policy", "tsbu", "--horizon", "20", "--trials", "2", "--json")
    kept = command("simulate", *common, "--missing-risk", "worst")
    assert kept.status == 0, kept.err
    assert json.loads(kept.out)["instance"]["name"] == "past"


def test_a_study_gives_a_list_of_documents_and_a_folder_each(tmp_path, command):
    study = tmp_path / "study.toml"
    study.write_text(
        'horizon = 100\ntrials = 3\nseed = 2\nalphas = [0.19, 0.21]\npolicies = ["docb", "tsbu:schedule=theory"]\n'
        '[[instances]]\nname = "drug-trial"\n'
    )
    done = command("simulate", str(study), "--trials", "2", "--json", "--out", str(tmp_path / "out"))
    assert done.status == 0, done.err
    documents = json.loads(done.out)
    assert [document["alpha"] for document in documents] == [0.19, 0.21]
    assert {document["trials"] for document in documents} == {2}
    assert list(documents[0]["policies"]) == ["docb", "tsbu:schedule=theory"]
    folders = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert folders == ["drug-trial-alpha-0.19", "drug-trial-alpha-0.21"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "--mu", ".3,.5", "--nu", ".1", "--alpha", ".2"], ["same length", "2 and 1"]),
        (["simulate", "--mu", ".3,1.5", "--nu", ".1,.1", "--alpha", ".2"], ["[0, 1]", "1.5"]),
        (["simulate", "--mu", ".3,nan", "--nu", ".1,.1", "--alpha", ".2"], ["[0, 1]", "nan"]),
        (["simulate", "--mu", ".3,x", "--nu", ".1,.1", "--alpha", ".2"], ["numbers separated by commas", "x"]),
        (["simulate", "--mu", ".3", "--alpha", ".2"], ["--nu"]),
        (["simulate", "--mu", ".3,.5", "--nu", ".3,.4", "--alpha", ".2"], ["no arm has mean risk <= 0.2", "raise"]),
        (["simulate", "--alpha", ".2"], ["--instance", "--mu", "--data"]),
        (["simulate", "--instance", "drug-trail"], ["drug-trail", 'did you mean "drug-trial"?']),
        (["simulate", "--instance", "drug-trial", "--policy", "tbsu"], ["tbsu", 'did you mean "tsbu"?']),
        (["simulate", "--instance", "drug-trial", "--policy", "tsbu:schedul=theory"], ["schedul", "schedule"]),
        (["simulate", "--instance", "drug-trial", "--horizon", "0"], ["horizon must be at least 1", "0"]),
        (["simulate", "--instance", "drug-trial", "--trials", "0"], ["trials must be at least 1", "0"]),
        (["simulate", "--instance", "drug-trial", "--checkpoints", "soon"], ["log, linear, or rounds", "soon"]),
        (["simulate", "--instance", "drug-trial", "--workers", "0"], ["workers must be at least 1", "0"]),
        (["simulate", "nowhere.toml"], ["there is no file nowhere.toml"]),
        (["simulate", "--horizn", "3"], ["--horizn", "--help"]),
        (["simulat"], ["simulat", "simulate"]),
        (["simulate", "--mu", ".3", "--nu", ".1", "--nu", ".1", "--alpha", ".2,.3,.4"], ["one per risk (2), got 3"]),
        (["simulate", "--mu", ".3", "--nu", ".1", "--nu", ".1,.2", "--alpha", ".2"], ["nu[1]", "length", "1 and 2"]),
        (["simulate", "--mu", ".3", "--nu", ".1", "--alpha", "x"], ["--alpha must be numbers", "x"]),
        (["simulate", "--instance", "dose-two-risks", "--risks", "a,b"], ["--risks with --mu or --data"]),
        (["simulate", "--instance", "dose-two-risks", "--policy", "bwcr"], ["bwcr", "one risk, got 2"]),
        (["arena", "--instance", "one-saf"], ["one-saf", 'did you mean "one-safe"?']),
        (["arena", "--policy", "tbsu", "--quick"], ["tbsu", 'did you mean "tsbu"?']),
        (["arena", "--trials", "0"], ["trials must be at least 1", "0"]),
        (["arena", "--units", "36,0"], ["--units must be at least 1", "0"]),
        (["arena", "--units", "36;100"], ["--units must be whole numbers separated by commas", "36;100"]),
        (["show", "nowhere.parquet"], ["there is no file nowhere.parquet"]),
    ],
)  # fmt: skip
def test_a_mistake_gives_one_line_and_status_2(arguments, words, tmp_path, command):
    done = command(*arguments, cwd=tmp_path)
    assert done.status == 2
    assert done.out == ""
    lines = done.err.strip().splitlines()
    assert len(lines) == 1, done.err
    for word in words:
        assert word in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_makes_a_mistake_has_one_line_and_status_2():
    done = safebandit("simulate", "--instance", "drug-trail")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_ctrl_c_keeps_the_finished_trials(tmp_path):
    # The line that says 10 % were done comes after at least one chunk of every policy in order.
    arguments = ["--instance", "drug-trial", "--policy", "docb", "--horizon", "200000", "--trials", "400"]
    status, rest = interrupted("simulate", *arguments, "--out", str(tmp_path / "out"), at="10 %")
    assert status == 130, rest
    assert "interrupted: kept" in rest
    kept = sb.Result.load(tmp_path / "out" / "result.parquet")
    assert 0 < kept.trials < 400
    whole = sb.simulate(sb.instance_by_name("drug-trial"), "docb", horizon=200_000, trials=3)
    assert (kept.final("docb")[:3] == whole.final("docb")).all()


def test_policies_and_instances_are_listed(command):
    # In a process of its own: tests add policies and indices to this one.
    listed = json.loads(safebandit("policies", "--json").stdout)
    names = {entry["name"] for entry in listed["policies"]}
    assert {"docb", "topsi", "tsbu", "klbayes", "naive-ts", "slack-ts"} <= names
    assert all(entry["formula"] and entry["source"] for entries in listed.values() for entry in entries)
    text = command("policies").out
    assert "Algorithm 3" in text
    instances = json.loads(command("instances", "--json").out)
    assert instances["drug-trial"]["mu"] == [0.36, 0.34, 0.469, 0.465, 0.537]
    assert "drug-trial" in command("instances").out


def test_rules_are_listed(command):
    listed = json.loads(safebandit("rules", "--json").stdout)
    assert list(listed) == ["stopping rules", "selection rules"]
    entries = {entry["name"]: entry for entry in listed["stopping rules"] + listed["selection rules"]}
    assert {"harm", "futility-e", "enough", "best-safe", "none"} <= entries.keys()
    assert entries["enough"]["parameters"] == "units, arm=-1"
    assert all(entry["about"] for entry in entries.values())
    text = command("rules").out
    assert "Liu and Yuan 2015" in text
    assert "one selection rule" in text


def test_shell_completion_offers_names():
    from safebandit.cli.completion import complete_arena, complete_instance, complete_policy

    assert complete_policy("ts") == ["tsbu"]
    assert complete_instance("drug") == ["drug-trial"]
    assert complete_arena("drug") == ["drug-trial-21", "drug-trial-19"]


def test_starting_imports_nothing_heavy():
    heavy = ("numba", "numpy", "pandas", "matplotlib")
    code = f"import sys, safebandit.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_several_risks_on_the_command_line(tmp_path, command):
    arms = [
        "--mu",
        ".3,.6,.7",
        "--nu",
        ".1,.2,.5",
        "--nu",
        ".1,.1,.3",
        "--alpha",
        ".3,.2",
        "--risks",
        "toxicity,nausea",
    ]
    small = ["--policy", "docb", "--horizon", "60", "--trials", "3"]
    done = command("simulate", *arms, *small, "--json", "--out", str(tmp_path / "out"))
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert document["alpha"] == document["instance"]["alpha"] == [0.3, 0.2]
    assert document["instance"]["risks"] == ["toxicity", "nausea"]
    assert set(document["policies"]["docb"]["unsafe_by_risk"]) == {"toxicity", "nausea"}
    shown = command("show", str(tmp_path / "out" / "result.parquet")).out
    assert "alpha 0.3, 0.2: 3 trials" in shown
    assert "unsafe plays, toxicity" in shown
    assert "unsafe plays, nausea" in shown
    header = (tmp_path / "out" / "summary.csv").read_text().splitlines()[0]
    assert "unsafe_plays nausea mean" in header

    bounds = command("bounds", *arms).out
    assert "nu toxicity" in bounds
    assert "d_> nausea" in bounds
    found = json.loads(command("bounds", *arms, "--json").out)
    assert [arm["nu"] for arm in found["arms"]] == [[0.1, 0.1], [0.2, 0.1], [0.5, 0.3]]
    assert found["arms"][0]["risk_divergence"] == [0.0, 0.0]


def test_data_and_studies_with_several_risks(tmp_path, command):
    (tmp_path / "past.csv").write_text("arm,reward,tox,nausea\na,1,0,0\na,0,0,1\nb,1,1,0\nb,1,0,0\n")
    small = ("--policy", "docb", "--horizon", "20", "--trials", "2", "--json")
    flags = ("--data", "past.csv", "--risks", "tox,nausea", "--alpha", ".4,.6")
    done = command("simulate", *flags, *small, cwd=tmp_path)
    assert done.status == 0, done.err
    assert json.loads(done.out)["instance"]["risks"] == ["tox", "nausea"]
    (tmp_path / "study.toml").write_text(
        'horizon = 20\ntrials = 2\npolicies = ["docb"]\nalphas = [[0.3, 0.2], 0.25]\n'
        '[[instances]]\nname = "own"\nmu = [0.3, 0.5]\nnu = [[0.1, 0.2], [0.1, 0.1]]\n'
    )
    done = command("simulate", "study.toml", "--json", "--out", "out", cwd=tmp_path)
    assert done.status == 0, done.err
    assert [document["alpha"] for document in json.loads(done.out)] == [[0.3, 0.2], [0.25, 0.25]]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["own-alpha-0.25-0.25", "own-alpha-0.3-0.2"]
