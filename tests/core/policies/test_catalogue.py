"""Policies by name: what is read, what is written, and what is refused and how."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import (
    BayesLower,
    BayesUpper,
    BettingGate,
    KLLower,
    KLUpper,
    Level,
    MixtureGate,
    PointMassRisk,
    PosteriorGate,
    SampledRisk,
    Schedule,
    Thompson,
)
from safebandit.core.naming import kebab, read_choice, read_number, read_value, split_call
from safebandit.core.policies import (
    POLICIES,
    DoublyOptimistic,
    docb,
    klbayes,
    naive_ts,
    policy_from_text,
    policy_to_text,
    slack_ts,
    topsi,
    tsbu,
)
from safebandit.errors import PolicyError

from .. import driving

ARMS = ["placebo", "low", "high"]


def ready(policy, when_none="hold"):
    return driving.ready(policy, ARMS, (0.2,), when_none)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("docb", DoublyOptimistic(KLUpper(), KLLower())),
        ("topsi", DoublyOptimistic(Thompson(), KLLower())),
        ("tsbu", DoublyOptimistic(Thompson(), BayesLower(), each_first=False)),
        ("klbayes", DoublyOptimistic(KLUpper(), BayesLower())),
        ("naive-ts", DoublyOptimistic(Thompson(), SampledRisk(0.0), each_first=False)),
        ("slack-ts", DoublyOptimistic(Thompson(), SampledRisk(0.25), each_first=False)),
        ("docb:level=theory", docb(Level.theory)),
        ("topsi:level=theory,when_none=hold", topsi(Level.theory, "hold")),
        (" tsbu : schedule = proof ", tsbu(Schedule.proof)),
        ("klbayes:schedule=theory", klbayes(schedule=Schedule.theory)),
        ("slack-ts:slack=0.5", slack_ts(0.5)),
        ("point-ts:mass=0.5", DoublyOptimistic(Thompson(), PointMassRisk(0.5), each_first=False)),
        ("tsbu:tail=0.25,lasting=true", tsbu(tail=0.25, lasting=True)),
        ("docb:tail=0.25", DoublyOptimistic(KLUpper(tail=0.25), KLLower(tail=0.25))),
        (
            "thompson+posterior-gate:safety.confidence=0.9,safety.least=6",
            DoublyOptimistic(Thompson(), PosteriorGate(0.9, 6)),
        ),
        ("kl-upper+mixture-gate:safety.delta=0.1", DoublyOptimistic(KLUpper(), MixtureGate(0.1))),
        ("naive-ts:when_none=low", naive_ts("low")),
        (
            "bayes-upper+sampled-risk:reward.schedule=theory,safety.prior_b=2,each_first=false",
            DoublyOptimistic(BayesUpper(Schedule.theory), SampledRisk(prior_b=2.0), each_first=False),
        ),
    ],
)
def test_texts_and_the_policies_they_name(text, policy):
    assert policy_from_text(text) == policy
    assert policy_from_text(policy_to_text(policy)) == policy


tails = st.sampled_from([0.0, 0.25]) | st.floats(0.0, 9.0)
indices = {
    "reward": st.one_of(
        st.builds(KLUpper, st.sampled_from(Level), tails),
        st.builds(BayesUpper, st.sampled_from(Schedule), tails),
        st.builds(Thompson, st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)),
    ),
    "safety": st.one_of(
        st.builds(KLLower, st.sampled_from(Level), tails),
        st.builds(BayesLower, st.sampled_from(Schedule), tails),
        st.builds(SampledRisk, st.floats(0, 1e6), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)),
    ),
}


@given(
    reward=indices["reward"],
    safety=indices["safety"],
    when_none=st.sampled_from([None, "hold", "least_risky", "high"]),
    each_first=st.booleans(),
)
@example(reward=KLUpper(), safety=BayesLower(), when_none=None, each_first=True)
@example(reward=BayesUpper(), safety=KLLower(), when_none=None, each_first=True)
def test_every_policy_of_two_indices_is_read_back(reward, safety, when_none, each_first):
    policy = DoublyOptimistic(reward, safety, when_none, each_first)
    again = policy_from_text(policy_to_text(policy))
    assert again == policy
    assert ready(again) == ready(policy)


KNOWN = ", ".join(sorted(POLICIES))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tbsu", f'unknown policy "tbsu"; did you mean "tsbu"? known: {KNOWN}'),
        ("", f'unknown policy ""; known: {KNOWN}'),
        ("kl-uper+kl-lower", 'unknown reward index "kl-uper"; did you mean "kl-upper"? known: '),
        ("kl-upper+kl-lowr", 'unknown safety index "kl-lowr"; did you mean "kl-lower"? known: '),
        ("kl-upper+", 'unknown safety index ""; known: '),
        ("tsbu:schedul=theory", 'policy "tsbu" has no parameter "schedul"; did you mean "schedule"? known: '),
        (
            "kl-upper+kl-lower:levl=theory",
            'policy has no parameter "levl"; known: each_first, head_start, ',
        ),
        ("kl-upper+kl-lower:gate.level=theory", 'parameter "gate.level" must begin with "reward." or "safety.", or be'),
        ("kl-upper+kl-lower:reward.slack=1", 'reward index "kl-upper" has no parameter "slack"; known: level'),
        ("tsbu:schedule=quick", "schedule must be one of practical, theory, proof, got 'quick'"),
        ("docb:level=1", "level must be one of practical, theory, proof, got '1'"),
        ("slack-ts:slack=much", "slack must be a finite number, got 'much'"),
        ("slack-ts:slack=inf", "slack must be a finite number, got 'inf'"),
        ("slack-ts:slack=nan", "slack must be a finite number, got 'nan'"),
        ("kl-upper+kl-lower:each_first=maybe", "each_first must be true or false, got 'maybe'"),
        ("slack-ts:slack=1,slack=2", 'parameter "slack" is given twice in "slack-ts:slack=1,slack=2"'),
        ("slack-ts:slack", 'a parameter is written name=value, got "slack" in "slack-ts:slack"'),
        ("slack-ts:slack=", 'a parameter is written name=value, got "slack=" in "slack-ts:slack="'),
        ("slack-ts:=1", 'a parameter is written name=value, got "=1" in "slack-ts:=1"'),
    ],
)
def test_a_bad_text_is_refused_in_one_line(text, message):
    with pytest.raises(PolicyError) as problem:
        policy_from_text(text)
    said = str(problem.value)
    assert said.startswith(message)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (3, "a policy is a name such as tsbu, or a DoublyOptimistic(...), got 3"),
        (None, "a policy is a name such as tsbu, or a DoublyOptimistic(...), got None"),
        ((KLUpper(), KLLower()), "a policy is a name such as tsbu, or a DoublyOptimistic(...), got ("),
        (KLUpper(), "a policy is a name such as tsbu, or a DoublyOptimistic(...), got KLUpper("),
        (DoublyOptimistic(KLLower(), KLLower()), "a reward index is a NamedTuple with a formula registered for upper"),
        (DoublyOptimistic(KLUpper(), KLUpper()), "a safety index is a NamedTuple with a formula registered for lower"),
        (DoublyOptimistic(KLUpper, KLLower()), "a reward index is a NamedTuple with a formula registered for upper"),
        (DoublyOptimistic("kl", KLLower()), "a reward index is a NamedTuple with a formula registered for upper"),
        (DoublyOptimistic(Thompson(0.0), KLLower()), "prior_a of Thompson must be above 0, got 0.0"),
        (DoublyOptimistic(Thompson(1, -1), KLLower()), "prior_b of Thompson must be above 0, got -1"),
        (DoublyOptimistic(Thompson(float("nan")), KLLower()), "prior_a must be a finite number, got nan"),
        (DoublyOptimistic(Thompson(True), KLLower()), "prior_a must be a finite number, got True"),
        (DoublyOptimistic(Thompson(), SampledRisk(-0.1)), "slack of SampledRisk must be at least 0, got -0.1"),
        (DoublyOptimistic(Thompson(), PointMassRisk(-1)), "mass of PointMassRisk must be at least 0, got -1"),
        (tsbu(tail=-0.5), "tail of BayesLower must be at least 0, got -0.5"),
        (
            DoublyOptimistic(Thompson(), PosteriorGate(95)),
            "confidence of PosteriorGate must lie between 0 and 1, got 95",
        ),
        (DoublyOptimistic(Thompson(), PosteriorGate(least=-1)), "least of PosteriorGate must be at least 0, got -1"),
        (DoublyOptimistic(Thompson(), MixtureGate(0)), "delta of MixtureGate must lie between 0 and 1, got 0"),
        (DoublyOptimistic(Thompson(), BettingGate(1.0)), "delta of BettingGate must lie between 0 and 1, got 1.0"),
        (
            DoublyOptimistic(Thompson(), SampledRisk(), lasting=True),
            "lasting needs a safety index that is steady, got SampledRisk; take BayesLower",
        ),
        (DoublyOptimistic(KLUpper(), KLLower(), lasting="no"), "lasting must be true or false, got 'no'"),
        (DoublyOptimistic(KLUpper("quick"), KLLower()), "level must be one of practical, theory, proof, got 'quick'"),
        (DoublyOptimistic(KLUpper(), KLLower(), each_first=2), "each_first must be true or false, got 2"),
        (docb(when_none="medium"), "when_none, unless least_risky or hold, must be an arm (0 to 2, or one of "),
        (docb(when_none=3), "when_none, unless least_risky or hold, must be an arm (0 to 2, or one of "),
        (docb(when_none=-1), "when_none, unless least_risky or hold, must be an arm (0 to 2, or one of "),
        (docb(when_none=0.5), "when_none, unless least_risky or hold, must be an arm (0 to 2, or one of "),
    ],
)
def test_a_policy_that_cannot_be_run_is_refused_in_one_line(policy, message):
    with pytest.raises(PolicyError) as problem:
        ready(policy)
    said = str(problem.value)
    assert said.startswith(message)
    assert "\n" not in said


def test_a_prepared_policy_is_made_of_plain_numbers():
    plain = ready("tsbu:schedule=theory")
    assert type(plain.safety.schedule) is int
    assert plain.safety.schedule == Schedule.theory
    assert plain.each_first is False
    written = DoublyOptimistic(Thompson(2, "3"), BayesLower("theory"), each_first="false")
    assert ready(written)[:2] == (Thompson(2.0, 3.0), BayesLower(1))


def test_the_risks_of_an_arm_share_the_chance_to_exclude_it_wrongly():
    policy = DoublyOptimistic(Thompson(), MixtureGate(0.06), each_first=False)
    assert [driving.ready(policy, ARMS, (0.2,) * risks).safety.delta for risks in (1, 2, 3)] == [0.06, 0.03, 0.02]
    # A level of log t has its own way to do that, and each posterior speaks for itself.
    for index in (BayesLower(), PosteriorGate()):
        assert driving.ready(policy._replace(safety=index), ARMS, (0.2, 0.2)).safety == index


def test_what_to_do_when_no_arm_is_permissible():
    codes = [ready(docb(when_none=rule)).when_none for rule in ("placebo", "high", 1, "2", "hold")]
    assert codes[:4] == [0, 2, 1, 2]
    # Where the policy does not say, the caller does; and what it says wins.
    assert ready("docb").when_none == codes[4]
    assert ready("docb:when_none=hold", "least_risky").when_none == codes[4]
    assert ready("docb", "least_risky").when_none not in (codes[4], 0, 1, 2)


@pytest.mark.parametrize(
    ("name", "written"),
    [("KLUpper", "kl-upper"), ("slack_ts", "slack-ts"), ("BayesLower", "bayes-lower"), ("UCB", "ucb"), ("A1B", "a1-b")],
)
def test_names_as_the_command_line_writes_them(name, written):
    assert kebab(name) == written


def test_a_text_is_split_into_name_and_parameters():
    assert split_call(" tsbu ", PolicyError) == ("tsbu", {})
    assert split_call("tsbu:", PolicyError) == ("tsbu", {})
    assert split_call("a:x=1, y = b=c ,", PolicyError) == ("a", {"x": "1", "y": "b=c"})


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [("3", int, 3), (3.0, int, 3), ("0.5", float, 0.5), (2, float, 2.0), ("true", bool, True), (False, bool, False)],
)
def test_values_are_read_by_their_annotation(value, kind, expected):
    read = read_value("x", value, kind, PolicyError)
    assert read == expected
    assert type(read) is kind


def test_a_value_without_an_annotation_is_left_alone():
    mark = object()
    assert read_value("x", mark, object, PolicyError) is mark


@pytest.mark.parametrize("value", [2**53 + 1, str(2**53 + 1), 2**63 - 1, pytest.param(10**400, id="huge")])
def test_large_whole_numbers_are_whole_numbers(value):
    assert read_number("seed", value, int, PolicyError) == int(value)


@pytest.mark.parametrize("value", ["x", "1.5", 1.5, True, None, float("nan"), float("inf"), [1]])
def test_what_is_not_a_whole_number_is_refused(value):
    with pytest.raises(PolicyError, match=r"^x must be a whole number, got "):
        read_number("x", value, int, PolicyError)


@pytest.mark.parametrize(
    "value", ["x", True, None, float("nan"), float("inf"), "-inf", pytest.param(10**400, id="huge"), [1]]
)
def test_what_is_not_a_finite_number_is_refused(value):
    with pytest.raises(PolicyError, match=r"^x must be a finite number, got "):
        read_number("x", value, float, PolicyError)


def test_a_choice_is_a_member_or_its_name():
    assert read_choice("level", Level.theory, Level, PolicyError) is Level.theory
    assert read_choice("level", "theory", Level, PolicyError) is Level.theory
    for value in (1, "1", "Theory", None):
        with pytest.raises(PolicyError, match=r"^level must be one of practical, theory, proof, got "):
            read_choice("level", value, Level, PolicyError)
