"""Safe sets: distances against SciPy's optimiser, emptiness against its linear programmes, and texts."""

import re

import numpy as np
import pytest
from scipy import optimize

from safebandit.core.safe_set_texts import read_safe_set, with_numbers
from safebandit.core.safe_sets import SafeSet, box, check_of_risks, half_spaces, inside_of, signed_distance
from safebandit.errors import PolicyError


def distance_by_scipy(safe_set, point):
    """Minus the distance to the nearest point of the set, by sequential quadratic programming."""
    found = optimize.minimize(
        lambda y: ((y - point) ** 2).sum(), np.zeros(len(point)), jac=lambda y: 2 * (y - point), method="SLSQP",
        constraints={
            "type": "ineq", "fun": lambda y: safe_set.bounds - safe_set.rows @ y, "jac": lambda _: -safe_set.rows,
        },
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert found.success
    return -np.sqrt(found.fun)


def random_sets(seed, count):
    random = np.random.default_rng(seed)
    for _ in range(count):
        size, planes = random.integers(1, 5), random.integers(1, 6)
        middle = random.random(size)
        rows = random.normal(size=(planes, size))
        yield half_spaces(rows, rows @ middle + 0.3 * random.random(planes)), random


def test_the_distance_from_outside_is_that_to_the_nearest_point():
    outside = several = 0
    for safe_set, random in random_sets(1, 120):
        for point in random.uniform(-1, 2, (3, safe_set.rows.shape[1])):
            left = safe_set.bounds - safe_set.rows @ point
            if left.min() >= 0:
                assert safe_set.distance(point) == pytest.approx(left.min(), abs=1e-12)
                assert safe_set.contains(point)
                continue
            outside += 1
            expected = distance_by_scipy(safe_set, point)
            assert safe_set.distance(point) == pytest.approx(expected, abs=2e-6)
            assert not safe_set.contains(point)
            several += expected < left.min() - 1e-4
    # Points whose nearest one is on an edge or a corner were met, too, and not a few.
    assert outside > 200
    assert several > 40


def test_a_point_inside_is_as_far_from_the_boundary_as_from_the_nearest_point_outside():
    safe_set, point = read_safe_set("risk1 + risk2 <= 0.5, risk1 <= 0.3", 2), np.array([0.7, 0.2, 0.1])
    around = np.random.default_rng(2).normal(size=(20_000, 3))
    around /= np.linalg.norm(around, axis=1)[:, None]
    away = safe_set.distance(point)
    assert away == pytest.approx(min(0.2 / np.sqrt(2), 0.1))
    for radius, left in ((0.99 * away, 0), (1.05 * away, 1)):
        out = ~inside_of(safe_set, (point + radius * around)[None])[0]
        assert out.any() == left


def test_planes_that_depend_on_each_other_do_no_harm():
    once, thrice = half_spaces([[0, 1]], [0.3]), half_spaces([[0, 1], [0, 2], [0, 1]], [0.3, 0.6, 0.4])
    for x in (0.1, 0.3, 0.9):
        assert thrice.distance([0.5, x]) == pytest.approx(once.distance([0.5, x]))


def test_a_mean_on_the_boundary_lies_in_the_set_and_an_unknown_one_does_not():
    safe_set = read_safe_set("risk1 + risk2 <= 0.5", 2)
    assert all(safe_set.contains([0.3, k / 10, (5 - k) / 10]) for k in range(6))
    points = np.array([[[np.nan, 0.1, 0.1], [0.5, np.nan, 0.1], [0.5, 0.1, 0.5]]])
    # The reward has no part in this set: it may be unknown.
    assert inside_of(safe_set, points).tolist() == [[True, False, False]]
    assert np.isnan(signed_distance(safe_set, np.array([0.5, np.nan, 0.1])))


def test_the_box_of_the_limits():
    safe_set = box((0.3, 0.2))
    assert safe_set.rows.tolist() == [[0, 1, 0], [0, 0, 1]]
    assert safe_set.distance([1.0, 0.6, 0.6]) == pytest.approx(-0.5)


def test_texts():
    read = read_safe_set("2 risk1 + .5*risk2 - 0.1 <= 1e-1 + risk1, reward >= 0.25, -risk2 <= 0", 2)
    expected = half_spaces([[0, 1, 0.5], [-1, 0, 0], [0, 0, -1]], [0.2, -0.25, 0])
    assert np.allclose(read.rows, expected.rows)
    assert np.allclose(read.bounds, expected.bounds)
    assert with_numbers("any_harm <= .2, reward >= .1", ["any_harm"]) == "risk <= .2, reward >= .1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "safe_set must be half-spaces such as \"risk <= 0.3, reward >= 0.2\", got ''"),
        (0.3, 'safe_set must be half-spaces such as "risk <= 0.3, reward >= 0.2", got 0.3'),
        ("risk1 < 0.3", 'a half-space is written with one <= or >=, such as risk <= 0.3, got "risk1 < 0.3"'),
        ("0.1 <= risk1 <= 0.3", 'got "0.1 <= risk1 <= 0.3"; two at once are two'),
        ("risk1 <= 0.3,", 'a half-space is written with one <= or >=, such as risk <= 0.3, got ""'),
        ("risk <= 0.3", 'unknown "risk" in the half-space "risk <= 0.3"; did you mean'),
        ("risk1 risk2 <= 0.3", 'a side of a half-space is a sum such as 2 risk1 + risk2 - 0.1, got "risk1 risk2"'),
        ("risk1 * 2 <= 0.3", 'got "risk1 * 2" in "risk1 * 2 <= 0.3"'),
        ("risk1 <=", 'a side of a half-space is a sum such as 2 risk1 + risk2 - 0.1, got "" in "risk1 <="'),
        ("risk1 - risk1 <= 0.3", 'a half-space must ask about a reward or a risk, got "risk1 - risk1 <= 0.3"'),
        ("risk1 <= 0.2, risk1 >= 0.3", "the safe set is empty: no mean reward and risks in [0, 1] lie in it"),
        ("risk1 + risk2 <= -0.1", "the safe set is empty"),
        (", ".join(["risk1 <= 0.2"] * 13), "a safe set has at most 12 half-spaces, got 13; leave some out"),
    ],
)
def test_mistakes_are_told_in_one_line(text, why):
    with pytest.raises(PolicyError, match=re.escape(why)) as told:
        read_safe_set(text, 2)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("rows", "bounds", "why"),
    [
        ([[0, 1], [0]], [1, 1], "a safe set has rows and bounds of numbers"),
        ([[0, 1]], [1, 1], "a safe set has a row of numbers and a bound for every half-space"),
        ([[0, 0]], [1], "half-space 1 of the safe set asks about nothing"),
        ([[0, np.inf]], [1], "a safe set must be of finite numbers"),
    ],
)
def test_numbers_are_checked(rows, bounds, why):
    with pytest.raises(PolicyError, match=re.escape(why)):
        half_spaces(rows, bounds)


def test_an_empty_set_is_one_whose_distance_nobody_finds():
    """Emptiness by linear programming agrees with the projection, which finds no point of an empty set."""
    random, empty = np.random.default_rng(3), 0
    # The unit square's own half-spaces are among them, so that empty means the same to both.
    square = np.vstack([np.eye(2), -np.eye(2)])
    for _ in range(60):
        rows = np.vstack([random.normal(size=(3, 2)), square])
        bounds = np.concatenate([random.normal(size=3), [1, 1, 0, 0]])
        lengths = np.linalg.norm(rows, axis=1)
        found = SafeSet(rows / lengths[:, None], bounds / lengths).distance([5.0, 5.0])
        if np.isinf(found):
            empty += 1
            with pytest.raises(PolicyError, match="empty"):
                half_spaces(rows, bounds)
        else:
            half_spaces(rows, bounds)
    assert 10 < empty < 50


def test_a_set_for_risks_asks_for_less_of_them():
    assert check_of_risks(box((0.3,))) is not None
    with pytest.raises(PolicyError, match="cannot ask about the reward"):
        check_of_risks(read_safe_set("reward >= 0.2", 1))
    with pytest.raises(PolicyError, match="cannot ask for more of a risk"):
        check_of_risks(read_safe_set("risk1 - risk2 <= 0.2", 2))
