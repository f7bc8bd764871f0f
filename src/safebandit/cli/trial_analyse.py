"""`safebandit trial analyse`: what a trial says of its arms, valid at any look, and what may be claimed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.live import DATABASE, Database, OneStratum, open_ledger, read_stratum
from safebandit.cli.output import Json, counting_bar, figure, plain_table, print_document, print_plain
from safebandit.cli.problem import one_or_more
from safebandit.errors import TrialError

if TYPE_CHECKING:
    from safebandit.trials.analysis.analyse import Analysis
    from safebandit.trials.analysis.corrected import Corrected

PICTURES = (".svg", ".png")


def analyse(
    name: Annotated[str | None, typer.Argument(help="The trial; none with --file.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="A table of units (.csv, .parquet) as `trial export` writes it, instead.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure each confidence sequence is.")] = 0.95,
    control: Annotated[
        str | None, typer.Option(help="The arm that others are compared with.  [default: the design's]")
    ] = None,
    kind: Annotated[
        str, typer.Option(help="The sequences: mixture, or betting (outcomes that vary little).")
    ] = "mixture",
    planned: Annotated[
        int | None,
        typer.Option(help="Outcomes of an arm for which a mixture is narrowest.  [default: a share of the design's]"),
    ] = None,
    alpha: Annotated[
        str | None, typer.Option(help="With --file: the tolerated mean risk, or one for every risk: .3,.2")
    ] = None,
    lost: Annotated[
        str | None, typer.Option(help="With --file: what a risk of a unit given up counts as, harm or ignore.")
    ] = None,
    corrected: Annotated[
        bool, typer.Option("--corrected", help="Also correct means for the bias of the design, by simulated trials.")
    ] = False,
    simulated: Annotated[
        int | None, typer.Option(help="With --corrected: simulated trials in each of two steps.  [default: 2000]")
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(help="With --corrected: so many more units arrive before an outcome is known.  [default: 0]"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="With --corrected: fixes all its random numbers.  [default: 0]")
    ] = None,
    stratum: OneStratum = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it over time, as SVG and as PNG: out.svg.")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Analyse a trial: means, confidence sequences and evidence for every arm, and against the control.

    All of it holds at any look, and under any rule that gave the arms. Choose --kind and --planned before any data.
    """
    from safebandit.trials.analysis.analyse import analyse as analysed
    from safebandit.trials.analysis.corrected import TRIALS

    part = read_stratum(stratum)
    if (name is None) == (file is None):
        raise TrialError("give a trial, or a table of units by --file; " + ("got none" if name is None else "got both"))
    if plot is not None and plot.suffix not in PICTURES:
        raise TrialError(f"--plot must be a file such as out.svg or out.png, got {plot}")
    said: dict[str, Any] = {"confidence": confidence, "control": control, "kind": kind, "planned": planned}
    more = {"corrected": simulated, "delay": delay, "seed": seed}
    if corrected and file is not None:
        raise TrialError("--corrected is for a trial: a table of units does not say by which rules arms were given")
    if file is not None:
        limits = None if alpha is None else one_or_more("alpha", alpha)
        found = analysed(file, **said, stratum=part, alpha=limits, lost=lost)
    else:
        with open_ledger(db) as ledger, _bar(corrected) as progress:
            if corrected:
                given_more = {key: value for key, value in more.items() if value is not None}
                said |= {"corrected": TRIALS, **given_more, "progress": progress}
            found = analysed(ledger, name, **said, stratum=part)
    if plot is not None:
        from safebandit.simulation.plots import save

        save(found.plot(), plot.with_suffix(""))
    if json:
        print_document(found.to_dict())
    else:
        _print(found)


def _print(found: Analysis) -> None:
    print_plain(f"{found.trial}: {found.units:,} units; {100 * found.confidence:g} % confidence sequences "
                f"({found.sequence.words})")  # fmt: skip
    if found.known == 0:
        print_plain(found.sentences[0])
        return
    sure = f"{100 * found.confidence:g} % sequence"
    numbers = ("known", "mean", sure, "whatever is missing", "e above", "e below")
    table = plain_table("arm", "endpoint", *numbers, right=numbers)
    for each in found.estimates:
        worst = _ends(each.worst) if each.missing else "-"
        known, evidence = f"{each.known:,} of {each.units:,}", (figure(each.e_above), figure(each.e_below))
        table.add_row(each.arm, each.endpoint, known, figure(each.mean), _ends(each.interval), worst, *evidence)
    print_plain(table)
    if found.comparisons:
        compared = ("difference", sure, "e above", "e below")
        table = plain_table("arm", "endpoint", *compared, right=compared)
        for pair in found.comparisons:
            table.add_row(pair.arm, pair.endpoint, figure(pair.difference), _ends(pair.interval), figure(pair.e_above),
                figure(pair.e_below))  # fmt: skip
        print_plain(f'\nless "{found.control}"')
        print_plain(table)
    if found.corrected is not None:
        _print_corrected(found.corrected)
    print_plain("")
    for sentence in found.sentences[len(found.estimates) + len(found.comparisons) :]:
        print_plain(sentence)
    print_plain("assumed:")
    for sentence in found.assumptions:
        print_plain(f"- {sentence}")


def _print_corrected(found: Corrected) -> None:
    document = found.to_dict()
    numbers = ("plain", "bias", "± s.e.", "corrected", "s.e.", f"{100 * found.confidence:g} %, approximate")
    table = plain_table("arm", "endpoint", *numbers, right=numbers)
    rows = [(arm, name, each) for arm, listed in document["arms"].items() for name, each in listed.items()]
    chosen = document["selected"]
    if chosen is not None:
        listed = document["arms"][chosen["arm"]]
        rows += [(f"{chosen['arm']}, as selected", name, {**each, **chosen[name]}) for name, each in listed.items()]
    for arm, name, each in rows:
        ends = "-" if each["low"] is None else _ends((each["low"], each["high"]))
        shown = (figure(each[key]) for key in ("plain", "bias", "bias_se", "corrected", "se"))
        table.add_row(arm, name, *shown, ends)
    print_plain("")
    print_plain(found.says())
    print_plain(table)


def _bar(wanted: bool) -> AbstractContextManager[Callable[[int, int], None] | None]:
    return counting_bar("simulating") if wanted else nullcontext()


def _ends(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}" if interval[0] <= interval[1] else "empty"
