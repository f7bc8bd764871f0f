"""Protocols: every rule of a design is said, with its numbers; what users wrote is shown letter by letter."""

import re

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
