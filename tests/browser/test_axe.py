"""Every page, wide and on a phone, against the rules of axe-core: WCAG 2.2 to level AA, and its best practices."""

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import expect

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RUN = """async ([tags, colours]) => {
  const [runOnly, rules] = [{ type: "tag", values: tags }, { "color-contrast": { enabled: colours } }];
  const found = await axe.run({ runOnly, rules, resultTypes: ["violations"] });
  return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`);
}"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = {
    "admin": [
        "/", "/keys", "/worklist", "/worklist?trial=several", "/alerts", "/alerts?trial=played",
        "/trials/played", "/trials/held", "/trials/several", "/trials/none", "/trials/several/log",
        "/trials/several/log/2", "/trials/several/arms", "/trials/several/units",
        "/trials/several/analysis", "/trials/several/rehearsal",
        "/trials/dosing", "/trials/dosed", "/trials/aged", "/trials/aged/units", "/trials/aged/log/2",
    ],
    "operator": ["/worklist", "/trials/played", "/trials/held", "/trials/dosed"],
    "viewer": ["/trials/several"],
}  # fmt: skip


def violations(page, width):
    # Words can be there before the style sheet is: everything would be too small.
    page.wait_for_load_state()
    page.evaluate(AXE)
    # Colours, which take longest, do not depend on the width.
    return page.evaluate(RUN, [TAGS, width > 360])


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("role", PAGES)
def test_no_page_breaks_a_rule(visits, played, held, several, designed, aged, role, width):
    page = visits.new(role, width=width)
    found = {}
    for path in PAGES[role]:
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        found[path] = violations(page, width)
    assert {path: broken for path, broken in found.items() if broken} == {}


@pytest.mark.parametrize("width", [360, 1280])
def test_nor_does_one_that_a_form_leads_to(visits, played, width):
    page = visits.new(width=width)
    assert violations(page, width) == []
    page.get_by_label("Key").fill("sb_0000000000000000_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert violations(page, width) == []
    page = visits.new("admin", "/trials/played", width=width)
    page.locator("#ask-unit").fill("never seen")
    page.get_by_role("button", name="Ask for an arm").click()
    expect(page.get_by_role("button", name="Yes, it is new")).to_be_visible()
    assert violations(page, width) == []
    page.locator("#tell-unit").fill("a-pending-unit")
    page.locator("#tell-reward").fill("7")
    page.get_by_role("button", name="Tell the outcome").click()
    expect(page.locator("#tell .said.wrong")).to_be_visible()
    assert violations(page, width) == []
    page.goto("/trials/played/log")
    page.get_by_role("button", name="Verify the record").click()
    expect(page.locator(".banner")).to_contain_text("The record holds")
    assert violations(page, width) == []
