"""What the comparison of libraries says: its statistics, its tables, and what becomes of a library that fails."""

import json
import math
import subprocess
import sys

import pytest

from peers import environments, libraries, measure, tables
from peers.problem import BAYES_UCB, KL_UCB, POLICIES, UCB1

OURS = tables.Measured("safebandit", "0.1", UCB1, [3e6, 1e6, 2e6], [10.0, 14.0, 12.0, 12.0])
SCRIPT = tables.Measured("NumPy script", "2.4", UCB1, [500_123.0], [11.0, 13.0])
LATE = tables.Measured("NumPy script", "2.4", KL_UCB, [1_234.0], [5.0, 7.0, 6.0])


def test_speeds_are_medians_and_regrets_means_with_their_standard_error():
    assert (OURS.speed, OURS.regret) == (2e6, 12.0)
    assert OURS.error == pytest.approx(math.sqrt(8 / 3) / 2)
    assert math.isnan(OURS._replace(regrets=[1.0]).error)
    higher = SCRIPT._replace(regrets=[12.0, 16.0])
    assert tables.apart(higher, OURS) == pytest.approx(2 / math.sqrt(4 + 2 / 3))


@pytest.mark.parametrize(
    ("number", "text"), [(1_234_567, "1,230,000"), (98.76, "98.8"), (4_321.9, "4,320"), (1.0, "1.00"), (0.0, "0")]
)
def test_numbers_have_three_digits(number, text):
    assert tables.round_off(number) == text


def test_the_long_table_orders_by_policy_and_compares_with_ours():
    rows = tables.long_rows([LATE, OURS, SCRIPT])
    assert [row[:4] for row in rows] == [
        [UCB1, "safebandit 0.1", "2,000,000", "1.0"],
        [UCB1, "NumPy script 2.4", "500,000", "4.0"],
        [KL_UCB, "NumPy script 2.4", "1,230", ""],
    ]
    assert [row[4:] for row in rows] == [["12.0 ± 0.8", "", "4"], ["12.0 ± 1.0", "+0.0", "2"], ["6.0 ± 0.6", "", "3"]]


def test_the_short_table_has_a_row_per_library_and_says_who_failed():
    page = tables.short_page([OURS, SCRIPT, LATE], {"river": "cannot be installed: a | b"}, "today.")
    lines = page.splitlines()
    assert lines[0] == "| library | UCB1 | Thompson | KL-UCB | BayesUCB | BayesUCB flat | trials |"
    assert lines[2] == "| safebandit 0.1 | 2,000,000 (12 ± 1) | – | – | – | – | 4 |"
    assert lines[3] == "| NumPy script 2.4 | 500,000 (12 ± 1) | – | 1,230 (6 ± 1) | – | – | 2 to 3 |"
    assert lines[4] == "| river cannot be installed: a \\| b |  |  |  |  |  |  |"
    assert lines[-1] == "today."


def test_the_long_page_has_formulas_and_notes():
    page = tables.long_page([OURS], {"river": "cannot be played: no"}, "today.")
    assert f"- {BAYES_UCB}: {POLICIES[BAYES_UCB]}" in page
    assert f"- river: {libraries.RIVER.note}" in page
    assert "- river cannot be played: no" in page


def test_the_readme_keeps_all_but_what_is_between_its_marks():
    page = f"before\n{tables.START}\nold\n{tables.END}\nafter\n"
    assert tables.put_between_marks((environments.ROOT / "README.md").read_text(encoding="utf-8"), "")
    assert tables.put_between_marks(page, "new\n") == f"before\n{tables.START}\nnew\n{tables.END}\nafter\n"


@pytest.mark.parametrize(
    "page", ["none", f"{tables.END} {tables.START}", f"{tables.START} {tables.START} {tables.END}"]
)
def test_a_page_without_its_marks_is_refused(page):
    with pytest.raises(ValueError, match="needs the lines <!-- peers -->"):
        tables.put_between_marks(page, "new")


def test_a_library_that_cannot_be_installed_or_played_is_named_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path)
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("not a requirement\n", encoding="utf-8")
    broken = libraries.RIVER._replace(name="broken", requirements=str(wanted))
    missing = libraries.NUMPY._replace(name="missing", key="nobody")
    told = []
    measured, failures = measure.measure(
        [broken, missing],
        horizon=10,
        turns=2,
        progress=lambda what, done: told.append((what, done)),
    )
    assert measured == []
    assert failures["broken"].startswith("cannot be installed: ")
    assert failures["missing"].startswith("cannot be played: ")
    assert "nobody" in failures["missing"]
    assert ("missing, turn 2 of 2", 0) not in told
    assert sum(done for _, done in told) == 0


def test_an_environment_is_kept_until_its_requirements_change(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path)
    commands = []

    def run(*command):
        commands.append(command)
        (tmp_path / "river").mkdir(exist_ok=True)

    monkeypatch.setattr(environments, "_run", run)
    wanted = tmp_path / "wanted.txt"
    library = libraries.RIVER._replace(requirements=str(wanted))
    for pins, expected in (("a==1\n", 2), ("a==1\n", 2), ("a==2\n", 4)):
        wanted.write_text(pins, encoding="utf-8")
        assert environments.python_for(library) == tmp_path / "river" / "bin" / "python"
        assert len(commands) == expected


@pytest.mark.parametrize("library", libraries.LIBRARIES.values())
def test_every_library_has_its_player_and_pinned_requirements(library):
    assert (environments.HERE / f"play_{library.key}.py").is_file()
    assert set(library.trials) <= set(POLICIES)
    if library.requirements is not None:
        pins = (environments.HERE / "requirements" / library.requirements).read_text(encoding="utf-8").splitlines()
        assert library.key in [pin.split("==")[0].lower() for pin in pins]
        assert all(pin.count("==") == 1 and "://" not in pin for pin in pins)


def test_the_comparison_runs(tmp_path):
    command = [sys.executable, "-m", "peers", "--only", "numpy", "--horizon", "60", "--trials", "3", "--turns", "2"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, cwd=environments.HERE.parent, timeout=600
    )
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))
    assert [row["policy"] for row in kept["measured"]] == list(POLICIES)
    assert all(len(row["speeds"]) == 2 and len(row["regrets"]) == 6 for row in kept["measured"])
    # New trials in every turn.
    assert all(row["regrets"][:3] != row["regrets"][3:] for row in kept["measured"])
    assert "Thompson" in done.stdout
    assert "T = 60" in (tmp_path / "peers.md").read_text(encoding="utf-8")
