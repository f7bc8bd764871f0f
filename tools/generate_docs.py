"""Write the generated parts of the docs, or with --check say whether they are stale."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from api_pages import api_pages
from reference_pages import KINDS, list_of, reference_pages

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by `make docs`; edit the sources, not this page. -->"


def filled(page: str, parts: dict[str, str]) -> str:
    """A page with its generated parts between their marks; each mark must be there."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for mark, part in parts.items():
        whole = f"<!-- {mark} -->\n\n{part}\n\n<!-- /{mark} -->"
        before, found, rest = text.partition(f"<!-- {mark} -->")
        _, ended, after = rest.partition(f"<!-- /{mark} -->")
        if not (found and ended):
            raise SystemExit(f"{page} needs the marks <!-- {mark} --> and <!-- /{mark} -->")
        text = f"{before}{whole}{after}"
    return text


def policies_page() -> str:
    """The page of policies: its lists, each name linked to its own page."""
    lists = {"policies": list_of("policy"), "rewards": list_of("reward"), "safeties": list_of("safety")}
    return filled("docs/reference/policies/index.md", lists)


def rules_page() -> str:
    """The page of rules: its lists, each name linked to its own page."""
    return filled("docs/reference/rules/index.md", {kind: list_of(kind) for kind in ("stopping", "selection")})


def designs_page() -> str:
    """The page of designs by name: its list."""
    return filled("docs/reference/designs/index.md", {"designs": list_of("design")})


def design_files_page() -> str:
    """The page about design files, with the list of designs by name."""
    return filled("docs/how-to/designs.md", {"designs": list_of("design", "../reference/designs/")})


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


def command_paths() -> list[tuple[str, ...]]:
    """Every command and sub-command, as the command line itself knows them."""

    def below(command: Any, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        inner = getattr(command, "commands", {})
        return [path, *(found for name, each in inner.items() for found in below(each, (*path, name)))]

    return below(_tree(), ())


def commands_page() -> str:
    """The help of every command."""
    lines = ["# Commands", "", NOTE, ""]
    for path in command_paths():
        text = "\n".join(line.rstrip() for line in _help(path).strip().splitlines())
        lines += [f"## `{' '.join(('safebandit', *path))}`", "", "```text", text, "```", ""]
    return "\n".join(lines)


@functools.cache
def _tree() -> Any:
    """All commands; to make the tree takes longer than to show the help of one."""
    from typer.main import get_command

    from safebandit.cli import app

    return get_command(app)


def _help(path: tuple[str, ...]) -> str:
    # The same on every machine, whatever its terminal is like.
    os.environ.update({"COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1"})
    with contextlib.redirect_stdout(io.StringIO()) as text:
        _tree()([*path, "--help"], standalone_mode=False, prog_name="safebandit")
    return text.getvalue()


def rooms() -> list[str]:
    """Every room, in the order of the import contract."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    return [name.strip() for layer in contract["layers"] for name in layer.split("|")]


def rooms_table() -> str:
    """A line per room."""
    return "\n".join(
        ["| room | what is in it |", "|---|---|", *(f"| `{_shown(name)}` | {_about(name)} |" for name in rooms())]
    )


def contributing_page() -> str:
    """CONTRIBUTING.md with a line per room between its marks."""
    return filled("CONTRIBUTING.md", {"rooms": rooms_table()})


def architecture_page() -> str:
    """The page of the architecture, with the same lines."""
    return filled("docs/explanation/architecture.md", {"rooms": rooms_table()})


def citation() -> str:
    """CITATION.cff with the version of the package."""
    from safebandit import __version__

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    return re.sub(r"^version: .*$", f"version: {__version__}", text, flags=re.MULTILINE)


def house_picture() -> str:
    """The house: its rooms, each under those that may import it."""
    from house import house

    large = [(_shown(name), _about(name)) for name in rooms() if _source(name).name == "__init__.py"]
    return house(large, [_shown(name) for name in rooms() if _source(name).name != "__init__.py"])


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
    "docs/reference/designs/index.md": designs_page,
    "docs/how-to/designs.md": design_files_page,
    "docs/how-to/characteristics.md": characteristics_page,
    "docs/reference/commands.md": commands_page,
    "docs/explanation/architecture.md": architecture_page,
    "docs/pictures/house.svg": house_picture,
    "CONTRIBUTING.md": contributing_page,
    "CITATION.cff": citation,
}
# Folders in which every page is generated, but for index.md.
WHOLE = (*(f"docs/reference/{kind.folder}" for kind in KINDS), "docs/reference/api")


def pages() -> dict[str, str]:
    """Every generated file by its path."""
    return {**{name: write() for name, write in PAGES.items()}, **reference_pages(), **api_pages()}


def left_over(known: Iterable[str]) -> list[str]:
    """Pages of things that are no more."""
    there = [path for folder in WHOLE for path in (ROOT / folder).glob("*.md") if path.name != "index.md"]
    return sorted({str(path.relative_to(ROOT)) for path in there} - set(known))


def main() -> int:
    """Write the pages; with --check only compare."""
    check = "--check" in sys.argv
    wanted = pages()
    gone = left_over(wanted)
    stale = [name for name, text in wanted.items() if not _is(ROOT / name, text)]
    if check and (stale or gone):
        print(f"stale: {', '.join([*stale, *gone])}; run `make docs`")
        return 1
    for name in stale:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(wanted[name], encoding="utf-8")
    for name in gone:
        (ROOT / name).unlink()
    print(f"docs: {'up to date' if not stale + gone else 'wrote ' + ', '.join([*stale, *gone])}")
    return 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
