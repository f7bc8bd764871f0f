"""Users' text is shown as it is, by every command: brackets are no markup, colons no emoji, dollars no mathematics."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import safebandit.cli
from safebandit import Instance, simulate
from safebandit.core.policies import POLICIES

from .helpers import COMMAND

NASTY = ("b [/x]", "5 [mg] :pill:", "[red]c[/red]")
FLAGS = ["--mu", ".3,.5,.6", "--nu", ".1,.2,.4", "--alpha", ".3", "--arms", ",".join(NASTY)]
TWO = ["--nu", ".1,.1,.1", "--risks", "[bold]tox,$\\nausea$"]
SMALL = ["--policy", "docb", "--horizon", "20", "--trials", "2"]


def plain(text):
    return " ".join(text.split())


def test_simulate_and_show(tmp_path, command):
    out = tmp_path / "[out]"
    done = command("simulate", *FLAGS, *TWO, *SMALL, "--out", str(out))
    assert done.status == 0, done.err
    shown = command("show", str(out / "result.parquet"))
    for text in (done.out, shown.out):
        for word in (*NASTY, "[bold]tox", "$\\nausea$"):
            assert word in plain(text)
    assert str(out / "curves.png") in done.err
    svg = (out / "boxes.svg").read_text(encoding="utf-8")
    assert "unsafe plays, $\\nausea$, at round 20" in svg


def test_the_name_of_a_data_file_is_no_mathematics(tmp_path, command):
    path = tmp_path / "cost [$\\frac$] [b].csv"
    path.write_text("arm,reward,risk\n[/x],1,0\nb,0,0\n")
    done = command("simulate", "--data", str(path), "--alpha", ".2", *SMALL, "--out", str(tmp_path / "out"))
    assert done.status == 0, done.err
    assert "cost [$\\frac$] [b], alpha 0.2" in done.out
    assert "[/x]" in done.out
    assert (tmp_path / "out" / "curves.png").is_file()
    missing = command("simulate", "--data", "[b].csv", "--alpha", ".2", cwd=tmp_path)
    assert missing.err == "InstanceError: there is no file [b].csv\n"


def test_a_terminal_that_lacks_a_letter_shows_its_number(tmp_path):
    file = simulate(Instance.bernoulli([0.5], [0.1], 0.2, arms=["größe"]), "docb", horizon=5, trials=2).save(
        tmp_path / "x.parquet"
    )
    done = subprocess.run(
        [*COMMAND, "show", str(file)], capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6\\xdfe" in done.stdout


def test_policies_and_instances(command):
    text = command("policies").out
    for entry in POLICIES.values():
        for term in re.findall(r"\[[^]]*\]", entry.formula):
            # A long formula is folded, word by word.
            assert all(word in text for word in term.split())
    assert "[" in POLICIES["joint-kl"].formula


def test_live_trials(tmp_path, command):
    db = ["--db", str(tmp_path / "t.db")]
    settings = ["--arms", ",".join(NASTY), "--alpha", ".3", "--policy", "docb", "--title", "[/b] :pill:"]
    new = command("trial", "new", "t", *settings, *db)
    assert new.status == 0, new.err
    command("trial", "ask", "t", "[/u]", "--actor", "[i]me", *db)
    for name, words in (
        ("list", ["[/b] :pill:"]),
        ("status t", ["[/b] :pill:", *NASTY]),
        ("explain t", NASTY),
        ("explain t [/u]", ["[/u]", "[i]me", *NASTY]),
        ("log t", ["[/u]", "[i]me"]),
        ("rehearse t --mu .3,.5,.6 --nu .1,.2,.4 --units 20 --times 2", NASTY),
    ):
        done = command("trial", *name.split(), *db)
        assert done.status == 0, done.err
        for word in words:
            assert word in plain(done.out), name


def test_keys(tmp_path, command):
    db = ["--db", str(tmp_path / "t.db")]
    command("key", "new", "[/desk] :pill:", *db)
    assert "[/desk] :pill:" in command("key", "list", *db).out


@pytest.mark.parametrize("path", sorted(Path(safebandit.cli.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_no_command_has_a_console_of_its_own(path):
    text = path.read_text(encoding="utf-8")
    assert "from_markup" not in text
    assert path.stem == "show" or "Console(" not in text
