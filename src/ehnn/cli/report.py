"""``ehnn report``: a page about runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .errors import readable_errors


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders that a training wrote.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one HTML page about one or more runs, to be opened in a browser.

    It shows what the folders hold: learning curves, confusion matrix, accuracy per class and per order, the
    hypergraph, attention, settings; and with several runs, what differs. The page needs no network.

    \b
    ehnn report runs/mine
    ehnn report runs/mine runs/other --out compared.html
    """
    from ehnn.report import write_report

    with readable_errors():
        path = write_report(runs, out)
        typer.echo(f"Written: {path} ({path.stat().st_size / 1000:,.0f} kB)")
