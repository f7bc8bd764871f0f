"""What a rehearsal says to people, on the command line and on the page: its rows, and its chances in words."""

from __future__ import annotations

from safebandit.trials.rehearsal import Rehearsal


def heading(found: Rehearsal) -> str:
    """What was run."""
    settings = found.settings
    what = f"{found.times:,} runs of {found.scenario.units:,} units"
    return f"{what}, policy {settings.policy}, pending cap {settings.pending_cap}"


def rows(found: Rehearsal) -> list[tuple[str, dict[str, float]]]:
    """The rows of its table; the best arm is marked where there is one, and so are those that are unsafe."""
    instance, table = found.instance, found.table()
    marks = {f"plays of {arm}": instance.mark(k) for k, arm in enumerate(instance.arms)}
    labels = [f"{label} ({marks[label]})" if marks.get(label) else label for label in map(str, table.index)]
    records = [{str(key): float(value) for key, value in row.items()} for row in table.to_dict("records")]
    return list(zip(labels, records, strict=True))


def sentences(found: Rehearsal) -> list[str]:
    """With what chance it holds and gives the best arm most often; of a design, how it ends and what is selected."""
    if found.settings.design is not None:
        return [f"{what}: {_shares(of)}" for what, of in (("ends by", found.endings()), ("selects", found.selected()))]
    chances, after = found.chances(), found.held_after()
    hold = f"chance of a hold because no arm is permissible: {chances['hold']:.1%}"
    if after is not None:
        hold += f", first after {after['mean']:.0f} units (5 %: {after['q05']:.0f}, 95 %: {after['q95']:.0f})"
        hold += f"; chance of ending so: {chances['end_held']:.1%}"
    most = chances["best_arm_most"]
    if most is not None:
        return [hold, f"chance that the best safe arm is given most often: {most:.1%}"]
    tied = len(found.instance.best_arms)
    return [hold, f"{tied} safe arms share the largest mean reward: none is the best" if tied else "no arm is safe"]


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items() if share > 0.0)
