"""`safebandit simulate`: a problem and some policies in, a table, pictures and a file out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.completion import complete_instance, complete_policy
from safebandit.cli.executor import Dask, Workers, chosen_executor
from safebandit.cli.output import Json
from safebandit.cli.problem import Columns, entry_from_flags
from safebandit.errors import SimulationError

if TYPE_CHECKING:
    from safebandit.simulation.study import Study


def simulate(
    study: Annotated[
        Path | None, typer.Argument(help="A TOML file with a grid of instances, alphas, policies.")
    ] = None,
    instance: Annotated[
        str | None, typer.Option(help="A named problem; see `safebandit instances`.", autocompletion=complete_instance)
    ] = None,
    mu: Annotated[str | None, typer.Option(help="Mean rewards, one per arm: .36,.34")] = None,
    nu: Annotated[list[str] | None, typer.Option(help="Mean risks, one per arm: .16,.26; once for every risk.")] = None,
    correlation: Annotated[str | None, typer.Option(help="Between reward and risk: one number or one per arm.")] = None,
    arms: Annotated[str | None, typer.Option(help="Names of the arms, separated by commas.")] = None,
    risks: Annotated[
        str | None, typer.Option(help="Names of the risks, separated by commas; of data, their columns.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Past outcomes to resample: CSV or Parquet, with arm, reward, risk.")
    ] = None,
    columns: Columns = None,
    missing_risk: Annotated[
        str | None, typer.Option(help="Rows of the data without a risk: refuse, drop or worst.  [default: refuse]")
    ] = None,
    alpha: Annotated[str | None, typer.Option(help="The tolerated mean risk, or one for every risk: .3,.2")] = None,
    safe_set: Annotated[
        str | None,
        typer.Option(
            help="Half-spaces in which the mean risks of a safe arm lie: 'risk1 + risk2 <= 0.5'.  "
            "[default: every risk at most its alpha]"
        ),
    ] = None,
    allow_infeasible: Annotated[bool, typer.Option(help="Accept that no arm has mean risk <= alpha.")] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy by name, such as tsbu:schedule=theory; may be repeated.", autocompletion=complete_policy
        ),
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Rounds per trial.  [default: 10000]")] = None,
    trials: Annotated[int | None, typer.Option(help="Trials per policy.  [default: 100]")] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes all random numbers.  [default: 0]")] = None,
    checkpoints: Annotated[str | None, typer.Option(help="log, linear, or rounds: 100,1000.  [default: log]")] = None,
    keep: Annotated[
        str | None, typer.Option(help="Every trial (trials), or only a summary of them.  [default: trials]")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the result, its table and its pictures.")] = None,
    json: Json = False,
) -> int:
    """Simulate policies on a problem, many trials at once, and compare them in pairs."""
    from safebandit.cli.show import print_json, print_result, progress_bar, save_results
    from safebandit.simulation.chunks import clear

    settings = {
        "horizon": horizon,
        "trials": trials,
        "seed": seed,
        "checkpoints": _checkpoints(checkpoints),
        "keep": keep,
        "policies": policy or None,
    }
    given = {key: value for key, value in settings.items() if value is not None}
    problem: dict[str, Any] = {"instance": instance, "mu": mu, "nu": nu or None, "correlation": correlation}
    problem |= {"arms": arms, "risks": risks, "data": data, "columns": columns, "missing_risk": missing_risk}
    # Where nothing else says what is tolerated, the safe set does.
    tolerated = "1" if alpha is None and instance is None and safe_set is not None else alpha
    problem |= {"alpha": tolerated, "safe_set": safe_set, "allow_infeasible": allow_infeasible}
    plan = _from_file(study, given) if study is not None else _from_flags(given, problem)
    chunks = None if out is None else out / "chunks"
    try:
        with progress_bar() as progress, chosen_executor(dask, workers) as where:
            results = plan.run(**where, resume=chunks, progress=progress)
    except KeyboardInterrupt:
        if chunks is None:
            raise
        typer.echo(f"interrupted: {_how_to_go_on(chunks)}", err=True)
        return 130
    # Saved first: what is printed may meet a pipe that is closed.
    if out is not None:
        save_results(results, out)
    if json:
        print_json([result.to_dict() for result in results])
    else:
        for result in results:
            print_result(result)
    if results[-1].interrupted or len(results) < len(plan.instances):
        kept = f"interrupted: kept {results[-1].trials} trials of the last instance"
        typer.echo(kept if chunks is None else f"{kept}; {_how_to_go_on(chunks)}", err=True)
        return 130
    if chunks is not None:
        clear(chunks)
    return 0


def _how_to_go_on(chunks: Path) -> str:
    return f"finished chunks are in {chunks}, and the same command goes on from them"


def _from_file(path: Path, given: dict[str, Any]) -> Study:
    from safebandit.simulation.study import Study

    return Study.load(path, **given)


def _from_flags(given: dict[str, Any], problem: dict[str, Any]) -> Study:
    from safebandit.core.policies import recommended
    from safebandit.simulation.study import DEFAULTS, Study, instance_from_entry

    entry = entry_from_flags(problem)
    if "policies" not in given:
        risks = len(instance_from_entry(entry).limits)
        usual = recommended(given.get("horizon", DEFAULTS["horizon"]), risks)
        given = {**given, "policies": list(dict.fromkeys([usual, "tsbu", "docb"]))}
    return Study.from_dict({**given, "instances": [entry]})


def _checkpoints(text: str | None) -> str | list[int] | None:
    if text is None or text in ("log", "linear"):
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SimulationError(
            f'--checkpoints must be log, linear, or rounds separated by commas, got "{text}"'
        ) from None
