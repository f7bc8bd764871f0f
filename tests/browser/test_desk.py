"""The page as a trial desk uses it: Ask and Tell stand at the top, nothing is cut off, and times are the reader's."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

# Boxes of tables that hold more than they show. That of the allocation has a column for each arm, and may.
CUT_OFF = """() => [...document.querySelectorAll(".scroll:not(#allocation-box)")]
  .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.id)"""


@pytest.mark.parametrize("width", [360, 768, 1024, 1280])
def test_no_table_is_cut_off(visits, played, held, several, hostile, width):
    page = visits.new("admin", width=width)
    paths = [f"/trials/{name}" for name in ("played", "held", "several", "hostile")]
    for path in [
        "/",
        "/keys",
        "/worklist",
        "/alerts",
        *paths,
        *(f"/trials/several/{part}" for part in ("arms", "units", "log", "log/2")),
    ]:
        page.goto(path)
        assert page.evaluate(CUT_OFF) == [], path


@pytest.mark.parametrize("role", ["admin", "operator"])
def test_on_a_phone_ask_and_tell_are_at_the_top(visits, several, role):
    page = visits.new(role, "/trials/several", width=360, height=780)
    tops = [page.locator(form).bounding_box()["y"] for form in ("#banner", "#ask", "#tell")]
    assert tops == sorted(tops)
    assert tops[1] < 600
    assert tops[2] < 780
    # In the order of the document, too, as it is read aloud and reached by keyboard.
    first = page.locator("main h2").first
    expect(first).to_have_text("Ask")


def test_a_hold_is_seen_before_anyone_asks(visits, held):
    page = visits.new("operator", "/trials/held", width=360)
    assert page.locator("#banner .banner.red").bounding_box()["y"] < page.locator("#ask").bounding_box()["y"]


def test_the_desk_tells_from_the_list_of_its_own_pending_units(visits, service):
    service.create("desk")
    page = visits.new("operator", "/trials/desk", width=360)
    expect(page.locator("[data-part=pending]")).to_contain_text("None")
    page.locator("#ask-unit").fill("patient 7")
    page.keyboard.press("Enter")
    expect(page.locator("#ask-said")).to_contain_text("Unit patient 7 is new")
    page.get_by_role("button", name="Yes, it is new").click()
    expect(page.locator("#ask-said")).to_contain_text("Unit patient 7 gets: ")
    page.get_by_role("link", name="Tell patient 7").click()
    expect(page.locator("#tell-unit")).to_have_value("patient 7")
    expect(page.locator("#tell-reward")).to_be_focused()
    page.locator("#tell-reward").fill("1")
    page.locator("#tell-risk_0").fill("0")
    page.keyboard.press("Enter")
    expect(page.locator("#tell-said")).to_contain_text("reward 1, risk 0")
    expect(page.locator("[data-part=pending]")).to_contain_text("None")


def test_the_desk_tells_from_the_worklist_of_all_trials(visits, service):
    for name in ("left-knee", "right-knee"):
        service.create(name)
        (own,) = (key.actor for key in service.app.state.keys.all() if key.role == "operator")
        service.ledger.ask(name, f"<b>Ann</b> {name}", actor=own)
        service.ledger.ask(name, f"Bob {name}", actor="another desk")
    page = visits.new("operator", "/trials/left-knee", width=360, timezone_id="Asia/Kolkata")
    page.get_by_role("link", name="Worklist").click()
    page.locator("#filter-unit").fill("ann")
    page.keyboard.press("Enter")
    expect(page.locator("#worklist tbody tr")).to_have_count(2)
    expect(page.locator("#worklist .local")).to_have_count(2)
    page.locator("#filter-trial").select_option("right-knee")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#count")).to_contain_text("1 pending unit of right-knee")
    page.get_by_role("link", name="Tell <b>Ann</b> right-knee of right-knee").click()
    expect(page.locator("#tell-unit")).to_have_value("<b>Ann</b> right-knee")
    expect(page.locator("#tell-reward")).to_be_focused()
    page.locator("#tell-reward").fill("1")
    page.locator("#tell-risk_0").fill("0")
    page.keyboard.press("Enter")
    expect(page.locator("#tell-said")).to_contain_text("reward 1, risk 0")
    page.goto("/worklist?trial=right-knee")
    expect(page.locator("#count")).to_contain_text("0 pending units of right-knee")


def test_another_unit_than_the_one_confirmed_is_asked_about_again(visits, service):
    service.create("slips")
    page = visits.new("operator", "/trials/slips")
    page.locator("#ask-unit").fill("patient 71")
    page.keyboard.press("Enter")
    expect(page.locator("#ask-said")).to_contain_text("Unit patient 71 is new")
    page.locator("#ask-unit").fill("patient 17")
    page.get_by_role("button", name="Yes, it is new").click()
    expect(page.locator("#ask-said")).to_contain_text("Unit patient 17 is new")
    page.get_by_role("link", name="No").click()
    expect(page.locator("#ask-unit")).to_have_value("")
    assert service.ledger.state("slips").units == 0


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Pacific/Kiritimati", "America/St_Johns"])
def test_times_are_told_in_the_zone_of_the_reader_too(visits, played, zone):
    page = visits.new("auditor", "/trials/played", timezone_id=zone)
    times = page.locator("time[datetime]:not([data-age])")
    assert times.count() > 10
    for time in times.all()[:5]:
        machine = time.get_attribute("datetime")
        assert machine.endswith("Z")
        there = datetime.fromisoformat(machine).astimezone(ZoneInfo(zone))
        same_day = there.date().isoformat() == machine[:10]
        local = there.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")
        expect(time).to_have_text(f"{machine[:10]} {machine[11:19]} UTC {local} local")


def test_local_times_stay_while_the_page_updates(visits, service):
    service.create("zones")
    page = visits.new("auditor", "/trials/zones", timezone_id="Asia/Kolkata")
    service.ledger.ask("zones", "news", actor="tests")
    expect(page.locator("[data-part=log] tbody tr")).to_have_count(2)
    expect(page.locator("[data-part=log] .local")).to_have_count(2)
    expect(page.locator(".facts .local")).to_have_count(1)


def test_in_utc_nothing_is_said_twice(visits, played):
    page = visits.new("auditor", "/trials/played", timezone_id="UTC")
    expect(page.locator(".local")).to_have_count(0)


def test_the_worklist_renews_itself_and_what_was_looked_for_stays(visits, service):
    service.create("renewed")
    service.ledger.ask("renewed", "Zoe 1", actor="desk")
    page = visits.new("admin", "/worklist", width=1280)
    page.locator("#filter-unit").fill("zoe")
    page.keyboard.press("Enter")
    expect(page.locator("#worklist tbody tr")).to_have_count(1)
    page.locator("#filter-unit").fill("half a wo")
    service.ledger.ask("renewed", "Zoe 2", actor="desk")
    service.ledger.ask("renewed", "Max 3", actor="desk")
    expect(page.locator("#worklist tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Tell Zoe 2 of renewed").focus()
    service.ledger.void("renewed", "Zoe 1", reason="never came", actor="desk")
    expect(page.locator("#worklist tbody tr")).to_have_count(1)
    expect(page.get_by_role("link", name="Tell Zoe 2 of renewed")).to_be_focused()
    expect(page.locator("#filter-unit")).to_have_value("half a wo")
