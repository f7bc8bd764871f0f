"""A design in plain English, for the protocol of a trial: rules, tables, characteristics, references; as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from safebandit.core.policies import POLICIES, policy_from_text
from safebandit.core.selection.words import says as selection_says
from safebandit.trials.decision_table import DecisionTable, decision_tables
from safebandit.trials.design_words import FLAT, factors_words, stopping_sentences
from safebandit.trials.strata import stratum_names
from safebandit.version import __version__

if TYPE_CHECKING:
    from safebandit.trials.design import Design

# What Markdown would take for its own.
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
# The same in words of the program's own, which name parameters in backticks.
_MARKS = re.compile(r"([*<>|])")
PAPER = (
    "T. Chen, A. Gangrade, V. Saligrama: Strategies for Safe Multi-Armed Bandits with Logarithmic Regret and Risk "
    "(ICML 2022): the limit of risk inside the rule that gives arms."
)


def protocol(design: Design, *, characteristics: str = "") -> str:
    """The design as a text in Markdown; `characteristics` is a section of it, written elsewhere."""
    sections = [
        f"# {plain(design.title or 'Trial design')}",
        _section("Question", _question(design)),
        _section("Who gets which arm", _allocation(design)),
        _section("Looks at the data", _looks(design)),
        _section("When the trial stops", _stopping(design)),
        _section("What is selected", _selection(design)),
        _section("What nobody does alone", _second_person(design)) if design.second_person else "",
        "## Decision tables\n\n" + "\n\n".join([*_of_whom(design), *map(_table, decision_tables(design))]),
        characteristics,
        _section("Software and references", _references(design)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def as_page(text: str, title: str) -> str:
    """The protocol as a page of HTML that stands alone; letters that mean something there mean nothing."""
    from html import escape

    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    style = (
        "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
        "table{border-collapse:collapse;margin:1rem 0;font-size:.9em;display:block;overflow-x:auto}"
        "th,td{border:1px solid #bbb;padding:.2em .6em;text-align:left}th{background:#f2f2f2}"
        "@media print{body{margin:0;max-width:none}h2{break-after:avoid}tr{break-inside:avoid}}"
    )
    head = f'<meta charset="utf-8"><title>{escape(title or "Trial design")}</title><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body><main>\n{body}</main></body></html>\n'


def plain(text: str) -> str:
    """What a user wrote, as Markdown shows it letter by letter."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _section(title: str, sentences: Iterator[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {sentence}" for sentence in sentences)


def _table(table: DecisionTable) -> str:
    return table.to_markdown(plain)


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names))


def _question(design: Design) -> Iterator[str]:
    order = "doses in this order, the lowest first" if design.ordered else "in no order"
    yield f"{len(design.arms)} arms, {order}: {_names(design.arms)}."
    if design.control is not None:
        floor = f", and has a chance of at least {design.control_floor:g} wherever the policy decides and permits it"
        yield f"The control is {plain(design.control)}{floor if design.control_floor else ''}."
    for risk, limit in zip(design.risks, design.limits, strict=True):
        yield f"The mean of the risk “{plain(risk)}” is tolerated up to {limit:g}: an arm above that is unsafe."
    if not design.rewarded:
        yield "No efficacy is measured: the trial looks for a dose by its risk alone."
    elif design.least_reward is not None:
        yield f"A mean reward of at least {design.least_reward:g} is wanted."
    yield f"At most {design.units} units are given an arm."
    if design.ids:
        yield f"The id of a unit is of the form {plain(design.ids)}."
    if design.prior != FLAT:
        yield "Credible intervals, which decide nothing, are from the prior Beta({:g}, {:g}).".format(*design.prior)


def _second_person(design: Design) -> Iterator[str]:
    says = {
        "amend": "An amendment",
        "correct": "A correction after the trial has ended",
        "void": "To void a unit after the trial has ended",
        "give_up": "To give a unit up after the trial has ended",
        "unseal": "To read before the end what is concealed until then",
    }
    for request in design.second_person:
        yield f"{says[request]} is proposed by one person and approved by another; both stand in the log."


def _of_whom(design: Design) -> Iterator[str]:
    """Whose units the tables count, where that does not go without saying."""
    if design.strata:
        yield (
            "Which arm comes next is told by the units of one stratum, whichever it is; rules and the selection by the "
            "units of all strata."
        )


def _allocation(design: Design) -> Iterator[str]:
    if design.strata:
        yield (
            f"Units are told apart before they get an arm, by {plain(factors_words(design))}: "
            f"{len(stratum_names(design.strata))} strata. What follows here is done in each stratum by itself, by what "
            "is known of its own units."
        )
    if design.cohort > 1:
        waits = "; a cohort begins when every outcome of those before is known" if design.waits else ""
        yield f"Units come in cohorts of {design.cohort}, of one arm each{waits}."
    elif design.waits:
        yield "A unit is given an arm when every outcome of those before is known."
    if design.first is not None:
        yield f"The first {'cohort gets' if design.cohort > 1 else 'unit gets'} {plain(design.first)}."
    if design.burn_in:
        yield f"The first {design.burn_in} units get, at random, one of the arms that were given least often."
    if design.steps:
        levels = "one level" if design.steps == 1 else f"{design.steps} levels"
        yield (
            f"No unit gets an arm more than {levels} above the highest that was given, nor an arm for the first time "
            f"before {design.known_below} outcomes are known of the one below it."
        )
    if design.climb:
        yield (
            "No unit gets an arm above one whose chance to be safe, from a flat prior, is below "
            f"{design.climb:g} once its outcomes are known."
        )
    if design.upwards:
        yield "An arm that is not permissible excludes those above it."
    yield _policy_words(design)
    if not design.waits:
        yield (
            f"Of an arm no more units may wait for an outcome than are known, or {design.pending_cap} where that is "
            "more; meanwhile it is not given."
        )
    lost = "as harm" if design.lost == "harm" else "as nothing"
    yield f"The risk of a unit that is given up is counted {lost}."


def _policy_words(design: Design) -> str:
    """What the policy is, by the words of the catalogue or of its class."""
    name = design.policy.partition(":")[0]
    if name in POLICIES:
        words, formula = inspect.getdoc(POLICIES[name].constructor) or "", POLICIES[name].formula
        return f"Otherwise the policy `{design.policy}` decides. {_first(words)} In short: {_own(formula)}."
    words = inspect.getdoc(policy_from_text(design.policy)) or ""
    return f"Otherwise the policy `{design.policy}` decides. {_first(words)}"


def _first(words: str) -> str:
    """The first paragraph, in one line."""
    return _own(words.split("\n\n", maxsplit=1)[0])


def _own(words: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(words.split()))


def _looks(design: Design) -> Iterator[str]:
    times = design.look_times().tolist()
    if len(times) == design.units:
        yield "The data are looked at after every unit whose outcomes are known."
    elif len(times) <= 12:
        yield f"The data are looked at when the outcomes of {', '.join(map(str, times))} units are known."
    else:
        yield (
            f"The data are looked at when the outcomes of {times[0]}, {times[1]} and so on up to {times[-1]} units are "
            f"known, {len(times)} times."
        )
    yield "At a look the rules below are asked, in their order; nothing else is done with the data."


def _stopping(design: Design) -> Iterator[str]:
    for sentence in stopping_sentences(design):
        # In it are names of arms and risks, which users wrote.
        yield plain(sentence)
    if design.strata:
        yield "Rules are about the units of all strata together, and so is the number of units."
        yield "A stratum in which no arm is permissible gives none, and does not end the trial."
        yield f"It ends when {design.units} units are known."
    else:
        yield "The trial ends where no arm is permissible and no outcome is awaited."
        yield f"It ends when {design.units} units are known, and where its policy says that the question is answered."
    yield "Then no unit is given an arm. Outcomes that come later are taken, and a selection that they change is shown."


def _selection(design: Design) -> Iterator[str]:
    yield "Nothing is selected." if design.select is None else plain(selection_says(design.select, design))


def _references(design: Design) -> Iterator[str]:
    name = design.policy.partition(":")[0]
    source = POLICIES[name].source if name in POLICIES else _source_of(policy_from_text(design.policy))
    if source:
        yield f"Policy `{name}`: {_own(source)}."
    yield PAPER
    yield (
        f"safebandit {__version__}. The tables above were found by asking the program that decides; the design has the "
        f"hash {design.digest[:16]}."
    )


def _source_of(policy: Any) -> str:
    """The first line of the file of a family of policies, which names its source."""
    words = inspect.getdoc(inspect.getmodule(type(policy))) or ""
    return words.partition("\n")[0].removesuffix(".")
