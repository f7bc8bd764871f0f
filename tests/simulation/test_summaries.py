"""Results of which a summary was kept: held to the same trials kept whole, and to themselves run in other ways."""

import json
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib import pyplot as plt

from safebandit import Instance, Result, Study, extend, instance_by_name, rerun, simulate
from safebandit.errors import ResultError, SimulationError
from safebandit.pictures import INK
from safebandit.simulation import execution as module
from safebandit.simulation import plots
from safebandit.simulation.sketches import ACCURACY

DRUG = instance_by_name("drug-trial")
TWO_RISKS = instance_by_name("dose-two-risks")
POLICIES = ["docb", "tsbu", "tsbu:schedule=theory"]
METRICS = ("regret", "unsafe_plays")
# A few trials with much regret, many with none: one unsafe arm, and a limit that tells it apart at once.
TIES = Instance.bernoulli([0.5, 0.9], [0.0, 1.0], 0.01)
SETTINGS = {
    "drug": {"instance": DRUG, "policies": POLICIES, "horizon": 700, "trials": 60, "seed": 5},
    "ties": {"instance": TIES, "policies": ["docb", "docb:when_none=hold"], "horizon": 40, "trials": 25, "seed": 1},
    "two risks": {"instance": TWO_RISKS, "policies": ["docb", "tsbu"], "horizon": 300, "trials": 30, "seed": 2},
    "one trial": {"instance": DRUG, "policies": ["docb", "tsbu"], "horizon": 100, "trials": 1, "seed": 3},
    "long": {"instance": DRUG, "policies": ["docb"], "horizon": 20_000, "trials": 12, "seed": 4},
}


def refused(text, kind=ResultError):
    """An error whose message is one line that holds `text`."""
    return pytest.raises(kind, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def run(name, keep="summary", **options):
    return simulate(**{**SETTINGS[name], **options}, keep=keep)


@pytest.fixture(scope="module")
def drug():
    return run("drug")


@pytest.fixture(scope="module", params=list(SETTINGS))
def both(request):
    """The same trials, kept whole and as a summary."""
    return run(request.param, "trials"), run(request.param)


# The same numbers as from every trial.


def test_means_standard_errors_and_the_worst_are_those_of_the_trials(both):
    whole, summary = both
    assert (whole.keep, summary.keep) == ("trials", "summary")
    assert summary.trials == whole.trials
    for policy in whole.policies:
        mine, yours = summary.to_dict()["policies"][policy], whole.to_dict()["policies"][policy]
        assert mine.keys() == yours.keys()
        groups = [(mine[metric], yours[metric]) for metric in (*METRICS, "reward")]
        several = "unsafe_by_risk" in yours
        groups += (
            [(mine["risk"][r], n) for r, n in yours["risk"].items()] if several else [(mine["risk"], yours["risk"])]
        )
        groups += [(mine["unsafe_by_risk"][r], n) for r, n in yours.get("unsafe_by_risk", {}).items()]
        for found, wanted in groups:
            assert list(found) == list(wanted)
            assert found["mean"] == pytest.approx(wanted["mean"], rel=1e-12)
            assert found["se"] == pytest.approx(wanted["se"], rel=1e-12, abs=1e-14, nan_ok=True)
            assert found["max"] == wanted["max"]
            for name in ("median", "q05", "q95", "q99"):
                assert abs(found[name] - wanted[name]) <= 1.000001 * ACCURACY * wanted[name]
        for name in ("plays", "none_permissible", "held", "reward_by_arm", "risk_by_arm"):
            assert np.array(mine[name]) == pytest.approx(np.array(yours[name]), rel=1e-12)


def test_curves_over_time_are_those_of_the_trials(both):
    whole, summary = both
    levels = (0.0, 0.05, 0.3, 0.5, 0.95, 0.99, 1.0)
    for policy in whole.policies:
        for metric in METRICS:
            curve = whole.curve(policy, metric)
            assert summary.mean(policy, metric) == pytest.approx(curve.mean(axis=0), rel=1e-12)
            assert whole.mean(policy, metric) == pytest.approx(curve.mean(axis=0), rel=1e-12)
            found, wanted = summary.quantiles(policy, metric, levels), np.quantile(curve, levels, axis=0)
            assert found.shape == wanted.shape
            assert (np.abs(found - wanted) <= 1.000001 * ACCURACY * wanted).all()
            assert np.array_equal(found[[0, -1]], [curve.min(axis=0), curve.max(axis=0)])


def test_the_cases_hold_zeros_and_ties():
    final = run("ties", "trials").final("docb")
    assert len(np.unique(final)) < len(final) / 2
    assert (run("drug", "trials").curve("docb", "unsafe_plays")[:, 0] == 0.0).any()


def test_paired_differences_are_those_of_the_trials(both):
    whole, summary = both
    for policy in whole.policies:
        for other in whole.policies:
            for metric in METRICS:
                found, wanted = (result.compare(policy, other, metric, 0.9) for result in (summary, whole))
                # What needs every trial, a summary does not have.
                alone = {"wide_low", "wide_high", "median", "median_low", "median_high"}
                assert list(found) == [name for name in wanted if name not in alone]
                for name in ("difference", "se", "low", "high", "below"):
                    assert found[name] == pytest.approx(wanted[name], rel=1e-12, abs=1e-12, nan_ok=True), name


def test_the_table_has_the_same_rows_and_columns(both):
    whole, summary = both
    mine, yours = summary.summary(), whole.summary()
    assert mine.columns.equals(yours.columns)
    assert mine.index.equals(yours.index)
    assert mine.to_numpy() == pytest.approx(yours.to_numpy(), rel=1.000001 * ACCURACY, nan_ok=True)


def test_the_accuracy_is_said(drug):
    assert drug.quantile_accuracy == drug.to_dict()["quantile_accuracy"] == ACCURACY
    whole = run("drug", "trials", trials=2)
    assert whole.quantile_accuracy == 0.0
    assert "quantile_accuracy" not in whole.to_dict()


@pytest.mark.parametrize("name", ["drug", "two risks"])
def test_a_file_of_version_0_1_0_has_the_means_of_totals_and_no_more(name, tmp_path):
    made = run(name, trials=3)
    table = pq.read_table(made.save(tmp_path / "x.parquet"))
    older = [not field.startswith("total_") for field in table.column("field").to_pylist()]
    pq.write_table(table.filter(pa.array(older)), tmp_path / "x.parquet")
    loaded = Result.load(tmp_path / "x.parquet")
    assert loaded.same_trials(made)
    assert made.same_trials(loaded)
    for policy in made.policies:
        found, wanted = (result.summary_rows()[policy] for result in (loaded, made))
        risks = ("risk",) if name == "drug" else ("risk toxicity", "risk nausea")
        for title in ("reward", *risks):
            assert found[title, "mean"] == pytest.approx(wanted[title, "mean"], rel=1e-12)
            assert math.isnan(found[title, "se"])
            assert math.isnan(found[title, "q95"])
        assert found["regret", "se"] == wanted["regret", "se"]


# The same bits however it is run.


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("chunk_rounds", "chunk_trials"), [(1, 1_000), (4_000, 1_000), (10**9, 7), (10**9, 1_000)])
def test_workers_and_chunks_change_no_bit(drug, monkeypatch, workers, chunk_rounds, chunk_trials):
    monkeypatch.setattr(module, "CHUNK_ROUNDS", chunk_rounds)
    monkeypatch.setattr(module, "MAX_CHUNK_TRIALS", chunk_trials)
    again = run("drug", workers=workers)
    assert again.same_trials(drug)
    assert again.to_dict()["policies"]["docb"]["regret"] == drug.to_dict()["policies"]["docb"]["regret"]


@pytest.mark.parametrize("first", [1, 23, 59])
def test_extending_is_running_at_once(drug, first, tmp_path):
    part = run("drug", trials=first)
    before = part.to_dict()
    whole = extend(Result.load(part.save(tmp_path / "part.parquet")), trials=60)
    assert whole.same_trials(drug)
    assert extend(part, trials=60).same_trials(drug)
    assert part.to_dict() == before
    assert not part.same_trials(drug)


def test_a_file_can_be_run_again_from_itself(drug, tmp_path):
    again = rerun(Result.load(drug.save(tmp_path / "drug.parquet")))
    assert again.keep == "summary"
    assert again.same_trials(drug)


def test_another_seed_and_whole_trials_are_not_the_same(drug):
    assert not run("drug", seed=6).same_trials(drug)
    whole = run("drug", "trials")
    assert not whole.same_trials(drug)
    assert not drug.same_trials(whole)


def test_chunks_do_not_pile_up_behind_one_that_is_late(monkeypatch):
    # The first chunk ends only after all others that were handed out before: so many, and no more.
    monkeypatch.setattr(module, "CHUNK_ROUNDS", 100)
    run_chunk, may_end = module.run_chunk, threading.Event()
    handed_out, at_the_time = [], []
    most = 1 + 2 * module.CHUNKS_AHEAD

    class Counting(ThreadPoolExecutor):
        def submit(self, function, /, *arguments):
            handed_out.append(arguments)
            return super().submit(function, *arguments)

    def first_is_late(job, trials):
        if len(trials) > 0 and trials[0] == 0:
            assert may_end.wait(timeout=60)
        return run_chunk(job, trials)

    def look(step):
        if step.done == (most - 1) * 100:
            at_the_time.append(len(handed_out))
            may_end.set()

    monkeypatch.setattr(module, "ThreadPoolExecutor", Counting)
    monkeypatch.setattr(module, "run_chunk", first_is_late)
    result = simulate(DRUG, "docb", horizon=100, trials=60, keep="summary", workers=2, progress=look)
    assert at_the_time == [most]
    assert len(handed_out) == 60
    monkeypatch.undo()
    assert result.same_trials(simulate(DRUG, "docb", horizon=100, trials=60, keep="summary"))


# Files.


def test_a_file_comes_back_whole(both, tmp_path):
    summary = both[1]
    path = summary.save(tmp_path / "x.parquet")
    loaded = Result.load(path)
    assert loaded.keep == "summary"
    assert loaded.trials == summary.trials
    assert loaded.same_trials(summary)
    assert loaded.to_dict() == summary.to_dict() or summary.trials == 1
    assert loaded.save(tmp_path / "y.parquet").read_bytes() == path.read_bytes()


def test_a_file_is_read_by_other_tools(drug, tmp_path):
    table = pq.read_table(drug.save(tmp_path / "x.parquet"))
    row = table.to_pylist()[0]
    assert (row["policy"], row["field"]) == ("docb", "regret")
    assert row["sum"][-1] / 60 == pytest.approx(run("drug", "trials").final("docb").mean(), rel=1e-12)
    assert sum(row["counts"]) == 60 * len(drug.specification.checkpoints)


def test_a_file_does_not_grow_with_the_trials(tmp_path):
    sizes = [run("ties", trials=trials).save(tmp_path / "x.parquet").stat().st_size for trials in (100, 1_600)]
    assert sizes[1] < 2 * sizes[0]


def replaced(table, name, values):
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values, table.schema.field(name).type))


def with_last(table, name, change):
    """A table in whose first list of `name` the last number was changed."""
    lists = table.column(name).to_pylist()
    lists[0] = [*lists[0][:-1], *change(lists[0][-1])]
    return replaced(table, name, lists)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda table: table[:-1], "rows, and not those of"),
        (lambda table: table.drop_columns(["squares"]), "does not hold what a result holds"),
        (lambda table: replaced(table, "field", ["regret"] * table.num_rows), "rows, and not those of"),
        (lambda table: with_last(table, "counts", lambda last: [last + 1]), "the bins of regret do not hold 60 trials"),
        (
            lambda table: with_last(table, "bins", lambda last: [last + 2**40]),
            "the bins of regret do not hold 60 trials",
        ),
        (lambda table: with_last(table, "least", lambda last: []), "the bins of regret do not hold 60 trials"),
        (lambda table: with_last(table, "sum", lambda last: []), "does not hold what a result holds"),
    ],
    ids=["row", "column", "fields", "count", "bin", "least", "sum"],
)
def test_a_damaged_file(drug, tmp_path, damage, message):
    path = drug.save(tmp_path / "x.parquet")
    table = pq.read_table(path)
    pq.write_table(damage(table).replace_schema_metadata(table.schema.metadata), path)
    with refused(message):
        Result.load(path)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_file_cut_short(drug, tmp_path, share):
    path = drug.save(tmp_path / "x.parquet")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with refused("x.parquet is not a result, or was cut short"):
        Result.load(path)


def test_a_file_that_keeps_something_else(drug, tmp_path):
    path = drug.save(tmp_path / "x.parquet")
    table = pq.read_table(path)
    document = json.loads(table.schema.metadata[b"safebandit"])
    text = json.dumps({**document, "keep": "dreams"})
    pq.write_table(table.replace_schema_metadata({b"safebandit": text}), path)
    with refused('does not hold what a result holds: it keeps "dreams"'):
        Result.load(path)


# Pictures and studies.


def test_pictures_show_the_summary(drug):
    whole = run("drug", "trials")
    for figure, metrics in ((plots.curves(drug), METRICS), (plots.boxes(drug), METRICS)):
        assert "quantiles within 0.1 %" in figure.get_suptitle()
        assert len(figure.axes) == len(metrics)
        plt.close(figure)
    figure = plots.boxes(drug)
    for axis, metric in zip(figure.axes, METRICS, strict=True):
        shown = [line.get_ydata() for line in axis.get_lines()]
        for policy in drug.policies:
            final = whole.final(policy, metric)
            for number in (np.median(final), np.mean(final), final.min(), final.max()):
                assert any(np.isclose(y, number, rtol=2 * ACCURACY, atol=0).any() for y in shown if len(y))
    plt.close(figure)


def test_boxes_have_a_panel_for_every_risk():
    summary, whole = run("two risks"), run("two risks", "trials")
    figure = plots.boxes(summary)
    assert len(figure.axes) == 4
    for j, axis in enumerate(figure.axes[2:]):
        black = {
            float(y[0]) for line in axis.get_lines() if line.get_color() == INK and len(y := line.get_ydata()) == 2
        }
        for policy in summary.policies:
            # Counts below 1,024 lose nothing.
            assert any(y == pytest.approx(np.median(whole.unsafe_by_risk(policy)[:, j]), rel=1e-12) for y in black)
    plt.close(figure)


def test_a_study_says_what_is_kept():
    document = {"instances": ["drug-trial"], "policies": ["docb"], "horizon": 50, "trials": 4, "keep": "summary"}
    result = Study.from_dict(document).run()[0]
    assert result.same_trials(simulate(DRUG, "docb", horizon=50, trials=4, keep="summary"))
    assert Study.from_dict({**document, "keep": "trials"}).run()[0].keep == "trials"


# Refusals.


@pytest.mark.parametrize(
    "ask",
    [
        lambda result: result.of("docb"),
        lambda result: result.final("docb"),
        lambda result: result.curve("docb", "unsafe_plays"),
        lambda result: result.unsafe_by_risk("docb"),
        lambda result: result.per_trial(),
    ],
    ids=["of", "final", "curve", "unsafe_by_risk", "per_trial"],
)
def test_single_trials_are_gone(drug, ask):
    with refused('keeps a summary of its 60 trials, not each of them; simulate it again with keep="trials"'):
        ask(drug)


def test_unknown_names_are_refused(drug):
    with refused('the result has no policy "dcob"; did you mean "docb"?'):
        drug.compare("docb", "dcob")
    with refused('the result has no policy "dcob"; did you mean "docb"?'):
        drug.quantiles("dcob")
    with refused('unknown metric "plays"'):
        drug.compare("docb", "tsbu", "plays")
    with refused('unknown metric "plays"'):
        drug.mean("docb", "plays")


@pytest.mark.parametrize("keep", ["trials", "summary"])
@pytest.mark.parametrize("levels", [(0.5, 1.5), (-0.1,), (math.nan,)])
def test_levels_of_quantiles(keep, levels):
    with refused("the levels of quantiles must lie in [0, 1]"):
        run("one trial", keep).quantiles("docb", "regret", levels)


def test_what_can_be_kept():
    with refused('keep must be "trials" or "summary", got \'all\'', SimulationError):
        run("drug", "all")
    with refused("a summary has at most 2,000 checkpoints, got 2,001; ask for fewer", SimulationError):
        run("drug", horizon=3_000, checkpoints=range(1, 2_001))
