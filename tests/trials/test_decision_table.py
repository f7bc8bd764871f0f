"""Tables for a protocol: held to SciPy's own formulas, and to what simulated trials do."""

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit.core.policies.information import settings_for
from safebandit.trials.decision_table import closing, decision_tables, moves, pathways
from safebandit.trials.design import Design
from safebandit.trials.designs import design_from_text
from safebandit.trials.histories import histories
from safebandit.trials.simulated import plan_of

DOSES = ["low", "mid", "high"]
NU = [0.1, 0.3, 0.5]


def design(policy="docb", **given):
    usual = {"alpha": 0.3, "policy": policy, "units": 18, "ordered": True, "cohort": 3, "steps": 1}
    return Design(DOSES, **{**usual, **given})


def scenario(mu=(0.2, 0.4, 0.6)):
    return sb.Scenario("doses", sb.Instance.bernoulli(list(mu), NU, 0.3))


def test_an_arm_closes_where_the_posterior_says_so():
    """P(risk > alpha) > confidence under a flat prior and a point at alpha, after three units; by SciPy."""
    table = closing(design("safe-ids")).frame
    odds, confidence = settings_for(18)
    for n in range(1, 19):
        closed = []
        for x in range(n + 1):
            like = stats.beta(x + 1, n - x + 1)
            point = odds * like.pdf(0.3)
            closed += [x] if n >= 3 and like.sf(0.3) / (1 + point) > confidence else []
        assert (table["harms that close it"].get(n) if closed else None) == (closed[0] if closed else None)
    assert list(table.columns) == ["harms that close it"]


def test_a_gate_that_grows_with_the_rounds_has_a_column_for_each():
    table = closing(design("docb")).frame
    assert list(table.columns)[1:] == [f"harms that close it in round {t}" for t in (4, 9, 14, 18)]
    late, early = table["harms that close it in round 18"], table["harms that close it, at once"]
    assert (late.dropna() >= early[late.notna()]).all()
    assert (late.dropna() > early[late.notna()]).any()


@pytest.mark.parametrize("rewarded", [False, True])
def test_simulated_trials_go_the_ways_of_the_table(rewarded):
    chosen = design(rewarded=rewarded)
    frame = pathways(chosen, cohorts=3).frame
    columns = [name for name in frame.columns if name != "then"]
    ways = {tuple(step for step in row[columns] if step): row["then"] for _, row in frame.iterrows()}
    met = set()
    for history in histories(plan_of(chosen, scenario(), seed=3), range(300)):
        given = [event.arm for event in history if event.kind == "given"]
        told = {event.unit: event.outcome for event in history if event.kind == "told"}
        steps = ()
        while steps not in ways:
            units = [told[unit] for unit in range(3 * len(steps) + 1, 3 * len(steps) + 4)]
            text = f"{DOSES[given[3 * len(steps)]]}: {sum(risk for _, risk in units):.0f} of 3"
            steps += (text + (f", {sum(reward for reward, _ in units):.0f}" if rewarded else ""),)
        met.add(steps)
        if len(given) > 3 * len(steps):
            # Of an arm that is drawn the table has the chance behind its name.
            assert DOSES[given[3 * len(steps)]] in ways[steps].replace(",", "").split()
        else:
            assert ways[steps] == "ends: no arm is permissible"
    assert len(met) >= (9 if rewarded else 3)


def closed_at(n, alpha, confidence):
    """The fewest harms of n units with P(risk > alpha) >= confidence from a flat prior; by SciPy."""
    found = [x for x in range(n + 1) if n >= 3 and stats.beta.sf(alpha, 1 + x, 1 + n - x) >= confidence]
    return found[0] if found else None


@pytest.mark.parametrize("steps", [0, 1])
def test_the_table_has_the_harms_at_which_rules_drop_an_arm_or_stop_the_trial(steps):
    rules = ["arm-harm:confidence=0.8", "harm:confidence=0.9", "too-many-harms:harms=9"]
    frame = closing(design("equal", ordered=True, steps=steps, stop=rules)).frame
    whose = "the lowest arm" if steps else "every arm"
    dropped, stopped = "harms at which arm-harm drops it", f"harms of {whose} at which harm stops the trial"
    assert {dropped, stopped} <= set(frame.columns)
    for n in range(1, 19):
        assert frame[dropped].get(n) == pytest.approx(closed_at(n, 0.3, 0.8) if n >= 3 else None)
        # Six units on each of three arms are all that there are.
        wanted = closed_at(n, 0.3, 0.9) if 3 <= n <= (18 if steps else 6) else None
        got = frame[stopped].get(n)
        assert (None if got is None or np.isnan(got) else got) == wanted


def test_the_ways_of_the_first_cohorts_end_where_a_rule_stops_the_trial():
    chosen = design(rewarded=False, policy="equal", stop=["harm:confidence=0.9", "too-many-harms:harms=3"])
    ways = {tuple(row[:-1]): row[-1] for row in pathways(chosen, cohorts=3).frame.to_numpy().tolist()}
    assert ways["low: 3 of 3", ""] == "ends by the rule harm"
    # P(risk > 0.3) of two harms of three is 0.916, of three of six 0.874.
    assert ways["low: 2 of 3", ""] == "ends by the rule harm"
    assert ways["low: 1 of 3", "low: 2 of 3"] == "ends by the rule too-many-harms"
    short = pathways(design(rewarded=False, policy="equal", units=4), cohorts=3).frame
    assert set(short["then"]) == {"ends: all units are known"}
    assert "low: 1 of 1" in set(short["cohort 2"])


def test_a_design_that_closes_no_arm_says_so():
    table = closing(Design(DOSES, 1.0, "equal", 12))
    assert table.frame.empty
    assert str(table).endswith("\nNo number of harms closes an arm.")
    assert "|" not in table.to_markdown()


def test_two_doses_have_the_moves_of_three():
    two, three = (moves(design_from_text(BOIN, arms=arms)) for arms in (2, 3))
    assert two.frame.equals(three.frame)
    assert "if the lowest is excluded the trial ends" in two.legend


BOIN = "boin:target=.3,units=18"


def test_the_moves_of_boin_are_those_of_its_boundaries():
    """Liu and Yuan's boundaries for a target of .3 in their printed table: escalate at .236 or less, de-escalate at
    .358 or more, exclude where P(risk > .3) > .95 after three units.
    """
    frame = moves(design_from_text(BOIN, arms=4)).frame
    assert frame.columns.tolist() == [3, 6, 9, 12, 15, 18]
    for n in frame.columns:
        for x in frame.index:
            if x > n:
                assert frame.loc[x, n] == ""
                continue
            out = stats.beta.sf(0.3, 1 + x, 1 + n - x) > 0.95
            step = "E" if x <= 0.2365 * n else "D" if x >= 0.3585 * n else "S"
            assert frame.loc[x, n] == ("X" if out else step)


def test_simulated_trials_move_as_the_table_says():
    chosen = design_from_text(BOIN, arms=4)
    frame, seen = moves(chosen).frame, set()
    truth = sb.Scenario("doses", nu=[0.1, 0.2, 0.35, 0.5])
    for history in histories(plan_of(chosen, truth, seed=3), range(200)):
        harms, known, last, out = [0] * 4, [0] * 4, None, 4
        for event in history:
            if event.kind == "told":
                known[event.arm] += 1
                harms[event.arm] += int(event.outcome[1])
            elif event.unit % 3 == 1:
                if last is not None:
                    row = min(harms[last], frame.index[-1])
                    letter = frame.loc[row, known[last]]
                    out = min(out, last) if letter == "X" else out
                    wanted = {"E": last + 1, "S": last, "D": last - 1, "X": last - 1}[letter]
                    assert event.arm == min(max(wanted, 0), out - 1)
                    seen.add(letter)
                last = event.arm
    assert seen == {"E", "S", "D", "X"}


def test_what_is_written_for_people():
    text = decision_tables(design())[0].to_markdown()
    assert text.startswith("**Harms among the units of an arm from which on it is not given**")
    assert "| units | harms that close it, at once |" in text
