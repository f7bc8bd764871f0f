"""The page in a real browser: who sees what, what it does by itself, and that it can be read by everyone."""

import pytest
from playwright.sync_api import expect

from .conftest import HOSTILE

ALL_SECTIONS = [
    "Allocation over time", "Reward and risk", "Arms", "What theory expects at the present estimates", "Pending units",
    "Log",
]  # fmt: skip
SEEN = {
    "admin": ["Ask", "Tell", *ALL_SECTIONS],
    "operator": ["Ask", "Tell", "Your pending units"],
    "viewer": ALL_SECTIONS[:4],
    "auditor": ALL_SECTIONS,
}
FORMS = {
    "admin": ["ask", "tell", "batch", "give-up", "void", "correct", "amend", "pause", "close"],
    "operator": ["ask", "tell", "batch"],
    "viewer": [],
    "auditor": [],
}


def test_a_wrong_key_is_refused_and_a_right_one_leads_to_the_page(visits, played):
    page = visits.new()
    page.goto("/trials/played")
    expect(page).to_have_url(f"{played.url}/sign-in?next=/trials/played")
    page.get_by_label("Key").fill("sb_0000000000000000_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("This key does not work")
    page.get_by_label("Key").fill(played.keys["viewer"])
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{played.url}/trials/played")
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    page.goto("/trials/played")
    expect(page.get_by_label("Key")).to_be_visible()


@pytest.mark.parametrize("role", SEEN)
def test_a_role_sees_what_it_may_and_nothing_else(visits, played, role):
    page = visits.new(role, "/trials/played")
    assert page.locator("main h2").all_text_contents() == SEEN[role]
    assert page.locator("main form").evaluate_all("forms => forms.map(form => form.id)") == FORMS[role]
    text = page.content()
    assert ("a-pending-unit" in text) == (role in ("admin", "auditor"))
    assert ("unit-30" in text) == (role in ("admin", "auditor"))
    assert ("/export?kind=parquet" in text) == (role in ("admin", "auditor"))
    assert ("propensity" in text.lower()) == (role != "operator")
    assert page.get_by_role("link", name="Keys").count() == (role == "admin")


def test_create_ask_tell_and_another_page_updates_by_itself(visits, service):
    page = visits.new("admin")
    page.locator("#create-box > summary").click()
    page.get_by_label("Name", exact=False).first.fill("by-hand")
    page.locator("#create-arms").fill("low\nhigh\n")
    page.locator("#create-alpha").fill("0.3")
    page.locator("#create-policy").fill("tsbu")
    page.get_by_role("button", name="Create the trial").click()
    page.wait_for_url("**/trials/by-hand")
    watching = visits.new("auditor", "/trials/by-hand")
    watching.evaluate("window.same = true")
    watching.locator("#whole-log").focus()
    page.locator("#ask-unit").fill("patient 1")
    page.get_by_role("button", name="Ask for an arm").click()
    page.get_by_role("button", name="Yes, it is new").click()
    expect(page.locator("#ask-said")).to_contain_text("Unit patient 1 gets: ")
    given = service.ledger.unit("by-hand", "patient 1").arm
    expect(page.locator("#ask-said")).to_have_text(f"Unit patient 1 gets: {given}")
    expect(watching.locator("[data-part=pending]")).to_contain_text("patient 1")
    page.locator("#tell-unit").fill("patient 1")
    page.locator("#tell-reward").fill("1")
    page.locator("#tell-risk_0").fill("0")
    page.get_by_role("button", name="Tell the outcome").click()
    expect(page.locator("#tell-said")).to_contain_text("Written as event 3: unit patient 1: reward 1, risk 0")
    expect(watching.locator("[data-part=pending]")).to_contain_text("None: every outcome is known")
    expect(watching.locator("[data-part=log] tbody tr").first).to_contain_text("reward 1, risk 0")
    assert watching.evaluate("window.same && document.activeElement.id") == "whole-log"


def test_what_is_typed_and_opened_stays_while_the_page_updates(visits, service):
    service.create("typing")
    service.run("typing", 12)
    page = visits.new("admin", "/trials/typing")
    page.locator("#allocation-table > summary").click()
    page.locator("#tell-unit").fill("half a na")
    service.ledger.ask("typing", "news", actor="tests")
    expect(page.locator("[data-part=pending]")).to_contain_text("news")
    expect(page.locator("#tell-unit")).to_have_value("half a na")
    expect(page.locator("#tell-unit")).to_be_focused()
    expect(page.locator("#allocation-table table")).to_be_visible()


def test_the_list_updates_by_itself(visits, service):
    page = visits.new("viewer")
    service.create("just-created", title="A trial that was not there")
    expect(page.get_by_role("link", name="just-created")).to_be_visible()


def test_a_service_that_is_away_is_said_in_words(visits, played):
    page = visits.new("viewer", "/trials/played")
    page.route("**/live?*", lambda route: route.fulfill(status=502, body=""))
    expect(page.locator("#live-state")).to_contain_text("The service does not answer")
    page.unroute("**/live?*")
    expect(page.locator("#live-state")).to_be_hidden()
    visits.noted[:] = [note for note in visits.noted if "502" not in note]


def test_who_was_signed_out_is_told_so(visits, played):
    page = visits.new("viewer", "/trials/played")
    page.context.clear_cookies()
    expect(page.locator("#live-state")).to_contain_text("You are signed out")


@pytest.mark.parametrize("size", [40, 900_000])
def test_who_was_signed_out_and_sends_a_file_is_led_to_sign_in_and_back(visits, played, size):
    page = visits.new("operator", "/trials/played")
    page.locator("#batch-box summary").click()
    rows = b"unit,reward,risk\na-pending-unit,1,0\n" + b" " * size
    page.locator("#batch-file").set_input_files({"name": "out.csv", "mimeType": "text/csv", "buffer": rows})
    page.context.clear_cookies()
    page.get_by_role("button", name="Show what would change").click()
    page.get_by_label("Key").fill(visits.service.keys["operator"])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{visits.service.url}/trials/played")


def test_who_was_signed_out_and_sends_a_file_that_is_too_long_is_led_to_sign_in(visits, played):
    """Also where no script looks at the file before: its browser must be able to show the answer."""
    page = visits.new("operator", "/trials/played")
    page.locator("#batch-box summary").click()
    page.evaluate("document.getElementById('batch').noValidate = true")
    rows = b" " * 6_000_000
    page.locator("#batch-file").set_input_files({"name": "out.csv", "mimeType": "text/csv", "buffer": rows})
    page.context.clear_cookies()
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_label("Key")).to_be_visible()


def test_a_file_that_is_too_long_is_not_sent(visits, played):
    page = visits.new("operator", "/trials/played")
    page.locator("#batch-box summary").click()
    problem = "document.getElementById('batch-file').validationMessage"
    for size, message in ((1_000_001, "at most 1,000,000 bytes, this one has 1,000,001; send it in parts"), (40, "")):
        page.locator("#batch-file").set_input_files({"name": "o.csv", "mimeType": "text/csv", "buffer": b" " * size})
        said = page.evaluate(problem)
        assert said.endswith(message)
        assert bool(said) == bool(message)


def test_a_hold_is_red_with_its_reason(visits, held):
    page = visits.new("viewer", "/trials/held")
    banner = page.locator("#banner .banner.red")
    expect(banner).to_contain_text("On hold: no arm is permissible")
    expect(banner).to_contain_text("Every lower risk index is above 0.05")
    expect(banner.locator("svg")).to_be_visible()
    assert page.locator("#banner").get_attribute("aria-live") == "polite"
    expect(page.locator("table.arms tbody tr").first).to_contain_text("not permissible: lower risk index")
    red, green, blue = page.evaluate(COLOUR, ["#banner .banner", "borderLeftColor"])
    assert red > 2 * max(green, blue)
    page.goto("/")
    expect(page.get_by_role("row").filter(has_text="held").first).to_contain_text("on hold: no arm is permissible")


def test_the_desk_is_told_why_no_arm_is_given(visits, held):
    page = visits.new("operator", "/trials/held")
    expect(page.locator("#banner")).to_contain_text("no arm is permissible")
    page.locator("#ask-unit").fill("one more")
    page.keyboard.press("Enter")
    expect(page.locator("#ask-said")).to_contain_text("Unit one more gets no arm: no arm is permissible")


def test_waiting_for_outcomes_is_amber(visits, service):
    service.create("waiting", pending_cap=1)
    for n in range(3):
        service.ledger.ask("waiting", f"unit {n}", actor="tests")
    page = visits.new("viewer", "/trials/waiting")
    expect(page.locator("#banner .banner.amber")).to_contain_text("Waiting for outcomes")
    expect(page.locator("#banner .banner.red")).to_have_count(0)


def test_markup_in_names_is_text(visits, hostile):
    page = visits.new("admin", "/trials/hostile")
    for path in (
        "/trials/hostile",
        "/trials/hostile/log",
        "/trials/hostile/log/2",
        "/trials/hostile/arms",
        "/trials/hostile/units",
        "/trials/hostile/analysis",
        "/",
    ):
        page.goto(path)
        assert page.evaluate("window.harmed === undefined"), path
        assert page.locator("main img, main script, main b, main h1 b").count() == 0, path
    page.goto("/trials/hostile")
    expect(page.locator("h1")).to_contain_text("<b>bold</b>")
    for name in HOSTILE:
        expect(page.locator("table.arms .cut").get_by_text(name, exact=True)).to_be_visible()


def test_a_refused_form_says_why_and_keeps_what_was_typed(visits, played):
    page = visits.new("operator", "/trials/played")
    page.locator("#tell-unit").fill("a-pending-unit")
    page.locator("#tell-reward").fill("1.5")
    page.locator("#tell-risk_0").fill("0.25")
    with page.expect_request("**/tell") as sent:
        page.get_by_role("button", name="Tell the outcome").click()
    # Not "null": where a browser does not say more, the origin is how the service knows its own forms.
    assert sent.value.header_value("origin") == played.url
    expect(page.locator("#tell .said.wrong")).to_contain_text("reward must lie in [0, 1], got 1.5")
    expect(page.locator("#tell-reward")).to_have_value("1.5")
    expect(page.locator("#tell-risk_0")).to_have_value("0.25")
    expect(page.locator("#ask .said")).to_have_count(0)


def test_an_admin_runs_a_trial_to_its_end(visits, service):
    service.create("to-the-end")
    service.run("to-the-end", 4)
    service.ledger.ask("to-the-end", "lost one", actor="tests")
    page = visits.new("admin", "/trials/to-the-end")
    page.get_by_role("link", name="Give up").click()
    expect(page.locator("#give-up-unit")).to_have_value("lost one")
    send(page, "give-up", reason="moved away")
    expect(page.locator("#give-up-said")).to_contain_text("counts as harm (moved away)")
    send(page, "correct", unit="unit-1", reward="0", reason="misread")
    expect(page.locator("#correct-said")).to_contain_text("reward 0 in the place of reward 1, risk 0 (misread)")
    send(page, "amend", alpha="0.25", add="middle\n", reason="safety board")
    expect(page.locator("#amend-said")).to_contain_text("version 2: add: middle; alpha: 0.25 (safety board)")
    expect(page.locator(".facts")).to_contain_text("0.25")
    page.locator("#amend [value=middle]").check()
    send(page, "amend", reason="too early")
    expect(page.locator("table.arms tr.gone")).to_contain_text("middle")
    send(page, "pause", reason="audit")
    expect(page.locator("#banner")).to_contain_text("Paused")
    send(page, "resume", reason="audit done")
    expect(page.locator("#banner")).to_have_text("")
    send(page, "close", reason="end of study")
    expect(page.locator("#banner")).to_contain_text("Closed")
    expect(page.locator("#amend")).to_have_count(0)
    page.goto("/trials/to-the-end/log")
    page.get_by_role("button", name="Verify the record").click()
    expect(page.locator(".banner")).to_contain_text("The record holds")


def send(page, form, **values):
    box = page.locator(f"details:has(#{form})")
    if box.get_attribute("open") is None:
        box.locator("> summary").click()
    for name, value in values.items():
        page.locator(f"#{form}-{name}").fill(value)
    page.locator(f"#{form} button").click()


def test_a_key_is_shown_once_and_can_be_revoked(visits, service):
    page = visits.new("admin", "/keys")
    page.locator("#key-name").fill("<i>desk</i> 7")
    page.locator("#key-role").select_option("operator")
    page.locator("#key-days").fill("30")
    page.get_by_role("button", name="Make the key").click()
    shown = page.locator("#shown").input_value()
    assert service.app.state.keys.find(shown).role == "operator"
    page.goto("/keys")
    assert shown not in page.content()
    page.get_by_role("button", name="Revoke <i>desk</i> 7").click()
    expect(page.get_by_role("row").filter(has_text="<i>desk</i> 7")).to_contain_text("revoked")
    assert service.app.state.keys.find(shown) is None


def test_an_alert_is_made_for_a_trial_and_removed(visits, played):
    page = visits.new("admin", "/trials/played", width=360)
    page.locator("a#alerts").click()
    page.locator("#alert-target").fill("<i>nowhere</i>")
    page.get_by_label("hold").check()
    page.get_by_role("button", name="Make the alert").click()
    expect(page.locator("#alert-said")).to_contain_text("a webhook's address is such as")
    expect(page.locator("#alert-target")).to_have_value("<i>nowhere</i>")
    expect(page.get_by_label("hold")).to_be_checked()
    page.locator("#alert-target").fill("https://hooks.example/played")
    page.get_by_role("button", name="Make the alert").click()
    expect(page.locator("#alert-said")).to_have_text("https://hooks.example is told of hold.")
    secret = page.locator("#secret").input_value()
    assert secret.startswith("whsec_")
    page.goto("/alerts?trial=played")
    assert secret not in page.content()
    page.get_by_role("button", name="Remove https://hooks.example").click()
    expect(page.locator("#alerts tbody tr")).to_contain_text("removed")


def test_it_works_without_javascript(visits, service):
    service.create("no-script")
    page = visits.new("operator", "/trials/no-script", java_script_enabled=False)
    page.locator("#ask-unit").fill("p 1")
    page.get_by_role("button", name="Ask for an arm").click()
    page.get_by_role("button", name="Yes, it is new").click()
    expect(page.locator("#ask-said")).to_contain_text("Unit p 1 gets:")


def test_tab_reaches_the_ask_form_and_its_focus_is_seen(visits, played):
    page = visits.new("operator", "/trials/played")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "ask-unit":
            break
    expect(page.locator("#ask-unit")).to_be_focused()
    outline = page.locator("#ask-unit").evaluate("field => parseFloat(getComputedStyle(field).outlineWidth)")
    assert outline >= 2
    page.keyboard.type("by keyboard")
    # Past the line that opens the eligible arms.
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Yes, it is new")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#ask-said")).to_contain_text("Unit by keyboard gets:")


@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_scrolls_sideways(visits, hostile, held, played, width):
    page = visits.new("admin", width=width)
    paths = ["/", "/keys", *(f"/trials/{name}" for name in ("played", "held", "hostile"))]
    for path in [*paths, *(f"/trials/hostile/{part}" for part in ("log", "log/2", "arms", "units"))]:
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


COLOUR = (
    """([selector, what]) => getComputedStyle(document.querySelector(selector))[what].match(/[\\d.]+/g).map(Number)"""
)
# WCAG 2: the contrast of every text with the nearest background behind it.
CONTRASTS = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = colour.slice(0, 3).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const words = texts.currentNode.textContent.trim();
    if (!words || element.closest("title, option, datalist, script") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const ink = parse(element instanceof SVGElement ? style.fill : style.color);
    const [low, high] = [light(ink), light(behind(element))].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), words]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(visits, held, played, scheme):
    page = visits.new("admin", color_scheme=scheme)
    dark = sum(page.evaluate(COLOUR, ["body", "backgroundColor"])) < 200
    assert dark == (scheme == "dark")
    for path in ("/", "/trials/played", "/trials/held", "/keys"):
        page.goto(path)
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 20
        assert [each for each in contrasts if each[0] < 4.5] == [], path


def test_pictures_have_titles_and_tables_have_headers(visits, played):
    page = visits.new("auditor", "/trials/played")
    assert page.locator("svg[role=img]").count() == 2 + 2 + 2
    assert page.locator("svg[role=img]:not(:has(> title))").count() == 0
    assert page.locator("main svg:not([role=img]):not([aria-hidden=true]):not(svg svg)").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    for landmark in ("banner", "main", "navigation", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1, landmark
    plays = page.locator("table.arms tbody td[data-label=plays]").all_text_contents()
    counts = [int(text) for text in page.locator("#allocation-table tbody td").all_text_contents()]
    assert sum(counts) == sum(map(int, plays)) == played.ledger.state("played").units


def test_several_risks_have_a_panel_and_a_field_each(visits, service):
    service.create("two-risks", alpha=[0.3, 0.2], risks=["toxicity", "nausea"])
    service.run("two-risks", 12, risk=[0.0, 0.5])
    page = visits.new("admin", "/trials/two-risks", width=360)
    captions = page.locator("figcaption").all_text_contents()
    assert captions == ["Reward", "Risk: toxicity", "Risk: nausea"]
    service.ledger.ask("two-risks", "next", actor="tests")
    page.locator("#tell-unit").fill("next")
    page.get_by_label("Risk: nausea").first.fill("1")
    page.get_by_role("button", name="Tell the outcome").click()
    expect(page.locator("#tell-said")).to_contain_text('unit next: risk "nausea" 1')
    # Its text is there before its style is.
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_trial_by_a_design_shows_how_near_its_rules_are_and_then_what_is_selected(visits, designed):
    page = visits.new("viewer", "/trials/dosing")
    rows = page.locator("[data-part=design] tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("too-many-harms")
    bar = rows.nth(1).get_by_role("img", name="67 % of the way")
    whole, filled = (bar.locator(each).bounding_box()["width"] for each in (".way", ".gone-so-far"))
    assert filled / whole == pytest.approx(2 / 3, abs=0.01)
    expect(page.locator("[data-part=facts]")).to_contain_text("1 of 2 on middle dose")
    expect(page.locator("[data-part=design] .note")).to_contain_text("the next is when 4 units are settled; 3 are.")
    page.goto("/trials/dosed")
    expect(page.locator("#banner")).to_contain_text("Stopped by the design: too-many-harms")
    expect(page.locator("#banner")).to_contain_text("Selected: no arm")
    desk = visits.new("operator", "/trials/dosed")
    expect(desk.locator("#banner")).to_contain_text("Stopped by the design")
    assert "too-many-harms" not in desk.content()
