"""A problem from the flags of a command: by name, by means, or from data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safebandit.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from safebandit.problems import Instance


def instance_from_flags(problem: Mapping[str, Any]) -> Instance:
    """The one instance that the flags describe."""
    from safebandit.simulation.study import instance_from_entry

    return instance_from_entry(entry_from_flags(problem))


def entry_from_flags(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The flags as an entry of a study; exactly one of instance, mu and data must be given."""
    sources = [name for name in ("instance", "mu", "data") if problem.get(name) is not None]
    if len(sources) != 1:
        got = " and ".join(f"--{name}" for name in sources) or "none"
        raise InstanceError(f"give a problem by --instance, by --mu and --nu, or by --data; got {got}")
    entry: dict[str, Any] = {"allow_infeasible": True} if problem.get("allow_infeasible") else {}
    if problem.get("alpha") is not None:
        entry["alpha"] = one_or_more("alpha", problem["alpha"])
    if sources == ["instance"]:
        if problem.get("risks") is not None:
            raise InstanceError("a named problem names its risks itself; give --risks with --mu or --data")
        return {**entry, "name": problem["instance"]}
    if problem.get("risks") is not None:
        entry["risks"] = names(problem["risks"])
    if sources == ["data"]:
        return {**entry, "data": str(problem["data"]), "missing_risk": problem["missing_risk"]}
    if problem.get("nu") is None:
        raise InstanceError("--mu needs --nu, the mean risks; give one per arm")
    rows = [numbers("nu", row) for row in problem["nu"]]
    entry |= {"kind": "bernoulli", "mu": numbers("mu", problem["mu"]), "nu": rows[0] if len(rows) == 1 else rows}
    if problem.get("correlation") is not None:
        entry["correlation"] = one_or_more("correlation", problem["correlation"])
    if problem.get("arms") is not None:
        entry["arms"] = names(problem["arms"])
    return entry


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",")]


def one_or_more(what: str, text: str) -> float | list[float]:
    """One number, or several separated by commas."""
    values = numbers(what, text)
    return values[0] if len(values) == 1 else values


def numbers(what: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InstanceError(f'--{what} must be numbers separated by commas, got "{text}"') from None
