"""Write the page of the last validation, docs/reference/validation.md, from a report.

safebandit validate --full && python tools/write_validation.py results/validation/report.json
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from safebandit.studies.validation.report import chances, expectation, show
from safebandit.studies.validation.signing import HASH, problems_of, read_document

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "validation.md"
MARKS = "<!-- report -->", "<!-- /report -->"


def cell(text: str) -> str:
    """A text as a cell of a table takes it."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def lines_of(document: dict[str, Any]) -> list[str]:
    """The report as Markdown: its counts, a table of each group, and what it ran on."""
    counts, made = document["summary"], document["installation"]
    lines = [
        f"safebandit {made['safebandit']}, {document['extent']} run of {document['date']}: "
        f"**{counts['checks']} checks, {counts['passes']} pass, {counts['noted']} are noted, {counts['fails']} fail**, "
        f"in {document['processor_seconds']:.0f} seconds of processor time.",
        "",
        chances(counts)[0].upper() + chances(counts)[1:] + ".",
        "",
    ]
    for group, about in document["groups"].items():
        lines += [f"### {group.capitalize()}", "", about, "", "| check | source | expected | obtained | verdict |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for check in (each for each in document["checks"] if each["group"] == group):
            verdict = check["verdict"] if check["verdict"] == "passes" else f"**{check['verdict']}**"
            why = check["remark"] or (check["excuse"] if check["verdict"] == "noted" else "")
            verdict += f": {cell(why)}" if why else ""
            cells = (check["name"], check["source"], expectation(check), show(check["obtained"]))
            lines.append("| " + " | ".join([*map(cell, cells), verdict]) + " |")
        lines.append("")
    lines += ["### What it ran on", "", "| | |", "| --- | --- |"]
    facts = {name: value for name, value in made.items() if not isinstance(value, dict)} | made["platform"]
    lines += [f"| {name} | {cell(str(value))} |" for name, value in facts.items()]
    lines += ["", f"Hash of the report: `{document[HASH]}`."]
    return lines


def main() -> int:
    """Put a report that was not changed into the page."""
    document = read_document(Path(sys.argv[1] if len(sys.argv) > 1 else "results/validation/report.json"))
    problems = problems_of(document)
    if problems:
        sys.exit("; ".join(problems))
    page, inside = PAGE.read_text(encoding="utf-8"), "\n".join([MARKS[0], "", *lines_of(document), "", MARKS[1]])
    PAGE.write_text(re.sub(f"{MARKS[0]}.*{MARKS[1]}", lambda _: inside, page, flags=re.DOTALL), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
