"""A problem from the flags of a command: by name, by means, or from data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safebandit.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from safebandit.instances import Instance


def instance_from_flags(problem: Mapping[str, Any]) -> Instance:
    """The one instance that the flags describe."""
    from safebandit.study import instance_from_entry

    return instance_from_entry(entry_from_flags(problem))


def entry_from_flags(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The flags as an entry of a study; exactly one of instance, mu and data must be given."""
    sources = [name for name in ("instance", "mu", "data") if problem.get(name) is not None]
    if len(sources) != 1:
        got = " and ".join(f"--{name}" for name in sources) or "none"
        raise InstanceError(f"give a problem by --instance, by --mu and --nu, or by --data; got {got}")
    entry: dict[str, Any] = {"allow_infeasible": True} if problem.get("allow_infeasible") else {}
    if problem.get("alpha") is not None:
        entry["alpha"] = problem["alpha"]
    if sources == ["instance"]:
        return {**entry, "name": problem["instance"]}
    if sources == ["data"]:
        return {**entry, "data": str(problem["data"]), "missing_risk": problem["missing_risk"]}
    if problem.get("nu") is None:
        raise InstanceError("--mu needs --nu, the mean risks; give one per arm")
    entry |= {"kind": "bernoulli", "mu": numbers("mu", problem["mu"]), "nu": numbers("nu", problem["nu"])}
    if problem.get("correlation") is not None:
        values = numbers("correlation", problem["correlation"])
        entry["correlation"] = values[0] if len(values) == 1 else values
    if problem.get("arms") is not None:
        entry["arms"] = [name.strip() for name in problem["arms"].split(",")]
    return entry


def numbers(what: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InstanceError(f'--{what} must be numbers separated by commas, got "{text}"') from None
