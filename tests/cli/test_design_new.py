"""`safebandit design new` and `show`: a file to start from, and what a file says."""

from __future__ import annotations

import json

import pytest

from safebandit.trials.templates import KINDS, template


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_file_is_shown(kind, tmp_path, command):
    made = command("design", "new", "dose.toml", "--kind", kind, cwd=tmp_path)
    assert (made.status, made.out) == (0, "")
    assert (tmp_path / "dose.toml").read_text(encoding="utf-8") == template(kind)
    shown = command("design", "show", "dose.toml", cwd=tmp_path)
    assert (shown.status, shown.err) == (0, "")
    for word in ("title", "arms", "policy", "select", "scenario", "simulate  10,000 trials, seed 1"):
        assert word in shown.out
    document = json.loads(command("design", "show", "dose.toml", "--json", cwd=tmp_path).out)
    assert document["simulate"] == {"trials": 10_000, "seed": 1}
    assert document["scenario"][0]["nu"]
    assert [path.name for path in tmp_path.iterdir()] == ["dose.toml"]


def test_users_text_is_shown_as_it_is(tmp_path, command):
    (tmp_path / "x.toml").write_text('arms = ["5 [mg] :pill:", "[red]b"]\nalpha = 0.3\nunits = 9\ntitle = "[/x]"\n')
    shown = command("design", "show", "x.toml", cwd=tmp_path)
    assert shown.status == 0
    assert "5 [mg] :pill:, [red]b" in shown.out
    assert "[/x]" in shown.out


def test_nothing_is_overwritten_unless_told(tmp_path, command):
    path = tmp_path / "dose.toml"
    path.write_text("mine")
    refused = command("design", "new", "dose.toml", cwd=tmp_path)
    assert (refused.status, refused.out) == (2, "")
    assert "dose.toml is there already; choose another name, or replace it with --force" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert path.read_text() == "mine"
    assert command("design", "new", "dose.toml", "--force", cwd=tmp_path).status == 0
    assert path.read_text(encoding="utf-8") == template("phase-1-2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "dose.toml", "--kind", "phase1-2"], 'unknown kind of design "phase1-2"; did you mean "phase-1-2"?'),
        (["new", "."], "a file is written, and . is a folder"),
        (["show", "no.toml"], "No such file or directory: no.toml"),
        (["show", "bad.toml"], "bad.toml, line 2, alpha: alpha must lie in [0, 1], got 3"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, message, tmp_path, command):
    (tmp_path / "bad.toml").write_text("arms = 2\nalpha = 3\nunits = 9\n")
    done = command("design", *arguments, cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]
