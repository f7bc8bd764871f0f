"""The pages of the Python reference: every public name, by what it is for, from the one list in `__init__.pyi`."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by `make docs`; edit docstrings, not this page. -->"
# A page takes the names whose home begins so; the longest beginning counts.
PAGES = {
    "simulate": ("Simulating", ("simulation",)),
    "problems": ("Problems", ("problems",)),
    "policies": ("Policies", ("core.policies",)),
    "indices": ("Indices", ("core.indices",)),
    "rules": ("Stopping and selection", ("core.rules", "core.stopping", "core.selection", "core.safe_set")),
    "extending": ("Extending", ("core.arms", "core.policies.choice", "version")),
    "trials": ("Trials and designs", ("trials",)),
    "analysis": ("Analysis", ("trials.analysis",)),
    "studies": ("Studies", ("studies",)),
    "service": ("The client of the service", ("service",)),
    "errors": ("Errors", ("errors",)),
}

# Names that are values, with no docstring of their own.
VALUES = {
    "DESIGNS": 'Every design by name: its constructor. `sb.DESIGNS["boin"]`.',
    "HOLD": "What `decide` answers in the place of an arm: none is permissible, and the policy plays nothing then.",
    "INDEX": "The column of a decision's table that has the reward index: `write(state, k, INDEX, value)`.",
    "NONE_SELECTED": "What `select` answers in the place of an arm: none.",
    "PERMISSIBLE": "The column of a decision's table that says whether an arm is permissible.",
    "__version__": "The version of the package, a text.",
    "at": "In compiled code: the record `k` places after `first` in their array, `at(first, k)`.",
    "quantity": "In compiled code: what has been seen of arm k's reward (j = 0) or of its risk number j, from 1: "
    "`quantity(state, k, j)`.",
    "write": "In compiled code: write a number into the table of the decision, `write(state, k, column, value)`.",
}


def public_names() -> list[tuple[str, str]]:
    """Every public name with the module that it comes from."""
    listing = ast.parse((ROOT / "src/safebandit/__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in listing.body if isinstance(node, ast.ImportFrom)]
    return [(node.module or "", name.name) for node in imports for name in node.names]


def page_of(home: str) -> str:
    """The page that a name of this module stands on."""
    starts = [(len(start), page) for page, (_, homes) in PAGES.items() for start in homes if home.startswith(start)]
    if not starts:
        raise SystemExit(f"tools/api_pages.py has no page for names of safebandit.{home}; add one to PAGES")
    return max(starts)[1]


def api_pages() -> dict[str, str]:
    """Every page by its path."""
    names = public_names()
    index = ["# Python", "", NOTE, "", "Everything is a name of `import safebandit as sb`.", ""]
    pages = {}
    for page, (title, _) in PAGES.items():
        own = [(home, name) for home, name in names if page_of(home) == page]
        listed = ", ".join(f"`{name}`" for _, name in own)
        index += [f"- [{title}]({page}.md): {listed}"]
        parts = [f"# {title}", "", NOTE, "", *(_entry(home, name) for home, name in own)]
        pages[f"docs/reference/api/{page}.md"] = "\n".join(parts).rstrip() + "\n"
    return {"docs/reference/api/index.md": "\n".join(index) + "\n", **pages}


def _entry(home: str, name: str) -> str:
    """What the site's generator turns into the documentation of a name, or its documentation."""
    return f"## `{name}`\n\n{VALUES[name]}\n" if name in VALUES else f"::: safebandit.{home}.{name}\n"
