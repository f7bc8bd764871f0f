"""A live trial: ask which arm the next unit gets, tell what happened, in any order, and be told why."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from safebandit.arms import EVERY, new_memory, risk_fields
from safebandit.errors import TrialError, suggest
from safebandit.explanation import Explanation, explain_state
from safebandit.kernel import kernels_for
from safebandit.limits import (
    ONE_RISK,
    Alpha,
    AnyAlpha,
    check_unit,
    is_listed,
    list_risk_names,
    plain_alpha,
    read_limits,
    read_risk_names,
    write_alpha,
)
from safebandit.naming import read_number
from safebandit.policies import WAIT, policy_from_text, policy_to_text, prepare, recommended, widths
from safebandit.streams import STATE, trial_streams
from safebandit.version import __version__

FORMAT = 1

# What may be told of a unit's risks: a number, or with several of them one each, or some by name.
AnyRisk: TypeAlias = float | Sequence[float | None] | Mapping[str, float | None]


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
        self._ready = prepare(self.policy, self.arms, "hold", limits=self.limits)
        self._kernels = kernels_for(self._ready)
        streams = trial_streams(self.seed, 0, len(self.arms))
        self._memory = new_memory(streams.keys, streams.policy, widths(self._ready), len(self.limits))
        self._risk_fields = risk_fields(len(self.limits))
        self._known = (self._ready, self._memory, self.limits)
        self._kernels.begin(*self._known)
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
        k, none = self._kernels.decide(*self._known, self.round)
        if k < 0:
            self.log.append({"event": "held", "none_permissible": bool(none)})
            return Ask(None, None, self._hold_reason(k))
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
        risks = self._read_risks(id, risk)
        if reward is None and risks == [None] * len(risks):
            raise TrialError(f"nothing was told of unit {id}; give reward=, risk= or both")
        new_reward = _news(id, "reward", unit.reward, reward)
        names = ONE_RISK if len(self.risks) == 1 else [f'risk "{name}"' for name in self.risks]
        new_risks = [_news(id, *each) for each in zip(names, unit.risks, risks, strict=True)]
        told: dict[str, Any] = {} if new_reward is None else {"reward": new_reward}
        if any(value is not None for value in new_risks):
            told["risk"] = self._logged(new_risks)
        if told:
            self._learn(unit, new_reward, new_risks)
            self.log.append({"event": "told", "id": int(id), **told})

    def _read_risks(self, number: int, risk: Any) -> list[Any]:
        """What was told of every risk, in order; None where nothing was."""
        count = len(self.risks)
        if risk is None:
            return [None] * count
        if isinstance(risk, Mapping):
            for name in risk:
                if name not in self.risks:
                    raise TrialError(f'unit {number}: there is no risk "{name}"; {suggest(str(name), self.risks)}')
            return [risk.get(name) for name in self.risks]
        if count == 1:
            return [risk]
        if not isinstance(risk, Sequence | np.ndarray) or not is_listed(risk) or len(risk) != count:
            raise TrialError(
                f"unit {number}: risk must be {count} numbers ({', '.join(self.risks)}) or some of them by name, "
                f'as {{"{self.risks[0]}": 0}}, got {risk!r}'
            )
        return list(risk)

    def _logged(self, risks: Sequence[float | None]) -> Any:
        """News about risks as the log has it: the number of a single risk, those of several by name."""
        if len(risks) == 1:
            return risks[0]
        return {name: value for name, value in zip(self.risks, risks, strict=True) if value is not None}

    def explain(self) -> Explanation:
        """What is known of every arm now, who is permissible, and which arm the next `ask` gives, and why."""
        return explain_state(self._ready, self._memory, self.round, self.limits, self.arms, self.risks)

    def to_json(self) -> str:
        """The whole trial as a text; `from_json` goes on exactly as this one would."""
        document = {
            "format": FORMAT,
            "version": __version__,
            "arms": list(self.arms),
            "alpha": write_alpha(self.alpha),
            **({} if self.risks == ONE_RISK else {"risks": list(self.risks)}),
            "policy": self.policy_text,
            "seed": self.seed,
            "log": self.log,
            "stream": [int(word) for word in self._memory.streams[0]],
            "bar": [float(self._memory.notes["bar"][0]), int(self._memory.notes["work"][0])],
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
            for name, word in zip(STATE.names or (), document["stream"], strict=True):
                trial._memory.streams[name] = word
            bar, work = document["bar"]
            if not (0.0 <= bar < 1.0 and work >= 0):
                raise ValueError(f"bar must lie in [0, 1) and its work be at least 0, got {bar}, {work}")
            trial._memory.notes["bar"], trial._memory.notes["work"] = bar, work
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
            k, _ = twin._kernels.decide(*twin._known, twin.round)
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
            self._learn(self._units[event["id"]], event.get("reward"), self._read_risks(event["id"], event.get("risk")))
        self.log.append(dict(event))

    def _give(self, number: int, k: int) -> None:
        arm = self._memory.arms[k]
        self._units[number] = _Unit(k, int(arm["asked"]), None, [None] * len(self.risks))
        arm["asked"] += 1
        for name in ("reward", *self._risk_fields):
            arm[name]["pending"] += 1
        self._set_available(k)

    def _learn(self, unit: _Unit, reward: float | None, risks: Sequence[float | None]) -> None:
        arm = self._memory.arms[unit.arm]
        news = [math.nan if value is None else value for value in (reward, *risks)]
        known = [math.nan if value is None else value for value in (unit.reward, *unit.risks)]
        if reward is not None:
            unit.reward = reward
            arm["reward"]["pending"] -= 1
        for j, (name, value) in enumerate(zip(self._risk_fields, risks, strict=True)):
            if value is not None:
                unit.risks[j] = value
                arm[name]["pending"] -= 1
        self._kernels.learn(
            *self._known, unit.arm, unit.play, news[0], tuple(news[1:]), known[0], tuple(known[1:])
        )  # fmt: skip
        self._set_available(unit.arm)

    def _set_available(self, k: int) -> None:
        arm = self._memory.arms[k]
        risks = [arm[name] for name in self._risk_fields]
        arm["available"] = all(risk["pending"] < max(1, risk["plays"]) for risk in risks)
        # A unit that is pending changes what an index sees, too; what was noted of arms no longer holds.
        self._memory.notes["changed"] = EVERY

    def _hold_reason(self, code: int) -> str:
        if code == WAIT:
            return "every arm that may be given waits for outcomes of units already given it; tell those first"
        return self.explain().why


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
    if told is None:
        return None
    if isinstance(told, str):
        raise TrialError(f"unit {number}: {name} must be a number in [0, 1], got {told!r}")
    value = check_unit(f"unit {number}: {name}", told, TrialError)
    if known is None:
        return value
    if known != value:
        raise TrialError(f"unit {number} already has {name} {known:g}, got {value:g}; an outcome is told once")
    return None


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as problem:
        raise TrialError(f"the text is not a saved trial, or was cut short: {problem}") from None
    wanted = {"format", "version", "arms", "alpha", "policy", "seed", "log", "stream", "bar"}
    if not isinstance(document, dict) or not wanted <= set(document):
        raise TrialError("the text is JSON, but not a trial that to_json wrote")
    if document["format"] != FORMAT or document["version"] != __version__:
        raise TrialError(
            f"the trial was saved by version {document['version']} (format {document['format']}), this is "
            f"{__version__} (format {FORMAT}); go on with the version that it was begun with"
        )
    return document
