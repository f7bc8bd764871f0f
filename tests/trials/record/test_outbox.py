"""The outbox of alerts on both databases: found once however processes end or race, sent by one of several."""

import time

import pytest

from safebandit.service.alerts.finding import Finder, OvertakenError
from safebandit.service.alerts.lease import Lease
from safebandit.service.alerts.outbox import Outbox
from safebandit.service.alerts.rules import Alerts, active_alerts
from safebandit.trials.record import Ledger
from safebandit.trials.record.verification import verify_database

from .helpers import settings

TARGET = "https://hooks.example/x"


def watch(ledger, **options):
    made, _ = Alerts(ledger).create("webhook", TARGET, actor="me", **{"quiet": 0.0, **options})
    return made


def alerts_of(ledger):
    with ledger.reading() as connection:
        return active_alerts(connection)


def amend(ledger, name, times=1):
    for number in range(times):
        ledger.amend(name, reason="so", alpha=0.4 + 0.01 * number, actor="me")
        ledger.amend(name, reason="back", alpha=0.2, actor="me")


def test_events_are_found_once_whoever_looks(ledger):
    ledger.create("knee", settings(), actor="me")
    amend(ledger, "knee")
    watch(ledger)
    one, other = (Finder(ledger.engine, late=False) for _ in range(2))
    assert one.look(alerts_of(ledger)) == 0
    assert other.look(alerts_of(ledger)) == 0
    amend(ledger, "knee")
    assert one.look(alerts_of(ledger)) == 1
    assert one.look(alerts_of(ledger)) == 0
    # The other one believes that it still does this work: it is stopped, and nothing is told twice.
    with pytest.raises(OvertakenError):
        other.look(alerts_of(ledger))
    other.forget()
    assert other.look(alerts_of(ledger)) == 0
    (message,) = Outbox(ledger.engine).log()
    assert '"first_event":4' in message.body
    assert '"times":2' in message.body
    assert verify_database(ledger).holds


def test_a_trial_that_comes_later_is_read_from_its_beginning(ledger):
    watch(ledger)
    one, other = (Finder(ledger.engine, late=False) for _ in range(2))
    one.look(alerts_of(ledger))
    other.look(alerts_of(ledger))
    ledger.create("knee", settings(), actor="me")
    amend(ledger, "knee")
    assert one.look(alerts_of(ledger)) == 1
    with pytest.raises(OvertakenError):
        other.look(alerts_of(ledger))


def test_what_waits_is_told_once_and_again_when_more_waits(ledger):
    ledger.create("knee", settings(pending_cap=2), actor="me")
    for unit in range(3):
        ledger.ask("knee", str(unit), actor="me")
    watch(ledger, kinds=["waiting"], patience=0.0)
    finder, outbox = Finder(ledger.engine, late=False), Outbox(ledger.engine)
    time.sleep(0.002)
    assert finder.look(alerts_of(ledger)) == 1
    assert "3 units' outcomes were not told" in outbox.log()[0].body
    assert finder.look(alerts_of(ledger)) == 0
    fresh = Finder(ledger.engine, late=False)
    assert fresh.look(alerts_of(ledger)) == 0
    given = [ledger.ask("knee", str(unit), actor="me") for unit in range(3, 9)]
    assert given[-1].waiting
    time.sleep(0.002)
    assert fresh.look(alerts_of(ledger)) == 1
    assert "all arms that may be given wait for outcomes" in outbox.log()[0].body
    # Once told, outcomes are waited for no more.
    for unit in range(6):
        ledger.tell("knee", str(unit), reward=1, risk=0, actor="me")
    assert Finder(ledger.engine, late=False).look(alerts_of(ledger)) == 0


def test_a_wait_that_is_not_too_long_is_not_told(ledger):
    ledger.create("knee", settings(), actor="me")
    ledger.ask("knee", "1", actor="me")
    watch(ledger, kinds=["waiting"], patience=3600.0)
    assert Finder(ledger.engine, late=False).look(alerts_of(ledger)) == 0


def test_one_process_has_the_lease_and_another_takes_it_over(database, ledger):
    with Ledger(database) as beside:
        one, other = (Lease(each.engine, "alerts", seconds=0.6) for each in (ledger, beside))
        assert one.hold() == (True, True)
        assert other.hold() == (False, False)
        assert one.hold() == (True, False)
        one.release()
        assert other.hold() == (True, True)
        assert one.hold() == (False, False)
        time.sleep(0.7)
        # One that is not renewed is lost.
        assert one.hold() == (True, True)
        assert other.hold() == (False, False)


def test_a_message_is_taken_once_and_tried_again_after_an_attempt_that_never_ended(ledger):
    ledger.create("knee", settings(), actor="me")
    made = watch(ledger)
    outbox = Outbox(ledger.engine)
    outbox.test(made)
    (message,) = outbox.due()
    assert outbox.due(but=[made.id]) == []
    taken, row = outbox.take(message, seconds=60)
    assert (taken.attempts, row.secret[:6]) == (1, "whsec_")
    assert outbox.take(message, seconds=60) is None
    assert outbox.due() == []
    outbox.recover()
    (again,) = outbox.due()
    assert (again.id, again.attempts) == (message.id, 1)
    retaken, _ = outbox.take(again, seconds=60)
    outbox.failed(retaken, "answered 500", wait=3600)
    assert (outbox.due(), outbox.waiting()) == ([], 1)
    # To reach the receiver with another one brings this one back at once.
    other = outbox.test(made)
    outbox.sent(outbox.take(other, seconds=60)[0], "answered 204")
    (back,) = outbox.due()
    assert back.id == message.id
    outbox.give_up(back, "answered 410")
    assert [(each.state, each.said) for each in outbox.log()][::-1] == [
        ("given up", "answered 410"),
        ("sent", "answered 204"),
    ]
    Alerts(ledger).remove(made.id, actor="me")
    assert alerts_of(ledger) == []


def test_what_waits_is_given_up_with_its_alert(ledger):
    made = watch(ledger)
    Outbox(ledger.engine).test(made)
    Alerts(ledger).remove(made.id, actor="me")
    Alerts(ledger).remove(made.id, actor="me")
    (message,) = Outbox(ledger.engine).log()
    assert (message.state, message.said) == ("given up", "the alert was removed")
    assert verify_database(ledger).holds
