"""The report: what it holds, how a change shows, and what the command says."""

import contextlib
import io
import json
import re
from types import SimpleNamespace

import pytest

from safebandit.cli import app
from safebandit.errors import ResultError
from safebandit.studies.validation import theory
from safebandit.studies.validation.check import Obtained
from safebandit.studies.validation.registry import GROUPS
from safebandit.studies.validation.run import validate
from safebandit.studies.validation.signing import hash_of, problems_of, read_document


def run(*arguments):
    """The exit status, and what is said on stdout and on stderr."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = app(["validate", *map(str, arguments)], standalone_mode=False)
    return SimpleNamespace(exit_code=status, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("validation")
    done = run("bounds", "sequences", "--prepared-by", "Ada <b>Lovelace</b>", "--out", folder)
    assert done.exit_code == 0, done.stdout
    return folder


def test_the_document_has_every_number_and_what_is_installed(report):
    document = read_document(report / "report.json")
    assert document["summary"]["passes"] == document["summary"]["checks"] == len(document["checks"]) > 20
    names = {"name", "group", "source", "expected", "obtained", "how", "allowed", "verdict"}
    assert all(names <= set(check) for check in document["checks"])
    installed = document["installation"]
    assert {"numpy", "numba", "scipy", "sqlalchemy"} <= set(installed["packages"])
    assert {"system", "machine", "C library", "processor"} <= set(installed["platform"])
    assert document["prepared_by"] == "Ada <b>Lovelace</b>"


def test_the_page_loads_nothing_takes_no_markup_and_carries_the_hash(report):
    page, document = (report / "report.html").read_text(encoding="utf-8"), read_document(report / "report.json")
    assert not re.search(r"(src|href)=[\"']?https?:", page)
    assert "Ada &lt;b&gt;Lovelace" in page
    assert document["sha256"] in page
    assert page.count("✓ passes") == document["summary"]["passes"]
    assert "137.1" in page
    assert "approved by" in page
    assert document["sha256"] in (report / "summary.txt").read_text(encoding="utf-8")


def test_a_report_that_was_changed_is_noticed(report, tmp_path):
    assert run("--check", report / "report.json").exit_code == 0
    document = read_document(report / "report.json")
    document["checks"][0]["obtained"] = 1.0
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    done = run("--check", path)
    assert done.exit_code == 1
    assert "does not give its hash" in done.stdout
    # Whoever also makes a new hash must make the verdict fit, and the page: both are looked at.
    document["sha256"] = hash_of(document)
    assert problems_of(document, report / "report.html") == [
        'the verdict on "drug trial, alpha 0.21: regret per log t, Theorem 1" is passes, and its numbers give fails',
        "report.html beside it does not carry its hash: it is the page of another report",
    ]
    document["checks"][0]["verdict"] = "fails"
    document["sha256"] = hash_of(document)
    assert problems_of(document) == ["its summary does not count the verdicts that it has"]


def test_a_check_that_fails_gives_exit_status_1_and_is_named(tmp_path, monkeypatch):
    broken = theory.CHECKS[0]._replace(compute=lambda _: Obtained(5.0))
    monkeypatch.setitem(GROUPS, "bounds", ((broken, *theory.CHECKS[1:]), "Broken."))
    done = run("bounds", "--out", tmp_path)
    assert done.exit_code == 1
    assert (
        "fails: bounds, drug trial, alpha 0.21: regret per log t, Theorem 1: 137.1 ± 0.0050 expected, 5 obtained"
        in (done.stdout)
    )
    assert "✗ fails" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert run("--check", tmp_path / "report.json").exit_code == 0


def test_json_is_one_document(tmp_path):
    done = run("bounds", "--json", "--out", tmp_path)
    assert json.loads(done.stdout) == read_document(tmp_path / "report.json")
    assert done.stderr == ""


def test_checks_are_listed_and_mistakes_refused(tmp_path):
    assert "137.1" in run("bounds", "--list").stdout
    assert len(json.loads(run("bounds", "--list", "--json").stdout)["checks"]) == len(theory.CHECKS)
    for text, rule in ((None, "there is no file"), ("{}", "is no validation report"), ("[", "is no validation report")):
        path = tmp_path / "report.json"
        if text is not None:
            path.write_text(text, encoding="utf-8")
        with pytest.raises(ResultError, match=rule):
            read_document(path)


def test_progress_is_told_check_by_check():
    told = []
    document = validate(["bounds"], progress=lambda *step: told.append(step))
    total = document["summary"]["checks"]
    assert [step[:2] for step in told] == [(done, total) for done in range(total + 1)]
