"""Studies: what a TOML file may say, and what is refused."""

from __future__ import annotations

import pytest

import safebandit as sb
from safebandit.errors import InstanceError, SimulationError, StudyError
from safebandit.simulation.study import Study

GOOD = {"instances": ["drug-trial"], "policies": ["docb"], "horizon": 50, "trials": 2}


def test_a_grid_is_instances_by_alphas():
    entries = ["drug-trial", {"mu": [0.2, 0.4], "nu": [0.1, 0.15], "name": "own"}]
    study = Study.from_dict({**GOOD, "instances": entries, "alphas": [0.19, 0.21]})
    assert [(instance.name, instance.alpha) for instance in study.instances] == [
        ("drug-trial", 0.19), ("drug-trial", 0.21), ("own", 0.19), ("own", 0.21),
    ]  # fmt: skip


def test_running_a_study_equals_running_its_cells():
    study = Study.from_dict({**GOOD, "alphas": [0.19, 0.21], "seed": 4})
    results = study.run()
    for alpha, result in zip((0.19, 0.21), results, strict=True):
        alone = sb.simulate(sb.instance_by_name("drug-trial", alpha), ["docb"], horizon=50, trials=2, seed=4)
        assert result.same_trials(alone)


def test_progress_counts_through_the_whole_study():
    steps = []
    Study.from_dict({**GOOD, "alphas": [0.19, 0.21]}).run(progress=steps.append)
    assert {step.total for step in steps} == {2 * 50 * 2}
    assert steps[-1].done == steps[-1].total
    assert [step.done for step in steps] == sorted(step.done for step in steps)


def test_data_files_are_found_beside_the_study(tmp_path):
    (tmp_path / "past.csv").write_text("arm,reward,risk\na,1,0\nb,0,1\n")
    (tmp_path / "study.toml").write_text(
        'policies = ["docb"]\nhorizon = 10\ntrials = 1\n[[instances]]\ndata = "past.csv"\nalpha = 0.5\n'
    )
    study = Study.load(tmp_path / "study.toml")
    assert study.instances[0].nu.tolist() == [0.0, 1.0]
    assert Study.load(tmp_path / "study.toml", trials=7).trials == 7


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"horizn": 5}, StudyError, ["horizn", 'did you mean "horizon"?']),
        ({"instances": []}, StudyError, ["at least one", "instances"]),
        ({"policies": []}, StudyError, ["at least one", "policies"]),
        ({"instances": [3]}, StudyError, ["a name or a table", "3"]),
        ({"instances": [{"data": "x.csv"}]}, StudyError, ["needs alpha"]),
        ({"instances": [{"mu": [0.1], "nu": [0.1]}]}, InstanceError, ["needs alpha"]),
        ({"instances": [{"mu": [0.1], "nu": [0.1], "alpha": 0.2, "kind": "gauss"}]}, InstanceError, ["gauss", "beta"]),
        ({"instances": [{"mu": [0.1], "nu": [0.1], "alpha": 0.2, "mean": 1}]}, InstanceError, ["mean"]),
        ({"policies": ["docb", "docb"]}, SimulationError, ["twice"]),
    ],
)
def test_mistakes_are_said_in_one_line(change, error, words):
    with pytest.raises(error) as caught:
        Study.from_dict({**GOOD, **change})
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_contexts_are_found_beside_the_study(tmp_path):
    (tmp_path / "patients.csv").write_text("age\n20\n60\n30\n")
    (tmp_path / "study.toml").write_text(
        'policies = ["linear"]\n[[instances]]\nkind = "linear"\nfeatures = [[1, 0], [1, 1]]\n'
        'reward = [0.2, 0.1, 0.1, 0]\nrisk = [0.1, 0, 0.2, 0]\nalpha = 0.2\ncontexts = "patients.csv"\n'
    )
    (instance,) = Study.load(tmp_path / "study.toml").instances
    assert instance.law.table.tolist() == [[0.0], [1.0], [0.25]]
    assert sb.Instance.from_dict(instance.to_dict()).law.table.tolist() == [[0.0], [1.0], [0.25]]


def test_a_file_that_is_not_toml(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("horizon = = 3")
    with pytest.raises(StudyError, match="not a TOML file"):
        Study.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match="not a TOML file"):
        Study.load(path)


def test_alphas_and_risks_of_several():
    entry = {"mu": [0.2, 0.4], "nu": [[0.1, 0.15], [0.2, 0.1]], "risks": ["a", "b"], "name": "own"}
    study = Study.from_dict({**GOOD, "instances": ["dose-two-risks", entry], "alphas": [[0.3, 0.2], 0.25]})
    assert [(instance.name, instance.alpha) for instance in study.instances] == [
        ("dose-two-risks", (0.3, 0.2)), ("dose-two-risks", (0.25, 0.25)), ("own", (0.3, 0.2)), ("own", (0.25, 0.25)),
    ]  # fmt: skip
    assert study.instances[2].risks == ("a", "b")
    steps = []
    results = study.run(progress=steps.append)
    assert [result.of("docb").risk.shape for result in results] == [(2, 2, 5)] * 2 + [(2, 2, 2)] * 2
    assert any("own at alpha 0.3, 0.2" in step.what for step in steps)
