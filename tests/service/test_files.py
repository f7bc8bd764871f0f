"""Outcomes from a file on the page: what would change is shown first, and exactly that is written, or nothing."""

import itertools
import re

import pytest

from safebandit.service.access import COOKIE
from safebandit.service.guards import BATCH_BYTES, BODY_BYTES
from safebandit.service.page.rendering import MOST_FILE_BYTES as MOST_BYTES

NAMES = itertools.count()
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def desk(served):
    """A trial with four units; a form's answer, of a browser that is signed in."""
    path = served.create(f"file-{next(NAMES)}")
    served.post(f"{path}/units/batch", {"requests": [{"unit": unit} for unit in "abcd"]})
    page = path.removeprefix("/v1")

    def send(content, name="file", *, role="operator", **fields):
        served.http.cookies.clear()
        served.http.post("/sign-in", data={"key": served.keys[role]}, headers=SAME_SITE)
        files = {"file": ("outcomes.csv", content, "text/csv")} if name == "file" else {}
        fields = fields if name == "file" else {name: (None, content), **{k: (None, v) for k, v in fields.items()}}
        sent = {"files": files, "data": fields} if name == "file" else {"files": fields}
        return served.http.post(f"{page}/outcomes/batch", headers=SAME_SITE, **sent)

    yield send, path
    served.http.cookies.clear()


def confirmed(send, page, **changes):
    """The form of a preview, sent back as it stands."""
    found = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.text))
    rows = found["rows"].replace("&#34;", '"')
    return send(changes.get("rows", rows), "rows", mark=changes.get("mark", found["mark"]))


def known(served, path):
    return served.get(path).json()["arms"]


def test_what_would_change_is_shown_and_then_written(served, desk):
    send, path = desk
    before = served.get(f"{path}/events", params={"limit": 1000}).json()
    shown = send("\ufeffUnit , REWARD,Risk\na,1,0\nb,0,\n".encode())
    assert shown.status_code == 200
    assert "<dd>2</dd>" in shown.text
    assert served.get(f"{path}/events", params={"limit": 1000}).json() == before
    done = confirmed(send, shown)
    assert done.status_code == 303
    after = served.get(f"{path}/events", params={"limit": 1000}).json()["events"]
    assert [event["kind"] for event in after[len(before["events"]) :]] == ["told", "told"]
    # Confirmed once more, as by a double click, it writes nothing more.
    again = confirmed(send, shown)
    assert "The trial has changed since you looked" in again.text
    assert len(served.get(f"{path}/events", params={"limit": 1000}).json()["events"]) == len(after)


def test_what_has_changed_since_is_shown_again_and_not_written(served, desk):
    send, path = desk
    shown = send("unit,reward,risk\na,1,0\nb,1,0\n")
    served.post(f"{path}/outcomes", {"unit": "a", "reward": 1, "risk": 0})
    again = confirmed(send, shown)
    assert again.status_code == 200
    assert "Nothing was written" in again.text
    assert "Write 1 outcome<" in again.text
    assert confirmed(send, again).status_code == 303
    assert sum(arm["pending"] for arm in known(served, path)) == 2


def test_other_rows_than_were_shown_are_not_written(served, desk):
    send, path = desk
    shown = send("unit,reward,risk\na,1,0\n")
    assert "Nothing was written" in confirmed(send, shown, rows="unit,reward,risk\nb,1,1\n").text
    assert sum(arm["pending"] for arm in known(served, path)) == 4


def test_refused_rows_are_named_and_nothing_can_be_confirmed(served, desk):
    send, path = desk
    shown = send("unit,reward,risk\na,1,0\n<b>,1,0\n")
    assert "&lt;b&gt;" in shown.text
    assert "<button>Write" not in shown.text
    assert sum(arm["pending"] for arm in known(served, path)) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "nothing was sent"),
        ("unit,reward\n", "a batch has 1 to 5000 requests"),
        ("unit,harm\na,1\n", "has a column"),
        (b"\xff\xfe\x00", "is not a CSV file in UTF-8"),
        ("unit,reward\na,high\n", "reward must be a number"),
        ("x" * (MOST_BYTES + 1), "a file may have at most"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_beside_the_form(desk, content, message):
    refused = desk[0](content)
    assert refused.status_code == 422
    assert message in refused.text


def test_a_viewer_tells_nothing(desk):
    assert desk[0]("unit,reward,risk\na,1,0\n", role="viewer").status_code == 403


@pytest.mark.parametrize("size", [10, MOST_BYTES, 2 * MOST_BYTES, 9 * MOST_BYTES])
@pytest.mark.parametrize("cookie", ["", "0" * 64])
def test_who_is_no_longer_signed_in_is_led_to_the_page_for_it(served, desk, size, cookie):
    """With a file of any size, as with every form; and then back to the trial."""
    _, path = desk
    page = path.removeprefix("/v1")
    headers = {**SAME_SITE, **({"Cookie": f"{COOKIE}={cookie}"} if cookie else {})}
    served.http.cookies.clear()
    sent = {"file": ("outcomes.csv", b"x" * size, "text/csv")}
    answer = served.http.post(f"{page}/outcomes/batch", files=sent, headers=headers)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={page}")
    assert answer.headers["cache-control"] == "no-store"
    # A program is told as before, where it reads the answer before it has sent all.
    if size > 2 * MOST_BYTES:
        return
    refused = served.http.post(f"{path}/outcomes/batch", files=sent, headers=headers)
    assert (refused.status_code, refused.json()["error"]) == (401, "refused")


@pytest.mark.parametrize("size", [BATCH_BYTES, 9 * MOST_BYTES])
def test_a_form_that_is_too_long_is_refused_on_a_page(served, desk, size):
    send, path = desk
    answer = send(b"x" * size)
    assert answer.status_code == 413
    assert answer.headers["content-type"].startswith("text/html")
    assert f"at most {BATCH_BYTES} bytes" in answer.text
    typed = {"unit": "x" * BODY_BYTES}
    answer = served.http.post(f"{path.removeprefix('/v1')}/ask", data=typed, headers=SAME_SITE)
    assert (answer.status_code, answer.headers["content-type"][:9]) == (413, "text/html")
