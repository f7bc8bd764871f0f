"""The script that writes what the docs show of the arena: its tables against plain numbers, its marks, its pages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from safebandit.core.policies import recommended
from safebandit.studies.arena import run_arena

ROOT = Path(__file__).resolve().parents[2]
SOME = ["drug-trial-21", "dominated-two", "all-safe"]


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("measure_arena", ROOT / "tools" / "measure_arena.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def arena():
    # The smallest sizes with what the pages speak of.
    return run_arena(SOME, ["docb", "safe-ids"], units=[36, 400], trials=8)


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_table_by_size_says_what_the_recommended_policy_comes_to(script, arena):
    _, _, *rows = cells(script.by_size(arena))
    assert [row[:2] for row in rows] == [[units, f"`{recommended(int(units))}`"] for units in ("36", "400")]
    for row, board in zip(rows, arena.boards, strict=True):
        finals = {one.task.entry.name: one.result.final("safe-ids").mean() for one in board.standings}
        base = {one.task.entry.name: one.result.final("tsbu").mean() for one in board.standings}
        ratio = np.exp(np.mean([np.log(finals[name] / base[name]) for name in SOME]))
        assert float(row[2].split(" ± ")[0]) == pytest.approx(ratio, abs=0.006)
        # Two of five and two of three arms are unsafe, and none of the third instance.
        plays = [one.result.final("safe-ids", "unsafe_plays").mean() / board.units for one in board.standings]
        assert float(row[3].split(" ± ")[0]) == pytest.approx((plays[0] * 5 / 2 + plays[1] * 3 / 2) / 2, abs=0.006)


def test_standard_errors_are_those_of_trials(script, arena):
    board = arena.boards[0]
    shares = [one.result.final("docb", "unsafe_plays") / one.equal.unsafe_plays for one in board.standings[:2]]
    by_trial = (shares[0] + shares[1]) / 2
    assert script.unsafe_share(board, "docb").reach == pytest.approx(2 * by_trial.std(ddof=1) / np.sqrt(8))
    # Of one instance, the delta method by hand.
    (alone,) = run_arena(SOME[:1], ["docb"], units=36, trials=8).boards
    (one,) = alone.standings
    mine, base = one.result.final("docb"), one.result.final("tsbu")
    ratio = mine.mean() / base.mean()
    expected = 2 * (mine - ratio * base).std(ddof=1) / base.mean() / np.sqrt(8)
    assert script.regret_ratio(alone, "docb") == pytest.approx((ratio, expected))
    assert script.regret_ratio(alone, "tsbu") == (1.0, 0.0)


def test_every_policy_has_a_row_and_who_did_not_play_says_so(script, arena):
    head, _, *rows = cells(script.by_policy(arena, script.unsafe_cell))
    assert head == ["policy", "36 units", "400 units"]
    assert {row[0] for row in rows} == {"`tsbu`", "`docb`", "`safe-ids`"}
    assert all(re.fullmatch(r"\d\.\d\d ± \d\.\d\d", cell) for row in rows for cell in row[1:])
    best = [board.leaderboard[0].policy for board in arena.boards]
    _, _, *rows = cells(script.by_policy(arena, script.regret_cell))
    for column, policy in enumerate(best, start=1):
        assert [row[0] for row in rows if row[column].startswith("**")] == [f"`{policy}`"]


def test_where_the_recommended_policy_fails_is_found(script, arena, monkeypatch):
    found = {(one.units, one.instance) for one in script.failures(arena)}
    expected = set()
    for one in arena.standings:
        scores = one.scores
        best = min(scores[label].mean.value for label in script.RIVALS if label in scores)
        share = scores["safe-ids"].unsafe_share
        if scores["safe-ids"].mean.value > 1.05 * best or (share is not None and share >= 1):
            expected.add((one.task.units, one.task.entry.name))
    assert found == expected
    # Nobody has less than a hundredth of the baseline's regret: everyone fails at that.
    monkeypatch.setattr(script, "MOST_REGRET", 0.01)
    assert len(list(script.failures(arena))) == len(arena.standings)
    monkeypatch.setattr(script, "HELD_UP_TO", 1)
    assert script.failures_table(arena) == "There is no such instance."


def test_the_headline_names_the_size(script, arena):
    assert re.search(r"In a trial of 400 patients `safe-ids`.* equal randomisation to 160\.", script.headline(arena))


def test_text_between_marks_is_replaced_and_marks_must_be_there(script):
    page = "a\n<!-- one -->\nold\nlines\n<!-- /one -->\nb\n"
    assert script.marked(page, "one", "new") == "a\n<!-- one -->\nnew\n<!-- /one -->\nb\n"
    with pytest.raises(SystemExit, match="one pair of marks"):
        script.marked(page, "other", "new")


def test_the_pages_have_what_the_script_writes(script):
    for page, names in script.PARTS.items():
        text = page.read_text(encoding="utf-8")
        for name in names:
            (part,) = re.findall(rf"<!-- {name} -->\n(.+?)<!-- /{name} -->", text, flags=re.DOTALL)
            assert part.strip()
            if name == "by-size":
                _, _, *rows = cells(part.partition("\n\n")[0])
                assert [row[:2] for row in rows] == [
                    [f"{units:,}", f"`{recommended(units)}`"] for units in script.TRIALS
                ]
