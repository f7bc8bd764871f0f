"""The pages say what is so: every example runs, generated parts are fresh, every command is described."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from safebandit import Trial
from safebandit.core.policies import policy_from_text, policy_to_text
from safebandit.core.rules import selection_rules, stopping_rules
from safebandit.core.selection import words as selection_words
from safebandit.core.stopping import words as stopping_words

from .core.states import States

ROOT = Path(__file__).resolve().parent.parent
# Pages whose examples have a test of their own.
APART = {"docs/how-to/live.md", "docs/how-to/characteristics.md"}
LINKED = (
    "README.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))),
)


def whole(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", whole(page), flags=re.DOTALL)


PAGES = [page for page in LINKED if page not in APART and blocks(page, "python")]


def test_pages_with_examples_are_found():
    assert {"README.md", "CONTRIBUTING.md", "docs/how-to/guide.md", "docs/explanation/rivals.md"} <= set(PAGES)
    assert all(blocks(page, "python") for page in APART)


@pytest.mark.parametrize("page", PAGES)
def test_python_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": f"example_{Path(page).stem}"}
    assert blocks(page, "python")
    shown = dict(re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", whole(page), re.DOTALL))
    for block in blocks(page, "python"):
        capsys.readouterr()
        exec(compile(block, page, "exec", dont_inherit=True), names)
        if block in shown:
            # Editors cut blanks at the ends of lines.
            assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown[block].splitlines()
    if page == "README.md":
        assert len(shown) == len(blocks(page, "python"))
    if page == "CONTRIBUTING.md":
        result = names["result"]
        # A bound for the largest deviation there is is wider than KL-UCB's: it explores more, and regrets more.
        assert result.final("gaussian").mean() > result.final("docb").mean()
        assert_a_family_like_ours(names)
        assert_rules_like_ours(names)


def assert_a_family_like_ours(names):
    """The new family is simulated, live, explained, written as text, saved and verified."""
    careful, trial, family = names["careful"], names["trial"], names["HarmBudget"]
    # Once the budget is spent, the arm of the smallest mean risk is played: few harms, at a price.
    assert careful.of("careful").unsafe_plays[:, -1].mean() < careful.of("docb").unsafe_plays[:, -1].mean()
    assert trial.explain().table()["harms left"].tolist() == [0.0, 0.0, 0.0]
    assert (
        policy_from_text(trial.settings.policy)
        == policy_from_text(policy_to_text(family(budget=3)))
        == family(budget=3)
    )
    again = Trial.from_json(trial.to_json())
    assert again.verify().holds
    assert [again.ask().arm, again.explain()] == [trial.ask().arm, trial.explain()]


def assert_rules_like_ours(names):
    """The new rules are found by name, say themselves, and are asked in compiled code."""
    stop, choose = names["Losses"](5), names["MostUnits"]()
    assert stopping_rules()["losses"] is names["Losses"]
    assert selection_rules()["most-units"] is names["MostUnits"]
    states = States(50, 3, seed=1)
    expected = (states.plays - states.ones)[:, :, 0].sum(axis=1)
    assert states.measured(stop)[:, 0].tolist() == expected.tolist()
    asked = np.where(states.dropped, -1, states.memory.arms["asked"])
    assert states.selected(choose).tolist() == np.where(states.dropped.all(axis=1), -1, asked.argmax(axis=1)).tolist()
    assert stopping_words.says(stop, states.terms) == "The trial stops once 5 units had no reward."
    assert stopping_words.why(stop, np.array([6.0]), ["a"]) == "units without a reward 6, at least 5"
    assert selection_words.says(choose, states.terms) == "At the end most-units selects an arm, or none."
    assert selection_words.why(choose, 1, None, states.terms) == 'most-units selects "arm 1"'


def test_the_page_of_live_trials_has_examples_that_run(capsys):
    names: dict[str, object] = {"__name__": "example_live"}
    # Those that need a service are held to it by its own tests.
    alone = [block for block in blocks("docs/how-to/live.md", "python") if "Client(" not in block]
    assert alone
    for block in alone:
        exec(compile(block, "docs/how-to/live.md", "exec"), names)
    assert names["rehearsed"].table().loc["units that waited", "mean"] < 1


def test_the_page_of_live_trials_names_every_command_and_shows_a_rehearsal_as_it_is(tmp_path, monkeypatch, capsys):
    from safebandit.cli import main
    from safebandit.cli.trial import trial_app

    page = (ROOT / "docs" / "how-to" / "live.md").read_text(encoding="utf-8")
    known = {command.name or command.callback.__name__.replace("_", "-") for command in trial_app.registered_commands}
    assert set(re.findall(r"`(?:safebandit )?trial ([a-z-]+)", page)) == known
    assert set(re.findall(r"^ +\$? ?safebandit trial ([a-z-]+)", page, flags=re.MULTILINE)) <= known

    monkeypatch.chdir(tmp_path)
    new = re.search(r"^    \$ safebandit (trial new .*)$", page, flags=re.MULTILINE).group(1)
    block = re.search(r"<!-- rehearsal -->\n(.*?)<!-- /rehearsal -->", page, flags=re.DOTALL).group(1)
    first, *shown = (line.removeprefix("    ") for line in block.splitlines())
    for command in (new, first.removeprefix("$ safebandit ")):
        monkeypatch.setattr(sys, "argv", ["safebandit", *shlex.split(command)])
        with pytest.raises(SystemExit):
            main()
    printed = capsys.readouterr().out.splitlines()[1:]
    assert [line.rstrip() for line in printed] == shown


@pytest.mark.parametrize(("place", "most"), [(0, 20), (1, 40), (2, 20), (3, 20)])
def test_a_new_index_or_rule_has_twenty_lines_and_a_new_family_forty(place, most):
    code = [line for line in blocks("CONTRIBUTING.md", "python")[place].splitlines() if line.strip()]
    assert len(code) <= most


def test_the_example_study_is_a_study():
    import tomllib

    from safebandit.simulation.study import Study

    study = Study.from_dict(tomllib.loads(blocks("docs/how-to/guide.md", "toml")[0]))
    assert len(study.instances) == 4


def test_every_command_is_on_the_page():
    from safebandit.cli import app

    def named(typer_app, path):
        for command in typer_app.registered_commands:
            yield f"{path} {command.name or command.callback.__name__.replace('_', '-')}"
        for group in typer_app.registered_groups:
            yield from named(group.typer_instance, f"{path} {group.name or group.typer_instance.info.name}")

    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    commands = list(named(app, "safebandit"))
    assert {"safebandit simulate", "safebandit trial ask", "safebandit trial give-up"} <= set(commands)
    for command in commands:
        assert f"## `{command}`" in page


def test_links_between_pages_lead_somewhere():
    for page in LINKED:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} -> {target}"


def test_every_dependency_says_why_it_is_there():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]
    for requirement in [*project["dependencies"], *extras]:
        name = re.match(r"[\w-]+", requirement).group()
        if name == project["name"]:
            # One extra may take over another.
            continue
        assert re.search(rf"^\|.*\b{name}\b.*\|", page, flags=re.MULTILINE), name


def test_the_citation_is_of_this_version_and_of_the_paper():
    import yaml

    from safebandit import __version__

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["license"] == "MIT"
    (paper,) = citation["references"]
    assert paper["title"] in " ".join(whole("README.md").split())
    assert all(author["family-names"] in whole("README.md") for author in paper["authors"])
