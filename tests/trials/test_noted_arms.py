"""What a decision saw of the arms is written letter by letter as `canonical` writes it, whatever the numbers."""

import math
from array import array

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit import Trial
from safebandit.trials import drafts
from safebandit.trials.events import canonical
from safebandit.trials.noted_arms import note_arms

# Of every size, and those that JSON does not have.
NUMBERS = st.floats() | st.sampled_from([0.0, -0.0, 1e-5, 9.9e-5, 1e-7, 5e-324, math.nan, math.inf, -math.inf])
NAMES = st.lists(st.text(min_size=1, max_size=4) | st.sampled_from(["1e-7", '"', "b", "a"]), min_size=1, max_size=3)


@st.composite
def tables(draw):
    arms = tuple(dict.fromkeys(draw(NAMES)))
    columns, risks = tuple(dict.fromkeys(draw(NAMES)))[: draw(st.integers(0, 3))], draw(st.integers(1, 2))
    size = (len(arms), 3 + risks + len(columns))
    table = np.array(draw(st.lists(NUMBERS, min_size=size[0] * size[1], max_size=size[0] * size[1]))).reshape(size)
    chances = draw(st.lists(st.floats(0.0, 1.0), min_size=len(arms), max_size=len(arms)))
    return arms, columns, risks, table, chances


@given(tables())
@example((("a",), ("own",), 1, np.array([[1.0, math.nan, 1.0, 1e-7, math.inf]]), [1e-5]))
def test_the_parts_and_their_texts_are_those_of_the_table(drawn):
    arms, columns, risks, table, chances = drawn
    noted = note_arms(arms, columns, table.tobytes(), array("d", chances).tobytes(), (1,) * len(arms))
    words = {math.inf: "infinity", -math.inf: "-infinity"}
    plain = [[None if math.isnan(each) else words.get(each, each) for each in row] for row in table.tolist()]
    for k, arm in enumerate(arms):
        saw = {"permissible": bool(table[k, 0] == 1.0), "available": True, "propensity": chances[k]}
        saw |= {"reward_index": plain[k][1], "risk_index": plain[k][3 : 3 + risks]}
        assert noted.parts["arms"][arm] == saw
        for i, column in enumerate(columns):
            assert noted.parts["own"][column][arm] == plain[k][3 + risks + i]
    assert ("own" in noted.parts) == bool(columns)
    assert canonical(noted.written, finite=True) == canonical(noted.parts)


@pytest.mark.parametrize("policy", ["safe-ids", "tsbu", "docb", "joint-ts"])
def test_a_decision_is_written_as_its_body_is(policy):
    trial = Trial(3, 0.3, policy, seed=4)
    for i in range(30):
        draft = drafts.ask(trial._engine.state, "nobody")
        assert canonical(draft.to_write, finite=True) == canonical(draft.body)
        trial.tell(trial.ask().unit, reward=i % 2, risk=i % 5 == 0)
    texts = [event.body for event in trial.log]
    assert texts == [canonical(event.content) for event in trial.log]
