"""Write the tables of docs/start/install.md from what tools/check_package.py --out measured, one file for each Python.

python tools/write_installation.py 3.11.json 3.12.json 3.13.json
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from safebandit.studies.validation.installation import processor

PAGE = Path(__file__).resolve().parent.parent / "docs" / "start" / "install.md"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table as the page has it."""
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)] + [""]


def lines_of(found: list[dict[str, Any]]) -> list[str]:
    """Sizes, imports, and what a newcomer's first steps take."""
    pythons = [f"Python {each['python']}" for each in found]

    def row(name: str, show: Any) -> list[str]:
        return [name, *(show(each) for each in found)]

    wheel = found[0]["wheel"] / 1e6
    lines = [
        "## Sizes and times",
        "",
        f"The wheel has {wheel:.1f} MB. With what it needs, without the installer:",
        "",
    ]
    lines += table(["installed", *pythons], [
        row("`safebandit`", lambda each: f"{each['plain bytes'] / 1e6:.0f} MB"),
        row("`safebandit[live]`", lambda each: f"{each['live bytes'] / 1e6:.0f} MB"),
    ])  # fmt: skip
    lines += ["Processor seconds to start, the least of three:", ""]
    imports = found[0]["imports"]
    lines += table(
        ["", *pythons], [row(f"`{name}`", lambda each, name=name: f"{each['imports'][name]:.2f}") for name in imports]
    )
    lines += ["A newcomer's first steps, in an empty environment, an empty folder and with empty caches:", ""]
    steps = [row("`pip install safebandit`", lambda each: _seconds(each["plain install"]))]
    known: dict[str, Any] = next((each["newcomer"] for each in found if "newcomer" in each), {})
    steps += [row(step, lambda each, step=step: _seconds(each.get("newcomer", {}).get(step))) for step in known]
    lines += table(["processor seconds (by the clock)", *pythons], steps)
    load = max(each["load"] for each in found)
    busy = f" The machine was busy with other work (a load of {load:.0f}): go by processor seconds." if load > 2 else ""
    lines.append(
        f"On {processor()}; packages from a registry nearby.{busy} `tools/check_package.py --out` measures all of it."
    )
    return lines


def _seconds(taken: list[float] | None) -> str:
    return "-" if taken is None else f"{taken[1]:.1f} ({taken[0]:.0f})"


def main() -> int:
    """Put what was measured between the marks of the page."""
    found = [json.loads(Path(name).read_text(encoding="utf-8"))[0] for name in sys.argv[1:]]
    inside = "\n".join(["<!-- installation -->", "", *lines_of(found), "", "<!-- /installation -->"])
    page = PAGE.read_text(encoding="utf-8")
    marks = "<!-- installation -->.*<!-- /installation -->"
    PAGE.write_text(re.sub(marks, lambda _: inside, page, flags=re.DOTALL), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
