"""Many requests of one kind to a trial, in one transaction: each has its own answer, all are written or each that can
be.

Asked and told again, a batch changes nothing, as each of its requests does not.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from safebandit.errors import BadValueError, BatchError, TrialError
from safebandit.trials.answers import Allocation, Receipt
from safebandit.trials.engine import Engine

# Of one batch.
MOST_REQUESTS = 5000
# So long others may wait for a batch: they give up after 15 s.
LONGEST_SECONDS = 8.0
# What a request of a batch is answered with: the answer, or why it is refused.
Answered: TypeAlias = Allocation | Receipt | TrialError
REQUESTS: dict[str, Callable[..., Allocation | Receipt]] = {
    "ask": Engine.ask,
    "tell": Engine.tell,
    "correct": Engine.correct,
    "give_up": Engine.give_up,
    "void": Engine.void,
}


def carry_out(
    engine: Engine, kind: str, requests: Sequence[Mapping[str, Any]], *, whole: bool, actor: str
) -> list[Answered]:  # fmt: skip
    """The answers to requests of one kind, each made of the keywords of the engine's method, with the unit as `id`.

    With `whole` the first one that is refused is an error, after which the transaction must be given up; the later
    ones are looked at as well, for all that is wrong to be told at once.
    """
    check_size(len(requests))
    changes = kind in ("correct", "void")
    with engine.state.counting_once(engine.store) if changes else contextlib.nullcontext():
        answers = _answers(engine, kind, requests, actor)
    refused = {number: answer for number, answer in enumerate(answers, 1) if isinstance(answer, TrialError)}
    if whole and refused:
        said = f"{len(refused)} of {len(answers)} requests are refused, so nothing of the batch was written"
        raise BatchError(said, refused)
    return answers


def _answers(engine: Engine, kind: str, requests: Sequence[Mapping[str, Any]], actor: str) -> list[Answered]:
    answers: list[Answered] = []
    # The first is not counted: formulas may be compiled for it, which fewer requests would not make shorter.
    counted_from = math.inf
    for request in requests:
        if time.monotonic() - counted_from > LONGEST_SECONDS:
            late = TrialError(
                f"a batch may take {LONGEST_SECONDS:g} s, in which others wait, and this one did {len(answers)} of "
                f"{len(requests)} requests by then; send fewer at a time"
            )
            raise BatchError(f"nothing of the batch was written: {late}")
        try:
            answers.append(REQUESTS[kind](engine, actor=actor, **request))
        except TrialError as refusal:
            answers.append(refusal)
        except BadValueError as problem:
            # Not refused at the door: what was done so far must not stay.
            raise BatchError(f"nothing of the batch was written: {problem}") from problem
        counted_from = min(counted_from, time.monotonic())
    return answers


def check_size(requests: int) -> None:
    """Refuse a batch without requests, or with too many."""
    if not 1 <= requests <= MOST_REQUESTS:
        raise TrialError(f"a batch has 1 to {MOST_REQUESTS} requests, got {requests}; send several")
