"""The pictures of an analysis show its numbers; those look by look are for who sees single outcomes."""

import math
import re
from xml.etree import ElementTree

import pytest

import safebandit as sb
from safebandit.service.page import analysis_charts

BITS = {"reward": "110101101110", "risk": "000100000010"}


@pytest.fixture(scope="module")
def found():
    trial = sb.Trial(["placebo", "<drug>"], alpha=0.3, policy="docb", seed=7, pending_cap=100)
    for unit, (reward, risk) in enumerate(zip(*BITS.values(), strict=True)):
        trial.ask(str(unit))
        trial.tell(str(unit), reward=float(reward), risk=float(risk))
    return sb.analyse(trial)


def shapes(row, kind):
    return [each for each in ElementTree.fromstring(str(row.picture)).iter() if each.get("class") == kind]


def test_means_sequences_and_limits_stand_where_the_numbers_are(found):
    for panel in analysis_charts.now_panels(found):
        for row in panel.rows:
            each = found.estimate(row.arm, panel.title)
            (line,), (mean,) = shapes(row, "interval"), shapes(row, "mean")
            drawn = [float(place.rstrip("%")) / 100 * panel.top for place in (line.get("x1"), line.get("x2"))]
            assert drawn == pytest.approx(each.interval, abs=1e-4)
            assert float(mean.get("cx").rstrip("%")) / 100 * panel.top == pytest.approx(each.mean, abs=1e-4)
            limits = [float(limit.get("x1").rstrip("%")) / 100 * panel.top for limit in shapes(row, "alpha")]
            assert limits == pytest.approx([0.3] if panel.title == "risk" else [])
            (title,) = re.findall(r"<title>.*?: (.*)</title>", str(row.picture))
            assert title.startswith("mean {:.3f}, 95 % sequence {:.3f} to {:.3f}".format(each.mean, *each.interval))


def test_a_path_goes_through_every_look(found):
    """The band's ends and the mean against the looks of the analysis; across, by the logarithm of what is known."""
    for panel in analysis_charts.path_panels(found):
        for row in panel.rows:
            path = found.estimate(row.arm, panel.title).path
            (line,), (band,) = shapes(row, "line"), shapes(row, "band")
            means = [tuple(map(float, point.split())) for point in line.get("d")[1:].split("L")]
            assert [1 - y / 100 for _, y in means] == pytest.approx(path.mean, abs=1e-4)
            across = [1000 * math.log(known) / math.log(panel.last) for known in path.known]
            assert [x for x, _ in means] == pytest.approx(across, abs=0.01)
            ends = [1 - float(point.split()[1]) / 100 for point in band.get("d")[1:-1].split("L")]
            assert ends == pytest.approx([*path.low, *path.high[::-1]], abs=1e-4)


def test_the_page_shows_looks_to_those_who_see_single_outcomes(served):
    path = served.create("pictured")
    empty = served.get("/trials/pictured/analysis").text
    assert "Nothing is known yet" in empty
    assert "<figure" not in empty
    for unit, (reward, risk) in enumerate(zip(*BITS.values(), strict=True)):
        served.post(f"{path}/units", {"unit": f"u{unit}"})
        served.post(f"{path}/outcomes", {"unit": f"u{unit}", "reward": int(reward), "risk": int(risk)})
    pages = {role: served.get("/trials/pictured/analysis", role=role).text for role in ("auditor", "viewer")}
    assert [pages[role].count('class="line"') for role in pages] == [6, 0]
    assert [pages[role].count('class="interval"') for role in pages] == [7, 7]
    assert all('href="#assumed-h"' in page and 'id="assumed-h"' in page for page in pages.values())
