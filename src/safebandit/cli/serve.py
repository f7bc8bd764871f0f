"""`safebandit serve`: live trials over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.live import DATABASE, Database


def serve(
    db: Database = DATABASE,
    host: Annotated[str, typer.Option(help="The address to listen on; other than loopback only with a key.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="How many processes answer.", min=1, max=64)] = 1,
    rate: Annotated[
        float, typer.Option(help="Requests per second that each key may make, of each process.", min=0.001)
    ] = 2000.0,
    burst: Annotated[
        float, typer.Option(help="Requests that each key may make at once, of each process.", min=1.0)
    ] = 4000.0,
    connections: Annotated[
        int, typer.Option(help="Connections that each process takes at once.", min=1, max=1_000_000)
    ] = 512,
    viewer_delay: Annotated[
        int, typer.Option(help="Units that viewers see sums late, at least; 0: at once.", min=0, max=1_000_000)
    ] = 0,
    key_file: Annotated[
        Path | None, typer.Option(help="A new file for the first key, instead of stdout; only its owner can read it.")
    ] = None,
) -> None:
    """Serve live trials: an interface for programs, and a page for people.

    The first start prints a key, once, that works for a week. SIGTERM or Ctrl-C stops it after the requests in flight
    are answered.
    """
    with live_packages("serve"):
        from safebandit.service.limits import ConnectionLimits
        from safebandit.service.rates import RateLimits
        from safebandit.service.run import Options, Place
        from safebandit.service.run import serve as run

    rates = RateLimits(rate=rate, burst=burst)
    options = Options(rates, ConnectionLimits(connections=connections), viewer_delay)
    status = run(Place(db, host, port, key_file), workers=workers, options=options, say=_say)
    if status:
        raise typer.Exit(status)


def _say(line: str) -> None:
    # Programs that started the service wait for these lines.
    typer.echo(line)
    typer.get_text_stream("stdout").flush()
