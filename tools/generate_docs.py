"""Write the generated parts of the docs, or with --check say whether they are stale."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by `make docs`; edit the sources, not this page. -->"


def policies_page() -> str:
    """The page of policies with its tables, from their own docstrings, between its marks."""
    from safebandit.cli.catalogue import catalogue

    return _with_tables("docs/reference/policies/index.md", catalogue())


def rules_page() -> str:
    """The page of stopping and selection rules with its tables, from their own docstrings, between its marks."""
    from safebandit.cli.catalogue import rule_catalogue

    return _with_tables("docs/reference/rules/index.md", rule_catalogue())


def characteristics_page() -> str:
    """docs/how-to/characteristics.md with the table of all characteristics between its marks."""
    from safebandit.studies.designs.catalogue import CHARACTERISTICS

    better = {1: "more", 0: "", -1: "less"}
    lines = ["<!-- table: written by `make docs`; edit the sources -->", "", "| name | what it is | kind | better |"]
    lines += ["|---|---|---|---|"]
    for each in CHARACTERISTICS.values():
        lines.append(f"| {each.name} | {each.about} | {each.kind} | {better[each.better]} |")
    table = "\n".join([*lines, "", "<!-- /table -->"])
    page = (ROOT / "docs/how-to/characteristics.md").read_text(encoding="utf-8")
    return re.sub("<!-- table:.*<!-- /table -->", lambda _: table, page, flags=re.DOTALL)


def designs_page() -> str:
    """docs/how-to/designs.md with a table of the designs by name, from their own docstrings, between its marks."""
    from safebandit.cli.catalogue import parameters
    from safebandit.trials.designs import DESIGNS

    lines = ["<!-- designs: written by `make docs`; edit the sources -->", "## Designs by name", ""]
    lines += ["| name | what it is | parameters |", "|---|---|---|"]
    for name, constructor in DESIGNS.items():
        about = " ".join((inspect.getdoc(constructor) or "").split()).replace("|", "\\|")
        lines.append(f"| `{name}` | {about} | {parameters(constructor).removeprefix('arms, ')} |")
    table = "\n".join([*lines, "<!-- /designs -->"])
    page = (ROOT / "docs/how-to/designs.md").read_text(encoding="utf-8")
    return re.sub("<!-- designs.*<!-- /designs -->", lambda _: table, page, flags=re.DOTALL)


def _with_tables(name: str, catalogue: dict[str, list[dict[str, Any]]]) -> str:
    lines = ["<!-- tables: written by `make docs`; edit the sources -->", ""]
    for title, entries in catalogue.items():
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
    table = "\n".join([*lines, "<!-- /tables -->"])
    page = (ROOT / name).read_text(encoding="utf-8")
    return re.sub("<!-- tables.*<!-- /tables -->", lambda _: table, page, flags=re.DOTALL)


def command_paths() -> list[tuple[str, ...]]:
    """Every command and sub-command, as the command line itself knows them."""
    from typer.main import get_command

    from safebandit.cli import app

    def below(command: Any, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        inner = getattr(command, "commands", {})
        return [path, *(found for name, each in inner.items() for found in below(each, (*path, name)))]

    return below(get_command(app), ())


def commands_page() -> str:
    """The help of every command."""
    lines = ["# Commands", "", NOTE, ""]
    for path in command_paths():
        text = "\n".join(line.rstrip() for line in _help(path).strip().splitlines())
        lines += [f"## `{' '.join(('safebandit', *path))}`", "", "```text", text, "```", ""]
    return "\n".join(lines)


def _help(path: tuple[str, ...]) -> str:
    from safebandit.cli import app

    # The same on every machine, whatever its terminal is like.
    os.environ.update({"COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1"})
    with contextlib.redirect_stdout(io.StringIO()) as text:
        app([*path, "--help"], standalone_mode=False, prog_name="safebandit")
    return text.getvalue()


def contributing_page() -> str:
    """CONTRIBUTING.md with a line per room between its marks, in the order of the import contract."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    names = [name.strip() for layer in contract["layers"] for name in layer.split("|")]
    lines = ["| room | what is in it |", "|---|---|", *(f"| `{_shown(name)}` | {_about(name)} |" for name in names)]
    table = "\n".join(["<!-- rooms -->", *lines, "<!-- /rooms -->"])
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.sub("<!-- rooms -->.*<!-- /rooms -->", lambda _: table, page, flags=re.DOTALL)


def _source(name: str) -> Path:
    """The file that says what a room is: a folder's `__init__.py`, or the file itself."""
    path = ROOT / "src" / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _shown(name: str) -> str:
    source = _source(name)
    return f"{source.parent.name}/" if source.name == "__init__.py" else source.name


def _about(name: str) -> str:
    return (ast.get_docstring(ast.parse(_source(name).read_text(encoding="utf-8"))) or "").partition("\n\n")[0]


PAGES = {
    "docs/reference/policies/index.md": policies_page,
    "docs/reference/rules/index.md": rules_page,
    "docs/how-to/characteristics.md": characteristics_page,
    "docs/how-to/designs.md": designs_page,
    "docs/reference/commands.md": commands_page,
    "CONTRIBUTING.md": contributing_page,
}


def main() -> int:
    """Write the pages; with --check only compare."""
    stale = []
    for name, write in PAGES.items():
        path, page = ROOT / name, write()
        if path.is_file() and path.read_text(encoding="utf-8") == page:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(page, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"stale: {', '.join(stale)}; run `make docs`")
        return 1
    print(f"docs: {'up to date' if not stale else 'wrote ' + ', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
