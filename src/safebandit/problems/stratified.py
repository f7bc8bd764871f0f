"""What a scenario supposes of the strata of a design: the share of the units in each, and where its means differ.

Means of all units together are those of the mixture: that is what a rule that pools strata sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.errors import InstanceError, at_key, suggest
from safebandit.names import normal, read_name
from safebandit.problems.instance import Instance
from safebandit.problems.limits import check_unit

# Shares may miss a sum of 1 by what thirds written with a few digits do.
NEARLY = 1e-6


class Supposed(NamedTuple):
    """What is supposed of a stratum: its share of the units (None: an equal part of the rest), and its own truth (None:
    that of the scenario). `said` is what was written of it.
    """

    name: str
    share: float | None
    truth: Instance | None
    said: dict[str, Any]


def read_supposed(declared: Any, truth: Callable[[Any, Any], Instance]) -> tuple[Supposed, ...]:
    """What is declared of strata, by their names; `truth` makes that of a stratum from its mu and nu, where it says
    one.
    """
    if declared is None:
        return ()
    if not isinstance(declared, Mapping):
        raise InstanceError(
            f'strata are tables by their names, such as {{"site=a": {{"share": 0.3}}}}, got {declared!r}'
        )
    found = []
    for name, said in declared.items():
        with at_key(str(name)):
            found.append(_read_one(name, said, truth))
    keys = [_levels(each.name) for each in found]
    for each, key in zip(found, keys, strict=True):
        if keys.count(key) > 1:
            raise InstanceError(f'the stratum "{each.name}" stands twice; say all of it once')
    _rest(found)
    return tuple(found)


def _read_one(name: Any, said: Any, truth: Callable[[Any, Any], Instance]) -> Supposed:
    title = read_name("a stratum's name", name, InstanceError)
    if not isinstance(said, Mapping) or not said:
        raise InstanceError(f"a stratum has a share, or means mu and nu of its own, got {said!r}")
    for key in said:
        if key not in ("share", "mu", "nu"):
            with at_key(key):
                raise InstanceError(f'a stratum has no key "{key}"; {suggest(str(key), ("share", "mu", "nu"))}')
    share = None
    if said.get("share") is not None:
        with at_key("share"):
            share = check_unit("share", said["share"])
            if share == 0.0:
                raise InstanceError("share must be above 0, got 0; without units of a stratum nothing is learned of it")
    own = truth(said.get("mu"), said.get("nu")) if {"mu", "nu"} & said.keys() else None
    return Supposed(title, share, own, dict(said))


def _rest(supposed: Sequence[Supposed]) -> float:
    """The share of the units that no stratum is said to have."""
    rest = 1.0 - sum(each.share for each in supposed if each.share is not None)
    if rest < -NEARLY:
        raise InstanceError(f"the shares of strata must be 1 together, got {1.0 - rest:g}")
    return 0.0 if rest < NEARLY else rest


def _levels(name: str) -> tuple[str, ...]:
    """The parts of a stratum's name, in whatever order they are written."""
    return tuple(sorted(normal(part) for part in name.split(",")))


class Part(NamedTuple):
    """A stratum of a scenario, as a design is played on it: its name, its share of the units, and its truth."""

    name: str
    share: float
    truth: Instance


def parts_of(supposed: Sequence[Supposed], names: Sequence[str], usual: Instance) -> list[Part]:
    """Every stratum of a design, by their names; of a design without any, those that the scenario tells apart, which
    the design does not. Where nothing is said of a stratum it has the `usual` truth.
    """
    said = {_levels(each.name): each for each in supposed}
    known = {_levels(name) for name in names}
    for levels, each in said.items():
        if names and levels not in known:
            raise InstanceError(f'the design has no stratum "{each.name}"; {suggest(each.name, names)}')
    unsaid = Supposed("", None, None, {})
    listed = [said.get(_levels(name), unsaid)._replace(name=name) for name in names] if names else [*supposed]
    rest, shared = _rest(supposed), sum(each.share is None for each in listed)
    if not names and shared:
        raise InstanceError("a design without strata needs the share of each stratum of its scenario; give share")
    if not names and supposed and rest > 0.0:
        listed, shared = [*listed, unsaid._replace(name="all others")], 1
    if listed and (rest > 0.0) != (shared > 0):
        problem = f"{rest:g} is left" if rest > 0.0 else "nothing is left for those without one"
        raise InstanceError(f"the shares of all strata must be 1 together, and {problem}")
    return [
        Part(each.name, rest / shared if each.share is None else each.share, each.truth or usual) for each in listed
    ]


def side_by_side(parts: Sequence[Part]) -> Instance:
    """One instance of bits with the arms of all strata, one behind the other."""
    mu, nu, correlation = (np.concatenate(each, axis=-1) for each in zip(*map(_means, parts), strict=True))
    return Instance.bernoulli(mu, nu, 1.0, correlation=correlation, allow_infeasible=True)


def mixed(parts: Sequence[Part], usual: Instance) -> Instance:
    """The mean rewards and risks of units of all strata together, with the names and limits of the `usual` truth."""
    shares = np.array([each.share for each in parts]) / sum(each.share for each in parts)
    mus, nus, _ = (np.stack(each) for each in zip(*map(_means, parts), strict=True))
    mu, nu = (np.tensordot(shares, each, axes=1) for each in (mus, nus))
    made = Instance.bernoulli(mu, nu, 1.0, arms=usual.arms, name=usual.name, risks=usual.risks, allow_infeasible=True)
    return replace(made, alpha=usual.alpha)


def _means(part: Part) -> tuple[Numbers, Numbers, Numbers]:
    """The mean rewards, mean risks and correlations of bits in a stratum, a row for each risk."""
    nu = part.truth.risk_means
    return part.truth.mu, nu, np.broadcast_to(np.asarray(part.truth.recipe.get("correlation", 0.0), float), nu.shape)
