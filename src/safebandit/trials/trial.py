"""A live trial: ask which arm the next unit gets, tell what happened, in any order, and be told why."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.naming import read_number
from safebandit.core.policies import policy_from_text, policy_to_text, recommended
from safebandit.errors import TrialError
from safebandit.problems.limits import (
    ONE_RISK,
    Alpha,
    AnyAlpha,
    list_risk_names,
    plain_alpha,
    read_limits,
    read_risk_names,
    write_alpha,
)
from safebandit.trials.allocator import Allocator
from safebandit.trials.explanation import Explanation
from safebandit.trials.outcomes import AnyRisk, outcome_names, read_outcome
from safebandit.version import __version__

FORMAT = 1


class Ask(NamedTuple):
    """The answer to `ask`: which arm the next unit gets, under which id; or why none is given."""

    id: int | None
    arm: str | None
    reason: str

    @property
    def held(self) -> bool:
        """Whether no arm was given."""
        return self.arm is None


class Difference(NamedTuple):
    """A logged decision that recomputing does not give: its place in the log, and both arms (None: held)."""

    position: int
    id: int | None
    logged: str | None
    recomputed: str | None


@dataclass
class _Unit:
    """One unit that was given an arm: which play of which arm, and what is known of its outcome."""

    arm: int
    play: int
    reward: float | None
    risks: list[float | None]

    @property
    def resolved(self) -> bool:
        """Whether all of its outcome is known."""
        return self.reward is not None and None not in self.risks


class Trial:
    """An experiment in progress.

    >>> trial = Trial(["placebo", "low", "high"], alpha=0.2, policy="tsbu", seed=7)
    >>> unit = trial.ask()
    >>> trial.tell(unit.id, reward=1, risk=0)
    >>> trial.explain().chosen in trial.arms
    True

    An arm is given out only while its units with unknown risk are fewer than those with known risk (one is always
    allowed), so that unresolved units do not pile up on an untested arm. While no arm is permissible, the trial
    holds, unless its policy says otherwise (`when_none`). Without a policy it takes the recommended one.

    With several risks, alpha has a number for each; they are told in order, or by name and piece by piece.

    >>> trial = Trial(2, alpha=[0.3, 0.2], risks=["toxicity", "nausea"], seed=7)
    >>> unit = trial.ask()
    >>> trial.tell(unit.id, reward=1, risk={"nausea": 0})
    >>> trial.tell(unit.id, risk={"toxicity": 1})
    >>> trial.pending
    {}
    """

    def __init__(
        self,
        arms: Sequence[str] | int,
        alpha: AnyAlpha,
        policy: Any = None,
        *,
        seed: int | None = None,
        risks: Sequence[str] | None = None,
    ) -> None:
        self.arms = _arm_names(arms)
        named = None if risks is None else len(list_risk_names(risks, TrialError))
        self.limits = read_limits(alpha, named, TrialError)
        self.risks = read_risk_names(risks, len(self.limits), TrialError)
        if policy is None:
            policy = recommended(len(self.limits))
        self.policy = policy_from_text(policy) if isinstance(policy, str) else policy
        # A seed that nobody chose still has to be known, for the trial to be recomputed.
        self.seed = secrets.randbits(63) if seed is None else int(read_number("seed", seed, int, TrialError))
        if self.seed < 0:
            raise TrialError(f"seed must be at least 0, got {seed}")
        self.policy_text = policy if isinstance(policy, str) else policy_to_text(policy)
        self._allocator = Allocator(self.arms, self.limits, self.policy, risks=self.risks, seed=self.seed)
        self._units: dict[int, _Unit] = {}
        self.log: list[dict[str, Any]] = []

    @property
    def alpha(self) -> Alpha:
        """The tolerated mean risk; with several risks, all of them."""
        return plain_alpha(self.limits)

    @property
    def round(self) -> int:
        """The round that the next unit given an arm will be, from 1."""
        return len(self._units) + 1

    @property
    def pending(self) -> dict[int, str]:
        """Units whose reward or risk is not known yet, with their arms."""
        return {number: self.arms[unit.arm] for number, unit in self._units.items() if not unit.resolved}

    def ask(self) -> Ask:
        """Give the next unit an arm, or say why none is given."""
        decision = self._allocator.decide(self.round)
        k, none = decision.k, decision.none
        if k < 0:
            self.log.append({"event": "held", "none_permissible": none})
            return Ask(None, None, self._allocator.reason_of(decision))
        number = self.round
        self._give(number, k)
        self.log.append({"event": "asked", "id": number, "arm": self.arms[k]})
        reason = "no arm is permissible; the policy's when_none rule gives this arm" if none else "largest reward index"
        return Ask(number, self.arms[k], reason)

    def tell(self, id: Any, *, reward: float | None = None, risk: AnyRisk | None = None) -> None:
        """Say what happened to a unit: reward and risk together, or each when it is known.

        Several risks are told as numbers in order or by name, {"nausea": 0}; None stands for what is not known yet.
        The same value told again changes nothing; another value is refused.
        """
        number = isinstance(id, int | np.integer) and not isinstance(id, bool)
        unit = self._units.get(int(id)) if number else None
        if unit is None:
            known = f"ids from 1 to {len(self._units)} were given" if self._units else "none was given yet"
            raise TrialError(f"no unit has the id {id!r}; {known}")
        told = read_outcome(int(id), reward, risk, self.risks)
        parts = zip(outcome_names(self.risks), (unit.reward, *unit.risks), told, strict=True)
        new_reward, *new_risks = [_news(id, *part) for part in parts]
        news: dict[str, Any] = {} if new_reward is None else {"reward": new_reward}
        if any(value is not None for value in new_risks):
            news["risk"] = self._logged(new_risks)
        if news:
            self._learn(unit, new_reward, new_risks)
            self.log.append({"event": "told", "id": int(id), **news})

    def _logged(self, risks: Sequence[float | None]) -> Any:
        """News about risks as the log has it: the number of a single risk, those of several by name."""
        if len(risks) == 1:
            return risks[0]
        return {name: value for name, value in zip(self.risks, risks, strict=True) if value is not None}

    def explain(self) -> Explanation:
        """What is known of every arm now, who is permissible, and which arm the next `ask` gives, and why."""
        return self._allocator.explain(self.round)

    def to_json(self) -> str:
        """The whole trial as a text; `from_json` goes on exactly as this one would."""
        position = self._allocator.position
        document = {
            "format": FORMAT,
            "version": __version__,
            "arms": list(self.arms),
            "alpha": write_alpha(self.alpha),
            **({} if self.risks == ONE_RISK else {"risks": list(self.risks)}),
            "policy": self.policy_text,
            "seed": self.seed,
            "log": self.log,
            "stream": list(position),
        }
        return json.dumps(document, allow_nan=False)

    @staticmethod
    def from_json(text: str, *, policy: Any = None) -> Trial:
        """A trial as `to_json` left it; `policy` is needed only where it has no text of its own."""
        document = _document(text)
        try:
            chosen, risks = policy or document["policy"], document.get("risks")
            trial = Trial(document["arms"], document["alpha"], chosen, seed=document["seed"], risks=risks)
            for event in document["log"]:
                trial._repeat(event)
            trial._allocator.position = tuple(document["stream"])
        except (KeyError, TypeError, AttributeError, OverflowError, ValueError) as problem:
            raise TrialError(f"the saved trial does not hold together: {problem}") from None
        return trial

    def replay(self) -> list[Difference]:
        """Recompute every decision from the log; where one differs from what was logged, say so.

        After a difference the logged arm is taken, so that each decision is judged on what was known then.
        """
        twin = Trial(self.arms, self.limits, self.policy, seed=self.seed, risks=self.risks)
        differences = []
        for position, event in enumerate(self.log):
            if event["event"] == "told":
                twin._repeat(event)
                continue
            k = twin._allocator.decide(twin.round).k
            recomputed, logged = (self.arms[k] if k >= 0 else None), event.get("arm")
            if recomputed != logged:
                differences.append(Difference(position, event.get("id"), logged, recomputed))
            twin._repeat(event)
        return differences

    def _repeat(self, event: Mapping[str, Any]) -> None:
        """Do again what the log says was done, without deciding."""
        if event["event"] == "asked":
            self._give(event["id"], self.arms.index(event["arm"]))
        elif event["event"] == "told":
            number = event["id"]
            reward, *risks = read_outcome(number, event.get("reward"), event.get("risk"), self.risks)
            self._learn(self._units[number], reward, risks)
        self.log.append(dict(event))

    def _give(self, number: int, k: int) -> None:
        self._units[number] = _Unit(k, self._allocator.give(k), None, [None] * len(self.risks))

    def _learn(self, unit: _Unit, reward: float | None, risks: Sequence[float | None]) -> None:
        self._allocator.learn(unit.arm, unit.play, (unit.reward, *unit.risks), (reward, *risks))
        unit.reward = unit.reward if reward is None else reward
        unit.risks = [old if new is None else new for old, new in zip(unit.risks, risks, strict=True)]


def _arm_names(arms: Sequence[str] | int) -> tuple[str, ...]:
    if isinstance(arms, str):
        raise TrialError(f"arms must be a list of names or a number of arms, got {arms!r}")
    names = tuple(str(k) for k in range(arms)) if isinstance(arms, int) else tuple(str(arm) for arm in arms)
    if len(names) == 0:
        raise TrialError("a trial needs at least one arm, got none")
    if len(set(names)) != len(names):
        raise TrialError(f"names of arms must differ, got {', '.join(names)}")
    return names


def _news(number: int, name: str, known: float | None, told: float | None) -> float | None:
    """The value if it is news; None if nothing was told or the same is known; an error if it contradicts."""
    if told is None or known is None:
        return told
    if known != told:
        raise TrialError(f"unit {number} already has {name} {known:g}, got {told:g}; an outcome is told once")
    return None


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as problem:
        raise TrialError(f"the text is not a saved trial, or was cut short: {problem}") from None
    wanted = {"format", "version", "arms", "alpha", "policy", "seed", "log", "stream"}
    if not isinstance(document, dict) or not wanted <= set(document):
        raise TrialError("the text is JSON, but not a trial that to_json wrote")
    if document["format"] != FORMAT or document["version"] != __version__:
        raise TrialError(
            f"the trial was saved by version {document['version']} (format {document['format']}), this is "
            f"{__version__} (format {FORMAT}); go on with the version that it was begun with"
        )
    return document
