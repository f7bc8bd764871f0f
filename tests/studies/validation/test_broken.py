"""A formula that is wrong makes validation fail; so do other bits on the same platform, and changed files."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import safebandit
from safebandit.studies.validation import doses, identity, indices, installation, theory
from safebandit.studies.validation.check import FAILS, NOTED, PASSES, Extent


def verdicts(checks):
    return {check.name: check.run(Extent()).verdict for check in checks}


def test_a_wrong_boundary_is_found(monkeypatch):
    def wrong(target, safe, toxic):
        return 0.8 * target, 1.2 * target

    monkeypatch.setattr(doses, "optimal_boundaries", wrong)
    found = verdicts(check for check in doses.CHECKS if "a rate of" in check.name)
    assert set(found.values()) == {FAILS}


def test_a_wrong_skeleton_is_found(monkeypatch):
    right = doses.skeleton_of
    monkeypatch.setattr(doses, "skeleton_of", lambda *given: right(*given) + 2e-4)
    found = verdicts(check for check in doses.CHECKS if "skeleton" in check.name)
    assert set(found.values()) == {FAILS}


def test_a_bound_without_its_risk_is_found(monkeypatch):
    right = theory.bounds_of
    monkeypatch.setattr(theory, "bounds_of", lambda instance: right(instance.with_alpha(instance.alpha + 0.005)))
    found = verdicts(theory.CHECKS)
    assert list(found.values()).count(FAILS) >= 4


def test_an_index_of_another_round_is_found(monkeypatch):
    right = indices.kl_upper_index
    check = indices._check("docb", "reward index", lambda view: view.reward_index, lambda view, t: right(view, t + 1))
    assert check.run(Extent()).verdict == FAILS
    # A trial that shows no index agrees with nothing.
    empty = indices._check("docb", "reward index", lambda view: None, right)
    assert empty.run(Extent()).verdict == FAILS


def test_an_edited_formula_is_found_where_it_is_compiled(tmp_path):
    """The sources are copied, one number of a formula is changed, and the copy is asked to validate itself."""
    source = Path(safebandit.__file__).parent
    shutil.copytree(source, tmp_path / "safebandit", ignore=shutil.ignore_patterns("__pycache__"))
    edited = tmp_path / "safebandit/core/sequences.py"
    text = edited.read_text(encoding="utf-8")
    changed = text.replace("- log_beta(a, b)", "- log_beta(a, b) + 0.1")
    assert changed != text
    edited.write_text(changed, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", "from safebandit.cli import main; main()", "validate", "sequences"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "report")], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1, done.stderr
    assert "fails: sequences, mixture of likelihoods" in done.stdout
    # Only what goes by that formula fails.
    assert "bets" not in done.stdout


def test_other_bits_fail_on_the_same_platform_and_are_noted_on_another(monkeypatch):
    right = identity.kept()
    simulation = identity.CHECKS[0]._replace(expected="0" * 32)
    monkeypatch.setattr(identity, "kept", lambda: {**right, "platform": identity.this_platform()})
    assert simulation.run(Extent()).verdict == FAILS
    other = {**identity.this_platform(), "C library": "glibc 9.99"}
    monkeypatch.setattr(identity, "kept", lambda: {**right, "platform": other})
    found = simulation.run(Extent())
    assert found.verdict == NOTED
    assert found.excuse.endswith(f"C library is {identity.this_platform()['C library']}, not glibc 9.99")
    # On two threads it is the same, wherever it is.
    assert identity.CHECKS[1].run(Extent()).verdict == PASSES


class Installed(metadata.Distribution):
    """A distribution in a folder, by the text of its RECORD."""

    def __init__(self, folder, record):
        self.folder, self.record = folder, record

    def read_text(self, filename):
        return self.record if filename == "RECORD" else None

    def locate_file(self, path):
        return self.folder / path


@pytest.fixture
def installed(tmp_path):
    lines = []
    (tmp_path / "safebandit").mkdir()
    for name in ("a.py", "b.py"):
        path = tmp_path / "safebandit" / name
        path.write_text(f"# {name}", encoding="utf-8")
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"safebandit/{name},sha256={digest},{path.stat().st_size}")
    return Installed(tmp_path, "\n".join(lines))


def test_changed_missing_and_added_files_are_found(installed):
    assert installation.changed_files(installed) == []
    (installed.folder / "safebandit/a.py").write_text("# edited", encoding="utf-8")
    (installed.folder / "safebandit/b.py").unlink()
    (installed.folder / "safebandit/c.py").write_text("", encoding="utf-8")
    found = installation.changed_files(installed)
    assert found == ["safebandit/a.py was changed", "safebandit/b.py is missing", "c.py was added"]
