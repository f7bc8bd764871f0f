"""Outcomes from a file, on the page: first what would change, and once that is confirmed, exactly that."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData, UploadFile

from safebandit.errors import BatchError, SafebanditError, TrialError
from safebandit.service.access import Teller
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.guards import BATCH
from safebandit.service.keys import Key
from safebandit.service.page import screens, views
from safebandit.service.page.fields import FIRST, Form
from safebandit.service.page.rendering import MOST_FILE_BYTES, PageRoute, go, render
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import status_of
from safebandit.service.without_results import refusal_for
from safebandit.trials.answers import Receipt
from safebandit.trials.batch_files import read_outcomes, read_text
from safebandit.trials.batches import Answered, carry_out
from safebandit.trials.events import canonical
from safebandit.trials.record.transaction import Transaction

router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=FIRST)
NAMED = "the file"


class Found(NamedTuple):
    """What would become of the rows of a file; `mark` stands for the file and for that."""

    new: int
    known: int
    refused: Sequence[tuple[int, str]]
    mark: str


class _NotWrittenError(BatchError):
    """Ends a transaction of which nothing is written: as a batch that is refused, it leaves nothing of it to others."""

    def __init__(self, found: Found) -> None:
        super().__init__("nothing is written")
        self.found = found


@router.post(f"/trials/{{trial}}/outcomes{BATCH}")
def tell_many(trial: TrialInPath, request: Request, key: Teller, form: Form) -> Response:
    """Show what a file would change; or, where that was shown and is still so, write it."""
    head = views.head(request.app.state.ledger, trial)
    mark = str(form.get("mark") or "")
    try:
        rows = str(form["rows"]) if "rows" in form else _sent(form)
        outcomes = read_outcomes(rows, head.settings, NAMED)
        request.app.state.scribe.write(trial, _work(trial, outcomes, rows, key, mark)).result()
    except _NotWrittenError as shown:
        return render(request, "batch.html", key=key, head=head, found=shown.found, rows=rows, changed=bool(mark))
    except TrialError as problem:
        sent = Sent("batch", str(problem), True)
        return screens.trial_screen(request, key, trial, sent=sent, status=status_of(problem))
    return go(f"/trials/{trial}?done=tell#tell")


def _sent(form: FormData) -> str:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.size:
        raise TrialError("choose a file with outcomes: nothing was sent")
    if file.size > MOST_FILE_BYTES:
        raise TrialError(f"a file may have at most {MOST_FILE_BYTES:,} bytes, got {file.size:,}; send it in parts")
    return read_text(file.file.read(), NAMED)


def _work(trial: str, outcomes: Sequence[Mapping[str, Any]], rows: str, key: Key, mark: str) -> Any:
    def work(transaction: Transaction) -> None:
        answers = carry_out(transaction.trial(trial), "tell", outcomes, whole=False, actor=key.actor)
        found = _found(answers, rows, key)
        # All of it is decided in one transaction: what was confirmed is what is written, or nothing is.
        if found.refused or found.mark != mark:
            raise _NotWrittenError(found)

    return work


def _found(answers: Sequence[Answered], rows: str, key: Key) -> Found:
    taken = [answer for answer in answers if isinstance(answer, Receipt)]
    refused = [(i, refusal_for(key, each)) for i, each in enumerate(answers, 1) if isinstance(each, SafebanditError)]
    new = [answer.new for answer in taken]
    mark = hashlib.sha256(canonical([rows, new, refused]).encode("utf-8", "backslashreplace")).hexdigest()
    return Found(sum(new), len(new) - sum(new), refused, mark)
