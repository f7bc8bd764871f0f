"""Instances that are linear in features: means, contexts, what is read back, and what is refused."""

import numpy as np
import pytest
from scipy import integrate

import safebandit as sb
from safebandit.errors import InstanceError
from safebandit.problems.contexts import read_contexts

Z = [[1.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
PLAIN = {"features": Z, "reward": [0.2, 0.6], "risk": [0.1, 0.3], "alpha": 0.25}
# Coefficients of 1 and x, of the first feature and of the second.
IN_CONTEXTS = {
    "features": Z, "reward": [0.2, 0.1, 0.5, -0.2], "risk": [0.05, 0.2, 0.3, 0.4], "alpha": 0.3, "contexts": ["uniform"]
}  # fmt: skip


def test_means_are_linear_in_the_features_and_known_exactly():
    instance = sb.Instance.linear(**PLAIN)
    assert instance.mu.tolist() == [0.2, 0.5, 0.8]
    # 0.1 + 0.15 is 0.25, which alpha permits.
    assert instance.nu.tolist() == [0.1, 0.25, 0.4]
    assert (instance.best_arm, instance.unsafe_arms.tolist()) == (1, [2])
    assert instance.features.arms.tolist() == Z
    assert instance.features.context == 0
    assert not instance.in_contexts
    drawn = instance.draw(2, 2_000)
    # Six standard errors.
    assert drawn.mean(axis=0) == pytest.approx([0.8, 0.4], abs=6 * 0.5 / np.sqrt(2_000))


def test_means_may_be_logistic():
    made = sb.Instance.linear([[-3.0], [2.0]], [1.0], [[0.5], [-1.0]], [0.3, 0.99], link="logistic")
    assert made.mu == pytest.approx(1 / (1 + np.exp([3.0, -2.0])))
    assert made.nu == pytest.approx(1 / (1 + np.exp([[1.5, -1.0], [-3.0, 2.0]])))


def test_in_contexts_the_means_are_those_over_all_contexts():
    made = sb.Instance.linear(**IN_CONTEXTS)
    assert made.in_contexts
    assert made.features.context == 1
    assert made.mu == pytest.approx([0.25, 0.45, 0.65])
    assert made.nu == pytest.approx([0.15, 0.40, 0.65])
    table = sb.Instance.linear(**{**IN_CONTEXTS, "contexts": [[0.0], [0.2], [0.1]]})
    assert table.nu == pytest.approx([0.07, 0.24, 0.41])


@pytest.mark.parametrize(
    ("law", "density"),
    [("uniform:0.2..0.6", lambda x: (0.2 < x < 0.6) / 0.4), ("beta:2,3", lambda x: 12 * x * (1 - x) ** 2)],
)
def test_logistic_means_over_a_law_are_integrals(law, density):
    made = sb.Instance.linear([[1.0]], [-2.0, 4.0], [-3.0, 1.0], 0.5, contexts=[law], link="logistic")
    mean = integrate.quad(lambda x: density(x) / (1 + np.exp(2.0 - 4.0 * x)), 0, 1, points=[0.2, 0.6])[0]
    assert made.mu[0] == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize(
    "made",
    [
        sb.Instance.linear(**PLAIN, arms=["low", "half", "full"], name="mine"),
        sb.Instance.linear([[-3.0], [2.0]], [1.0], [[0.5], [-1.0]], [0.3, 0.99], link="logistic", risks=["a", "b"]),
        sb.Instance.linear(**IN_CONTEXTS),
        sb.Instance.linear(**{**IN_CONTEXTS, "contexts": [[0.0], [0.2], [0.1]]}),
        *map(sb.instance_by_name, ["linear-doses", "dose-by-patient"]),
    ],
    ids=lambda made: made.name,
)
def test_an_instance_is_read_back_from_its_dictionary(made):
    again = sb.Instance.from_dict(made.to_dict())
    assert type(again) is type(made)
    assert again.to_dict() == made.to_dict()
    for one, two in zip(again.law, made.law, strict=True):
        assert np.array_equal(one, two)
    assert (again.arms, again.risks, again.limits) == (made.arms, made.risks, made.limits)


def test_contexts_from_a_file_are_scaled_by_their_range(tmp_path):
    file = tmp_path / "patients.csv"
    file.write_text("age,weight\n20,80\n60,40\n30,60\n", encoding="utf-8")
    read = read_contexts(str(file))
    assert read.table.tolist() == [[0.0, 1.0], [1.0, 0.0], [0.25, 0.5]]
    assert read.plain == read.table.tolist()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("age\n20\nold\n", "must be a CSV file of numbers, with a column for each number of a context"),
        ("age\n20\n\n", "is always 20, and says nothing; leave it out"),
        ("age,weight\n20,3\n30,\n", "has a number that is missing or not finite; a context is complete"),
        ("age\n", "has no rows; a context is complete"),
    ],
)
def test_a_bad_file_of_contexts_is_refused(tmp_path, text, rule):
    file = tmp_path / "patients.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InstanceError, match=rule):
        read_contexts(file)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": [[1, 0], [1]]}, "all of the same length, got rows of 2, 1"),
        ({"features": [[1, 0], [1, np.inf]]}, r"features must be finite, got \[1.0, inf\] of arm 1"),
        ({"features": []}, "features must be a row of numbers for every arm"),
        ({"features": [["a", 0], [1, 2]]}, "features must be a row of numbers for every arm"),
        ({"reward": [0.2]}, "reward must have 2 coefficients, finite numbers, one for each of 2 features, got 1"),
        ({"risk": [0.1, np.nan]}, "risk must have 2 coefficients, finite numbers"),
        ({"risk": [[0.1, 0.2], [0.1]]}, r"risk\[1\] must have 2 coefficients"),
        ({"reward": [0.2, 0.9]}, r"the mean reward of arm 2 must lie in \[0, 1\], got 1.1; change the coefficients"),
        ({"risk": [-0.1, 0.3]}, r"the mean risk of arm 0 must lie in \[0, 1\], got -0.1; change the coefficients"),
        ({"link": "probit"}, 'link must be "linear" or "logistic", got \'probit\''),
        ({"alpha": 0.05}, "no arm has mean risk <= 0.05"),
        ({"contexts": ["uniform"]}, "must have 4 coefficients, .*one for each of 2 features times 1 and 1 numbers"),
        ({"arms": ["a", "b"]}, "there are 3 arms but 2 names"),
        ({"nu": [1, 2]}, "unexpected keyword argument"),
    ],
)
def test_bad_input_is_refused_in_one_line(given, message):
    with pytest.raises((InstanceError, TypeError), match=message) as raised:
        sb.Instance.linear(**{**PLAIN, **given})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([], "contexts are a law for each number"),
        (["normal"], 'contexts are a law for each number, .*; got "normal"'),
        (["uniform:0.5"], 'a uniform law is written "uniform" or "uniform:0.2..0.8", got "uniform:0.5"'),
        (["uniform:0.5..2"], r'an end of "uniform:0.5..2" must lie in \[0, 1\], got 2'),
        (["bits:1.5"], r'the share of "bits:1.5" must lie in \[0, 1\]'),
        (["bits"], 'a parameter of "bits" must be a finite number'),
        (["beta:1"], 'a Beta law is written "beta:2,5", with two numbers above 0, got "beta:1"'),
        ([[0.5], [1.5]], r"numbers of a context must lie in \[0, 1\], got 1.5 in row 1; scale them by their range"),
        ([[0.5], [0.1, 0.2]], "a table of contexts has a row of as many numbers for each"),
        ([0.5], "contexts are a law for each number"),
        ("nowhere.csv", "there is no file nowhere.csv"),
    ],
)
def test_bad_contexts_are_refused_in_one_line(contexts, message):
    with pytest.raises(InstanceError, match=message) as raised:
        sb.Instance.linear(**{**IN_CONTEXTS, "contexts": contexts})
    assert "\n" not in str(raised.value)


def test_means_must_lie_between_0_and_1_in_every_context():
    with pytest.raises(InstanceError, match=r"the mean risk of arm 2 must lie in \[0, 1\], got 1.25 in some context"):
        sb.Instance.linear(**{**IN_CONTEXTS, "risk": [0.05, 0.5, 0.3, 0.4]})
    # No age above a half: the same coefficients are means.
    sb.Instance.linear(**{**IN_CONTEXTS, "risk": [0.05, 0.5, 0.3, 0.4], "contexts": ["uniform:0..0.5"]})


@pytest.mark.parametrize(
    "ask",
    [
        lambda made: made.best_arm,
        lambda made: made.costs,
        lambda made: made.unsafe_arms,
        lambda made: made.draw(0, 1),
        lambda made: made.with_safe_set("risk <= 0.5"),
        sb.bounds_of,
        lambda made: sb.Scenario("one", made),
        sb.identify,
    ],
)
def test_what_contexts_leave_undefined_is_refused_in_one_line(ask):
    with pytest.raises(InstanceError, match="contexts") as raised:
        ask(sb.Instance.linear(**IN_CONTEXTS))
    assert "\n" not in str(raised.value)
