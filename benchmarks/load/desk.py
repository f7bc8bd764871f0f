"""A desk that keeps the service busy: a process with several connections, each asking and telling without a pause.

Requests are written by hand: on a machine of two cores a comfortable client would take more time than the service.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MEANS = {
    "placebo": (0.36, 0.16),
    "25 mg": (0.34, 0.26),
    "75 mg": (0.47, 0.18),
    "150 mg": (0.465, 0.2),
    "300 mg": (0.54, 0.29),
}


class Order(NamedTuple):
    """What a desk is told to do: at most so many pairs, for at most so many seconds, in requests of so many (1: single
    ones); each connection asks in one of the trials.
    """

    url: str
    key: str
    trials: list[str]
    name: str
    connections: int
    pairs: int
    seconds: float
    batch: int = 1


class Connection:
    """One connection that is kept open."""

    def __init__(self, order: Order, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        host = urlsplit(order.url).netloc
        self._head = f"Host: {host}\r\nAuthorization: Bearer {order.key}\r\nContent-Type: application/json\r\n"

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """The status and the answer."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
        return int(lines[0].split()[1]), json.loads(await self._reader.readexactly(length))

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def _work(order: Order, number: int, deadline: float, latencies: list[float]) -> int:
    """One connection's pairs; how many were told."""
    url = urlsplit(order.url)
    connection = Connection(order, *await asyncio.open_connection(url.hostname, url.port))
    rng, told = random.Random(f"{order.name} {number}"), 0
    trial = f"/v1/trials/{order.trials[number % len(order.trials)]}"
    for i in range(order.pairs // order.connections // order.batch):
        if time.monotonic() > deadline:
            break
        units = [{"unit": f"{order.name} {number} {i} {j}"} for j in range(order.batch)]
        asked = time.monotonic()
        arms = await _ask(connection, trial, units)
        between = time.monotonic()
        drawn = ([int(rng.random() < mean) for mean in MEANS[arm]] for arm in arms)
        await _tell(
            connection, trial, [{**unit, "reward": x, "risk": y} for unit, (x, y) in zip(units, drawn, strict=True)]
        )
        latencies += [between - asked, time.monotonic() - between]
        told += order.batch
    connection.close()
    return told


async def _ask(connection: Connection, trial: str, units: list[dict[str, Any]]) -> list[str]:
    """The arms of these units: of one by itself, of several in a batch."""
    if len(units) == 1:
        status, given = await connection.post(f"{trial}/units", units[0])
        arms = [given.get("arm")]
    else:
        status, given = await connection.post(f"{trial}/units/batch", {"requests": units})
        arms = [(each["given"] or {}).get("arm") for each in given.get("answers", [])]
    if status not in (200, 201) or None in arms:
        raise RuntimeError(f"asking gave {status}: {given}")
    return arms


async def _tell(connection: Connection, trial: str, outcomes: list[dict[str, Any]]) -> None:
    if len(outcomes) == 1:
        status, answer = await connection.post(f"{trial}/outcomes", outcomes[0])
    else:
        status, answer = await connection.post(f"{trial}/outcomes/batch", {"requests": outcomes})
    if status not in (200, 201):
        raise RuntimeError(f"telling gave {status}: {answer}")


async def work(order: Order) -> dict[str, Any]:
    """All connections at once; pairs, seconds, processor seconds and every latency."""
    latencies: list[float] = []
    begun, spent = time.monotonic(), time.process_time()
    each = [_work(order, i, begun + order.seconds, latencies) for i in range(order.connections)]
    pairs = sum(await asyncio.gather(*each))
    seconds, processor = time.monotonic() - begun, time.process_time() - spent
    return {"pairs": pairs, "seconds": seconds, "processor": processor, "latencies": latencies}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(work(Order(*json.loads(sys.argv[1]))))))
