"""Numbers for Prometheus: requests, decisions, what waits. With several workers, any of them answers for all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from safebandit.service.api.answers import TrialLine

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The numbers of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._known: dict[tuple[Any, tuple[str, ...]], Any] = {}
        kept: dict[str, Any] = {"registry": self._registry, "namespace": "safebandit"}
        self._requests = Counter("requests", "Requests answered.", ["method", "route", "status"], **kept)
        self._seconds = Histogram("request_seconds", "Time to answer.", ["method", "route"], buckets=SECONDS, **kept)
        self._decisions = Counter("decisions", "Decisions, by what was decided.", ["trial", "kind"], **kept)
        self._limited = Counter("rate_limited", "Requests refused with 429.", ["limit"], **kept)
        self._queue = Gauge("scribe_queue", "Writes that wait.", multiprocess_mode="livesum", **kept)
        self._connections = Gauge("connections", "Connections that are open.", multiprocess_mode="livesum", **kept)
        self._alerts = Counter("alerts", "Attempts to send a message of an alert.", ["channel", "result"], **kept)
        self._verified = Gauge(
            "verified_timestamp_seconds", "When a trial was last verified, and held.", ["trial"],
            multiprocess_mode="max", **kept,
        )  # fmt: skip
        latest: dict[str, Any] = {"multiprocess_mode": "mostrecent", **kept}
        self._failing = Gauge("verification_failed", "1 where a trial's last verification failed.", ["trial"], **latest)
        self._damaged = Gauge("database_failed", "1 where the last check of the database itself failed.", **latest)
        self._passed = Counter("passed", "Writes passed to a trial's home, by what came of it.", ["result"], **kept)
        self._ended = Counter("connections_ended", "Connections that a limit ended.", ["limit"], **kept)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._of(self._requests, method, route, str(status)).inc()
        self._of(self._seconds, method, route).observe(seconds)

    def decided(self, trial: str, kind: str, count: int = 1) -> None:
        """Count decisions: a unit `asked` and was given an arm, was `held`, or is `waiting`."""
        self._of(self._decisions, trial, kind).inc(count)

    def _of(self, numbers: Any, *labels: str) -> Any:
        """The number of these labels; what is counted at every request is looked up quickly."""
        found = self._known.get((numbers, labels))
        if found is None:
            found = self._known[numbers, labels] = numbers.labels(*labels)
        return found

    def limited(self, limit: str) -> None:
        """Count a request that came too soon, by the limit of a key or of an address."""
        self._limited.labels(limit).inc()

    def waiting(self, writes: int) -> None:
        """Note how many writes wait now."""
        self._queue.set(writes)

    def passed(self, result: str, count: int) -> None:
        """Count what was passed to the home of its trial: it was `answered`, or its answer was `lost`."""
        if count:
            self._of(self._passed, result).inc(count)

    def connected(self, connections: int) -> None:
        """Note how many connections are open now."""
        self._connections.set(connections)

    def ended(self, limit: str) -> None:
        """Count a connection that was ended, by the limit that it came to."""
        self._ended.labels(limit).inc()

    def alerted(self, channel: str, result: str) -> None:
        """Count an attempt to send a message: it was `sent`, `failed` and is made again, or was `given up`."""
        self._alerts.labels(channel, result).inc()

    def verified(self, trial: str | None, *, held: bool) -> None:
        """Note that a trial, or the database itself (None), was verified, and whether it held."""
        if trial is None:
            self._damaged.set(not held)
            return
        self._failing.labels(trial).set(not held)
        if held:
            self._verified.labels(trial).set_to_current_time()

    def text(self, trials: Sequence[TrialLine], *, unsent: int) -> bytes:
        """All numbers as Prometheus reads them; of trials those of these, as they are in the record now, and how many
        messages of alerts wait there to be sent.
        """
        everyone = CollectorRegistry()
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        else:
            everyone.register(self._registry)
        everyone.register(_OfRecord(trials, unsent))
        return generate_latest(_Seen(everyone, frozenset(trial.name for trial in trials)))


# Of a trial with strata there is a number for each of them.
_BY_STRATUM = {
    "holding": ("safebandit_holding", "1 while no arm is given because none is permissible."),
    "waiting": ("safebandit_waiting", "1 while no arm is given because all that may be wait for outcomes."),
}


class _Seen(CollectorRegistry):
    """The numbers of a registry without those of trials that are not to be seen."""

    def __init__(self, of: CollectorRegistry, trials: frozenset[str]) -> None:
        super().__init__()
        self._of, self._trials = of, trials

    def collect(self) -> Iterator[Metric]:
        for family in self._of.collect():
            family.samples = [each for each in family.samples if each.labels.get("trial") in (None, *self._trials)]
            yield family


class _OfRecord:
    """Numbers that are read and not counted: every process gives the same, before and after a restart."""

    def __init__(self, trials: Sequence[TrialLine], unsent: int) -> None:
        self._trials, self._unsent = trials, unsent

    def collect(self) -> Iterator[Metric]:
        pending = GaugeMetricFamily("safebandit_pending_units", "Units waited for.", labels=["trial"])
        for trial in self._trials:
            pending.add_metric([trial.name], trial.pending)
        yield pending
        for field, (name, said) in _BY_STRATUM.items():
            family = GaugeMetricFamily(name, said, labels=["trial", "stratum"])
            for trial in self._trials:
                where = getattr(trial, f"{field}_in")
                for stratum in trial.strata:
                    family.add_metric([trial.name, stratum], stratum in where)
                if not trial.strata:
                    family.add_metric([trial.name, ""], getattr(trial, field))
            yield family
        yield GaugeMetricFamily("safebandit_alerts_unsent", "Messages of alerts that wait to be sent.", self._unsent)
