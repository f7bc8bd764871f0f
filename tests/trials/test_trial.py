"""Live trials: ask and tell in any order, hold rather than harm, save and go on, recompute, and say why."""

import functools
import json
import math
import random
import re

import numpy as np
import pytest
from scipy import optimize, stats

from safebandit import BayesLower, BayesUpper, DoublyOptimistic, KLLower, KLUpper, Thompson, Trial, klbayes
from safebandit.errors import ConflictError, PolicyError, TrialError
from safebandit.trials import allocator, differences, drafts, replay
from safebandit.trials import trial as trial_module
from safebandit.trials.events import NOTHING, seal

ARMS = ["placebo", "low", "high"]
EVERY_POLICY = [
    "docb", "topsi", "tsbu", "klbayes", "naive-ts", "slack-ts", "bayes-upper+bayes-lower", "joint-dirichlet",
    "safe-imed",
]  # fmt: skip


def refused(text, kind=TrialError):
    """An error of this package whose message is one line that holds `text`."""
    return pytest.raises(kind, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def play(trial, units, *, mu=(0.3, 0.5, 0.8), nu=(0.1, 0.2, 0.6), seed=0):
    """Ask and tell so many units, with bits of these means."""
    rng = random.Random(seed)
    for _ in range(units):
        unit = trial.ask()
        k = trial.arms.index(unit.arm)
        trial.tell(unit.id, reward=float(rng.random() < mu[k]), risk=float(rng.random() < nu[k]))
    return trial


def story(trial):
    """All that a trial's log says but times and hashes, and where its random numbers are."""
    return [(event.kind, event.content) for event in trial.log], trial._allocator.position


def forged(trial, number, **changes):
    """The trial saved with another content of one event, and every hash made to fit."""
    document = json.loads(trial.to_json())
    previous = NOTHING
    for fields in document["events"]:
        content = json.loads(fields["body"])
        kind = changes.pop("kind", fields["kind"]) if fields["number"] == number else fields["kind"]
        content |= changes if fields["number"] == number else {}
        place = [fields[name] for name in ("trial", "number", "time", "actor")]
        fields.update(seal(*place, kind, content, previous)._asdict())
        previous = fields["hash"]
    return json.dumps({**document, "hash": previous})


def numbers(trial):
    """What `explain` shows, without its words."""
    views = (view._asdict() for view in trial.explain().arms)
    return [tuple(value for name, value in view.items() if name not in ("chosen", "why")) for view in views]


# Ask and tell.


def test_units_are_numbered_and_their_outcomes_counted():
    trial = Trial(ARMS, 0.3, "docb", seed=1)
    for i in range(1, 4):
        assert trial.round == i
        unit = trial.ask()
        assert (unit.id, unit.round, unit.new, unit.held) == (str(i), i, True, False)
        assert unit.arm == ARMS[i - 1]  # DOCB begins with every arm once, in order
        assert trial.pending == {str(i): unit.arm}
        trial.tell(unit.id, reward=0.25 * i, risk=0.1 * i)
        assert trial.pending == {}
    table = trial.explain().table()
    assert table["plays"].tolist() == [1, 1, 1]
    assert table["mean_reward"].tolist() == pytest.approx([0.25, 0.5, 0.75])
    assert table["mean_risk"].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert [event.kind for event in trial.log] == ["created", *["asked", "told"] * 3]


def test_reward_and_risk_apart_and_in_any_order():
    trial = Trial(ARMS, 0.3, "docb", seed=1)
    units = [trial.ask() for _ in range(3)]
    assert trial.pending == {"1": "placebo", "2": "low", "3": "high"}
    trial.tell(3, risk=1)
    trial.tell(1, reward=1)
    assert trial.pending == {"1": "placebo", "2": "low", "3": "high"}
    trial.tell(3, reward=0)
    assert trial.pending == {"1": "placebo", "2": "low"}
    trial.tell(2, reward=1, risk=0)
    trial.tell(1, risk=0)
    assert trial.pending == {}
    together = Trial(ARMS, 0.3, "docb", seed=1)
    for unit, (reward, risk) in zip(units, [(1, 0), (1, 0), (0, 1)], strict=True):
        assert together.ask().arm == unit.arm
        together.tell(unit.id, reward=reward, risk=risk)
    assert numbers(trial) == numbers(together)
    assert trial.ask().arm == together.ask().arm


@pytest.mark.parametrize("policy", EVERY_POLICY)
def test_the_order_of_telling_does_not_matter(policy):
    rng = random.Random(3)
    trials = [Trial(ARMS, 0.3, policy, seed=4) for _ in range(2)]
    for _ in range(30):
        answers = [trial.ask() for trial in trials]
        assert answers[0] == answers[1]
        if answers[0].arm is not None and rng.random() < 0.5:
            continue
        # All that is pending, told by the one in order and by the other mixed, reward and risk apart.
        told = [(i, name, float(rng.random() < 0.4)) for i in trials[0].pending for name in ("reward", "risk")]
        for trial in trials:
            for number, name, value in told:
                trial.tell(number, **{name: value})
            rng.shuffle(told)
        left, right = map(numbers, trials)
        for mine, yours in zip(left, right, strict=True):
            # Carried tails differ by rounding alone.
            assert mine == tuple(pytest.approx(y, abs=1e-12) if isinstance(y, float) else y for y in yours)


def test_the_reduced_bits_do_not_depend_on_the_order_of_telling():
    values = [0.1, 0.7, 0.4, 0.9, 0.5, 0.2]
    indices = []
    for order in (range(6), reversed(range(6))):
        trial = Trial(6, 0.5, "tsbu", seed=5)
        arms = {}
        while len(arms) < 6:
            unit = trial.ask()
            arms[int(unit.arm)] = unit.id
        for k in order:
            trial.tell(arms[k], reward=values[k], risk=values[k])
        indices.append(trial.explain().table()["risk_index"].tolist())
    assert indices[0] == indices[1]


# The cap on pending units.


def test_one_unit_may_wait_for_its_risk_at_first():
    trial = Trial(["only"], 0.5, "docb", seed=1)
    assert trial.ask().arm == "only"
    waiting = trial.ask()
    assert waiting.waiting
    assert (waiting.id, waiting.arm) == ("2", None)
    assert "waits for outcomes" in waiting.why
    with refused("no unit '2' was given an arm"):
        trial.tell(waiting.id, risk=0)
    trial.tell(1, reward=1)
    assert trial.ask().waiting  # the risk is what counts
    trial.tell(1, risk=0)
    assert trial.ask().arm == "only"


@pytest.mark.parametrize("known", [1, 2, 3, 7])
def test_as_many_units_may_wait_as_have_a_known_risk(known):
    trial = Trial(["only"], 0.5, "docb", seed=1)
    for _ in range(known):
        trial.tell(trial.ask().id, reward=1, risk=0)
    given = 0
    while not trial.ask().waiting:
        given += 1
        assert given <= known
    assert given == known


def test_an_arm_that_waits_leaves_the_others_to_be_given():
    trial = Trial(ARMS, 0.5, "tsbu", seed=2)
    assert {trial.ask().arm for _ in range(3)} == set(ARMS)
    assert trial.ask().waiting
    assert trial.explain().chosen is None
    assert "wait" in trial.explain().why
    trial.tell(2, risk=0)
    unit = trial.ask()
    assert unit.arm == trial.pending["2"]


def test_a_held_ask_changes_nothing_but_the_log():
    trial = Trial(["only"], 0.5, "docb", seed=1)
    trial.ask()
    before = (trial.round, trial.pending, numbers(trial))
    trial.ask()
    assert (trial.round, trial.pending, numbers(trial)) == before
    assert [event.kind for event in trial.log] == ["created", "asked", "waiting"]


# Told twice, told wrong.


def test_the_same_value_told_again_changes_nothing():
    trial = Trial(ARMS, 0.3, "tsbu", seed=1)
    trial.ask()
    trial.tell(1, reward=1, risk=0.25)
    before = trial.to_json()
    trial.tell(1, reward=1)
    trial.tell(1, risk=0.25, reward=1.0)
    trial.tell(np.int64(1), risk=np.float64(0.25))
    assert trial.to_json() == before


def test_known_and_new_together_tell_only_the_new():
    trial = Trial(ARMS, 0.3, "tsbu", seed=1)
    trial.ask()
    trial.tell(1, reward=1)
    trial.tell(1, reward=1, risk=0)
    assert trial.log[-1].content == {"unit": "1", "outcome": [None, 0.0]}
    assert trial.pending == {}


@pytest.mark.parametrize(
    ("id", "outcome", "message"),
    [
        (1, {"reward": 0}, "unit '1' already has reward 1, got 0; correct it with a reason if that was wrong"),
        (1, {"reward": 0, "risk": 1}, "unit '1' already has reward 1, got 0"),
        (1, {"reward": 1, "risk": 1.5}, "unit '1': risk must lie in [0, 1], got 1.5"),
        (2, {"risk": -0.01}, "unit '2': risk must lie in [0, 1], got -0.01"),
        (2, {"reward": 0, "risk": math.nan}, "unit '2': risk must lie in [0, 1], got nan"),
        (2, {"reward": math.inf}, "unit '2': reward must lie in [0, 1], got inf"),
        (2, {"reward": "good", "risk": 0}, "unit '2': reward must be a number in [0, 1], got 'good'"),
        (2, {"risk": [0]}, "unit '2': risk must be a number in [0, 1], got [0]"),
        (2, {}, "nothing was told of unit '2'; give reward=, risk= or both"),
        (3, {"risk": 0}, "no unit '3' was given an arm; ask for it first"),
        (-1, {"risk": 0}, "no unit '-1' was given an arm"),
        ("patient 1", {"risk": 0}, "no unit 'patient 1' was given an arm"),
        (1.0, {"risk": 0}, "a unit's id must be a text, got 1.0"),
        (True, {"risk": 0}, "a unit's id must be a text, got True"),
        (None, {"risk": 0}, "a unit's id must be a text, got None"),
    ],
)
def test_what_cannot_be_told_is_refused_and_changes_nothing(id, outcome, message):
    trial = Trial(ARMS, 0.3, "tsbu", seed=1)
    trial.ask()
    trial.ask()
    trial.tell(1, reward=1)
    before = trial.to_json(), trial.pending, numbers(trial)
    with refused(message):
        trial.tell(id, **outcome)
    assert (trial.to_json(), trial.pending, numbers(trial)) == before


def test_nothing_can_be_told_before_a_unit_was_given():
    with refused("no unit '1' was given an arm; ask for it first"):
        Trial(ARMS, 0.3, seed=1).tell(1, risk=0)


@pytest.mark.parametrize(
    ("arguments", "options", "message", "kind"),
    [
        (([], 0.3), {}, "a trial needs at least one arm", TrialError),
        ((0, 0.3), {}, "a trial has 1 to 1000 arms, got 0", TrialError),
        ((["a", "b", "a"], 0.3), {}, "names of arms must differ, got a, b, a", TrialError),
        ((ARMS, 1.5), {}, "alpha must lie in [0, 1], got 1.5", TrialError),
        ((ARMS, math.nan), {}, "alpha must lie in [0, 1], got nan", TrialError),
        ((ARMS, None), {}, "alpha must be a number in [0, 1], got None", TrialError),
        ((ARMS, 0.3), {"seed": -1}, "seed must lie in [0, 2^63), got -1", TrialError),
        ((ARMS, 0.3), {"seed": 0.5}, "seed must be a whole number, got 0.5", TrialError),
        ((ARMS, 0.3), {"seed": math.inf}, "seed must be a whole number, got inf", TrialError),
        ((ARMS, 0.3, "tbsu"), {}, 'unknown policy "tbsu"; did you mean "tsbu"?', PolicyError),
        ((ARMS, 0.3, 7), {}, "a policy is a name such as tsbu", PolicyError),
        ((ARMS, 0.3, "docb:when_none=middle"), {}, "got 'middle'", TrialError),
        ((ARMS, 0.3), {"name": "a b"}, "a trial's name is", TrialError),
        ((ARMS, 0.3), {"actor": ""}, "actor must have 1 to 200 characters", TrialError),
    ],
)
def test_trials_that_make_no_sense(arguments, options, message, kind):
    with refused(message, kind):
        Trial(*arguments, **options)


# Hold rather than harm.


@pytest.mark.parametrize("policy", ["docb", "topsi", "tsbu", "klbayes"])
def test_a_trial_holds_once_every_arm_is_ruled_out(policy):
    trial = Trial(ARMS, 0.05, policy, seed=1)
    given = 0
    while not (answer := trial.ask()).held:
        trial.tell(answer.id, reward=1, risk=1)
        given += 1
        # One harm of each arm weighs log 20 = 3.0, above log t until t = 20.
        assert given <= 10
    assert "no arm is permissible" in answer.why
    assert "0.05" in answer.why
    assert "holds" in answer.why
    explanation = trial.explain()
    assert explanation.chosen is None
    assert not any(view.permissible or view.chosen for view in explanation.arms)
    assert all(view.risk_index > 0.05 for view in explanation.arms)
    assert all("not permissible" in view.why and "0.05" in view.why for view in explanation.arms)
    before = story(trial)
    for _ in range(5):
        assert trial.ask() == answer._replace(new=False)
        assert trial.ask("another") == answer._replace(new=False, unit="another")
    assert story(trial) == before
    assert len(trial.pending) == 0


def harm_every_arm(trial):
    """Nothing but harm until no arm is permissible."""
    while any(view.permissible for view in trial.explain().arms):
        trial.tell(trial.ask().id, reward=1, risk=1)
    return trial


@pytest.mark.parametrize("arm", ["placebo", "high"])
def test_a_named_arm_when_none_is_permissible_and_said_so(arm):
    trial = harm_every_arm(Trial(ARMS, 0.05, f"docb:when_none={arm}", seed=1))
    assert trial.explain().chosen == arm
    answer = trial.ask()
    assert answer.arm == arm
    assert "no arm is permissible" in answer.why


def test_the_least_risky_arm_when_none_is_permissible_and_said_so():
    trial = Trial(ARMS, 0.05, "docb:when_none=least_risky", seed=1)
    units = [trial.ask() for _ in range(3)]
    for unit, risk in zip(units, (1, 0.5, 1), strict=True):
        trial.tell(unit.id, reward=1, risk=risk)
    while any(view.permissible for view in trial.explain().arms):
        trial.tell(trial.ask().id, reward=1, risk=1)
    first, second = sorted((view.risk_index, view.arm) for view in trial.explain().arms)[:2]
    assert first[0] < second[0]
    answer = trial.ask()
    assert answer.arm == first[1]
    assert "no arm is permissible" in answer.why


def test_a_named_arm_waits_for_its_own_outcomes_like_any_other():
    trial = harm_every_arm(Trial(["a", "b"], 0.05, "docb:when_none=a", seed=1))
    given = 0
    while not (answer := trial.ask()).waiting:
        assert answer.arm == "a"
        given += 1
        assert given <= 100
    known = next(view for view in trial.explain().arms if view.arm == "a").plays - given
    assert given == max(1, known)


@pytest.mark.parametrize("policy", ["naive-ts", "slack-ts:slack=0.01"])
def test_a_hold_stands_until_there_is_news_though_the_risk_is_drawn(policy):
    # Before any outcome a draw lies above alpha = 0.5 in half of all cases: among 20 seeds some hold, some do not.
    held = []
    for seed in range(20):
        trial = Trial(["only"], 0.5, policy, seed=seed)
        first = trial.ask()
        held.append(first.held)
        if first.held:
            before = story(trial)
            assert trial.explain().chosen is None
            assert trial.explain().why == first.why
            assert all(trial.ask() == first._replace(new=False) for _ in range(20))
            trial.pause(reason="a pause is no news")
            trial.resume(reason="nor is its end")
            assert trial.ask() == first._replace(new=False)
            assert story(trial)[1] == before[1]
            trial.amend(alpha=1.0, reason="so decided")
            assert trial.ask("1").arm == "only"
    assert {True, False} == set(held)


@pytest.mark.parametrize(("policy", "comes_back"), [("tsbu", True), ("tsbu:lasting=true", False)])
def test_an_excluded_arm_stays_so_whatever_is_told_or_corrected_of_others(policy, comes_back):
    trial = Trial(["one", "other"], 0.3, policy, seed=4)

    def permissible():
        return next(view.permissible for view in trial.explain().arms if view.arm == "one")

    first = None
    for _ in range(250):
        unit = trial.ask()
        # The first units of one arm are all harmed; then it is not heard of again.
        trial.tell(unit.id, reward=1, risk=unit.arm == "one")
        first = unit.id if unit.arm == "other" else first
        if first is not None and not permissible():
            break
    assert not permissible()
    closed = trial.explain().round
    while trial.explain().round < closed + 60 and not permissible():
        unit = trial.ask()
        trial.tell(unit.id, reward=1, risk=0)
    assert permissible() == comes_back
    # All outcomes are counted anew, in the order in which they were told; and a saved trial counts them as well.
    trial.correct(first, reward=0, reason="misread")
    again = Trial.from_json(trial.to_json())
    assert [trial.explain(), permissible()] == [again.explain(), comes_back]
    assert trial.verify().holds


# Ids, corrections, amendments: as in a record.


def test_a_unit_has_an_id_of_its_own_and_keeps_its_arm():
    trial = Trial(ARMS, 0.3, "docb", seed=1)
    first = trial.ask("patient 1")
    assert (first.id, first.new) == ("patient 1", True)
    assert trial.ask(3).id == "3"
    assert trial.ask("patient 1") == first._replace(new=False)
    # The third round's number is taken: the next unit without an id gets the next one.
    assert trial.ask().id == "4"
    assert trial.tell("patient 1", reward=1, risk=0) == (5, True)
    assert trial.tell(3, risk=0) == trial.tell("3", risk=0)._replace(new=True)
    assert trial.pending == {"3": "low", "4": "high"}


def test_it_is_corrected_given_up_amended_paused_and_closed_as_a_record_is():
    trial = Trial(ARMS, 0.3, "docb", seed=1, pending_cap=5)
    for _ in range(3):
        trial.ask()
    trial.tell(1, reward=0.25, risk=1)
    trial.correct(1, reward=1, risk=0, reason="typing error")
    assert trial.explain().arms[0].mean_reward == 1.0
    trial.give_up(2, reason="moved away")
    assert trial.explain().arms[1].mean_risk == 1.0
    assert trial.give_up(2, reason="moved away") == (7, False)
    with refused("was given up in event 7", ConflictError):
        trial.tell(2, reward=1)
    trial.amend(alpha=0.5, withdraw=["high"], reason="the committee decided")
    assert (trial.alpha, trial.arms) == (0.5, ("placebo", "low"))
    trial.pause(reason="holidays")
    with refused('trial "trial" is paused', ConflictError):
        trial.ask()
    trial.resume(reason="back")
    assert trial.ask().arm in trial.arms
    trial.close(reason="done")
    assert trial.status == "closed"
    with refused("is closed", ConflictError):
        trial.ask()
    trial.tell(3, reward=1, risk=0)
    assert trial.verify().holds
    twin = Trial.from_json(trial.to_json())
    assert (story(twin), twin.pending, twin.status) == (story(trial), trial.pending, "closed")
    assert twin.verify() == trial.verify()


# Saved, and gone on with.


@functools.lru_cache(maxsize=10_000)
def content_of(event):
    """What an event says, read once: it is looked up again after every step."""
    return event.content


def known_of(trial, id):
    """What the log says of a unit's reward and risk."""
    contents = [content_of(event) for event in trial.log if event.kind == "told"]
    told = [content["outcome"] for content in contents if content["unit"] == id]
    return [next((value for value in part if value is not None), None) for part in zip([None] * 2, *told, strict=True)]


def wander(trial, steps, seed, *, bits=True, twins=()):
    """Ask and tell at random, reward and risk together or apart; the twins do the same, and answer the same."""
    rng = random.Random(seed)
    means = {name: [rng.random() * most for _ in trial.arms] for name, most in (("reward", 1.0), ("risk", 0.6))}
    for _ in range(steps):
        pending = trial.pending
        if not pending or rng.random() < 0.5:
            answer = trial.ask()
            for twin in twins:
                assert twin.ask() == answer
            continue
        number = rng.choice(list(pending))
        told = {}
        for name, value in zip(("reward", "risk"), known_of(trial, number), strict=True):
            if value is None and rng.random() < 0.7:
                mean = means[name][trial.arms.index(pending[number])]
                told[name] = float(rng.random() < mean) if bits else rng.random()
        for each in (trial, *twins) if told else ():
            each.tell(number, **told)
    return trial


@pytest.mark.parametrize("bits", [True, False], ids=["bits", "numbers"])
@pytest.mark.parametrize("policy", EVERY_POLICY)
def test_a_trial_goes_on_exactly_as_it_would_have(policy, bits):
    # With the last two seeds, arms below the best are tied now and then, which costs a random number or does not.
    for seed, steps in [(0, 60), (1, 60), (2, 120), (91, 60), (98, 60)]:
        trial = wander(Trial(2 + seed % 3, 0.3, policy, seed=seed), steps, seed, bits=bits)
        twin = Trial.from_json(trial.to_json())
        assert twin.to_json() == trial.to_json()
        assert twin.pending == trial.pending
        assert (twin.round, twin.settings) == (trial.round, trial.settings)
        wander(trial, steps, seed + 1_000, bits=bits, twins=[twin])
        # Every number of every decision, to the last bit of the policy's own random numbers.
        assert story(twin) == story(trial)
        assert twin.replay() == []


def test_a_trial_whose_seed_nobody_chose_can_be_saved_and_recomputed():
    for _ in range(5):
        trial = play(Trial(ARMS, 0.5), 20)
        assert Trial.from_json(trial.to_json()).to_json() == trial.to_json()
        assert trial.replay() == []


def test_two_trials_whose_seed_nobody_chose_differ():
    assert Trial(ARMS, 0.5).seed != Trial(ARMS, 0.5).seed


@pytest.mark.parametrize(
    "policy",
    [
        klbayes(),
        DoublyOptimistic(BayesUpper(), BayesLower()),
        DoublyOptimistic(Thompson(), BayesLower()),
        DoublyOptimistic(Thompson(2.0, 0.5), KLLower(), when_none="1"),
        "tsbu:schedule=theory,when_none=1",
    ],
    ids=["klbayes", "bayes-upper", "each first", "prior and arm by name", "text"],
)
def test_a_saved_trial_has_the_same_policy(policy):
    trial = Trial(2, 0.05, policy, seed=3)
    twin = Trial.from_json(trial.to_json())
    for step in range(40):
        wander(trial, 2, step, twins=[twin])
        assert numbers(twin) == numbers(trial)
    assert story(twin) == story(trial)


def test_an_arm_given_by_its_number_stays_that_arm_when_saved():
    # The first arm's name is the second arm's number.
    trial = harm_every_arm(Trial(["1", "0"], 0.05, DoublyOptimistic(KLUpper(), KLLower(), when_none=0), seed=1))
    assert trial.explain().chosen == "1"
    assert Trial.from_json(trial.to_json()).explain().chosen == "1"


def test_names_of_arms_may_hold_any_text():
    names = ["a,b", "x=1: y", 'quoted "z"', "größer"]
    trial = Trial(names, 0.3, DoublyOptimistic(KLUpper(), KLLower(), when_none="a,b"), seed=3)
    twin = Trial.from_json(trial.to_json())
    wander(trial, 80, 5, twins=[twin])
    assert list(twin.arms) == names


def test_any_cut_of_a_saved_trial_is_refused():
    text = wander(Trial(ARMS, 0.3, "tsbu", seed=1), 10, 1).to_json()
    for length in range(0, len(text), 7):
        with refused("the text is not a saved trial, or was cut short"):
            Trial.from_json(text[:length])


@pytest.mark.parametrize("text", ["{}", "[]", "5", "null", '{"format": 1}', '"trial"'])
def test_json_of_somebody_else_is_refused(text):
    with refused("the text is JSON, but not a trial that to_json or an export wrote"):
        Trial.from_json(text)


@pytest.mark.parametrize("format", [3, "2", None])
def test_a_trial_of_another_format_is_refused(format):
    document = json.loads(Trial(ARMS, 0.3, "tsbu", seed=1).to_json())
    with refused("saved by version 9.1.0 (format", TrialError):
        Trial.from_json(json.dumps({**document, "format": format, "software": "9.1.0"}))


def test_a_trial_of_another_version_and_this_format_is_read():
    trial = play(Trial(ARMS, 0.3, "docb", seed=1), 9)
    document = json.loads(trial.to_json())
    assert story(Trial.from_json(json.dumps({**document, "software": "0.2.7"}))) == story(trial)


@pytest.mark.parametrize(
    "change",
    [{"stream": [1, 2]}, {"stream": None}, {"stream": [-1, 0, 0, 0]}, {"events": None}, {"events": [5]}, {"events": []},
     {"settings": None}, {"number": 7}, {"hash": "0" * 64}, {"trial": "other"}, {"trial": "a b"}],
)  # fmt: skip
def test_a_saved_trial_with_a_broken_part_is_refused(change):
    document = json.loads(play(Trial(ARMS, 0.3, "docb", seed=1), 2).to_json())
    with refused("the saved trial does not hold together: "):
        Trial.from_json(json.dumps({**document, **change}))


@pytest.mark.parametrize("field", ["time", "actor", "kind", "body", "previous", "hash", "number", "trial"])
def test_a_saved_trial_of_which_an_event_was_changed_is_refused(field):
    document = json.loads(play(Trial(ARMS, 0.3, "docb", seed=1), 4).to_json())
    value = document["events"][3][field]
    document["events"][3][field] = value + 1 if field == "number" else value.replace(value[-2], "~")
    with refused("the saved trial does not hold together: event 4 "):
        Trial.from_json(json.dumps(document))


# The log of `played`: created; asked and told of units 1 and 2; asked of unit 3.
@pytest.mark.parametrize(
    ("number", "changes", "message"),
    [
        (3, {"unit": "9"}, "unit '9' is told of, but was never given an arm"),
        (5, {"unit": "1"}, "unit '1' already has reward"),
        (5, {"outcome": [None, None]}, "nothing was told of unit '2'"),
        (5, {"outcome": [2.0, 0.0]}, "must lie in [0, 1], got 2"),
        (4, {"unit": "1"}, "unit '1' has an arm already"),
        (4, {"round": 3}, "its round is 3, not 2"),
        (4, {"policy": "tsbu"}, "its policy is 'tsbu', not 'docb'"),
        (4, {"formulas": "a" * 16}, "its formulas is 'aaaaaaaaaaaaaaaa', not "),
        (4, {"stream": [[1, 2, 3, 4], 0.0, 0]}, "version 0.1.0 decided after a newer version"),
        (4, {"arm": "unheard of"}, "cannot be replayed"),
        (6, {"kind": "praised"}, "an event of the kind 'praised' cannot be there"),
        (6, {"kind": "created"}, "an event of the kind 'created' cannot be there"),
        (6, {"kind": "resumed", "reason": "x"}, "event 6 is not what a trial writes"),
        (1, {"settings": {}}, "event 1 cannot be replayed"),
    ],
)
def test_a_forged_log_that_no_trial_writes_is_refused(number, changes, message):
    trial = play(Trial(ARMS, 0.3, "docb", seed=1), 2)
    trial.ask()
    assert Trial.from_json(forged(trial, 4)).verify().holds
    with refused(message):
        Trial.from_json(forged(trial, number, **changes))


def test_other_formulas_say_so_before_they_go_on(monkeypatch):
    trial = play(Trial(ARMS, 0.3, "docb", seed=1), 5)
    for module in (allocator, differences, drafts, replay, trial_module):
        monkeypatch.setattr(module, "formulas_hash", lambda: "b" * 16)
    read = Trial.from_json(trial.to_json())
    assert read.log == trial.log
    assert read.ask().arm == trial.ask().arm
    assert [event.kind for event in read.log[-2:]] == ["recounted", "asked"]
    assert read.verify().holds
    again = Trial.from_json(read.to_json())
    again.tell(6, reward=1, risk=0)
    assert [event.kind for event in again.log[-2:]] == ["asked", "told"]


# Recomputed.


@pytest.mark.parametrize("policy", EVERY_POLICY)
def test_recomputing_an_honest_log_finds_nothing(policy):
    trial = wander(Trial(4, 0.3, policy, seed=7), 150, 7)
    before = trial.to_json()
    assert trial.replay() == []
    assert trial.to_json() == before


@pytest.mark.parametrize("policy", ["docb", "tsbu"])
def test_recomputing_finds_an_arm_that_was_given_against_the_policy(policy):
    trial = play(Trial(ARMS, 0.3, policy, seed=9), 60)
    event = [event for event in trial.log if event.kind == "asked"][40]
    honest = event.content["arm"]
    other = next(arm for arm in ARMS if arm != honest)
    forgery = Trial.from_json(forged(trial, event.number, arm=other))
    differences = forgery.replay()
    assert differences[0] == (event.number, "41", other, honest)
    # What was decided before is not touched by it.
    assert all(difference.event >= event.number for difference in differences)
    found = forgery.verify()
    assert (found.failed, found.events) == (event.number, event.number - 1)
    assert "arm differ" in found.problem
    assert trial.verify(expected=found.hash).after == len(trial.log) - found.events


def test_recomputing_finds_an_arm_given_where_the_policy_held():
    trial = harm_every_arm(Trial(["a", "b"], 0.05, "docb", seed=1))
    held = trial.ask()
    (difference,) = Trial.from_json(forged(trial, held.event, kind="asked", arm="a")).replay()
    assert (difference.logged, difference.recomputed) == ("a", None)


def test_another_place_of_the_random_stream_is_found():
    trial = play(Trial(ARMS, 0.3, "docb", seed=9), 5)
    document = json.loads(trial.to_json())
    moved = Trial.from_json(json.dumps({**document, "stream": [1, 2, 3, 4]}))
    assert "(state) is not what the log gives" in moved.verify().problem
    moved = Trial.from_json(forged(trial, 6, stream=[1, 2, 3, 4]))
    assert "another place of the random stream" in moved.verify().problem


# Explained.


def divergence(p, q):
    return float(np.sum(stats.entropy([p, 1 - p], [q, 1 - q])))


def kl_upper(mean, budget):
    """The largest q with d(mean||q) <= budget, by bisection of the definition."""
    if mean == 1.0:
        return 1.0
    return optimize.brentq(lambda q: divergence(mean, q) - budget, mean, 1 - 1e-15, xtol=1e-13)


def kl_lower(mean, budget):
    return 1.0 - kl_upper(1.0 - mean, budget)


def test_docb_shows_the_numbers_of_the_definition():
    trial = play(Trial(ARMS, 0.3, "docb", seed=11), 90, seed=11)
    unit = trial.ask()
    trial.tell(unit.id, risk=0)  # its reward stays pending
    explanation = trial.explain()
    t = 92
    assert (explanation.round, explanation.alpha) == (t, 0.3)
    counts = {arm: [0, 0, 0.0, 0.0] for arm in ARMS}  # plays, of known reward, total reward, total risk
    arms = {}
    for event in trial.log[1:]:
        content = event.content
        if event.kind == "asked":
            arms[content["unit"]] = content["arm"]
            counts[content["arm"]][0] += 1
        else:
            row = counts[arms[content["unit"]]]
            reward, risk = content["outcome"]
            row[1] += reward is not None
            row[2] += reward or 0
            row[3] += risk or 0
    best = {}
    for view in explanation.arms:
        plays, rewarded, reward, risk = counts[view.arm]
        assert view.plays == plays
        assert view.mean_reward == pytest.approx(reward / rewarded)
        assert view.mean_risk == pytest.approx(risk / plays)
        # A pending reward counts as a play of the same mean; the index of an arm that may not be given is not asked.
        upper = pytest.approx(kl_upper(reward / rewarded, math.log(t) / plays), abs=1e-9)
        assert view.reward_index == (upper if view.permissible else None)
        assert view.risk_index == pytest.approx(kl_lower(risk / plays, math.log(t) / plays), abs=1e-9)
        assert view.permissible == (view.risk_index <= 0.3)
        if view.permissible:
            best[view.reward_index] = view.arm
    assert {view.permissible for view in explanation.arms} == {True, False}
    assert explanation.chosen == best[max(best)] == trial.ask().arm


@pytest.mark.parametrize("schedule", ["practical", "theory"])
def test_tsbu_shows_the_quantiles_of_the_posterior(schedule):
    trial = play(Trial(ARMS, 0.3, f"tsbu:schedule={schedule}", seed=12), 90, seed=12)
    explanation = trial.explain()
    for view in explanation.arms:
        n, harms = view.plays, round(view.mean_risk * view.plays)
        delta = 1 / 92 if schedule == "practical" else 1 / (math.sqrt(8 * n) * 91)
        expected = stats.beta.ppf(min(0.15, delta), harms, n - harms + 1) if harms > 0 else 0.0
        assert view.risk_index == pytest.approx(expected, abs=1e-9)
        assert view.permissible == (expected <= 0.3)
    assert {view.permissible for view in explanation.arms} == {True, False}


@pytest.mark.parametrize("policy", EVERY_POLICY)
def test_explaining_says_what_the_next_ask_gives_and_changes_nothing(policy):
    for seed in range(3):
        trial = Trial(2 + seed, 0.3, policy, seed=seed)
        for step in range(40):
            wander(trial, 3, 100 * seed + step)
            before = trial.to_json()
            first, again = trial.explain(), trial.explain()
            assert first == again
            assert trial.to_json() == before
            answer = trial.ask()
            assert first.chosen == answer.arm
            assert [view.arm for view in first.arms if view.chosen] == ([] if answer.arm is None else [answer.arm])


@pytest.mark.parametrize("policy", EVERY_POLICY)
def test_an_arm_is_given_only_while_it_is_permissible(policy):
    for seed in range(4):
        trial = Trial(3, 0.3, policy, seed=seed)
        for step in range(40):
            wander(trial, 3, 100 * seed + step)
            explanation = trial.explain()
            first_plays = policy in ("docb", "topsi", "klbayes", "bayes-upper+bayes-lower") and trial.round <= 3
            if explanation.chosen is not None and not first_plays:
                assert explanation.arms[int(explanation.chosen)].permissible
            if explanation.chosen is None:
                known = [len(risks_of(trial, k)) - pending_risks(trial, k) for k in range(3)]
                free = [pending_risks(trial, k) < max(1, known[k]) for k in range(3)]
                permissible = [view.permissible for view in explanation.arms]
                assert not any(a and b for a, b in zip(free, permissible, strict=True))


def risks_of(trial, k):
    """The risks of the units of arm k, as the log says them."""
    asked = [content_of(event) for event in trial.log if event.kind == "asked"]
    return [known_of(trial, content["unit"])[1] for content in asked if content["arm"] == str(k)]


def pending_risks(trial, k):
    return risks_of(trial, k).count(None)


def test_first_plays_are_explained_as_such_only_where_the_policy_makes_them():
    docb, tsbu = Trial(ARMS, 0.3, "docb", seed=1), Trial(ARMS, 0.3, "tsbu", seed=1)
    assert "every arm is played once" in docb.explain().why
    # TSBU has no first round robin: it draws from uniform posteriors.
    assert "every arm is played once" not in tsbu.explain().why
    chosen = next(view for view in tsbu.explain().arms if view.chosen)
    assert 0.0 <= chosen.reward_index <= 1.0
    assert chosen.reward_index == max(v.reward_index for v in tsbu.explain().arms if v.reward_index is not None)


def test_the_drawn_indices_that_are_shown_have_their_largest_at_the_chosen_arm():
    trial = play(Trial(ARMS, 0.3, "tsbu", seed=13), 40, seed=13)
    for _ in range(30):
        explanation = trial.explain()
        shown = {view.arm: view.reward_index for view in explanation.arms if view.reward_index is not None}
        assert max(shown, key=shown.get) == explanation.chosen
        trial.tell(trial.ask().id, reward=1, risk=0)


def test_an_explanation_can_be_read_as_text_and_as_a_page():
    trial = play(Trial(ARMS, 0.3, "tsbu", seed=1), 5)
    explanation = trial.explain()
    for arm in ARMS:
        assert arm in str(explanation)
    assert "round 6, alpha 0.3" in str(explanation)
    assert list(explanation.table().index) == ARMS


# Outcomes that are no bits: policies with a Beta posterior see reduced bits, KL indices see the numbers.


def harms_shown(view, t, alpha):
    """The whole number of harms whose posterior quantile is the risk index shown, by SciPy."""
    quantile = [0.0] + [
        stats.beta.ppf(min(alpha / 2, 1 / (t + 1)), s, view.plays - s + 1) for s in range(1, view.plays + 1)
    ]
    s = int(np.argmin(np.abs(np.array(quantile) - view.risk_index)))
    assert view.risk_index == pytest.approx(quantile[s], abs=1e-9)
    return s


def with_risks(policy, values, *, seed):
    trial = Trial(["only"], 1.0, policy, seed=seed)
    for value in values:
        trial.tell(trial.ask().id, reward=0.5, risk=value)
    return trial.explain().arms[0]


def test_reduced_bits_are_whole_numbers_of_the_right_mean_and_the_same_under_every_policy():
    rng = np.random.default_rng(5)
    values = rng.beta(2, 5, 400)
    seen = [harms_shown(with_risks(policy, values, seed=21), 401, 1.0) for policy in ("tsbu", "klbayes")]
    assert seen[0] == seen[1]
    # Within 5 standard errors: a false alarm for 1 seed in 1.7 million.
    assert abs(seen[0] - values.sum()) <= 5 * math.sqrt((values * (1 - values)).sum())
    # Bits of their own, not the numbers rounded up or down.
    others = {harms_shown(with_risks("tsbu", values, seed=seed), 401, 1.0) for seed in range(22, 30)}
    assert len(others) > 1


def test_kl_indices_see_the_numbers_themselves():
    values = np.random.default_rng(6).beta(2, 5, 300)
    view = with_risks("docb", values, seed=1)
    assert view.mean_risk == pytest.approx(values.mean())
    assert view.risk_index == pytest.approx(kl_lower(values.mean(), math.log(301) / 300), abs=1e-9)
    assert view.reward_index == pytest.approx(kl_upper(0.5, math.log(301) / 300), abs=1e-9)


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ({"units": 400}, "safe-ids:odds=0.1,confidence=0.95,units=400"),
        ({}, "safe-ids:odds=0.1,confidence=0.95,units=400"),
        ({"units": 2_000}, "safe-ids:odds=0.5,confidence=0.99,units=2000"),
        ({"units": 50_000}, "joint-dirichlet"),
        ({"units": 400, "policy": "tsbu"}, "tsbu"),
        ({"units": 400, "policy": "safe-ids:odds=0.3,units=36"}, "safe-ids:odds=0.3,confidence=0.95,units=36"),
        (
            {"units": 400, "policy": "safe-ids:when_none=#1"},
            "safe-ids:odds=0.1,confidence=0.95,units=400,when_none=low",
        ),
    ],
)
def test_a_policy_is_kept_with_all_that_follows_from_planned_units(given, policy):
    trial = Trial(ARMS, 0.3, given.pop("policy", None), seed=1, **given)
    assert trial.settings.policy == policy
    assert trial.log[0].content["settings"]["policy"] == policy
    assert Trial.from_json(trial.to_json()).settings == trial.settings


def test_an_amended_policy_is_kept_whole_too():
    trial = Trial(ARMS, 0.3, "tsbu", seed=1)
    trial.amend(policy="safe-ids:units=36", reason="smaller")
    assert trial.settings.policy == "safe-ids:odds=0.1,confidence=0.95,units=36"


def test_an_amended_policy_is_for_as_many_units_as_were_planned():
    trial = Trial(ARMS, 0.3, "tsbu", seed=1, units=2_000)
    trial.amend(policy="safe-ids", reason="fewer on unsafe arms")
    assert trial.settings.policy == "safe-ids:odds=0.5,confidence=0.99,units=2000"
    assert Trial.from_json(trial.to_json()).settings.units == 2_000


@pytest.mark.parametrize(("units", "words"), [(0, "units must lie between 1 and"), ("many", "units"), (2.5, "units")])
def test_units_that_cannot_be_planned_are_refused(units, words):
    with pytest.raises(TrialError, match=words):
        Trial(ARMS, 0.3, seed=1, units=units)


def test_the_log_has_the_numbers_that_a_policy_looks_at_itself():
    trial = Trial(ARMS, 0.3, "safe-ids", seed=1)
    seen = trial.explain()
    trial.ask()
    own = trial.log[-1].content["own"]
    assert own == {
        column: {view.arm: view.own[column] for view in seen.arms}
        for column in ("expected cost", "lesson", "chance best")
    }
    assert trial.verify().holds
