"""``ehnn bench``: the benchmarks of `ehnn.bench`, with their own options."""

from __future__ import annotations

import typer


def bench(context: typer.Context) -> None:
    """Measure speed and memory: ``ehnn bench cost scale peers walmart k-edge``; ``--help`` for options."""
    from ehnn.bench.__main__ import main

    raise typer.Exit(main(context.args))
