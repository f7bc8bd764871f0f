"""Instances from past outcomes: files and tables are counted by hand here, and what cannot be read is refused."""

import re

import numpy as np
import pandas as pd
import pytest

from safebandit import Instance
from safebandit.errors import InstanceError

TABLE = pd.DataFrame(
    {
        "arm": ["low", "high", "low", "low", "high", "low"],
        "reward": [1, 0.5, 0, 1, 1, 1],
        "risk": [0, 1, 0, 1, 0, 0],
        "note": ["kept", "out", "of", "the", "instance", "-"],
    }
)


def refused(text):
    """An InstanceError whose message is one line that holds `text`."""
    return pytest.raises(InstanceError, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def written(table, folder, suffix):
    path = folder / f"past{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    return path


@pytest.fixture(params=["table", ".csv", ".parquet", "text of a path"])
def past(request, tmp_path):
    """The same outcomes from every source."""
    if request.param == "table":
        return TABLE
    if request.param == "text of a path":
        return str(written(TABLE, tmp_path, ".csv"))
    return written(TABLE, tmp_path, request.param)


def test_every_source_gives_the_shares_that_were_seen(past):
    instance = Instance.from_data(past, 0.3)
    # In order of first appearance, not of the alphabet.
    assert instance.arms == ("low", "high")
    assert instance.mu == pytest.approx([0.75, 0.75], abs=1e-12)
    assert instance.nu == pytest.approx([0.25, 0.5], abs=1e-12)
    shares = [{(reward, risk): share for reward, risk, share in rows} for rows in instance.to_dict()["outcomes"]]
    assert shares[0] == pytest.approx({(1, 0): 0.5, (0, 0): 0.25, (1, 1): 0.25})
    assert shares[1] == pytest.approx({(0.5, 1): 0.5, (1, 0): 0.5})
    assert instance.name == ("data" if past is TABLE else "past")


def test_only_outcomes_that_were_seen_are_drawn():
    instance = Instance.from_data(TABLE, 0.3)
    assert set(map(tuple, instance.draw(0, 400, seed=1).tolist())) == {(1, 0), (0, 0), (1, 1)}
    assert set(map(tuple, instance.draw(1, 400, seed=1).tolist())) == {(0.5, 1), (1, 0)}


def test_the_table_that_was_given_is_not_changed():
    before = TABLE.copy()
    Instance.from_data(TABLE.assign(risk=TABLE["risk"].astype(object)), 0.3)
    Instance.from_data(TABLE, 0.3)
    pd.testing.assert_frame_equal(TABLE, before)


def test_names_of_arms_stay_as_they_are_written_in_a_file(tmp_path):
    path = tmp_path / "doses.csv"
    path.write_text("arm,reward,risk\n010,1,0\n10,0,0\n")
    assert Instance.from_data(path, 0.5).arms == ("010", "10")


def test_bits_written_as_truth_values():
    table = pd.DataFrame({"arm": ["a", "a"], "reward": [True, False], "risk": [False, False]})
    assert Instance.from_data(table, 0.5).mu.tolist() == [0.5]


def test_an_arm_with_exactly_the_tolerated_share_of_risks_is_safe():
    # 3 of 10, in two kinds of rows: 0.1 + 0.2 in floating point is above 0.3, the share is not.
    table = pd.DataFrame({"arm": ["a"] * 10, "reward": [0, 1, 1] + [0] * 7, "risk": [1, 1, 1] + [0] * 7})
    assert Instance.from_data(table, 0.3).unsafe_arms.tolist() == []


# Missing risks.

INCOMPLETE = TABLE.assign(risk=[0, 1, np.nan, 1, 0, np.nan])


def test_a_missing_risk_is_refused_unless_something_is_said(tmp_path):
    csv, parquet = (written(INCOMPLETE, tmp_path, suffix) for suffix in (".csv", ".parquet"))
    for data, place in ((INCOMPLETE, "row 3"), (csv, "line 4"), (parquet, "row 3")):
        with refused(f"2 of 6 rows have no risk (first: {place}); a missing risk never counts as safe"):
            Instance.from_data(data, 0.5)


def test_a_missing_risk_dropped():
    instance = Instance.from_data(INCOMPLETE, 0.5, missing_risk="drop")
    assert instance.mu == pytest.approx([1, 0.75], abs=1e-12)
    assert instance.nu == pytest.approx([0.5, 0.5], abs=1e-12)


def test_a_missing_risk_counted_as_the_worst():
    instance = Instance.from_data(INCOMPLETE, 0.5, missing_risk="worst")
    assert instance.mu == pytest.approx([0.75, 0.75], abs=1e-12)
    assert instance.nu == pytest.approx([0.75, 0.5], abs=1e-12)


def test_what_became_of_rows_without_a_risk_is_said_and_kept(tmp_path):
    dropped = Instance.from_data(written(INCOMPLETE, tmp_path, ".csv"), 0.5, missing_risk="drop")
    assert dropped.origin == "past.csv: 6 rows, 2 without a risk dropped (low: 2)"
    worst = Instance.from_data(INCOMPLETE, 0.5, missing_risk="worst")
    assert worst.origin == "6 rows, 2 without a risk counted as risk 1 (low: 2)"
    assert Instance.from_data(TABLE, 0.5).origin == "6 rows"
    assert Instance.from_dict(dropped.to_dict()).origin == dropped.with_alpha(0.6).origin == dropped.origin


def test_dropping_never_loses_an_arm_in_silence():
    table = TABLE.assign(risk=[0, np.nan, 0, 1, np.nan, 0])
    with refused('no row with a risk is left for arm "high"; use missing_risk="worst"'):
        Instance.from_data(table, 0.5, missing_risk="drop")


def test_other_words_for_missing_risks_are_refused():
    with refused('missing_risk must be one of refuse, drop, worst, got "zero"'):
        Instance.from_data(TABLE, 0.5, missing_risk="zero")


# Refusals.


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("reward", [1, np.nan, 0, 1, 1, 1], "every row needs a reward, row 2 has none"),
        ("reward", [1, 0, 0, 1.5, 1, 1], "reward must lie in [0, 1], row 4 has 1.5"),
        ("risk", [0, -0.5, 0, 1, 0, 0], "risk must lie in [0, 1], row 2 has -0.5"),
        ("risk", [0, 0, np.inf, 1, 0, 0], "risk must lie in [0, 1], row 3 has inf"),
        ("risk", [0, "none", 0, 1, 0, 0], "risk must be a number, row 2 has 'none'"),
        ("arm", ["a", "b", None, "a", "b", "a"], "every row needs an arm, row 3 has none"),
    ],
)
@pytest.mark.parametrize("source", ["table", ".csv"])
def test_values_that_make_no_sense(column, values, message, source, tmp_path):
    table = TABLE.assign(**{column: values})
    if source == "table":
        with refused(message):
            Instance.from_data(table, 0.5)
        return
    # In a file people look for a line, and the header is the first.
    with refused(re.sub(r"row (\d)", lambda found: f"line {int(found[1]) + 1}", message)):
        Instance.from_data(written(table, tmp_path, source), 0.5)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"arm": "Arm"}, 'the data have no column "arm"; did you mean "Arm"?'),
        ({"risk": "Risk"}, 'the data have no column "risk"; did you mean "Risk"?'),
        ({"reward": "y"}, 'the data have no column "reward"; known: arm, note, risk, y'),
    ],
)
def test_a_missing_column_and_the_nearest_one(columns, message):
    with refused(message):
        Instance.from_data(TABLE.rename(columns=columns), 0.5)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "empty.csv is empty; it needs the columns arm, reward, risk"),
        ("empty.parquet", b"", "empty.parquet is empty"),
        ("header.csv", b"arm,reward,risk\n", "the data have no rows"),
        ("broken.parquet", b"PAR1 and then nothing", "broken.parquet cannot be read as a table"),
        ("broken.csv", b'arm,reward,risk\n"a,1\n', "broken.csv cannot be read as a table"),
        ("blank.csv", b"\n\n", "blank.csv cannot be read as a table"),
        ("bytes.csv", b"arm,reward,risk\n\xff\xfe,1,0\n", "bytes.csv cannot be read as a table"),
        ("cut.csv", b"arm,reward,risk\na,1,0\na,1\n", "line 3 has 2 fields, the header has 3"),
        ("more.csv", b"arm,reward,risk\n\na,1,0,\n", "line 3 has 4 fields, the header has 3"),
        ("twice.csv", b"arm,reward,risk,risk\na,1,0,1\n", 'the data have 2 columns "risk"'),
    ],
)
def test_files_that_are_no_tables(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with refused(message):
        Instance.from_data(tmp_path / name, 0.5)


def test_a_parquet_file_cut_short(tmp_path):
    path = written(TABLE, tmp_path, ".parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with refused("past.parquet cannot be read as a table"):
        Instance.from_data(path, 0.5)


@pytest.mark.parametrize("name", ["nowhere.csv", "."])
def test_a_path_without_a_file(name, tmp_path):
    with refused("there is no file"):
        Instance.from_data(tmp_path / name, 0.5)


def test_alpha_below_every_risk_that_was_seen():
    with refused('no arm has mean risk <= 0.2 (smallest: 0.25, arm "low")'):
        Instance.from_data(TABLE, 0.2)
    assert Instance.from_data(TABLE, 0.2, allow_infeasible=True).best_arm is None


# Several risks.

DOSES = pd.DataFrame(
    {
        "risk toxicity": [0, 1, 0, 1],
        "arm": ["low", "high", "low", "high"],
        "risk nausea": [0, 0.5, 0.5, 1],
        "reward": [1, 1, 0, 1],
        "headache": [1, 0, 0, 0],
    }
)


@pytest.mark.parametrize("source", ["table", ".csv", ".parquet"])
def test_every_column_that_begins_with_risk_is_a_risk_unless_one_is_called_so(source, tmp_path):
    data = DOSES if source == "table" else written(DOSES, tmp_path, source)
    instance = Instance.from_data(data, [0.3, 0.4])
    assert instance.risks == ("risk toxicity", "risk nausea")
    assert instance.risk_means.tolist() == [[0, 1], [0.25, 0.75]]
    assert instance.unsafe_arms.tolist() == [1]
    assert instance.to_dict()["outcomes"] == [[[0, 0, 0.5, 0.5], [1, 0, 0, 0.5]], [[1, 1, 0.5, 0.5], [1, 1, 1, 0.5]]]
    plain = Instance.from_data(DOSES.assign(risk=DOSES["headache"]), 0.5)
    assert (plain.risks, plain.nu.tolist()) == (("risk",), [0.5, 0.0])


def test_the_risks_that_are_named():
    instance = Instance.from_data(DOSES, 0.6, risks=["headache", "risk nausea"])
    assert instance.risks == ("headache", "risk nausea")
    assert instance.risk_means.tolist() == [[0.5, 0], [0.25, 0.75]]
    assert instance.alpha == (0.6, 0.6)
    alone = Instance.from_data(DOSES, 0.5, risks=["headache"])
    assert (alone.alpha, alone.risks, alone.nu.tolist()) == (0.5, ("headache",), [0.5, 0.0])


def test_a_missing_value_in_any_risk_is_a_missing_risk():
    gaps = DOSES.assign(**{"risk nausea": [0, np.nan, 0.5, np.nan]})
    with refused('2 of 4 rows have no risk "risk nausea" (first: row 2); a missing risk never counts as safe'):
        Instance.from_data(gaps, 0.5)
    worst = Instance.from_data(gaps, 0.5, missing_risk="worst")
    assert worst.risk_means.tolist() == [[0, 1], [0.25, 1]]
    with refused('no row with every risk is left for arm "high"; use missing_risk="worst"'):
        Instance.from_data(gaps, 0.5, missing_risk="drop")
    one_gap = DOSES.assign(**{"risk nausea": [np.nan, 0.5, 0.5, 1]})
    dropped = Instance.from_data(one_gap, 0.5, missing_risk="drop", allow_infeasible=True)
    # As without the gap: the order does not depend on which rows are dropped.
    assert dropped.arms == ("low", "high")
    assert dropped.risk_means.tolist() == [[0, 1], [0.5, 0.75]]
    assert dropped.mu.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("risks", "message"),
    [
        (["risk nauseous"], 'the data have no column "risk nauseous"; did you mean "risk nausea"?'),
        (["headache", "headache"], "names of risks must differ, got headache, headache"),
        (["reward"], 'a risk needs a column of its own, got "reward"'),
        ([], "risks must be a list of names, got []"),
        ("headache", "risks must be a list of names, got 'headache'"),
    ],
)
def test_columns_that_are_no_risks(risks, message):
    with refused(message):
        Instance.from_data(DOSES, 0.5, risks=risks)


def test_values_of_every_risk_are_checked():
    with refused("risk nausea must lie in [0, 1], row 3 has 7.0"):
        Instance.from_data(DOSES.assign(**{"risk nausea": [0, 0, 7.0, 0]}), 0.5)
