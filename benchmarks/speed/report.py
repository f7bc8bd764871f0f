"""What a run says: tables of costs and shares, the goals, and what changed since the run before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from safebandit.core.policies.catalogue import recommended
from speed.designs import DESIGNS
from speed.goals import GOAL_HORIZON, MACHINE, SHARES, as_share, judge
from speed.kept import Change, Run, changes, common_change
from speed.linear import ARMS, FEATURES
from speed.size import FEWER
from speed.sweeps import BARE, Cell
from speed.tables import Table

CUT = "* cut short: over fewer rounds than that;  -: would take too long"
SHOWN_CHANGES = 20
VERDICTS = {True: "met", False: "MISSED", None: "not judged"}


def text(run: Run, before: Run | None) -> str:
    """The whole report for a terminal."""
    parts = [_where(run), *(table.text() for table in tables(run, before))]
    parts.append(_changed(run, before))
    return "\n\n".join(parts)


def page(run: Run) -> str:
    """The tables for the docs."""
    return "\n\n".join([_where(run), *(table.markdown() for table in tables(run, None))])


def tables(run: Run, before: Run | None) -> Iterator[Table]:
    """All tables for which the run has figures."""
    if run.horizons:
        yield _standing(run, before)
    limits = {(cell.instance, cell.horizon): cell for cell in run.limit}
    for name, cells, column in (("number of arms K", run.arms, _arms), ("horizon T", run.horizons, _horizon)):
        where = f"T = {cells[0].horizon:,}" if cells and column is _arms else "drug trial"
        if cells:
            bare = [limits[key] for key in dict.fromkeys((c.instance, c.horizon) for c in cells) if key in limits]
            yield _grid(f"Nanoseconds per round against the {name} ({where})", [*bare, *cells], column, _cost)
            yield _grid(f"Share of the bare loop's speed against the {name} ({where})", cells, column, _share)
    if run.limit and not (run.arms or run.horizons):
        rows = [(cell.instance, f"{cell.horizon:,}", _cost(cell), _quartiles_of_cost(cell)) for cell in run.limit]
        yield Table("The bare loop", ("instance", "T", "ns per round", "quartiles"), rows)
    parts = (
        (run.machine, _machine), (run.designs, _designs), (run.linear, _linear), (run.analysis, _analysis),
        (run.service, _service),
    )  # fmt: skip
    for figures, shown in parts:
        if figures:
            yield shown(run)
    if run.instructions:
        counts = [(name, f"{count:,.0f}") for name, count in run.instructions.items()]
        yield Table(f"Instructions per round, drug trial, T = {GOAL_HORIZON:,}", ("policy", "instructions"), counts)
    goals = list(judge(run))
    if goals:
        rows = [(goal.what, goal.measured, goal.wanted, VERDICTS[goal.met]) for goal in goals]
        yield Table("Goals", ("goal", "measured", "wanted", ""), rows)


def _standing(run: Run, before: Run | None) -> Table:
    """The policies at the horizon of the goals, with quartiles and changes."""
    horizons = {cell.horizon for cell in run.horizons}
    horizon = GOAL_HORIZON if GOAL_HORIZON in horizons else max(horizons)
    changed = {change.what: change for change in (changes(run, before) if before else ())}
    rows = []
    for cell in run.horizons:
        if cell.horizon == horizon and cell.cost and cell.share:
            speed = f"{1e9 / cell.cost.median:,.0f}"
            quartiles = f"{as_share(cell.share.low)} to {as_share(cell.share.high)}"
            goal = as_share(SHARES[cell.policy]) if cell.policy in SHARES else ""
            change = changed.get(cell.name)
            rows.append(
                [cell.policy, speed, as_share(cell.share.median), quartiles, goal, _arrow(change) if change else ""]
            )
    header = ["policy", "rounds/s", "of the bare loop", "quartiles", "goal", "change"]
    if before is None:
        header, rows = header[:-1], [row[:-1] for row in rows]
    return Table(f"Drug trial, K = 5, T = {horizon:,}, one core", header, rows)


def _grid(
    title: str, cells: Sequence[Cell], column: Callable[[Cell], int], show: Callable[[Cell], str]
) -> Table:  # fmt: skip
    """A row per policy, a column per number of arms or horizon."""
    columns = sorted({column(cell) for cell in cells})
    policies = list(dict.fromkeys(cell.policy for cell in cells))
    found = {(cell.policy, column(cell)): show(cell) for cell in cells}
    rows = [[policy, *(found.get((policy, place), "") for place in columns)] for policy in policies]
    cut = any(cell.played < cell.horizon and cell.policy != BARE for cell in cells)
    return Table(title, ["policy", *(f"{place:,}" for place in columns)], rows, CUT if cut else "")


def _machine(run: Run) -> Table:
    rows = []
    for name, spread in run.machine.items():
        aim = MACHINE[name]
        quartiles = f"{spread.low:.3g} to {spread.high:.3g}" if spread.repeats > 1 else ""
        rows.append((aim.about, f"{spread.median:.3g} {aim.unit}", quartiles))
    return Table("Start-up, workers, latency, memory", ("what", "median", "quartiles"), rows)


def _designs(run: Run) -> Table:
    rows = [
        (name, f"{spread.median:.3g} s", f"{spread.low:.3g} to {spread.high:.3g}", DESIGNS[name].peer)
        for name, spread in run.designs.items()
    ]
    title = "Processor time of 10,000 simulated trials, compiling aside"
    return Table(title, ("design", "median", "quartiles", "R on such a machine"), rows)


def _linear(run: Run) -> Table:
    rows = [
        (name, f"{spread.median:,.0f}", f"{spread.low:,.0f} to {spread.high:,.0f}")
        for name, spread in run.linear.items()
    ]
    title = f"Rounds per second by features, K = {ARMS}, d = {FEATURES}, one core"
    return Table(title, ("policy", "median", "quartiles"), rows)


def _analysis(run: Run) -> Table:
    rows = [
        (name, f"{spread.median:.3g} s", f"{spread.low:.3g} to {spread.high:.3g}")
        for name, spread in run.analysis.items()
    ]
    title = f"Processor time to analyse {run.settings['long_trial']:,} units of 10 arms, compiling aside"
    return Table(title, ("analysis", "median", "quartiles"), rows)


# Whose processor time is told: an earlier run has that of the service alone.
PROCESSOR = ("processor", "database_processor", "desks_processor")


def _service(run: Run) -> Table:
    rows = [
        (each["database"], str(each["workers"]), f"{each['share']:.0%}" if each.get("share") else "",
         str(each["batch"]), str(each["trials"]), f"{each['pairs']:,}",
         f"{each['pairs_per_second']:,.0f}", f"{each['p50']:.1f}", f"{each['p99']:.1f}",
         *(f"{each[part]:.2f}" if part in each else "" for part in PROCESSOR))
        for each in run.service
    ]  # fmt: skip
    header = (
        "database", "workers", "each held to, of a core",
        "units of a request", "trials", "pairs", "ask + tell pairs per second", "p50, ms",
        "p99, ms", "processor time per pair, ms", "of the database's server", "of the desks",
    )  # fmt: skip
    few, many = run.growth
    note = f"A pair costs {few:,.0f} us of processor time in a trial of 100 events, {many:,.0f} us in one of 100,000."
    note += (
        f" A trial of {run.long['units']:,.0f} units is verified, on all cores, in "
        f"{run.long[f'verify {FEWER}']:.1f} s with {FEWER}. "
        f"With {recommended(int(run.long['units']), 1)}, which is recommended for so many, it is in "
        f"{run.long['verify']:.1f} s, in {run.long['from a checkpoint']:.1f} s from its checkpoint, and a correction "
        f"takes {run.long['correction']:.0f} ms."
    )
    if not any(each.get("share") for each in run.service):
        note += " No worker was held to a share of a core: this needs cgroups, and the right to make some."
    return Table("The service over loopback, every answer on disk", header, rows, note)


def _arms(cell: Cell) -> int:
    return cell.arms


def _horizon(cell: Cell) -> int:
    return cell.horizon


def _mark(cell: Cell) -> str:
    return "*" if cell.played < cell.horizon and cell.policy != BARE else ""


def _cost(cell: Cell) -> str:
    if cell.cost is None:
        return "-"
    cost = cell.cost.median
    return f"{cost:,.{1 if cost < 100 else 0}f}{_mark(cell)}"


def _quartiles_of_cost(cell: Cell) -> str:
    return f"{cell.cost.low:.1f} to {cell.cost.high:.1f}" if cell.cost else ""


def _share(cell: Cell) -> str:
    return "-" if cell.share is None else f"{as_share(cell.share.median)}{_mark(cell)}"


def _where(run: Run) -> str:
    computer = run.computer
    return (
        f"Measured on {run.date[:10]}: {computer['processor']}, {computer['cores']} cores, {computer['system']}, "
        f"Python {computer['python']}, Numba {computer['numba']}."
    )


def _arrow(change: Change) -> str:
    return f"x{change.ratio:.2f}{' (!)' if change.sure else ''}"


def _changed(run: Run, before: Run | None) -> str:
    """What changed beyond the spread, the largest first."""
    if before is None:
        return "No run before this one to compare with."
    every = changes(run, before)
    if not every:
        return f"Nothing that the run of {before.date} measured was measured again."
    sure = sorted((change for change in every if change.sure), key=lambda c: max(c.ratio, 1 / c.ratio), reverse=True)
    lines = [
        f"Against the run of {before.date}: all figures together x{common_change(every):.2f}; beyond that and beyond "
        f"the noise of {len(every)} figures, {len(sure)} changed"
        + (" (above 1: a larger share of the bare loop's speed, or more seconds or megabytes)" if sure else "")
    ]
    lines += [f"  {change.what}: x{change.ratio:.2f}" for change in sure[:SHOWN_CHANGES]]
    if len(sure) > SHOWN_CHANGES:
        lines.append(f"  and {len(sure) - SHOWN_CHANGES} more")
    return "\n".join(lines)
