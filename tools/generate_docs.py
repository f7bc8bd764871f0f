"""Write the generated parts of the docs, or with --check say whether they are stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("simulate", "show", "extend", "rerun", "bounds", "paper", "arena", "policies", "instances")
NOTE = "<!-- Written by `make docs`; edit the sources, not this page. -->"


def policies_page() -> str:
    """The policies and indices, from their own docstrings."""
    from safebandit.cli.catalogue import catalogue

    lines = ["# Policies and indices", "", NOTE, ""]
    for title, entries in catalogue().items():
        lines += [
            f"## {title.capitalize()}",
            "",
            "| name | what it is | formula | parameters | source |",
            "|---|---|---|---|---|",
        ]
        for entry in entries:
            about = " ".join((entry["about"] or "").split()).replace("|", "\\|")
            formula = entry["formula"].replace("|", "\\|")
            lines.append(f"| `{entry['name']}` | {about} | {formula} | {entry['parameters']} | {entry['source']} |")
        lines.append("")
    lines += [
        "Parameters follow a colon: `tsbu:schedule=theory`. Any reward index goes with any safety index:",
        "`kl-upper+bayes-lower:safety.schedule=theory,when_none=hold`. Levels: `practical` is log t, `theory` is",
        "log t + 3 log log t. Schedules of delta_t: `practical` min(alpha/2, 1/(t+1)), `theory`",
        "min(alpha/2, 1/(sqrt(8N) t)), `proof` 1/(sqrt(8N) t log^3 t).",
        "`when_none`: `least_risky`, `hold`, or an arm by name or number.",
        "",
    ]
    return "\n".join(lines)


def commands_page() -> str:
    """The help of every command."""
    lines = ["# Commands", "", NOTE, ""]
    environment = {**os.environ, "COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1"}
    for command in ((), *((name,) for name in COMMANDS)):
        words = ["safebandit", *command]
        run = [sys.executable, "-c", "from safebandit.cli import main; main()", *command, "--help"]
        text = subprocess.run(run, capture_output=True, text=True, check=True, env=environment).stdout
        text = "\n".join(line.rstrip() for line in text.strip().splitlines())
        lines += [f"## `{' '.join(words)}`", "", "```text", text, "```", ""]
    return "\n".join(lines)


def main() -> int:
    """Write the pages; with --check only compare."""
    stale = []
    for name, page in (("policies.md", policies_page()), ("commands.md", commands_page())):
        path = ROOT / "docs" / name
        if path.is_file() and path.read_text(encoding="utf-8") == page:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(page, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"stale: docs/{', docs/'.join(stale)}; run `make docs`")
        return 1
    print(f"docs: {'up to date' if not stale else 'wrote ' + ', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
