"""Mistakes of the first minutes: each is one line that names the command to type next, and that command exists."""

import re
import shlex

import pytest
from typer.main import get_command

from safebandit.cli import BEGIN, app
from safebandit.cli.next_steps import STEPS, with_next_step

MISTAKES = {
    "simulate": "safebandit instances",
    "simulate --instance drug": "safebandit instances",
    "simulate --instance drug-trial --policy tbsu": "safebandit policies",
    "bounds": "safebandit instances",
    "show results.parquet": "safebandit simulate --instance drug-trial --out results",
    "design run dose.toml": "safebandit design new dose.toml",
    "design show mine.toml": "safebandit design new mine.toml",
    "design run": "safebandit design new dose.toml",
    "trial new knee": "safebandit trial new knee --arms low,high --alpha .2",
    "trial ask knee": 'safebandit trial ask knee "patient 1"',
    "trial status knee": "safebandit trial new knee --arms low,high --alpha .2",
    "db check": "safebandit trial new knee --arms low,high --alpha .2",
    "validate --check report.json": "safebandit validate",
}


@pytest.mark.parametrize(("words", "step"), MISTAKES.items())
def test_a_mistake_names_the_next_command(words, step, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command(*shlex.split(words))
    assert done.status == 2
    assert done.out == ""
    assert done.err.endswith(f"; try: {step}\n")
    assert done.err.count("\n") == 1


def commands_in(text):
    return re.findall(r"safebandit ([a-z]+(?: [a-z]+)?)", text)


@pytest.mark.parametrize("text", [BEGIN, *(step for _, step in STEPS if isinstance(step, str))])
def test_commands_that_are_named_exist(text):
    known = get_command(app).commands
    for words in commands_in(text):
        first, _, second = words.partition(" ")
        assert first in known
        inner = getattr(known[first], "commands", None)
        assert inner is None or second in inner


def test_a_message_that_names_the_command_already_stays_as_it_is():
    message = "the database is of an older version; bring it up to date: safebandit db migrate"
    assert with_next_step(message) == message
    assert with_next_step("alpha must lie in [0, 1], got 2") == "alpha must lie in [0, 1], got 2"
