"""What version 0.1.0 wrote, as far as it can be read exactly.

It decided with a speed-up that had a part in which random numbers were drawn, and noted the place of the random stream
as [words, bar, work]. So a decision of it that drew nothing can be made again, and one that drew mostly cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from safebandit.errors import TrialError
from safebandit.names import find_name
from safebandit.trials import drafts
from safebandit.trials.engine import SOFTWARE, Engine
from safebandit.trials.events import Draft
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore

VERSION = "0.1.0"
# Indices that differ by less are the same.
SAME = 1e-9


def decided(content: Mapping[str, Any]) -> bool:
    """Whether version 0.1.0 made this decision."""
    stream = content["stream"]
    return stream is None or isinstance(stream[0], list)


def stream_words(content: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Where the random numbers were when this decision was made; None where that was not noted."""
    stream = content["stream"]
    return None if stream is None else tuple(stream[0] if decided(content) else stream)


def may_have_drawn(state: TrialState, draft: Draft, content: Mapping[str, Any]) -> bool:
    """Whether a random decision of version 0.1.0 could come out so, where this draft of it comes out otherwise.

    Drawn indices are other ones now. Where indices are not drawn, they must be the same, and the arm one of those
    that a tie or a mixture is drawn from.
    """
    if draft.body["propensities"] == "exact":
        return False
    if _draws_indices(state):
        return True
    mine, theirs = as_noted(draft.body, content)["arms"], content.get("arms", draft.body["arms"])
    same = mine.keys() == theirs.keys() and all(_computed(mine[arm]) == _computed(theirs[arm]) for arm in mine)
    chance = (
        draft.body["held_propensity"] if content["arm"] is None else draft.body["arms"][content["arm"]]["propensity"]
    )
    return same and chance > 0


def as_noted(body: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """A draft of a decision as version 0.1.0 noted it.

    It estimated chances with draws of its own, noted reward indices of arms that had no part in the decision, too, and
    computed those of mixtures by another iteration, to ten digits.
    """
    noted, theirs = {**body, "stream": content["stream"]}, content.get("arms", {})
    estimated = content.get("propensities") != "exact"
    if estimated:
        noted |= {key: content[key] for key in ("propensities", "held_propensity") if key in content}
    noted["arms"] = {
        arm: {key: _as_noted(key, value, theirs.get(arm, {}).get(key), estimated) for key, value in saw.items()}
        for arm, saw in body["arms"].items()
    }
    return noted


def _as_noted(key: str, mine: Any, theirs: Any, estimated: bool) -> Any:
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        return [_as_noted(key, *pair, estimated) for pair in zip(mine, theirs, strict=True)]
    near = isinstance(mine, float) and isinstance(theirs, float) and abs(mine - theirs) < SAME
    return theirs if near or (key == "reward_index" and mine is None) or (key == "propensity" and estimated) else mine


def _computed(arm: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in arm.items() if key != "propensity"}


def _draws_indices(state: TrialState) -> bool:
    """Whether an arm's indices are others at another place of the random stream."""
    allocator = state.allocator
    place = allocator.position
    seen = []
    # A bit that every kind of draw looks at.
    for flipped in (0, 1 << 40):
        allocator.position = (place[0] ^ flipped, *place[1:])
        decision = allocator.consider(state.round)
        seen.append(np.column_stack([decision.indices, decision.bounds]))
    allocator.position = place
    return not np.array_equal(seen[0], seen[1], equal_nan=True)


def read_saved(document: Mapping[str, Any], *, name: str) -> tuple[TrialState, MemoryStore]:
    """A trial that `Trial.to_json` of version 0.1.0 saved: its units and outcomes in their order, exactly.

    That file has neither times nor reasons: events have the time of reading. A hold is read where it stood when
    something was told; version 0.1.0 drew again at every question.
    """
    if document.get("version") != VERSION:
        raise TrialError(f"the trial was saved by version {document.get('version')}; go on with that version")
    store = MemoryStore()
    engine = Engine(TrialState(name, _settings(document)), store)
    created = drafts.create(engine.state.settings)
    engine.append(Draft("created", {**created.body, "software": VERSION, "formulas": None}), SOFTWARE)
    log = document["log"]
    for event, following in zip(log, [*log[1:], None], strict=True):
        if event["event"] == "told":
            engine.tell(event["id"], reward=event.get("reward"), risk=event.get("risk"), actor=SOFTWARE)
        elif event["event"] == "asked" or following is None or following["event"] == "told":
            engine.append(_decision(engine.state, event), SOFTWARE)
    engine.state.allocator.position = tuple(document["stream"])
    engine.state.recounted = True
    engine.ready()
    return engine.state, store


def _settings(document: Mapping[str, Any]) -> Settings:
    return Settings.read(
        document["arms"], document["alpha"],
        policy=document["policy"], seed=document["seed"], risks=document.get("risks"),
    )  # fmt: skip


def _decision(state: TrialState, event: Mapping[str, Any]) -> Draft:
    """A decision of which only the arm was kept."""
    typed = event.get("arm")
    # The file has names as they were typed: they had no one spelling then.
    arm = None if typed is None else find_name(typed, state.settings.arms) or typed
    if arm is not None and event["id"] != state.round:
        raise TrialError(f"unit {event['id']!r} does not follow unit {state.round - 1}")
    body = {
        "unit": str(state.round),
        "round": state.round,
        "decision": state.decisions + 1,
        "arm": arm,
        "why": f"decided by version {VERSION}, which saved no reasons",
        "version": state.version,
        "policy": state.settings.policy,
        "software": VERSION,
        "formulas": None,
        "stream": None,
    }
    return Draft("asked" if arm is not None else "held" if event.get("none_permissible", True) else "waiting", body)
