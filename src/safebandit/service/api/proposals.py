"""The interface for programs, version 1: what needs a second person, proposed by one and approved by another."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from safebandit.errors import TrialError
from safebandit.service.access import Auditor, Manager
from safebandit.service.api import answers, listing, schemas
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.api.writing import read_ahead, write
from safebandit.service.keys import Key
from safebandit.service.refusals import RefusedError
from safebandit.trials.answers import Receipt
from safebandit.trials.approval import KINDS
from safebandit.trials.engine import warm_up
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.transaction import Transaction

router = APIRouter(
    prefix="/v1/trials/{trial}/proposals", responses=answers.PROBLEMS, tags=["proposals"], route_class=StrictRoute
)
Number = Annotated[int, Path(ge=1, lt=2**63, description="The proposal's number.")]


@router.get("")
def list_proposals(trial: TrialInPath, request: Request, _: Auditor) -> list[answers.ProposalAnswer]:
    """What waits for a second person, the oldest first; those that have expired too."""
    return listing.open_proposals(request.app.state.ledger, trial)


@router.post("", status_code=201)
async def propose(
    trial: TrialInPath, body: schemas.Proposal, request: Request, key: Manager
) -> answers.ReceiptAnswer:  # fmt: skip
    """Propose an amendment, an unsealing, or after the end a correction, or to void a unit or give one up; the event is
    the proposal's number.
    """
    what, said = read_proposal(body)
    person = person_of(key)
    if what == "amend":
        ledger: Ledger = request.app.state.ledger
        changes = {name: value for name, value in said.items() if name != "reason"}
        await asyncio.to_thread(lambda: warm_up(ledger.state(trial).settings.amended(**changes)))

    def work(transaction: Transaction) -> Receipt:
        made = transaction.trial(trial)
        return made.propose(what, person=person, hours=body.hours, actor=key.actor, **said)

    return answers.ReceiptAnswer.model_validate(await write(request, trial, work))


@router.post("/{number}/approval", status_code=201)
async def approve(trial: TrialInPath, number: Number, request: Request, key: Manager) -> answers.ReceiptAnswer:
    """Do what another person proposed, exactly that; 409 where it would now do something else."""
    person = person_of(key)
    await asyncio.to_thread(warm_up_for, request.app.state.ledger, trial, number)
    ahead = await read_ahead(request, trial)

    def work(transaction: Transaction) -> Receipt:
        return transaction.trial(trial, ahead).approve(number, person=person, actor=key.actor)

    return answers.ReceiptAnswer.model_validate(await write(request, trial, work))


@router.post("/{number}/refusal", status_code=201)
async def refuse(
    trial: TrialInPath, number: Number, body: schemas.StatusChange, request: Request, key: Manager
) -> answers.ReceiptAnswer:
    """Decline a proposal, or withdraw one's own."""
    person = person_of(key)

    def work(transaction: Transaction) -> Receipt:
        made = transaction.trial(trial)
        return made.refuse(number, reason=body.reason, person=person, actor=key.actor)

    return answers.ReceiptAnswer.model_validate(await write(request, trial, work))


def person_of(key: Key) -> str:
    """The person behind a request: keys of one person are one person, and a service is nobody."""
    if key.person is None:
        raise RefusedError(403, "this needs a person, and the key is a service's; sign in, or use a key of yours")
    return key.person


def read_proposal(body: schemas.Proposal) -> tuple[str, dict[str, Any]]:
    """Which request is proposed, and what it says."""
    said = body.model_dump(exclude={"hours"}, exclude_none=True)
    if len(said) != 1:
        raise TrialError(f"a proposal is to {', '.join(KINDS)}; say one of them")
    what, values = next(iter(said.items()))
    if "unit" in values:
        values["id"] = values.pop("unit")
    return what, values


def warm_up_for(ledger: Ledger, trial: str, number: int) -> None:
    """Compile what an approved amendment needs, beside the thread that writes."""
    state = ledger.state(trial)
    proposal = state.proposals.get(str(number))
    if proposal is not None and proposal["request"] == "amend" and state.status not in ("stopped", "closed"):
        warm_up(state.settings.amended(**proposal["gives"]["changes"]))
