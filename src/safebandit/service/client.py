"""A service's trials from Python: ask, tell and explain as `Trial` has them, over HTTP.

    with Client("http://127.0.0.1:8000", key) as client:
        trial = client.trial("knee")
        unit = trial.ask("patient 17")
        trial.tell(unit.id, reward=1, risk=0)

A request whose answer was lost is sent again: units have ids, so nothing is given or counted twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

import numpy as np

from safebandit.errors import TrialError
from safebandit.problems.limits import Alpha, is_listed, plain_alpha, read_limits, show_alpha
from safebandit.service.connection import Connection
from safebandit.trials.answers import Allocation, Receipt
from safebandit.trials.outcomes import AnyRisk, read_part
from safebandit.trials.second_person import HOURS
from safebandit.trials.texts import check_name, id_text

if TYPE_CHECKING:
    import pandas as pd

    from safebandit.trials.contexts import AnyContext
    from safebandit.trials.design import Design


class Explained(NamedTuple):
    """Every arm's numbers now, or when a unit was given its arm: then `chosen` is that arm, and `why` says why.

    Which arm the next unit gets is not told before it asks.
    """

    round: int
    alpha: Alpha
    chosen: str | None
    why: str
    arms: tuple[Mapping[str, Any], ...]

    def table(self) -> pd.DataFrame:
        """One row per arm."""
        import pandas as pd

        return pd.DataFrame(list(self.arms)).set_index("arm")

    def __str__(self) -> str:
        return f"round {self.round}, alpha {show_alpha(self.alpha)}: {self.why}\n{self.table().to_string(na_rep='-')}"


class Client:
    """A service. `patience` is how many seconds a request may take, all its repetitions together."""

    def __init__(self, url: str, key: str, *, patience: float = 60.0, transport: Any = None) -> None:
        self._connection = Connection(url, key, patience=patience, transport=transport)

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: Any, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()

    def trials(self) -> list[dict[str, Any]]:
        """Every trial: name, title, status, numbers of units."""
        return list(self._connection.get("/v1/trials"))

    def worklist(self, *, trial: str | None = None) -> Iterator[dict[str, Any]]:
        """Pending units of all trials that the caller may tell of, or of one, the longest first, fetched page by page.

        Each has its trial, unit, arm, when it was `asked`, and what is `missing`.
        """
        place: str | None = ""
        while place is not None:
            said = {"limit": 1000, **({"trial": trial} if trial else {}), **({"after": place} if place else {})}
            page = self._connection.get("/v1/worklist", said)
            yield from page["units"]
            place = page["next"]

    def me(self) -> dict[str, Any]:
        """Who the service takes the caller for, and what they may do in which project."""
        return dict(self._connection.get("/v1/me"))

    def projects(self) -> list[dict[str, Any]]:
        """The projects in which the caller has a role; an admin of the installation sees all."""
        return list(self._connection.get("/v1/projects"))

    def trial(self, name: str) -> LiveTrial:
        """A trial of the service, by its name."""
        return LiveTrial(self._connection, name)

    def alerts(self) -> list[dict[str, Any]]:
        """Every alert, removed ones too."""
        return list(self._connection.get("/v1/alerts"))

    def new_alert(self, channel: str, target: str, **options: Any) -> dict[str, Any]:
        """Have a "webhook" or an "email" told; `options` are trial, kinds, role, patience and quiet.

        The `secret` of the answer, which a webhook is signed with, is shown this once.
        """
        body = {"channel": channel, "target": target, **options}
        return dict(self._connection.post("/v1/alerts", body, repeatable=False))

    def remove_alert(self, id: str) -> dict[str, Any]:
        """Send nothing more for an alert."""
        return dict(self._connection.delete(f"/v1/alerts/{quote(id, safe='')}"))

    def test_alert(self, id: str) -> dict[str, Any]:
        """Have an alert send a test; `messages` says what became of it."""
        return dict(self._connection.post(f"/v1/alerts/{quote(id, safe='')}/test", {}))

    def messages(
        self, *, alert: str | None = None, before: str | None = None, limit: int = 100
    ) -> list[dict[str, Any]]:  # fmt: skip
        """What alerts sent, have to send or gave up, newest first; older ones `before` the id of the last of these."""
        said = {"limit": limit, "alert": alert, "before": before}
        found = self._connection.get("/v1/alert-messages", {name: each for name, each in said.items() if each})
        return list(found)

    def create(
        self,
        name: str,
        arms: Sequence[str] | int | None = None,
        alpha: float | Sequence[float] | None = None,
        policy: str | None = None,
        *,
        design: Design | Mapping[str, Any] | str | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> LiveTrial:
        """Create a trial; `settings` are risks, pending_cap or delay, lost, title, ids, units, context, features,
        control with its control_floor, strata, second_person. Leave the seed out.

        A `design` (a `Design`, its document, or its text with the arms beside it) says all of that but the seed.
        """
        listed = [str(k) for k in range(arms)] if isinstance(arms, int) else None if arms is None else list(arms)
        read = () if alpha is None else read_limits(alpha, None, TrialError)
        limits = None if alpha is None else list(read) if is_listed(alpha) else read[0]
        body = {"name": name, "arms": listed, "alpha": limits, "policy": policy, "seed": seed, **settings}
        if design is not None:
            body["design"] = design if isinstance(design, str | Mapping) else design.to_dict()
        self._connection.post("/v1/trials", body)
        return self.trial(name)


class LiveTrial:
    """One trial of a service."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = check_name(name)
        self._connection = connection
        self._path = f"/v1/trials/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"LiveTrial({self.name!r})"

    def ask(
        self,
        id: str | int | None = None,
        *,
        context: AnyContext | None = None,
        eligible: Sequence[str] | None = None,
        stratum: Mapping[str, str] | None = None,
    ) -> Allocation:
        """Give a unit its arm, or say why none is given; without an id it gets one of its own.

        The `context` are the numbers that the trial declares, by name or all in order; `eligible` the arms that this
        unit may be given, if not all; `stratum` the level of each factor, where the trial has strata.
        """
        unit = secrets.token_hex(16) if id is None else id_text(id)
        told = _asking(context, eligible, stratum)
        given = self._connection.post(f"{self._path}/units", {"unit": unit, **told})
        return Allocation(**{field: given[field] for field in Allocation._fields})

    def tell(self, id: str | int, *, reward: float | None = None, risk: AnyRisk | None = None) -> Receipt:
        """Say what happened to a unit: reward and risk together, or each when it is known."""
        return self._write("outcomes", _outcome(id, reward, risk))

    def ask_many(
        self,
        ids: Sequence[str | int],
        *,
        contexts: Sequence[AnyContext] | None = None,
        eligible: Sequence[Sequence[str] | None] | None = None,
        strata: Sequence[Mapping[str, str]] | None = None,
        whole: bool = True,
    ) -> list[Allocation]:
        """Give many units their arms, in order, in one request and one transaction; `contexts`, `eligible` and `strata`
        have one entry for each, as `ask` takes it.

        With `whole` all are given what they are, or none; without it those that are refused are left out.
        """
        if isinstance(ids, str):
            raise TrialError(f"ids must be a list, one for each unit, got the text {ids!r}")
        nothing: list[Any] = [None] * len(ids)
        told = zip(ids, contexts or nothing, eligible or nothing, strata or nothing, strict=True)
        requests = [{"unit": id_text(unit), **_asking(*rest)} for unit, *rest in told]
        answers = self._batch("units", requests, whole=whole)
        given = [answer["given"] for answer in answers if answer["given"] is not None]
        return [Allocation(**{field: each[field] for field in Allocation._fields}) for each in given]

    def tell_many(self, outcomes: Sequence[Mapping[str, Any]], *, whole: bool = True) -> list[dict[str, Any]]:
        """Say what happened to many units, each a mapping of `id`, `reward` and `risk`, in one transaction.

        With `whole` all are written or none; without it each that can be. The answers are in order, each with its
        `status`, as telling it alone would have, and its `receipt` or its `message`.
        """
        plain = _outcomes(outcomes)
        return self._batch("outcomes", plain, whole=whole)

    def correct_many(
        self, outcomes: Sequence[Mapping[str, Any]], *, reason: str, whole: bool = True
    ) -> list[dict[str, Any]]:
        """Put other outcomes in the place of many that were told, in one transaction."""
        plain = _outcomes(outcomes)
        return self._batch("corrections", [{**each, "reason": reason} for each in plain], whole=whole, repeatable=False)

    def give_up_many(self, ids: Sequence[str | int], *, reason: str, whole: bool = True) -> list[dict[str, Any]]:
        """No longer wait for the outcomes of many units, in one transaction."""
        return self._batch("given-up", [{"unit": id_text(unit), "reason": reason} for unit in ids], whole=whole)

    def void_many(self, ids: Sequence[str | int], *, reason: str, whole: bool = True) -> list[dict[str, Any]]:
        """Count many units that never got their arms as nothing, in one transaction."""
        return self._batch("voided", [{"unit": id_text(unit), "reason": reason} for unit in ids], whole=whole)

    def _batch(
        self, what: str, requests: Sequence[Mapping[str, Any]], *, whole: bool, repeatable: bool = True
    ) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = []
        body = {"whole": whole, "requests": list(requests)}
        answers += self._connection.post(f"{self._path}/{what}/batch", body, repeatable=repeatable)["answers"]
        return answers

    def explain(
        self,
        id: str | int | None = None,
        *,
        context: AnyContext | None = None,
        eligible: Sequence[str] | None = None,
        stratum: Mapping[str, str] | None = None,
    ) -> Explained:
        """What is known of every arm now, for a unit that would ask with these, if they are given; with an id, the
        stored decision that gave this unit its arm.
        """
        told = _asking(context, eligible, stratum)
        if id is not None and told:
            raise TrialError(f"unit {id_text(id)!r} is explained by what it asked with; leave {next(iter(told))} out")
        if told:
            return _explain_now(self._connection.post(f"{self._path}/explanation", told))
        if id is None:
            return _explain_now(self.overview())
        unit = self._connection.post(f"{self._path}/unit", {"unit": id_text(id)})
        return _explain_then(unit["decision"]["body"], unit["alpha"])

    def correct(
        self, id: str | int, *, reason: str, reward: float | None = None, risk: AnyRisk | None = None
    ) -> Receipt:  # fmt: skip
        """Put another outcome in the place of one that was told."""
        return self._write("corrections", {**_outcome(id, reward, risk), "reason": reason}, repeatable=False)

    def give_up(self, id: str | int, *, reason: str) -> Receipt:
        """No longer wait for a unit's outcome."""
        return self._write("given-up", {"unit": id_text(id), "reason": reason})

    def void(self, id: str | int, *, reason: str) -> Receipt:
        """Count a unit that never got its arm as nothing; its id cannot be used again."""
        return self._write("voided", {"unit": id_text(id), "reason": reason})

    def amend(self, *, reason: str, **changes: Any) -> Receipt:
        """Change alpha, policy, arms (`add`, `withdraw`), pending_cap, ids, or fields of the `design` from now on."""
        return self._write("amendments", {"reason": reason, **changes}, repeatable=False)

    def propose(self, request: str, *, hours: float = HOURS, **said: Any) -> Receipt:
        """Propose to "amend", to "correct", "void" or "give_up" (`id`) or to "unseal" (`what`), for another person to
        approve; the rest is as those take it. The event is the proposal's number.
        """
        return self._write("proposals", {request: _by_unit(said), "hours": hours}, repeatable=False)

    def proposals(self) -> list[dict[str, Any]]:
        """What waits for a second person."""
        return list(self._connection.get(f"{self._path}/proposals"))

    def approve(self, number: int) -> Receipt:
        """Do what another person proposed, exactly that."""
        return self._write(f"proposals/{number}/approval", {}, repeatable=False)

    def refuse(self, number: int, *, reason: str) -> Receipt:
        """Decline a proposal, or withdraw one's own."""
        return self._write(f"proposals/{number}/refusal", {"reason": reason}, repeatable=False)

    def pause(self, *, reason: str) -> Receipt:
        """Give no arms until the trial is resumed; outcomes are still taken."""
        return self._write("pause", {"reason": reason})

    def resume(self, *, reason: str) -> Receipt:
        """Give arms again. It is sent once: repeated, it could undo a pause that someone else ordered meanwhile."""
        return self._write("resume", {"reason": reason}, repeatable=False)

    def route(self, *, reason: str) -> Receipt:
        """Give every unit the control, as long as its gate is open; outcomes still count."""
        return self._write("route", {"reason": reason})

    def unroute(self, *, reason: str) -> Receipt:
        """Decide by the policy again. It is sent once: repeated, it could undo what someone else ordered meanwhile."""
        return self._write("unroute", {"reason": reason}, repeatable=False)

    def close(self, *, reason: str) -> Receipt:
        """Give no more arms, ever; outcomes are still taken."""
        return self._write("close", {"reason": reason})

    def _write(self, what: str, body: Mapping[str, Any], *, repeatable: bool = True) -> Receipt:
        return Receipt(**self._connection.post(f"{self._path}/{what}", body, repeatable=repeatable))

    def overview(self) -> dict[str, Any]:
        """The trial at a glance."""
        return dict(self._connection.get(self._path))

    def analysis(self, *, confidence: float = 0.95, control: str | None = None) -> dict[str, Any]:
        """Means, confidence sequences and evidence for every arm, as `Analysis.to_dict` has them."""
        said = {"confidence": confidence, **({} if control is None else {"control": control})}
        return dict(self._connection.get(f"{self._path}/analysis", said))

    def log(self, *, after: int = 0) -> Iterator[dict[str, Any]]:
        """Every event behind `after`, fetched page by page."""
        at: int | None = after
        while at is not None:
            page = self._connection.get(f"{self._path}/events", {"after": at, "limit": 1000})
            yield from page["events"]
            at = page["next"]

    def verify(self, *, expected: str | None = None) -> dict[str, Any]:
        """Have the service recompute the whole trial: `holds`, and otherwise `failed` and `problem`.

        A long trial takes longer than `patience`: it is asked for again and again, until it is done.
        """
        noted = {} if expected is None else {"expected": expected}
        found: dict[str, Any] = {}
        while "holds" not in found:
            job = {"job": found["job"]} if found else {}
            wait = {"wait": min(20.0, self._connection.patience / 2)}
            found = dict(self._connection.get(f"{self._path}/verification", {**noted, **job, **wait}))
        return found


def _outcomes(outcomes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Outcomes of many units as the interface takes them."""
    plain = []
    for number, each in enumerate(outcomes, 1):
        if not isinstance(each, Mapping):
            raise TrialError(f"outcome {number} must be a mapping of id, reward and risk, got {each!r}")
        said = _by_unit(each)
        if "unit" not in said:
            raise TrialError(f"outcome {number} has no id; give the unit as id, got {', '.join(map(str, each))}")
        plain.append({**said, **_outcome(said["unit"], said.get("reward"), said.get("risk"))})
    return plain


def _by_unit(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a unit: Python calls its name `id`, the interface `unit`; either is taken, not both."""
    if "id" not in said:
        return dict(said)
    if "unit" in said:
        raise TrialError(f"a unit is named once, got id {said['id']!r} and unit {said['unit']!r}")
    return {"unit": said["id"], **{name: value for name, value in said.items() if name != "id"}}


def _outcome(id: str | int, reward: Any, risk: Any) -> dict[str, Any]:
    """What is told of a unit, as JSON can hold it: NumPy's numbers, True and False are numbers, as in a trial here."""
    unit = id_text(id)

    def part(name: str, value: Any) -> float | None:
        return read_part(f"unit {unit!r}: {name}", value)

    told: Any
    if isinstance(risk, Mapping):
        told = {str(name): part(f'risk "{name}"', value) for name, value in risk.items()}
    elif is_listed(risk) and not isinstance(risk, str):
        told = [part("risk", value) for value in risk]
    else:
        told = part("risk", risk)
    return {"unit": unit, "reward": part("reward", reward), "risk": told}


def _asking(
    context: AnyContext | None, eligible: Sequence[str] | None, stratum: Mapping[str, str] | None
) -> dict[str, Any]:  # fmt: skip
    """What a unit asks with, as JSON can hold it; nothing of what is not told."""
    return {
        **({} if context is None else {"context": _plain_context(context)}),
        **({} if eligible is None else {"eligible": list(eligible)}),
        **({} if stratum is None else {"stratum": dict(stratum)}),
    }


def _plain_context(context: AnyContext) -> Any:
    """A context as JSON can hold it."""
    if isinstance(context, Mapping):
        return dict(context)
    return context.tolist() if isinstance(context, np.ndarray) else list(context)


def _explain_now(seen: Mapping[str, Any]) -> Explained:
    why = (
        (seen["by_context"] and "which arm a unit gets is decided when it asks, by its context")
        or seen["holding"]
        or seen["waiting"]
        or (seen["stopped"] and f"the trial has stopped, by the rule {seen['stopped']['rule']}")
        or f"the trial is {seen['status']}; which arm a unit gets is decided when it asks"
    )
    return Explained(
        seen["units"] + seen["voided"] + 1, plain_alpha(tuple(seen["alpha"])), None, why, tuple(seen["arms"])
    )


def _explain_then(decision: Mapping[str, Any], alpha: Sequence[float]) -> Explained:
    arms = tuple({"arm": arm, **numbers} for arm, numbers in decision["arms"].items())
    return Explained(decision["round"], plain_alpha(tuple(alpha)), decision["arm"], decision["why"], arms)
