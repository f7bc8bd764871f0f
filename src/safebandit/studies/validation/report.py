"""The validation report: a page to sign, the same as JSON, and a summary in a few lines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from safebandit.files import write_text
from safebandit.studies.report import render
from safebandit.studies.validation.check import AT_LEAST, AT_MOST, FAILS, NOTED, PASSES, SAME
from safebandit.studies.validation.signing import HASH, write_document

JSON, PAGE, TEXT = "report.json", "report.html", "summary.txt"


def write_report(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write report.json, report.html and summary.txt, and give back the document with its hash."""
    signed = write_document(folder / JSON, document)
    write_text(folder / PAGE, render("validation.html", report=signed, shown=show, expectation=expectation))
    write_text(folder / TEXT, "\n".join(summary_lines(signed)) + "\n")
    return signed


def show(value: float | str) -> str:
    """A number with the digits that a comparison needs, or a text.

    >>> show(0.5732), show(1846.04), show(2.6e-15), show("all as packed")
    ('0.5732', '1,846.0', '2.6e-15', 'all as packed')
    """
    if isinstance(value, str):
        return value
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:.4f}" if abs(value) < 1 and abs(value) >= 1e-4 else f"{value:.4g}"


def expectation(check: dict[str, Any]) -> str:
    """What a check expects, with what is allowed around it."""
    value, allowed = show(check["expected"]), show(check["allowed"])
    if check["sense"] == SAME:
        return value
    if check["sense"] in (AT_MOST, AT_LEAST):
        return f"{check['sense']} {value}"
    return f"{value} ± {allowed}"


def summary_lines(document: dict[str, Any]) -> list[str]:
    """The report in a few lines, with every check that did not simply pass."""
    counts, made = document["summary"], document["installation"]
    lines = [
        f"safebandit {made['safebandit']}: {document['extent']} validation of {document['date']}",
        f"{counts['checks']} checks: {counts[PASSES]} pass, {counts[NOTED]} noted, {counts[FAILS]} fail",
        chances(counts),
    ]
    for each in document["checks"]:
        if each["verdict"] != PASSES:
            why = f" ({each['excuse']})" if each["excuse"] else ""
            got = f"{expectation(each)} expected, {show(each['obtained'])} obtained"
            lines.append(f"{each['verdict']}: {each['group']}, {each['name']}: {got}{why}")
    return [*lines, f"{made['python']}, {made['platform']['system']} {made['platform']['machine']}",
            f"hash of the report: {document[HASH]}"]  # fmt: skip


def chances(counts: dict[str, Any]) -> str:
    """What chance does to the simulated checks, in words."""
    return (
        f"{counts['simulated']} of them are simulated: a correct program fails one or more with a chance of at most "
        f"{100 * counts['false_alarm']:.2g} %; {counts['beyond_two']} lie beyond two standard errors, where chance "
        f"alone puts about {counts['beyond_two_by_chance']:g}"
    )
