"""What version 0.1.0 wrote, as far as it can be read exactly.

It decided with a speed-up that had a part in which random numbers were drawn, and noted the place of the random stream
as [words, bar, work]. So a decision of it that drew nothing can be made again, and one that drew mostly cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safebandit.core.policies import policy_from_text
from safebandit.errors import TrialError
from safebandit.trials import drafts
from safebandit.trials.engine import SOFTWARE, Engine
from safebandit.trials.events import Draft
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore

VERSION = "0.1.0"


def decided(content: Mapping[str, Any]) -> bool:
    """Whether version 0.1.0 made this decision."""
    stream = content["stream"]
    return stream is None or isinstance(stream[0], list)


def stream_words(content: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Where the random numbers were when this decision was made; None where that was not noted."""
    stream = content["stream"]
    return None if stream is None else tuple(stream[0] if decided(content) else stream)


def read_saved(document: Mapping[str, Any], *, name: str, policy: Any) -> tuple[TrialState, MemoryStore]:
    """A trial that `Trial.to_json` of version 0.1.0 saved: its units and outcomes in their order, exactly.

    That file has neither times nor reasons: events have the time of reading. A hold is read where it stood when
    something was told; version 0.1.0 drew again at every question.
    """
    if document.get("version") != VERSION:
        raise TrialError(f"the trial was saved by version {document.get('version')}; go on with that version")
    store = MemoryStore()
    engine = Engine(TrialState(name, _settings(document, policy)), store)
    created = drafts.create(engine.state.settings)
    engine.append(Draft("created", {**created.body, "software": VERSION, "formulas": None}), SOFTWARE)
    log = document["log"]
    for event, following in zip(log, [*log[1:], None], strict=True):
        if event["event"] == "told":
            engine.tell(event["id"], reward=event.get("reward"), risk=event.get("risk"), actor=SOFTWARE)
        elif event["event"] == "asked" or following is None or following["event"] == "told":
            engine.append(_decision(engine.state, event), SOFTWARE)
    engine.state.allocator.position = tuple(document["stream"])
    engine.note_recount()
    return engine.state, store


def _settings(document: Mapping[str, Any], policy: Any) -> Settings:
    given = policy or document["policy"]
    # An arm of a policy was saved as #2 where it had been given by its number.
    chosen = policy_from_text(given) if isinstance(given, str) and "#" in given else given
    return Settings.read(
        document["arms"], document["alpha"], policy=chosen, seed=document["seed"], risks=document.get("risks")
    )  # fmt: skip


def _decision(state: TrialState, event: Mapping[str, Any]) -> Draft:
    """A decision of which only the arm was kept."""
    arm = event.get("arm")
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
    return Draft("asked" if arm is not None else "held", body)
