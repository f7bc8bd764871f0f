"""What only Python asks of an index or a policy: an attribute of its class. What compiled code asks is a formula."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class Declared(Generic[P, R]):
    """A question that an attribute of a value answers; `register`, the older way to answer it, is deprecated."""

    def __init__(self, question: Callable[P, R], attribute: Callable[[Any], Any]) -> None:
        self._question, self._attribute = question, attribute
        functools.update_wrapper(self, question)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        return self._question(*args, **named)

    def register(self, kind: type) -> Callable[[F], F]:
        """Let a function answer for a class."""
        name = self._question.__name__
        warnings.warn(
            f"@{name}.register goes with version 0.11; write `{name}` into the class {kind.__name__}",
            DeprecationWarning,
            stacklevel=2,
        )

        def add(answer: F) -> F:
            setattr(kind, name, self._attribute(answer))
            return answer

        return add


def declared(attribute: Callable[[Any], Any] = lambda answer: answer) -> Callable[[Callable[P, R]], Declared[P, R]]:
    """A question that classes answer by an attribute: a method, or what `attribute` makes of a function."""
    return lambda question: Declared(question, attribute)
