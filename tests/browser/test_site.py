"""The site in a browser, from disk: search finds, nothing is asked of another host, nothing is wider than a phone."""

PAGES = (
    "index.html",
    "reference/policies/tsbu.html",
    "reference/api/trials.html",
    "how-to/live.html",
    "explanation/architecture.html",
)


def test_the_site_works_from_disk(site, browser):
    opened = browser.new_context(viewport={"width": 360, "height": 740})
    page = opened.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    # What is under way when the next page is opened is given up, which is no failure.
    page.on("requestfailed", lambda request: "ABORTED" in request.failure or errors.append(request.url))
    for name in PAGES:
        page.goto((site / name).as_uri())
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, name
        assert page.evaluate("[...document.querySelectorAll('.md-content img')].every(i => i.naturalWidth > 0)"), name
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto((site / "index.html").as_uri())
    page.get_by_role("button", name="Search").click()
    page.get_by_role("textbox").or_(page.get_by_role("combobox")).or_(page.get_by_role("searchbox")).first.fill(
        "knapsacks"
    )
    # The navigation has a link to that page, too, folded away.
    page.locator("a[href*='bwk.html']:visible").first.wait_for()
    opened.close()
    assert errors == []
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob", "data"}
