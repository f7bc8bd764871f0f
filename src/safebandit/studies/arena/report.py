"""The page: the leaderboard, the pictures, and a table for every instance."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from safebandit.problems.limits import show_alpha
from safebandit.studies.arena.figures import LIMIT_MARK, draw_all
from safebandit.studies.arena.leaderboard import STATISTICS, Extreme, Score, Standing, Statistic
from safebandit.studies.report import made_by, number, page, picture, table, write_text

if TYPE_CHECKING:
    from safebandit.core.arms import Numbers
    from safebandit.studies.arena.run import Arena

STYLE = """
:root { --better: #0f5a9c; --worse: #a3271f; }
@media (prefers-color-scheme: dark) { :root { --better: #8cc4f5; --worse: #f5a69f; } }
.better { color: var(--better); font-weight: 600; } .worse { color: var(--worse); font-weight: 600; }
td small { display: block; color: var(--soft); }
td small.better { color: var(--better); } td small.worse { color: var(--worse); }
td:first-child, th:first-child { position: sticky; left: 0; background: var(--paper); padding-right: .8rem; }
.scroll { overflow-x: auto; } .scroll img { min-width: var(--least); }
nav a { display: inline-block; margin: 0 .9rem .2rem 0; font-size: .88rem; }
"""
HEADINGS = {"mean": "mean", "median": "median", "q99": "99 %", "worst": "worst"}
SHORT = {
    "mean": "mean regret",
    "q99": "99th percentile",
    "slope": "growth",
    "trade-off": "trade-off",
    "dominated-slope": "slope",
}
MOST_ARMS = 12
DASH = "-"


def write_report(arena: Arena, folder: Path) -> Path:
    """Draw the pictures and write the page."""
    pictures = draw_all(arena.standings, arena.leaderboard, folder / "figures")
    body = [_head(arena, pictures), _leaderboard(arena), *_charts(arena, pictures)]
    body += ['<h2 id="instances">Instance by instance</h2>', _how_to_read(arena)]
    body += [_instance(one, arena) for one in arena.standings]
    body.append(_foot(arena))
    return write_text(folder / "index.html", page("Safe bandits: the arena", body, style=STYLE))


def _head(arena: Arena, pictures: Mapping[str, Path]) -> str:
    standings = arena.standings
    rounds = sum(one.result.trials * one.task.horizon * len(one.scores) for one in standings)
    places = {"leaderboard": "leaderboard", **{name: SHORT[name] for name in pictures}}
    places |= {"instances": "instances", "made": "how this was made"}
    links = "".join(f'<a href="#{place}">{title}</a>' for place, title in places.items())
    notes = ""
    if arena.settings.quick:
        notes += " <b>This was a quick run, to see that everything works: its numbers say little.</b>"
    if arena.interrupted:
        notes += " <b>The run was interrupted: only the instances that were finished are here.</b>"
    return (
        "<header><h1>The arena: every policy on the same instances</h1>"
        f"<p>{len(arena.policies)} policies on {len(standings)} instances, {rounds:,} rounds, seed "
        f"{arena.settings.seed}.{notes} In trial i the n-th "
        "play of an arm gives the same outcome under every policy, so policies are compared in pairs. Ratios are to "
        f"<b>{html.escape(arena.settings.baseline)}</b>: below 1 is less regret. Intervals are 95 % intervals by a "
        "bootstrap of the pairs, each for itself: of cells where nothing differs, about one in twenty still excludes 1."
        f"</p><nav>{links}</nav></header>"
    )


def _leaderboard(arena: Arena) -> str:
    count = len(arena.standings)
    rows = []
    for row in arena.leaderboard:
        partly = "" if row.instances == count else f"<small>{row.instances} of {count} instances</small>"
        if row.without_regret:
            partly += f"<small>{row.without_regret} without regret</small>"
        ratios = [_ratio(value) for value in (row.mean_ratio, row.q99_ratio, row.unsafe_ratio)]
        sure = [f'<span class="better">{row.better}</span>', f'<span class="worse">{row.worse}</span>']
        rank = f"{row.mean_rank:.2f}" if row.instances else DASH
        worst = [_extreme(row.worst_mean), _extreme(row.worst_q99)]
        rows.append([f"<b>{html.escape(row.policy)}</b>{partly}", rank, *ratios, *sure, *worst])
    headings = [
        "policy", "mean rank", "mean regret", "99 % regret", "unsafe plays", "better", "worse",
        "worst mean", "worst 99 %",
    ]  # fmt: skip
    return (
        '<section><h2 id="leaderboard">Leaderboard</h2>'
        '<p class="meta">Mean rank: by mean regret on each instance, 1 is least. Mean regret, 99 % regret and '
        "unsafe plays: geometric means over the instances of the ratio to the baseline (unsafe plays: of their means, "
        "where the baseline has any), without ratios of 0. A policy that must know a safe arm is told the one of least "
        "risk; where that is the best arm it has been told the answer, and has no regret. Better, worse: on how many "
        "instances the interval of the ratio of mean regret lies below or above 1. Worst: the largest ratio of means, "
        "and of 99th percentiles, and where.</p>" + table(headings, rows, numbers=range(1, 9)) + "</section>"
    )


def _charts(arena: Arena, pictures: Mapping[str, Path]) -> list[str]:
    baseline = html.escape(arena.settings.baseline)
    common = (
        f"Numbers beyond 8 or 1/8 have the darkest colours. {LIMIT_MARK}: the best arm's risk is exactly alpha. "
        f"{DASH}: the policy cannot play the instance, or the number does not exist."
    )
    star = "*: the 95 % interval excludes 1."
    texts = {
        "mean": ("Mean regret", f"Mean regret at the horizon, as a ratio to {baseline}. {star} {common}"),
        "q99": (
            "99th percentile of regret",
            f"What one trial in a hundred exceeds, as a ratio to {baseline}. {star} {common}",
        ),
        "slope": (
            "Growth of regret against the lower bound",
            "Growth of mean regret per unit of log t over the last tenfold of the rounds, as a multiple of the slope "
            f"that no consistent policy beats in the long run. Below 1: still on its way there. {common}",
        ),
        "trade-off": (
            "What a policy gains, and what it risks",
            f"Across: geometric mean of the ratios of mean regret to {baseline} where the best arm's risk lies below "
            "alpha. Up: the worst ratio where it is exactly alpha. Lower left is better. Where some policies are far "
            "away, the second panel shows those near the baseline.",
        ),
        "dominated-slope": (
            "A dominated arm for ten million rounds",
            "How often an arm is played that is both worse and unsafe, reward and risk being independent. Left: plays "
            "per log T. Right: plays added per log T added, over the last two decades, which settles sooner. Dashed: "
            "what the bounds of the paper's policies promise, one over the larger divergence. Solid: the lower bound, "
            "one over their sum. Policies that play it much more often are left out.",
        ),
    }
    # A column of a heat map keeps a readable width, and the picture scrolls where the page is narrower.
    least = {name: "44rem" if name == "trade-off" else f"{10 + 4.5 * len(arena.policies):g}rem" for name in texts}
    return [
        f'<section class="figure"><h2 id="{name}">{title}</h2><p class="meta">{text}</p>'
        f'<div class="scroll" style="--least: {least[name]}">{picture(pictures[name], title)}</div></section>'
        for name, (title, text) in texts.items()
        if name in pictures
    ]


def _how_to_read(arena: Arena) -> str:
    links = "".join(f'<a href="#{one.task.entry.name}">{one.task.entry.name}</a>' for one in arena.standings)
    return (
        '<p class="meta">Every column has the number and, below it, its ratio to '
        f"{html.escape(arena.settings.baseline)} with its 95 % interval; the interval of a worst trial is a rough one. "
        f"Over lower bound: mean regret over c log T, where c is the least slope in the long run.</p><nav>{links}</nav>"
    )


def _instance(one: Standing, arena: Arena) -> str:
    entry = one.task.entry
    rows = [_row(label, one.scores[label]) for label in sorted(one.scores, key=lambda name: one.scores[name].rank)]
    for label, reason in one.task.cannot.items():
        rows.append([html.escape(label), *([DASH] * 7), f"cannot play: {html.escape(reason)}"])
    headings = [
        "policy",
        "rank",
        *(f"regret: {HEADINGS[name]}" for name in STATISTICS),
        "unsafe plays",
        "over lower bound",
    ]
    if one.task.cannot:
        headings.append("")
    bound = "" if one.lower_bound is None else f" Lower bound: {number(one.lower_bound)}."
    return (
        f'<section><h3 id="{entry.name}">{entry.name}{f" {LIMIT_MARK}" if one.at_limit else ""}</h3>'
        f'<p class="meta">{html.escape(entry.group)}: {html.escape(entry.reason)}. {_problem(one)} '
        f"{one.result.trials:,} trials of {one.task.horizon:,} rounds.{bound}</p>"
        + table(headings, [[*row, ""][: len(headings)] for row in rows], numbers=range(1, 8))
        + "</section>"
    )


def _problem(one: Standing) -> str:
    """The means, where they are few enough to be read."""
    instance = one.task.entry.instance
    alpha = f"alpha {show_alpha(instance.alpha)}"
    if len(instance.arms) > MOST_ARMS:
        return f"{len(instance.arms)} arms, {len(instance.unsafe_arms)} of them unsafe; {alpha}."
    risks = "; ".join(f"nu ({_vector(risk)})" for risk in np.atleast_2d(instance.nu))
    return f"mu ({_vector(instance.mu)}); {risks}; {alpha}."


def _vector(values: Numbers) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _row(label: str, score: Score) -> list[str]:
    regret = [_statistic(score.statistics["regret"][name]) for name in STATISTICS]
    unsafe = _statistic(score.statistics["unsafe_plays"]["mean"])
    over = DASH if score.over_lower_bound is None else f"{number(score.over_lower_bound)}"
    name = (
        html.escape(label) if score.text == label else f"{html.escape(label)}<small>{html.escape(score.text)}</small>"
    )
    return [name, f"{score.rank:g}", *regret, unsafe, over]


def _statistic(statistic: Statistic) -> str:
    if statistic.ratio is None:
        return f"{number(statistic.value)}<small>{DASH}</small>"
    kind = "better" if statistic.better else "worse" if statistic.worse else ""
    if statistic.low is None or statistic.high is None or statistic.low == statistic.high:
        ends = ""
    else:
        ends = f" ({_ratio(statistic.low)} to {_ratio(statistic.high)})"
    return f'{number(statistic.value)}<small class="{kind}">{_ratio(statistic.ratio)}{ends}</small>'


def _ratio(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:.2f}" if value < 9.95 else number(value)


def _extreme(extreme: Extreme) -> str:
    if extreme.instance is None:
        return DASH
    return f'{_ratio(extreme.ratio)}<small><a href="#{extreme.instance}">{extreme.instance}</a></small>'


def _foot(arena: Arena) -> str:
    rows = []
    for label in arena.policies:
        results = [one.result for one in arena.standings if label in one.scores]
        rounds = sum(result.trials * result.specification.horizon for result in results)
        seconds = sum(result.seconds.get(label, 0.0) for result in results)
        rows.append([html.escape(label), f"{rounds:,}", f"{rounds / seconds:,.0f}" if seconds > 0 else DASH])
    return (
        '<section><h2 id="made">How this was made</h2>'
        f"<p>{made_by(arena.settings.seed, arena.seconds)} Every number of this page is in arena.json, and every trial "
        "in runs, as files that `safebandit show`, `extend` and `rerun` read.</p>"
        + table(["policy", "rounds", "rounds per second of one core"], rows, numbers=(1, 2))
        + "</section>"
    )
