"""The page about operating characteristics: its examples run, and it names every characteristic."""

from __future__ import annotations

import re
from pathlib import Path

from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.parameters import value_of

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "characteristics.md").read_text(encoding="utf-8")


def test_the_examples_run():
    names: dict[str, object] = {"__name__": "example_characteristics"}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "docs/how-to/characteristics.md", "exec", dont_inherit=True), names)
    assert names["found"].trials == 200
    # The calibration of the page is of a parameter that the design has.
    assert value_of(names["readme"], names["asked"]["set"]) == 0.99


def test_every_characteristic_is_in_the_table():
    for name, each in CHARACTERISTICS.items():
        assert f"| {name} | {each.about} |" in PAGE
