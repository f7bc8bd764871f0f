"""A problem from the flags of a command: by name, by means, or from data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from safebandit.problems import Instance


Columns = Annotated[
    str | None, typer.Option(help="Columns of the data that go by another name: arm=dose,reward=response.")
]


def instance_from_flags(problem: Mapping[str, Any]) -> Instance:
    """The one instance that the flags describe."""
    from safebandit.simulation.study import instance_from_entry

    return instance_from_entry(entry_from_flags(problem))


def entry_from_flags(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that were given as an entry of a study; exactly one of instance, mu and data must be among them."""
    given = {name: value for name, value in problem.items() if value is not None and value is not False}
    sources = [name for name in ("instance", "mu", "data") if name in given]
    if len(sources) != 1:
        got = " and ".join(f"--{name}" for name in sources) or "none"
        raise InstanceError(f"give a problem by --instance, by --mu and --nu, or by --data; got {got}")
    if "mu" in given and "nu" not in given:
        raise InstanceError("--mu needs --nu, the mean risks; give one per arm")
    entry: dict[str, Any] = {"kind": "bernoulli"} if "mu" in given else {}
    for name, value in given.items():
        entry["name" if name == "instance" else name] = _READ.get(name, _as_it_is)(name, value)
    return entry


def _as_it_is(_: str, value: Any) -> Any:
    return value


def _mean_risks(what: str, rows: list[str]) -> list[Any]:
    """One row of numbers per risk; that of a single risk by itself."""
    read = [numbers(what, row) for row in rows]
    return read[0] if len(read) == 1 else read


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


_READ: dict[str, Callable[[str, Any], Any]] = {
    "mu": numbers,
    "nu": _mean_risks,
    "alpha": one_or_more,
    "correlation": one_or_more,
    "arms": lambda _, text: names(text),
    "risks": lambda _, text: names(text),
    "data": lambda _, path: str(path),
}
