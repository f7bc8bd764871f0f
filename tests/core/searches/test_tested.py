"""Joint sampling by the bar: the law of drawing and testing every arm, by the search and by the definition."""

import functools

import numpy as np
import pytest

from .. import driving, plain

PASSES = {"joint-ts": plain.passes_independently, "joint-dirichlet": plain.passes_jointly}
ROUND, LIMIT = 3_000, 0.5

# Per arm the counts of (reward, risk) = 00, 01, 10, 11. P(Bin(100, 1/2) >= 65) = 0.0018 is strong evidence, of 60 it is
# 0.028 and of 57 0.097, near 1/(1 + log t) = 0.111.
SAFE = (40, 10, 40, 10)
STATES = {
    "no evidence": [SAFE, (20, 5, 22, 5), (3, 1, 2, 1)],
    "strong evidence": [SAFE, (15, 30, 20, 35)],
    "near log(1 + log t), above": [SAFE, (21, 24, 22, 33)],
    "near log(1 + log t), below": [SAFE, (22, 23, 22, 33)],
    "several doubtful arms": [(40, 14, 30, 14), (15, 27, 18, 40), (18, 28, 22, 32), (8, 16, 12, 20), (20, 33, 18, 29)],
    "every arm doubtful": [(18, 28, 22, 32), (15, 30, 20, 35), (6, 14, 4, 9)],
    "equal doubtful arms": [(8, 14, 6, 16)] * 3,
    "never rewarded, always a risk": [(0, 3, 0, 0), (0, 3, 0, 0), (0, 4, 0, 0)],
    "an arm never played": [(15, 30, 20, 35), SAFE, (0, 0, 0, 0)],
    "risk with every reward": [SAFE, (35, 0, 0, 65), (36, 2, 4, 58)],
    "risk never with a reward": [(30, 10, 30, 10), (2, 42, 40, 16), (0, 62, 38, 0)],
    "many plays": [(750, 500, 750, 500), (602, 628, 615, 655), (300, 315, 310, 325)],
    "an arm that is not permitted": [(0, 5, 0, 95), (40, 14, 30, 14), (15, 27, 18, 40), (0, 0, 0, 0)],
}
SOFT = {"joint-ts": (0.0, 1.0), "joint-dirichlet": (0.0, 1.0, 2.5)}
CASES = [(name, soft) for name, choices in SOFT.items() for soft in choices]
DECISIONS = 15_000
# How often NumPy draws all arms: less often where each draw is tested up to 21 times.
DRAWS = {("joint-dirichlet", 1.0): 30_000, ("joint-dirichlet", 2.5): 30_000}


@functools.cache
def searching(name, soft, state):
    """The policy with these tables, learnt play by play."""
    tables = STATES.get(state, state)
    search = driving.Search(f"{name}:soft={soft},head_start=0", len(tables), LIMIT)
    for k, table in enumerate(tables):
        for outcome, count in enumerate(table):
            for _ in range(count):
                search.learn(k, float(outcome // 2), float(outcome % 2))
    return search


@functools.cache
def expected(name, soft, state):
    """Who wins how often in NumPy's draws, of the arms that are permitted."""
    tables = [table for table in STATES.get(state, state) if table != (0, 5, 0, 95)]
    size = DRAWS.get((name, soft), 60_000)
    return plain.joint_draws(tables, PASSES[name], soft, ROUND, LIMIT, size, np.random.default_rng(5))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("name", "soft"), CASES)
def test_arms_win_as_often_as_if_all_were_drawn_and_tested(name, soft, state):
    search = searching(name, soft, state)
    permitted = search.table(ROUND)[0].astype(bool)
    assert permitted.tolist() == [table != (0, 5, 0, 95) for table in STATES[state]]
    for wins in (search.find(ROUND, DECISIONS)[:-2], search.counts(ROUND, DECISIONS)[:-2]):
        assert wins[~permitted].sum() == 0
        assert plain.same_law(wins[permitted], expected(name, soft, state)) > driving.FALSE_ALARM


# Two arms of nearly equal means decide most rounds: with one of them in doubt, and with its mean on either side of the
# bar; with others in doubt; with an arm that hardly a test of 9 lets pass.
RIVALS = {
    "one in doubt": [(160, 40, 160, 40), (87, 103, 93, 117)],
    "the other in doubt": [(87, 103, 93, 117), (160, 40, 160, 40), (3, 1, 2, 0)],
    "strongly in doubt": [(160, 40, 160, 40), (80, 110, 85, 125)],
    "the smaller in doubt": [(280, 70, 360, 90), (56, 64, 48, 62)],
    "neither in doubt": [(160, 40, 160, 40), (162, 38, 159, 41)],
    "both in doubt": [(87, 103, 93, 117), (88, 103, 93, 116)],
    "a third in doubt": [(160, 40, 160, 40), (162, 38, 159, 41), (10, 20, 12, 26)],
    "hardly a test passes": [(102, 26, 218, 54), (14, 28, 19, 39)],
    "hardly a test passes beside rivals": [(102, 26, 218, 54), (102, 27, 216, 54), (14, 28, 19, 39)],
}


@pytest.mark.parametrize("state", RIVALS)
@pytest.mark.parametrize(("name", "soft"), CASES)
def test_rivals_in_doubt_win_as_often_as_by_definition(name, soft, state):
    search = searching(name, soft, tuple(RIVALS[state]))
    wins = search.find(ROUND, 100_000)[:-2]
    assert plain.same_law(wins, search.counts(ROUND, 100_000)[:-2]) > driving.FALSE_ALARM


@pytest.mark.parametrize("bar", [0.472, 0.478])
@pytest.mark.parametrize("third", [(), ((30, 14, 19, 7),)], ids=["alone", "with a third"])
def test_rivals_in_doubt_win_as_often_whatever_the_bar(third, bar):
    # The mean of the second, 0.47, is below the bars: its draw counts as above only where it stands. In one round of 7
    # neither exceeds them.
    search = searching.__wrapped__("joint-ts", 0.0, ((40, 10, 40, 10), (30, 23, 16, 31), *third))
    wins = search.find(ROUND, 400_000, bar=bar)[:-2]
    assert search.notes["rivals"][0]
    # The two decided without a draw.
    assert 0.0 < search.notes["chance"][0] < 1.0
    assert search.words[1] > 200_000
    assert plain.same_law(wins, search.counts(ROUND, 400_000)[:-2]) > driving.FALSE_ALARM


@pytest.mark.parametrize("bar", [0.4, 0.44, 0.46])
@pytest.mark.parametrize("third", [(), ((30, 14, 19, 7),)], ids=["alone", "with a third"])
@pytest.mark.parametrize(("name", "soft"), [("joint-ts", 0.0), ("joint-ts", 0.3), ("joint-dirichlet", 0.0)])
def test_rivals_in_doubt_win_as_often_whatever_the_bar_below_the_mean(name, soft, third, bar):
    # The mean of the second, 0.47, is above the bars: its draw exceeds them whether it stands or not.
    search = searching.__wrapped__(name, soft, ((40, 10, 40, 10), (30, 23, 16, 31), *third))
    wins = search.find(ROUND, 200_000, bar=bar)[:-2]
    assert search.notes["rivals"][0]
    # Some rounds were decided without a draw.
    assert search.words[1] > 1_000
    assert plain.same_law(wins, search.counts(ROUND, 200_000)[:-2]) > driving.FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "state", "least"),
    [
        ("joint-ts", "neither in doubt", 9_000), ("joint-dirichlet", "neither in doubt", 9_000),
        ("joint-ts", "hardly a test passes beside rivals", 9_000),
        ("joint-dirichlet", "hardly a test passes beside rivals", 8_000), ("joint-ts", "the smaller in doubt", 9_000),
    ],
)  # fmt: skip
def test_rivals_decide_most_rounds_without_a_draw(name, state, least):
    search = searching.__wrapped__(name, 0.0, tuple(RIVALS[state]))
    search.find(ROUND, 10_000)
    assert search.notes["rivals"][0]
    assert search.words[1] > least


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("soft", [0.0, 0.7])
def test_arms_win_with_the_chances_of_the_definition_while_they_learn(name, soft):
    # Every 20 rounds the chances of that very state, by 1,000 decisions; the more tests, the later the round. The wins
    # of the first two arms less their chances have mean 0: |z| > 4 in 1 case of 15,000, the error of chances included.
    search, random = driving.Search(f"{name}:soft={soft}", 3, 0.21, seed=4), np.random.default_rng(4)
    excess, variance, doubts = np.zeros(3), np.zeros(3), set()
    for t in range(1, 4_001):
        k = int(search.find(t).argmax())
        if t > 100 and t % 20 == 0:
            chances = search.counts(t, 1_000)[:3] / 1_000
            wins = search.find(t, 1_000)[:3] / 1_000
            k = int(search.find(t).argmax())
            excess += wins - chances
            variance += 2.0 * chances * (1.0 - chances) / 1_000
            doubts.add(tuple(search.seen["mean"][:, 1] > 0.21))
        search.learn(k, *(random.random(2) < ((0.47, 0.46, 0.6)[k], (0.18, 0.21, 0.3)[k])).astype(float))
    assert len(doubts) > 1
    assert (abs(excess) < 4.0 * np.sqrt(variance + 1e-3)).all()


@pytest.mark.parametrize("limit", [0.0, 1.0])
@pytest.mark.parametrize("name", PASSES)
def test_where_no_risk_or_every_risk_is_tolerated(name, limit):
    search = driving.Search(f"{name}:soft=1", 3, limit, seed=3)
    for k, (ones, risks) in enumerate([(60, 0), (64, 0), (80, 9)]):
        for i in range(120):
            search.learn(k, float(i < ones), float(i < risks))
    wins, expected = search.find(ROUND, 50_000)[:-2], search.counts(ROUND, 50_000)[:-2]
    assert (wins[2] > 0) == (limit == 1.0)
    assert plain.same_law(wins[: 2 + int(limit)], expected[: 2 + int(limit)]) > driving.FALSE_ALARM


@pytest.mark.parametrize("bar", [0.05, 0.45, 0.6, 0.95])
@pytest.mark.parametrize(("name", "soft"), [("joint-ts", 0.0), ("joint-ts", 1.0), ("joint-dirichlet", 0.0)])
def test_who_wins_does_not_depend_on_the_bar(name, soft, bar):
    state = "several doubtful arms"
    # A search of its own: notes of a bar that another test set say nothing of this one.
    wins = searching.__wrapped__(name, soft, state).find(ROUND, 20_000, bar=bar)[:-2]
    assert plain.same_law(wins, expected(name, soft, state)) > driving.FALSE_ALARM


@pytest.mark.parametrize(
    "state", ["strong evidence", "several doubtful arms", "every arm doubtful", "risk with every reward"]
)
@pytest.mark.parametrize("name", PASSES)
def test_the_comparison_would_notice_that_nothing_is_tested(name, state):
    def always(table, chance, soft, t, rho, alpha, random):
        return np.ones(rho.shape, bool)

    untested = plain.joint_draws(STATES[state], always, 0.0, ROUND, LIMIT, 60_000, np.random.default_rng(5))
    assert plain.same_law(searching(name, 0.0, state).find(ROUND, 30_000)[:-2], untested) < 1e-9


def test_the_comparison_would_notice_that_the_table_is_not_read():
    # Risk and reward always come together: given a safe risk, the doubtful arm's reward is never above its mean.
    tables = ((32, 8, 48, 12), (43, 0, 0, 57))
    wins = searching("joint-dirichlet", 0.0, tables).find(ROUND, 30_000)[:-2]
    for name, agrees in (("joint-dirichlet", True), ("joint-ts", False)):
        assert (plain.same_law(wins, expected(name, 0.0, tables)) > driving.FALSE_ALARM) == agrees


@pytest.mark.parametrize("soft", [0.0, 1.0])
def test_with_two_risks_the_search_has_the_law_of_the_definition(soft):
    search, random = driving.Search(f"joint-ts:soft={soft}", 4, (0.5, 0.3), seed=6), np.random.default_rng(3)
    for k, means in enumerate([(0.5, 0.4, 0.2), (0.6, 0.6, 0.3), (0.55, 0.5, 0.36), (0.65, 0.55, 0.35)]):
        for _ in range(80):
            search.learn(k, *(random.random(3) < means).astype(float))
    by_search, by_definition = search.find(ROUND, 40_000), search.counts(ROUND, 40_000)
    assert (by_definition > 100).sum() > 2
    assert plain.same_law(by_search, by_definition) > driving.FALSE_ALARM


@pytest.mark.parametrize("count", [33, 1_000])
def test_many_arms_alike_win_alike(count):
    search = searching("joint-ts", 0.0, ((1, 2, 1, 3),) * count)
    wins = search.find(ROUND, 20 * count)[:-2]
    # A third of a thousand plays each is too few for a chi-square: by blocks of 32 arms and a rest.
    blocks = np.add.reduceat(wins, np.arange(0, count, 32))
    sizes = np.diff([*range(0, count, 32), count])
    driving.assert_frequencies(blocks, sizes / count)
