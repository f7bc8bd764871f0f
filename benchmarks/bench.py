"""Speed, in one run: every policy against a bare loop that only draws the same outcomes and counts them.

    python benchmarks/bench.py                        # everything: a quarter of an hour
    python benchmarks/bench.py --quick                # a minute
    python benchmarks/bench.py --policy docb --only horizons

The report is printed, and kept with its figures and a picture. A run of part of it is compared with the whole one that
was kept, and does not replace it. docs/explanation/speed.md says how to read the numbers.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from instructions import instructions_per_round
from load.measure import Load, answered, growth, long_trials
from safebandit.core.policies.catalogue import POLICIES
from speed import analysis, designs, kept, linear, machine, picture, report
from speed.size import FULL, QUICK, TINY, Size
from speed.sweeps import BARE, Cell, against_arms, against_horizon, bare_loop_alone

DOCS = Path(__file__).resolve().parent.parent / "docs"
MARKED = re.compile(r"(?<=<!-- written by `make bench ARGS=--docs` -->\n).*(?=<!-- end -->)", flags=re.DOTALL)
SHORT_TRIAL = 100
R = TypeVar("R")


def measure(size: Size, policies: Sequence[str], sections: Sequence[str], *, instructions: bool) -> kept.Run:
    """What is asked for, with policies on one core."""
    cells: dict[str, Any] = {name: [] for name in kept.CELLS}
    with machine.one_core():
        if "limit" in sections:
            cells["limit"] = list(_told("limit", bare_loop_alone(size)))
        if "arms" in sections:
            cells["arms"] = list(_told("arms", against_arms(policies, size)))
        if "horizons" in sections:
            cells["horizons"] = list(_told("horizons", against_horizon(policies, size)))
        found = dict(_told("designs", designs.figures(size))) if "designs" in sections else {}
        by_features = dict(_told("linear", linear.figures(size))) if "linear" in sections else {}
        analysed = dict(_told("analysis", analysis.figures(size))) if "analysis" in sections else {}
    service = _service(size) if "service" in sections else {}
    return kept.Run(
        date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        computer=machine.describe(),
        settings={**size._asdict(), "policies": list(policies), "sections": list(sections)},
        **cells,
        machine=dict(_told("machine", machine.figures(size))) if "machine" in sections else {},
        designs=found,
        linear=by_features,
        analysis=analysed,
        instructions=instructions_per_round([BARE, *policies]) if instructions else {},
        **service,
    )


def _service(size: Size) -> dict[str, Any]:
    """The service under load, and a long trial against a short one."""
    load = Load(desks=2, connections=8, pairs=size.service_pairs, seconds=30.0)
    driven = [answer._asdict() for answer in _told("service", answered(load, size.services))]
    grown = growth(SHORT_TRIAL, size.long_trial, repeats=2 * size.repeats - 1)
    return {"service": driven, "growth": grown, "long": long_trials(size.long_trial)}


def _told(section: str, figures: Iterable[R]) -> Iterator[R]:
    """Pass figures on; who waits sees where the run is."""
    if not sys.stderr.isatty():
        yield from figures
        return
    for i, figure in enumerate(figures, start=1):
        what = figure.name if isinstance(figure, Cell) else ""
        print(f"\r{section} {i}: {what}".ljust(70), end="", file=sys.stderr, flush=True)
        yield figure
    print("\r".ljust(71), end="\r", file=sys.stderr, flush=True)


def write_docs(run: kept.Run, drawn: Path) -> None:
    """Put the tables and the picture of a run into the docs."""
    path = DOCS / "explanation" / "speed.md"
    page = path.read_text(encoding="utf-8")
    written = f"\n{report.page(run)}\n\n"
    path.write_text(MARKED.sub(lambda _: written, page), encoding="utf-8")
    shutil.copyfile(drawn, DOCS / "pictures" / "speed.png")


def options_from(arguments: Sequence[str] | None) -> Any:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const=QUICK, help="a minute")
    size.add_argument("--tiny", dest="size", action="store_const", const=TINY, help="only to see that it runs")
    parser.add_argument("--policy", action="append", choices=list(POLICIES), help="only this policy; may be repeated")
    parser.add_argument("--only", action="append", choices=kept.SECTIONS, help="only this part; may be repeated")
    parser.add_argument("--instructions", action="store_true", help="count instructions too; needs valgrind")
    parser.add_argument("--docs", action="store_true", help="write the tables and the picture into docs/")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder for what is kept")
    parser.set_defaults(size=FULL)
    options = parser.parse_args(arguments)
    options.part = bool(options.policy or options.only)
    if options.docs and (options.part or options.size is not FULL):
        parser.error("--docs needs the whole run; leave out --quick, --tiny, --policy and --only")
    if options.instructions and shutil.which("valgrind") is None:
        parser.error("--instructions needs valgrind; install it with the system's packages, or leave the option out")
    return options


def main() -> None:
    """Measure, print, compare with the run before, and keep."""
    options = options_from(None)
    size: Size = options.size
    whole = options.out / ("bench.json" if size is FULL else f"bench-{size.name}.json")
    path = whole.with_name(f"{whole.stem}-part.json") if options.part else whole
    before = kept.read(whole)
    run = measure(
        size, options.policy or size.policies, options.only or kept.SECTIONS, instructions=options.instructions
    )
    run.write(path)
    said = report.text(run, before)
    path.with_suffix(".txt").write_text(said + "\n", encoding="utf-8")
    print(said)
    print(f"\nkept in {path}, and the report beside it")
    if run.arms or run.horizons:
        drawn = picture.draw(run, path.with_suffix(""))
        print(f"drawn in {drawn}")
        if options.docs:
            write_docs(run, drawn)


if __name__ == "__main__":
    main()
