"""What a scenario supposes of strata: shares that are 1 together, means that differ, and what is wrong in one line."""

import numpy as np
import pytest

import safebandit as sb
from safebandit.problems.scenario import Scenario

NAMES = ["age=<65, site=a", "age=<65, site=b", "age=65+, site=a", "age=65+, site=b"]
MU, NU = [0.2, 0.5, 0.6], [0.1, 0.35, 0.6]


def scenario(strata, **more):
    return Scenario("doses", mu=MU, nu=NU, **more, strata=strata)


def shares(found, names=NAMES):
    return [part.share for part in found.parts(names)]


def test_nothing_said_all_strata_are_alike():
    plain = Scenario("doses", mu=MU, nu=NU)
    assert shares(plain) == [0.25] * 4
    assert all(part.truth is plain.instance for part in plain.parts(NAMES))
    assert plain.pooled(NAMES) is plain.instance
    assert plain.parts([]) == []


def test_what_is_left_is_shared_and_names_are_read_in_any_order():
    found = scenario({"site=b, age=65+": {"share": 0.4}, "age=65+, site=a": {"share": 0.3}})
    assert shares(found) == pytest.approx([0.15, 0.15, 0.3, 0.4])


def test_means_of_a_stratum_are_its_own_and_those_of_all_are_the_mixture():
    frail = {
        "age=65+, site=b": {"share": 0.4, "nu": [0.3, 0.6, 0.9]},
        "age=65+, site=a": {"share": 0.1, "mu": [0.0, 0.1, 0.1]},
    }
    found = scenario(frail)
    truths = [part.truth for part in found.parts(NAMES)]
    assert truths[3].nu.tolist() == [0.3, 0.6, 0.9]
    assert truths[3].mu.tolist() == MU
    assert (truths[2].mu.tolist(), truths[2].nu.tolist()) == ([0.0, 0.1, 0.1], NU)
    pooled = found.pooled(NAMES)
    assert pooled.nu == pytest.approx(0.6 * np.array(NU) + 0.4 * np.array([0.3, 0.6, 0.9]))
    assert pooled.mu == pytest.approx(0.9 * np.array(MU) + 0.1 * np.array([0.0, 0.1, 0.1]))
    assert found.law_in(found.parts(NAMES))[1] == [0, 3, 6, 9]


def test_a_design_without_strata_is_given_units_of_all_of_them():
    found = scenario({"site=b": {"share": 0.4, "nu": [0.3, 0.6, 0.9]}})
    assert [(part.name, part.share) for part in found.parts([])] == [("site=b", 0.4), ("all others", 0.6)]
    assert found.pooled([]).nu == pytest.approx(0.6 * np.array(NU) + 0.4 * np.array([0.3, 0.6, 0.9]))


def test_curves_and_several_risks_in_strata():
    found = Scenario(
        "two", nu=[[0.1, 0.2], [0.3, 0.4]], risks=["pain", "fever"], doses=[1, 2],
        strata={"site=a": {"nu": ["logistic:low=0.2,high=0.4", [0.5, 0.6]]}},
    )  # fmt: skip
    (own, other) = found.parts(["site=a", "site=b"])
    assert own.truth.risk_means == pytest.approx(np.array([[0.2, 0.4], [0.5, 0.6]]))
    assert other.truth.risk_means.tolist() == [[0.1, 0.2], [0.3, 0.4]]


def test_correlation_holds_in_every_stratum():
    found = scenario({"site=a": {"nu": [0.2, 0.3, 0.5]}}, correlation=0.3)
    assert [part.truth.recipe["correlation"] for part in found.parts(["site=a", "site=b"])] == [[0.3] * 3] * 2


def test_it_is_read_back_as_it_was_written():
    found = scenario({"site=b": {"share": 0.4, "nu": [0.3, 0.6, 0.9]}, "site=a": {"mu": [0.1, 0.1, 0.1]}})
    again = Scenario.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict()
    names = ["site=a", "site=b"]
    assert again.pooled(names).nu.tolist() == found.pooled(names).nu.tolist()
    assert "site=b: 0.4 of the units, risk 0.3, 0.6, 0.9" in found.describe()
    assert "site=a: reward 0.1, 0.1, 0.1" in found.describe()


@pytest.mark.parametrize(
    ("strata", "names", "message"),
    [
        (["site=a"], [], r"strata are tables by their names.*, got \['site=a'\]"),
        ({"site=a": 0.3}, [], "a stratum has a share, or means mu and nu of its own, got 0.3"),
        ({"site=a": {}}, [], "a stratum has a share, or means"),
        ({"site=a": {"shares": 0.3}}, [], 'a stratum has no key "shares"; did you mean "share"'),
        ({"site=a": {"share": 0}}, [], "share must be above 0, got 0"),
        ({"site=a": {"share": 1.2}}, [], r"share must lie in \[0, 1\], got 1.2"),
        ({"site=a": {"share": "much"}}, [], "share must be a number"),
        ({"site=a": {"share": 0.7}, "site=b": {"share": 0.6}}, [], "must be 1 together, got 1.3"),
        ({"a=1, b=2": {"share": 0.7}, "b=2,a=1": {"share": 0.1}}, [], 'the stratum "a=1, b=2" stands twice'),
        ({"site=a": {"nu": [0.1, 0.2]}}, [], "nu"),
        ({"site=a": {"nu": [0.1, 0.2, 1.7]}}, [], "1.7"),
        ({"site=c": {"share": 0.7}}, ["site=a", "site=b"], 'the design has no stratum "site=c"'),
        ({"site=a": {"share": 0.7}, "site=b": {"share": 0.2}}, ["site=a", "site=b"], "and 0.1 is left"),
        ({"site=a": {"share": 1.0}}, ["site=a", "site=b"], "nothing is left for those without one"),
        ({"site=a": {"nu": [0.1, 0.2, 0.3]}}, [], "a design without strata needs the share of each stratum"),
    ],
)
def test_a_mistake_is_told_in_one_line(strata, names, message):
    with pytest.raises(sb.InstanceError, match=message) as caught:
        scenario(strata).fitted(["0", "1", "2"], 0.3, ["risk"], names)
    assert "\n" not in str(caught.value)
    assert "strata" in caught.value.key


def test_what_a_stratum_cannot_have():
    with pytest.raises(sb.InstanceError, match="has only its share"):
        Scenario("gauss", sb.Instance.bernoulli(MU, NU, 0.3), strata={"site=a": {"nu": NU}})
    with pytest.raises(sb.InstanceError, match="a scenario without rewards has none in its strata"):
        Scenario("risks", nu=NU, strata={"site=a": {"mu": MU}})
