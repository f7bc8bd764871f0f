"""The pictures show the numbers that they are made of; however many arms and units there are, they stay small."""

import re
from xml.etree import ElementTree

import pytest
import sqlalchemy as sa

from safebandit.service.page import charts, views
from safebandit.service.page.charts import AllocationOverTime
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.database import units
from safebandit.trials.record.overview import ArmOverview, Overview


def arm(name, plays=10, *, permissible=True, reward=0.5, risks=(0.1,), index=0.05, active=True):
    bounds = [None if risk is None else (risk / 2, (1 + risk) / 2) for risk in risks]
    return ArmOverview(
        name, active, plays, 0, reward, None if reward is None else (reward - 0.1, reward + 0.1), list(risks), bounds,
        [index] * len(risks), permissible, 0.5, "because",
    )  # fmt: skip


def overview(arms, *, alpha=(0.2,), risks=("risk",), units=0):
    return Overview(
        "t", "", "open", None, None, 1, "tsbu", list(alpha), list(risks), 1, "harm", "", units, 0, 0, 1, "", "",
        "exact", arms, [],
    )  # fmt: skip


def shapes(picture, kind):
    """All shapes of a class, read as XML: the picture is well formed."""
    return [each for each in ElementTree.fromstring(str(picture)).iter() if each.get("class") == kind]


def place(percentage, top):
    return float(percentage.removesuffix("%")) / 100 * top


def heights(picture):
    (bars,) = shapes(picture, "bars")
    tops = [float(y) for y in re.findall(r"V([\d.]+)H", bars.get("d"))]
    return [(100 - y) / 100 for y in tops]


def test_interval_mean_index_and_alpha_stand_where_the_numbers_are():
    seen = overview([arm("low", reward=0.36, risks=(0.16,), index=0.09)], alpha=(0.21,))
    reward, (risk,) = charts.reward_panel(seen), charts.risk_panels(seen)
    (line,), (mean,) = (shapes(reward.rows[0].picture, kind) for kind in ("interval", "mean"))
    assert place(line.get("x1"), reward.top) == pytest.approx(0.26, abs=1e-4)
    assert place(line.get("x2"), reward.top) == pytest.approx(0.46, abs=1e-4)
    assert place(mean.get("cx"), reward.top) == pytest.approx(0.36, abs=1e-4)
    (limit,), (index,) = (shapes(risk.rows[0].picture, kind) for kind in ("alpha", "index"))
    assert place(limit.get("x1"), risk.top) == pytest.approx(0.21, abs=1e-4)
    assert place(index.get("x1"), risk.top) == pytest.approx(0.09, abs=1e-4)
    said = "mean 0.160, 95 % credible interval 0.080 to 0.580, lower risk index 0.090, alpha 0.21"
    assert said in risk.rows[0].picture
    assert "alpha 0.21" in risk.limit
    assert (reward.rows[0].text, risk.rows[0].text) == ("0.360", "0.160")


def test_an_arm_that_is_not_permissible_has_another_shape():
    panel = charts.reward_panel(overview([arm("a"), arm("b", permissible=False, reward=0.25)]))
    yes, no = (row.picture for row in panel.rows)
    assert "<circle" in yes
    assert "<circle" not in no
    (diamond,) = shapes(no, "place")
    assert place(diamond.get("x"), panel.top) == pytest.approx(0.25, abs=1e-4)


def test_every_risk_has_a_panel_with_its_own_limit_and_scale():
    arms = [arm("a", risks=(0.5, 0.001)), arm("b", risks=(0.2, None))]
    seen = overview(arms, alpha=(0.3, 0.02), risks=("toxicity", "nausea"))
    toxicity, nausea = charts.risk_panels(seen)
    assert (toxicity.title, nausea.title) == ("Risk: toxicity", "Risk: nausea")
    assert ("alpha 0.3" in toxicity.limit, "alpha 0.02" in nausea.limit) == (True, True)
    assert "no outcome yet" in nausea.rows[1].picture
    assert nausea.rows[1].text == "–"


def test_a_trial_without_units():
    seen = overview([arm("a", 0, reward=None, risks=(None,), index=None)])
    panel = charts.allocation_panel(AllocationOverTime(10, {"a": []}), seen.arms)
    assert heights(panel.rows[0].picture) == []
    assert panel.rows[0].text == "–"
    assert shapes(charts.reward_panel(seen).rows[0].picture, "mean") == []
    assert shapes(charts.risk_panels(seen)[0].rows[0].picture, "index") == []


def test_one_arm_has_every_unit():
    allocation = AllocationOverTime(10, {"only": [10, 10, 3]})
    panel = charts.allocation_panel(allocation, [arm("only", 23)])
    assert heights(panel.rows[0].picture) == [1, 1, 1]
    assert panel.rows[0].text == "100 %"
    assert allocation.spans(23) == [(1, 10), (11, 20), (21, 23)]


def test_heights_are_shares_of_the_blocks():
    panel = charts.allocation_panel(AllocationOverTime(20, {"a": [5, 16], "b": [15, 4]}), [arm("a"), arm("b")])
    assert panel.top == 1
    assert [heights(row.picture) for row in panel.rows] == [[0.25, 0.8], [0.75, 0.2]]
    assert [row.text for row in panel.rows] == ["52 %", "48 %"]


def test_a_thousand_arms_are_bounded_and_none_is_forgotten():
    counts = {f"arm {k}": [k, 1] for k in range(1000)}
    drawn = charts.bounded(AllocationOverTime(10_000, counts))
    assert len(drawn.arms) == charts.MOST_SHARES
    assert drawn.totals == [sum(range(1000)), 1000]
    assert list(drawn.arms)[-1] == "989 other arms"
    arms = [arm(name, sum(each)) for name, each in counts.items()]
    panels = [charts.allocation_panel(drawn, arms), charts.reward_panel(overview(arms))]
    assert sum(len(row.picture) for panel in panels for row in panel.rows) < 50_000
    assert len(panels[1].rows) + panels[1].omitted == 1000
    assert panels[1].rows[-1].arm == "arm 999"


def test_an_arm_may_have_the_name_of_the_others_together():
    counts = {**{f"arm {k}": [1] for k in range(12)}, "2 other arms": [50]}
    drawn = charts.bounded(AllocationOverTime(62, counts))
    assert drawn.totals == [62]
    assert list(drawn.arms)[-1] == "2 other arms together"


def test_names_are_text_and_never_markup():
    name = "<script>alert('1')</script>&\"" + "x" * 200
    seen = overview([arm(name)])
    for panel in (charts.reward_panel(seen), charts.allocation_panel(AllocationOverTime(10, {name: [10]}), seen.arms)):
        picture = panel.rows[0].picture
        assert "<script" not in picture
        title = next(each for each in ElementTree.fromstring(str(picture)).iter() if each.tag == "title")
        assert title.text.startswith(name)


def test_withdrawn_arms_are_not_drawn_among_the_outcomes():
    seen = overview([arm("a"), arm("b", active=False, reward=None, risks=(None,))])
    assert [row.arm for row in charts.reward_panel(seen).rows] == ["a"]


@pytest.mark.parametrize("largest", [1e-9, 0.004, 0.01, 0.0101, 0.2, 0.3, 0.5000001, 0.99, 1.0])
def test_a_scale_holds_its_values(largest):
    top = charts.nice_top([0.0, largest])
    assert largest <= top <= 1
    assert top <= 2.5 * largest or top == 1


def test_a_hundred_thousand_units_are_counted_by_the_database(tmp_path):
    rounds = range(1, 100_001)
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.create("long", Settings.read(["a", "b"], 0.1, policy="tsbu", seed=1), actor="x")
        rows = [
            {
                "trial": "long", "id": str(n), "arm": "ab"[n % 4 == 0], "round": n, "play": n, "asked_at": n,
                "outcome": "[1.0,0.0]", "told_at": "[1,1]", "lost_at": None, "pending": False,
            }
            for n in rounds
        ]  # fmt: skip
        with ledger.engine.begin() as connection:
            connection.execute(units.insert(), rows)
            assert connection.scalar(sa.select(sa.func.count()).select_from(units)) == 100_000
        counted = views.allocation(ledger, "long", overview([arm("a"), arm("b")], units=100_000))
    assert counted.block == 2000
    assert counted.totals == [2000] * 50
    assert counted.arms["b"] == [500] * 50
    panel = charts.allocation_panel(counted, [arm("a"), arm("b")])
    assert heights(panel.rows[1].picture) == [0.25] * 50
    assert sum(len(row.picture) for row in panel.rows) < 5_000


def test_blocks_never_show_a_single_unit_to_those_who_see_sums_only():
    seen = AllocationOverTime(10, {"a": [4, 6, 1], "b": [6, 4, 0]})
    assert views.without_last_part(seen, 21).arms == {"a": [4, 6], "b": [6, 4]}
    assert views.without_last_part(seen, 30) == seen
    assert all(views.block_size(n) >= 10 for n in (0, 1, 9, 600, 10**7))
    assert all(n / views.block_size(n) <= views.MOST_BLOCKS for n in (0, 1, 599, 601, 100_000, 10**7 + 1))
