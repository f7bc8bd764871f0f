"""The service killed at random moments under load: nothing acknowledged is missing, nothing is doubled."""

import random
import threading
from collections import Counter

from safebandit.trials.record import Ledger
from safebandit.trials.record.verification import verify
from servers.service import Service, ask_again_until

KILLS = 8
DESKS = 4
ARMS = ["placebo", "low", "high"]


class Desk(threading.Thread):
    """Asks and tells one unit after another, again and again until it is answered, and notes every answer."""

    def __init__(self, number, service, stop):
        super().__init__(daemon=True)
        self.number, self.service, self.stop = number, service, stop
        self.arms, self.told, self.lost = {}, {}, 0
        self.problem = None

    def run(self):
        try:
            rng, i = random.Random(self.number), 0
            while not self.stop.is_set():
                unit = f"desk {self.number}, unit {i}"
                given = self.send("/v1/trials/knee/units", {"unit": unit}, (200, 201))
                if given is None:
                    break
                self.arms[unit] = given["arm"]
                outcome = {"unit": unit, "reward": int(rng.random() < 0.5), "risk": int(rng.random() < 0.1)}
                if self.send("/v1/trials/knee/outcomes", outcome, (200, 201)) is None:
                    break
                self.told[unit] = [float(outcome["reward"]), float(outcome["risk"])]
                i += 1
        except (AssertionError, LookupError) as problem:
            self.problem = problem

    def send(self, path, body, wanted):
        """The answer; None if the end came first."""
        while not self.stop.is_set():
            try:
                status, answer = self.service.post(path, body)
            except OSError:
                # Killed before it could answer, or in the middle of it: the same request again.
                self.lost += 1
                self.stop.wait(0.02)
                continue
            assert status in wanted, (status, answer)
            return answer
        return None


def test_a_desk_asks_again_where_an_answer_is_cut(cutting):
    service = Service("unused.db", key="sb_x")
    service.url = cutting
    desk = Desk(0, service, threading.Event())
    assert desk.send("/", {}, (200,)) == []
    assert desk.lost == 1


def test_kills_under_load(tmp_path):
    database = tmp_path / "trials.db"
    rng, stop = random.Random(11), threading.Event()
    with Service(database) as service:
        trial = {"name": "knee", "arms": ARMS, "alpha": 0.5, "policy": "tsbu", "seed": 3, "pending_cap": 100}
        assert service.post("/v1/trials", trial)[0] == 201
        desks = [Desk(i, service, stop) for i in range(DESKS)]
        for desk in desks:
            desk.start()
        for _ in range(KILLS):
            before = sum(len(desk.told) for desk in desks)
            # At a moment that nobody chose, but after some work.
            more = rng.randrange(1, 40)
            ask_again_until(
                lambda before=before, more=more: (
                    sum(len(desk.told) for desk in desks) >= before + more or not all(d.is_alive() for d in desks)
                ),
                "the desks stand still",
            )
            service.kill()
            service.start()
        stop.set()
        for desk in desks:
            desk.join(60)
        assert service.stop() == 0
    assert [desk.problem for desk in desks] == [None] * DESKS
    assert sum(desk.lost for desk in desks) >= KILLS
    arms = {unit: arm for desk in desks for unit, arm in desk.arms.items()}
    told = {unit: outcome for desk in desks for unit, outcome in desk.told.items()}
    with Ledger(database, create=False) as ledger:
        found = verify(ledger, "knee")
        assert found.holds, found.problem
        log = ledger.events("knee")
        for unit, arm in arms.items():
            assert ledger.unit("knee", unit).arm == arm
        for unit, outcome in told.items():
            assert ledger.unit("knee", unit).outcome == outcome
    asked = Counter(event.content["unit"] for event in log if event.kind == "asked")
    outcomes = Counter(event.content["unit"] for event in log if event.kind == "told")
    assert set(asked.values()) == set(outcomes.values()) == {1}
    # At most what each desk was waiting for at the end may have been written and not acknowledged.
    assert set(arms) <= set(asked)
    assert len(asked) <= len(arms) + DESKS
    assert set(told) <= set(outcomes)
    assert len(outcomes) <= len(told) + DESKS
