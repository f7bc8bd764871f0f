"""Reports: HTML pages that load nothing from outside, each made by a template of the folder beside this file."""

from __future__ import annotations

import base64
import platform
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from safebandit.files import write_text
from safebandit.version import __version__

DASH = "-"


def write_page(path: Path, template: str, *, seed: int, seconds: float, **content: Any) -> Path:
    """Write the page that a template makes of its content; all of it or nothing."""
    made = {"python": platform.python_version(), "machine": f"{platform.machine()} with {platform.system()}"}
    return write_text(path, render(template, version=__version__, **made, seed=seed, seconds=seconds, **content))


def render(template: str, **content: Any) -> str:
    """The page that a template makes of its content, as text."""
    return _environment.get_template(template).render(**content)


def picture(path: Path, about: str) -> Markup:
    """A PNG inside the page itself."""
    data = base64.b64encode(path.read_bytes()).decode()
    return Markup('<img alt="{}" src="data:image/png;base64,{}">').format(about, data)


def number(value: float) -> str:
    """A number as people read it: three or four digits that matter.

    >>> number(7375.4), number(0.0684), number(-20.64)
    ('7,375', '0.0684', '-20.6')
    """
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.4g}"


def ratio(value: float | None) -> str:
    """A ratio as people read it, with two decimals while it is small.

    >>> ratio(0.5), ratio(12.345), ratio(None)
    ('0.50', '12.3', '-')
    """
    if value is None:
        return DASH
    return f"{value:.2f}" if value < 9.95 else number(value)


_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {"number": number, "picture": picture, "ratio": ratio}
