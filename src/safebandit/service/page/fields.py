"""What was typed into the fields of a form, read as texts, lines and numbers.

By hand: Pydantic models of these forms would be longer, as every mistake needs a message in our words anyway.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Depends
from starlette.datastructures import FormData

from safebandit.errors import TrialError
from safebandit.problems.limits import plain_alpha
from safebandit.service.page.rendering import read_form

Form = Annotated[FormData, Depends(read_form)]
# Where a form comes from is asked first, before who sent it.
FIRST = [Depends(read_form)]


def text(form: FormData, field: str) -> str:
    """What a field says."""
    value = form.get(field, "")
    return value if isinstance(value, str) else ""


def lines(form: FormData, field: str) -> list[str]:
    """What a field says line by line, without empty lines."""
    return [line.strip() for line in re.split(r"\r?\n", text(form, field)) if line.strip()]


def number(form: FormData, field: str, what: str) -> float | None:
    """The number in a field; None if it is empty."""
    typed = text(form, field).strip()
    return read_number(typed, what) if typed else None


def numbers(form: FormData, field: str) -> Any:
    """One number, or several with commas between them; None if there is none."""
    typed = text(form, field)
    return plain_alpha(tuple(read_number(part.strip(), field) for part in typed.split(","))) if typed.strip() else None


def whole(form: FormData, field: str, what: str) -> int | None:
    """The whole number in a field; None if it is empty."""
    typed = text(form, field).strip()
    if typed and not re.fullmatch(r"[0-9]{1,30}", typed):
        raise TrialError(f"{what} must be a whole number, got {typed[:40]!r}")
    return int(typed) if typed else None


def read_number(typed: str, what: str) -> float:
    """A number as it was typed."""
    try:
        return float(typed)
    except ValueError:
        raise TrialError(f"{what} must be a number such as 0.2, got {typed[:40]!r}") from None
