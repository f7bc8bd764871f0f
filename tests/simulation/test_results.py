"""Results: summaries against NumPy and SciPy on made-up trials, files that come back whole, and files that do not."""

import json
import math
import os
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from safebandit import Instance, Result, __version__, extend, instance_by_name, rerun, simulate
from safebandit.core.kernels import Trials
from safebandit.errors import ResultError
from safebandit.simulation.results import Specification
from safebandit.simulation.summaries import describe

INSTANCE = Instance.bernoulli([0.3, 0.6], [0.1, 0.4], 0.2, arms=["a", "b"], name="made up")
NUMBERS = {"mean", "se", "median", "q05", "q95", "q99", "max"}


def refused(text):
    """A ResultError whose message is one line that holds `text`."""
    return pytest.raises(ResultError, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def made_up(trials, seed=0):
    """Trials that nobody played: any numbers will do where only their summary is looked at."""
    rng = np.random.default_rng(seed)
    return Trials(
        regret=np.cumsum(rng.exponential(10, (trials, 3)), axis=1),
        unsafe_plays=np.cumsum(rng.poisson(7, (trials, 3)), axis=1),
        plays=rng.integers(0, 100, (trials, 2)),
        reward=rng.random((trials, 2)),
        risk=rng.random((trials, 2)),
        none_permissible=rng.integers(0, 9, trials),
        held=rng.integers(0, 9, trials),
    )


def made_up_result(trials=40):
    specification = Specification(INSTANCE, {"docb": "docb", "tsbu": "tsbu"}, 100, 7, np.array([10, 50, 100]))
    by_policy = {"docb": made_up(trials, 1), "tsbu": made_up(trials, 2)}
    return Result(specification, by_policy, {"docb": 0.5, "tsbu": 0.25})


@pytest.fixture
def result():
    return made_up_result()


# Summaries.


def test_describe_is_what_numpy_and_scipy_say():
    values = np.random.default_rng(3).gamma(2, 5, 57)
    got = describe(values)
    assert set(got) == NUMBERS
    assert got["mean"] == pytest.approx(np.mean(values))
    assert got["se"] == pytest.approx(stats.sem(values))
    assert got["max"] == max(values)
    for name, percent in (("median", 50), ("q05", 5), ("q95", 95), ("q99", 99)):
        assert got[name] == pytest.approx(np.percentile(values, percent))


def test_one_trial_says_nothing_about_the_spread():
    got = describe(np.array([4.0]))
    assert math.isnan(got.pop("se"))
    assert set(got.values()) == {4.0}
    assert math.isnan(made_up_result(trials=1).compare("docb", "tsbu")["se"])


def test_the_summary_has_a_row_per_policy(result):
    table = result.summary()
    assert list(table.index) == ["docb", "tsbu"]
    for policy in table.index:
        trials = result.by_policy[policy]
        for metric in ("regret", "unsafe_plays"):
            values = getattr(trials, metric)[:, -1]
            assert set(table[metric].columns) == NUMBERS
            assert table.loc[policy, (metric, "mean")] == pytest.approx(np.mean(values))
            assert table.loc[policy, (metric, "se")] == pytest.approx(stats.sem(values))
            assert table.loc[policy, (metric, "q95")] == pytest.approx(np.percentile(values, 95))
        assert table.loc[policy, "plays"].tolist() == pytest.approx(trials.plays.mean(axis=0).tolist())
        assert list(table["plays"].columns) == ["a", "b"]
        assert table.loc[policy, ("rounds", "none_permissible")] == pytest.approx(trials.none_permissible.mean())
        assert table.loc[policy, ("rounds", "held")] == pytest.approx(trials.held.mean())


def test_the_table_of_trials_has_a_row_per_policy_and_trial(result):
    table = result.per_trial()
    assert len(table) == 80
    assert not table.isna().any(axis=None)
    for policy in result.policies:
        part = table[table["policy"] == policy]
        trials = result.by_policy[policy]
        assert part["trial"].tolist() == list(range(40))
        assert part["regret"].tolist() == trials.regret[:, -1].tolist()
        assert part["unsafe_plays"].tolist() == trials.unsafe_plays[:, -1].tolist()
        assert part[["plays a", "plays b"]].to_numpy().tolist() == trials.plays.tolist()
        assert part["held"].tolist() == trials.held.tolist()


def test_reward_and_risk_are_in_every_table(result):
    table, summary = result.per_trial(), result.summary()
    for policy, entry in result.to_dict()["policies"].items():
        trials, part = result.by_policy[policy], table[table["policy"] == policy]
        for name, by_arm in (("reward", trials.reward), ("risk", trials.risk)):
            total = [sum(row) for row in by_arm.tolist()]
            assert part[name].tolist() == pytest.approx(total, rel=1e-12)
            assert part[[f"{name} a", f"{name} b"]].to_numpy().tolist() == by_arm.tolist()
            assert entry[name]["mean"] == summary.loc[policy, (name, "mean")] == pytest.approx(np.mean(total))
            assert entry[name]["se"] == summary.loc[policy, (name, "se")] == pytest.approx(stats.sem(total))
            assert entry[name]["q95"] == pytest.approx(np.percentile(total, 95))
            assert entry[f"{name}_by_arm"] == pytest.approx(by_arm.mean(axis=0).tolist())
            assert summary.loc[policy, f"{name} by arm"].tolist() == entry[f"{name}_by_arm"]


def test_quantiles_are_taken_over_the_trials_at_every_checkpoint(result):
    got = result.quantiles("tsbu", "unsafe_plays", levels=(0.1, 0.9))
    assert got.shape == (2, 3)
    for column in range(3):
        values = result.by_policy["tsbu"].unsafe_plays[:, column]
        assert got[:, column] == pytest.approx(np.percentile(values, [10, 90]))


@pytest.mark.parametrize("metric", ["regret", "unsafe_plays"])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_paired_interval_is_that_of_the_t_test(result, metric, confidence):
    first, second = (getattr(result.by_policy[policy], metric)[:, -1].astype(float) for policy in ("docb", "tsbu"))
    interval = stats.ttest_rel(first, second).confidence_interval(confidence)
    got = result.compare("docb", "tsbu", metric, confidence)
    assert got["difference"] == pytest.approx(np.mean(first - second))
    assert got["se"] == pytest.approx(stats.sem(first - second))
    assert (got["low"], got["high"]) == pytest.approx((interval.low, interval.high))
    wins = [1.0 if a < b else 0.5 if a == b else 0.0 for a, b in zip(first, second, strict=True)]
    assert got["below"] == pytest.approx(sum(wins) / len(wins))


def test_a_policy_equals_itself(result):
    got = result.compare("docb", "docb")
    same = {"difference": 0.0, "se": 0.0, "low": 0.0, "high": 0.0, "below": 0.5, "remark": ""}
    assert got == {**got, **same}
    assert (got["median"], got["median_low"], got["median_high"]) == (0.0, 0.0, 0.0)
    assert -got["wide_low"] == pytest.approx(got["wide_high"])


def test_unknown_names_are_refused(result):
    with refused('the result has no policy "dcob"; did you mean "docb"? known: docb, tsbu'):
        result.of("dcob")
    with refused('unknown metric "regrets"; did you mean "regret"?'):
        result.final("docb", "regrets")
    for confidence in (0.0, 1.0, 95, math.nan):
        with refused("confidence must lie inside (0, 1)"):
            result.compare("docb", "tsbu", confidence=confidence)


def test_the_document_has_the_keys_that_are_documented(result):
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert {"instance", "alpha", "horizon", "trials", "seed", "policies"} <= set(document)
    assert document["instance"] == INSTANCE.to_dict()
    assert [document[key] for key in ("alpha", "horizon", "trials", "seed")] == [0.2, 100, 40, 7]
    assert list(document["policies"]) == ["docb", "tsbu"]
    for policy, entry in document["policies"].items():
        assert {"regret", "unsafe_plays", "plays", "none_permissible", "rounds_per_second"} <= set(entry)
        trials = result.by_policy[policy]
        for metric in ("regret", "unsafe_plays"):
            assert set(entry[metric]) == NUMBERS
            assert entry[metric]["mean"] == pytest.approx(np.mean(getattr(trials, metric)[:, -1]))
        assert entry["plays"] == pytest.approx(trials.plays.mean(axis=0).tolist())
        assert entry["none_permissible"] == pytest.approx(trials.none_permissible.mean())
    # 40 trials of 100 rounds in the seconds given.
    assert document["policies"]["docb"]["rounds_per_second"] == pytest.approx(8_000)
    assert document["policies"]["tsbu"]["rounds_per_second"] == pytest.approx(16_000)


def test_a_result_that_was_not_timed_claims_no_speed(result):
    untimed = Result(result.specification, result.by_policy)
    assert untimed.rounds_per_second("docb") is None


# Files.


def test_a_file_holds_every_trial_and_the_whole_specification(result, tmp_path):
    path = tmp_path / "new" / "folder" / "x.parquet"
    assert result.save(path) == path
    loaded = Result.load(str(path))
    assert loaded.same_trials(result)
    assert result.same_trials(loaded)
    for policy in result.policies:
        for name, mine, yours in zip(Trials._fields, loaded.of(policy), result.of(policy), strict=True):
            assert mine.dtype == yours.dtype, name
            assert mine.shape == yours.shape, name
    mine, yours = loaded.specification, result.specification
    assert mine.to_dict() == yours.to_dict()
    assert mine.version == __version__
    assert mine.instance.arms == ("a", "b")
    assert mine.checkpoints.tolist() == [10, 50, 100]
    assert (mine.horizon, mine.seed, dict(mine.policies)) == (100, 7, {"docb": "docb", "tsbu": "tsbu"})
    assert loaded.seconds == {"docb": 0.5, "tsbu": 0.25}
    assert os.listdir(path.parent) == ["x.parquet"]


def test_other_tools_can_read_the_file(result, tmp_path):
    table = pd.read_parquet(result.save(tmp_path / "x.parquet"))
    assert table["policy"].tolist() == ["docb"] * 40 + ["tsbu"] * 40
    for policy in result.policies:
        assert np.array_equal(np.vstack(table["regret"][table["policy"] == policy]), result.of(policy).regret)


def test_one_arm_one_checkpoint_one_trial(tmp_path):
    instance = Instance.bernoulli([0.5], [0.1], 0.2)
    result = simulate(instance, "docb", horizon=1, trials=1)
    assert Result.load(result.save(tmp_path / "x.parquet")).same_trials(result)


def test_results_differ_where_one_number_does(result):
    other = made_up_result()
    assert result.same_trials(other)
    other.by_policy["tsbu"].risk[39, 1] += 1e-12
    assert not result.same_trials(other)
    assert not result.same_trials(made_up_result(trials=39))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_file_cut_short(result, tmp_path, share):
    path = result.save(tmp_path / "x.parquet")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with refused("x.parquet is not a result, or was cut short"):
        Result.load(path)


def test_a_parquet_file_of_somebody_else(tmp_path):
    path = tmp_path / "x.parquet"
    pd.DataFrame({"policy": ["docb"], "regret": [1.0]}).to_parquet(path)
    with refused("x.parquet is a Parquet file but not a result of safebandit"):
        Result.load(path)


@pytest.mark.parametrize("name", ["nowhere.parquet", "."])
def test_a_path_without_a_file(tmp_path, name):
    with refused("there is no file"):
        Result.load(tmp_path / name)


def rewritten(path, change):
    """The same file with another document in it, or other rows."""
    table = pq.read_table(path)
    document = json.loads(table.schema.metadata[b"safebandit"])
    table, text = change(table, document)
    pq.write_table(table.replace_schema_metadata({b"safebandit": text}), path)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table, d: (table, json.dumps({**d, "format": 99})), "has format 99, this version reads format 1"),
        (lambda table, d: (table, json.dumps({k: v for k, v in d.items() if k != "format"})), "has format None"),
        (lambda table, d: (table[:-1], json.dumps(d)), "does not hold what a result holds: 79 rows, 80 expected"),
        (lambda table, d: (table.drop_columns(["risk"]), json.dumps(d)), "does not hold what a result holds"),
        (lambda table, d: (table, json.dumps({**d, "specification": {}})), "does not hold what a result holds"),
        (lambda table, d: (table, json.dumps({**d, "trials": None})), "does not hold what a result holds"),
        (lambda table, d: (table, json.dumps(d)[:50]), "x.parquet"),
        (lambda table, d: (table, "[]"), "x.parquet"),
    ],
    ids=["format", "no format", "rows", "column", "specification", "trials", "cut document", "no document"],
)
def test_a_file_that_does_not_hold_what_a_result_holds(result, tmp_path, change, message):
    path = rewritten(result.save(tmp_path / "x.parquet"), change)
    with refused(message):
        Result.load(path)


def test_an_unchanged_rewrite_is_still_read(result, tmp_path):
    path = rewritten(result.save(tmp_path / "x.parquet"), lambda table, d: (table, json.dumps(d)))
    assert Result.load(path).same_trials(result)


def fail_half_way(table, where, **options):
    with open(where, "wb") as file:
        file.write(b"PAR1 half of it")
    raise OSError(28, "No space left on device")


def test_a_save_that_fails_leaves_nothing(result, tmp_path, monkeypatch):
    monkeypatch.setattr(pq, "write_table", fail_half_way)
    with pytest.raises(OSError, match="No space left"):
        result.save(tmp_path / "x.parquet")
    assert os.listdir(tmp_path) == []


def test_a_save_that_fails_leaves_the_old_file(result, tmp_path, monkeypatch):
    path = result.save(tmp_path / "x.parquet")
    before = path.read_bytes()
    monkeypatch.setattr(pq, "write_table", fail_half_way)
    with pytest.raises(OSError, match="No space left"):
        made_up_result(trials=3).save(path)
    assert os.listdir(tmp_path) == ["x.parquet"]
    assert path.read_bytes() == before


def test_a_save_replaces_an_older_result(result, tmp_path):
    made_up_result(trials=3).save(tmp_path / "x.parquet")
    assert Result.load(result.save(tmp_path / "x.parquet")).trials == 40


def test_numbers_in_the_file_have_their_natural_types(result, tmp_path):
    schema = pq.read_schema(result.save(tmp_path / "x.parquet"))
    assert schema.field("regret").type == pa.list_(pa.float64(), 3)
    assert schema.field("plays").type == pa.list_(pa.int64(), 2)
    assert schema.field("held").type == pa.int64()


# Several risks.


@pytest.fixture(scope="module")
def two_risks():
    return simulate(instance_by_name("dose-two-risks"), ["docb", "tsbu"], horizon=300, trials=7, seed=5)


def test_unsafe_plays_of_every_risk_are_those_of_its_unsafe_arms(two_risks):
    instance = two_risks.specification.instance
    for policy in two_risks.policies:
        plays, found = two_risks.of(policy).plays, two_risks.unsafe_by_risk(policy)
        assert found.shape == (7, 2)
        for j, limit in enumerate(instance.limits):
            assert found[:, j].tolist() == [
                sum(row[k] for k in range(5) if instance.nu[j, k] > limit) for row in plays.tolist()
            ]
        assert (two_risks.final(policy, "unsafe_plays") <= found.sum(axis=1)).all()
        assert (two_risks.final(policy, "unsafe_plays") >= found.max(axis=1)).all()


def test_summaries_have_the_risks_by_name(two_risks):
    document = json.loads(json.dumps(two_risks.to_dict()))
    assert document["alpha"] == [0.3, 0.2]
    summary, per_trial = two_risks.summary(), two_risks.per_trial()
    for policy in two_risks.policies:
        for j, risk in enumerate(("toxicity", "nausea")):
            counted = two_risks.unsafe_by_risk(policy)[:, j]
            assert document["policies"][policy]["unsafe_by_risk"][risk] == describe(counted)
            assert summary.loc[policy, (f"unsafe_plays {risk}", "mean")] == pytest.approx(counted.mean())
            assert per_trial[f"unsafe_plays {risk}"][per_trial["policy"] == policy].tolist() == counted.tolist()


def test_the_total_of_every_risk_by_its_name(two_risks):
    document, summary, per_trial = two_risks.to_dict(), two_risks.summary(), two_risks.per_trial()
    for policy in two_risks.policies:
        part = per_trial[per_trial["policy"] == policy]
        for j, risk in enumerate(("toxicity", "nausea")):
            by_arm = two_risks.of(policy).risk[:, j]
            assert document["policies"][policy]["risk"][risk] == describe(by_arm.sum(axis=1))
            assert document["policies"][policy]["risk_by_arm"][j] == pytest.approx(by_arm.mean(axis=0).tolist())
            assert summary.loc[policy, (f"risk {risk}", "mean")] == pytest.approx(by_arm.sum(axis=1).mean())
            assert part[f"risk {risk}"].tolist() == by_arm.sum(axis=1).tolist()
            assert part[f"risk {risk}, 16 mg"].tolist() == by_arm[:, -1].tolist()


def test_one_risk_has_nothing_by_risk(result):
    assert "unsafe_by_risk" not in result.to_dict()["policies"]["docb"]
    assert list(result.per_trial()) == [
        "policy", "trial", "regret", "unsafe_plays", "reward", "risk", "none_permissible", "held",
        "plays a", "plays b", "reward a", "reward b", "risk a", "risk b",
    ]  # fmt: skip
    assert {metric for metric, _ in result.summary_rows()["docb"]} == {
        "regret", "unsafe_plays", "reward", "risk", "plays", "reward by arm", "risk by arm", "rounds",
    }  # fmt: skip
    assert result.unsafe_by_risk("docb").tolist() == result.of("docb").plays[:, [1]].tolist()


def test_several_risks_come_back_from_a_file_and_go_on(two_risks, tmp_path):
    loaded = Result.load(two_risks.save(tmp_path / "x.parquet"))
    assert loaded.same_trials(two_risks)
    assert loaded.of("docb").risk.shape == (7, 2, 5)
    assert loaded.specification.to_dict() == two_risks.specification.to_dict()
    assert rerun(loaded).same_trials(two_risks)
    at_once = simulate(two_risks.specification.instance, ["docb", "tsbu"], horizon=300, trials=11, seed=5)
    assert extend(loaded, trials=11).same_trials(at_once)
    schema = pq.read_schema(tmp_path / "x.parquet")
    assert schema.field("risk").type == pa.list_(pa.list_(pa.float64(), 5), 2)
