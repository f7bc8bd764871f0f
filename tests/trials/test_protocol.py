"""Protocols: every rule of a design is said, with its numbers; what users wrote is shown letter by letter."""

import re
from dataclasses import fields

import pytest

from safebandit.trials.design import Design
from safebandit.trials.protocol import as_page, plain, protocol

NASTY = "50 mg *new* | <b>x</b> [a](b) `c` _d_ $e$ & # \\"


@pytest.fixture(scope="module")
def design():
    return Design(
        [NASTY, "mid", "high"], 0.3, "docb", 18, title=f"Knee {NASTY}", ordered=True, cohort=3, steps=1,
        least_reward=0.2, stop=["harm:confidence=0.9", "futility:confidence=0.97"], select="best-safe:confidence=0.55",
    )  # fmt: skip


@pytest.fixture(scope="module")
def text(design):
    return protocol(design)


def test_every_number_of_the_design_is_in_its_words(text):
    for number in ("18", "0.3", "0.9", "0.97", "0.55", "0.2", "cohorts of 3", "one level"):
        assert number in text
    for title in ("Question", "Who gets which arm", "Looks at the data", "When the trial stops", "What is selected"):
        assert f"## {title}\n" in text


def test_what_users_wrote_is_no_markup(design, text):
    assert plain(NASTY) in text
    page = as_page(text, design.title)
    shown = page.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&quot;", '"')
    assert shown.count(NASTY) >= 4
    tags = set(re.findall(r"</?([a-z0-9]+)", page))
    assert tags <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "ul", "li", "p", "strong", "code",
        "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert "http" not in page


def test_the_tables_are_those_of_the_design(design, text):
    for table in design.table():
        assert table.title in text
        assert len(table.frame) + 2 <= sum(line.startswith("|") for line in text.splitlines())


def test_names_in_the_sentences_of_rules_are_shown_letter_by_letter():
    arms = ["<b>A", "B_*x*"]
    text = Design(
        arms, 0.3, "docb", 20, control="<b>A", risks=["t|x"], stop=["superiority:control=<b>A", "arm-harm:arm=B_*x*"]
    ).protocol()
    for name in (*arms, "t|x"):
        assert name not in text
    page = as_page(text, "x")
    assert "&lt;b&gt;A" in page
    assert "B_*x*" in page


def test_what_nobody_does_alone_is_said(text):
    said = Design(["a", "b"], 0.3, "docb", 20, second_person=["amend", "unseal"]).protocol()
    assert "An amendment is proposed by one person and approved by another" in said
    assert "To read before the end what is concealed until then is proposed" in said
    assert "A correction after" not in said
    assert "alone" not in text


def words_of(design):
    """All that is said of a design but its tables and its hash."""
    return protocol(design).partition("## Decision tables")[0]


BASE = {"arms": ["low", "mid", "high"], "alpha": 0.3, "policy": "docb", "units": 18}
# Each says something else than the design of the second with nothing more.
CHANGES = {
    "arms": ({"arms": ["low", "mid", "top"]}, {}),
    "alpha": ({"alpha": 0.25}, {}),
    "policy": ({"policy": "klbayes"}, {}),
    "units": ({"units": 24}, {}),
    "title": ({"title": "Knee"}, {}),
    "risks": ({"risks": ["pain"]}, {}),
    "rewarded": ({"rewarded": False}, {}),
    "ordered": ({"ordered": True}, {}),
    "control": ({"control": "low"}, {}),
    "control_floor": ({"control": "low", "control_floor": 0.2}, {"control": "low"}),
    "strata": ({"strata": {"site": ["a", "b"]}}, {}),
    "least_reward": ({"least_reward": 0.2}, {}),
    "cohort": ({"cohort": 3}, {}),
    "waits": ({"waits": True}, {}),
    "first": ({"first": "low"}, {}),
    "steps": ({"ordered": True, "steps": 1}, {"ordered": True}),
    "known_below": ({"ordered": True, "steps": 1, "known_below": 5}, {"ordered": True, "steps": 1}),
    "climb": ({"ordered": True, "steps": 1, "climb": 0.6}, {"ordered": True, "steps": 1}),
    "upwards": ({"ordered": True, "upwards": True}, {"ordered": True}),
    "burn_in": ({"burn_in": 6}, {}),
    "looks": ({"looks": 6}, {}),
    "pending_cap": ({"pending_cap": 4}, {}),
    "lost": ({"lost": "ignore"}, {}),
    "stop": ({"stop": ["enough:units=9"]}, {}),
    "then": ({"stop": ["enough:units=9,then=pause"]}, {"stop": ["enough:units=9"]}),
    "select": ({"select": "best-safe:confidence=0.7"}, {}),
    "ids": ({"ids": "P-[0-9]{3}"}, {}),
    "prior": ({"prior": [0.5, 0.5]}, {}),
    "second_person": ({"second_person": ["amend"]}, {}),
}


@pytest.mark.parametrize("field", [each.name for each in fields(Design)])
def test_every_field_of_a_design_is_said(field):
    other, usual = (Design(**{**BASE, **change}) for change in CHANGES[field])
    assert getattr(other, field) != getattr(usual, field)
    assert words_of(other) != words_of(usual)
    assert other.describe() != usual.describe()


def test_strata_are_said_and_what_is_done_in_each():
    text = protocol(Design(**BASE, strata={"site": ["a", NASTY.replace(",", "")], "age": ["<65", "65+"]}))
    assert "by age (\\<65, 65+), site (a, 50 mg" in text
    assert ": 4 strata. What follows here is done in each stratum by itself" in text
    assert "A stratum in which no arm is permissible gives none, and does not end the trial." in text
    assert "The trial ends where no arm is permissible" not in text
    assert "told by the units of one stratum, whichever it is" in text
