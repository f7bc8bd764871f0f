"""The navigation of the site: every page has its place, by what a reader wants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from api_pages import PAGES as API
from reference_pages import KINDS, things

Entry = dict[str, Any]


def navigation(notebooks: list[Path]) -> list[Entry]:
    """The tree of titles and pages, as the site's generator takes it."""
    return [
        {"Home": "index.md"},
        {"Start": [
            _page("Install", "start/install"), _page("A tour in commands", "start/tour"),
            _page("Glossary", "start/glossary"),
        ]},
        {"Tutorials": ["tutorials/index.md", *(f"tutorials/{path.stem}.md" for path in notebooks)]},
        {"How to": [
            _page("Simulate", "how-to/guide"), _page("Design a trial", "how-to/designs"),
            _page("Judge and calibrate a design", "how-to/characteristics"), _page("Run a live trial", "how-to/live"),
            _page("Guard a trial", "how-to/guardrails"),
            _page("Analyse a trial", "how-to/analysis"), _page("Chances, weights and what-ifs", "how-to/off-policy"),
            _page("Operate the service", "how-to/operations"), _page("Use a cluster", "how-to/scaling"),
        ]},
        {"Explanation": [
            _page("Which policy, and why", "explanation/choosing"), _page("Gates", "explanation/gates"),
            _page("Other systems", "explanation/rivals"), _page("Features and context", "explanation/linear"),
            _page("Pure exploration", "explanation/identify"),
            _page("Doses within arms", "explanation/doses-within-arms"),
            _page("Reference designs", "explanation/reference-designs"),
            _page("Bias and coverage", "explanation/coverage"), _page("Architecture", "explanation/architecture"),
            _page("Security model", "explanation/security"), _page("Speed", "explanation/speed"),
        ]},
        {"Reference": [
            _page("Commands", "reference/commands"), _page("The service", "reference/service"),
            _page("Validation", "reference/validation"),
            {"Python": ["reference/api/index.md", *(_page(API[page][0], f"reference/api/{page}") for page in API)]},
            {"Policies": ["reference/policies/index.md", *_own("policy")]},
            {"Reward indices": _own("reward")},
            {"Safety indices": _own("safety")},
            {"Rules": ["reference/rules/index.md", {"Stopping": _own("stopping")}, {"Selection": _own("selection")}]},
            {"Designs": ["reference/designs/index.md", *_own("design")]},
            _page("Contributing", "contributing"), _page("Changelog", "changelog"),
        ]},
    ]  # fmt: skip


def _page(title: str, path: str) -> Entry:
    return {title: f"{path}.md"}


def _own(kind: str) -> list[Entry]:
    (found,) = (each for each in KINDS if each.key == kind)
    return [_page(thing.name, f"reference/{found.folder}/{thing.name}") for thing in things(kind)]
