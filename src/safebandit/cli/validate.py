"""`safebandit validate`: every published number checked on this machine, with a report to sign."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from safebandit.cli.executor import Workers
from safebandit.cli.output import Json

# Exit statuses: a check fails, or a report is not the one that was written.
FAILED = 1


def validate(
    groups: Annotated[list[str] | None, typer.Argument(help="Groups of checks, by name; all if none is named.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="More trials of every simulation, and the paper's claims: about ten minutes.")
    ] = False,
    prepared_by: Annotated[str, typer.Option(help="Who prepares the report, for its sign-off.")] = "",
    check: Annotated[
        Path | None, typer.Option(help="Say whether a report.json is still the one that was written, and run nothing.")
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Say which checks there are, and run none.")] = False,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report.  [default: results/validation]")] = None,
    json: Json = False,
) -> int:
    """Check this installation: every number that others printed, and its own bits; about a minute.

    The report has what is expected by whom, what was obtained, the tolerance and the verdict. The exit status is 1
    where a check fails.
    """
    from safebandit.cli.show import print_json, say
    from safebandit.studies.validation.check import FAILS
    from safebandit.studies.validation.registry import chosen
    from safebandit.studies.validation.report import PAGE, summary_lines, write_report
    from safebandit.studies.validation.run import validate as run

    if check is not None:
        return _check_report(check, json)
    if list_only:
        return _print_list(groups or [], full=full, json=json)
    chosen(groups or [], full=full)
    folder = out or Path("results") / "validation"
    if not json:
        say("checking this installation; formulas that nobody has used yet are compiled first, once")
    with _bar(quiet=json) as progress:
        document = run(groups or [], full=full, workers=workers, prepared_by=prepared_by, progress=progress)
    signed = write_report(document, folder)
    if json:
        print_json([signed])
    else:
        typer.echo("\n".join(summary_lines(signed)))
        typer.echo(f"report: {folder / PAGE}")
    return FAILED if signed["summary"][FAILS] else 0


def _check_report(path: Path, json: bool) -> int:
    from safebandit.cli.show import print_json
    from safebandit.studies.validation.report import PAGE
    from safebandit.studies.validation.signing import HASH, problems_of, read_document

    document = read_document(path)
    found = problems_of(document, path.with_name(PAGE))
    if json:
        print_json([{"report": str(path), HASH: document[HASH], "unchanged": not found, "problems": found}])
    elif found:
        for problem in found:
            typer.echo(f"{path}: {problem}")
    else:
        typer.echo(f"{path}: unchanged, hash {document[HASH]}")
    return FAILED if found else 0


def _print_list(groups: list[str], *, full: bool, json: bool) -> int:
    from safebandit.cli.show import print_json
    from safebandit.studies.validation.registry import chosen
    from safebandit.studies.validation.report import show

    checks = chosen(groups, full=full)
    if json:
        names = ("name", "group", "source", "expected", "how")
        print_json([{"checks": [{name: getattr(each, name) for name in names} for each in checks]}])
        return 0
    for each in checks:
        typer.echo(f"{each.group}: {each.name}: {show(each.expected)} ({each.source})")
    typer.echo(f"{len(checks)} checks")
    return 0


@contextlib.contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """A bar on stderr where it is a terminal; elsewhere a line for every group."""
    from safebandit.cli.show import bar_of, console, say

    if quiet:
        yield None
    elif console(stderr=True).is_terminal:
        with bar_of("checking") as (bar, task):
            yield lambda done, total, what: bar.update(task, description=what[:60], completed=done, total=total)
    else:
        said: dict[str, Any] = {"group": ""}

        def tell(done: int, total: int, what: str) -> None:
            group = what.partition(":")[0]
            if group != said["group"]:
                said["group"] = group
                say(f"{done} of {total} checks: {group}")

        yield tell
