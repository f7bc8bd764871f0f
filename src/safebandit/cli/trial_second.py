"""`safebandit trial unseal`, `proposals`, `approve` and `decline`: what needs a second person."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from safebandit.cli.live import DATABASE, Actor, Database, Desk, Name, Reason, open_ledger, write
from safebandit.cli.output import Json, plain_table, print_document, print_plain

Propose = Annotated[
    bool, typer.Option("--propose", help="Propose it, for a second person to approve (`trial approve`).")
]
Number = Annotated[int, typer.Argument(help="The proposal's number, as `trial proposals` shows it.", min=1)]


def unseal(
    name: Name,
    reason: Reason,
    what: Annotated[str, typer.Option(help="stream (the seed, and the random numbers' places) or sums.")] = "stream",
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> None:
    """Propose to show before the end what is concealed until then, for a second person to approve."""
    propose_to("unseal", Desk(name, db, actor, json), what=what, reason=reason)


def proposals(name: Name, db: Database = DATABASE, json: Json = False) -> None:
    """List what waits for a second person."""
    with open_ledger(db) as ledger:
        found = ledger.state(name).proposals
    if json:
        print_document({"trial": name, "proposals": [{"proposal": int(n), **each} for n, each in found.items()]})
        return
    table = plain_table("proposal", "to", "by", "until", "what", right=("proposal",))
    for number, each in found.items():
        gives = each["gives"]
        outcome = f": {gives['outcome']}" if "outcome" in gives else ""
        what = gives.get("changes") or gives.get("what") or f"unit {gives.get('unit')}{outcome}"
        request = each["request"].replace("_", " ")
        table.add_row(number, request, each["person"], each["expires"][:19], f"{what} ({gives['reason']})")
    print_plain(table)


def approve(name: Name, number: Number, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Do what another user proposed, exactly that; refused where it would now do something else."""
    desk = Desk(name, db, actor, json)
    write(desk, "done", lambda ledger, who: ledger.approve(name, number, person=user(), actor=who))


def decline(
    name: Name, number: Number, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False
) -> None:
    """Decline a proposal, or withdraw one's own."""
    said, desk = {"reason": reason, "person": user()}, Desk(name, db, actor, json)
    write(desk, "declined", lambda ledger, who: ledger.refuse(name, number, **said, actor=who))


def propose_to(request: str, desk: Desk, **said: Any) -> None:
    """Have something proposed by the user who runs this."""
    write(
        desk, "proposed",
        lambda ledger, who: ledger.propose(desk.trial, request, person=user(), actor=who, **said),
    )  # fmt: skip


def user() -> str:
    """Who runs this, as a person: --actor is a name that anybody may type."""
    from safebandit.trials.record.ledger import local_actor

    return f"user {local_actor()}"
