"""``ehnn data``: what datasets there are, and their files; conversion of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .convert import convert
from .errors import readable_errors
from .show import show_table
from .table_options import OptionalPath

data = typer.Typer(
    help="Datasets: list, describe, download. Your own: convert between formats.", no_args_is_help=True
)
data.command(no_args_is_help=True)(convert)
Name = Annotated[str, typer.Argument(help="A name of `ehnn data list`.")]


@data.command("list")
def list_all() -> None:
    """The datasets by name, with their sizes."""
    from ehnn import datasets

    lines = []
    for card in datasets.list_datasets():
        s = card.statistics
        counts = (s.nodes, s.hyperedges, s.features, s.classes)
        lines.append((card.name, *map(str, counts), card.title))
    columns = ("name", "nodes", "hyperedges", "features", "classes", "what")
    show_table("Datasets", columns, lines)


@data.command(no_args_is_help=True)
def example(
    path: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a table to try the commands on: functions of SciPy, the words they use, and their modules.

    The module of every third function is given; the others are blank.

    \b
    ehnn data example functions.csv
    ehnn train --data functions.csv --node-column function --edge-column word --label-column module --out run
    """
    from ehnn import datasets

    from .run_folder import check_target

    with readable_errors():
        check_target(path, [], force)
        datasets.write_example(path)
    typer.echo(f"Written: {path}")


@data.command()
def info(name: Name) -> None:
    """The card of a dataset: source, licence, sizes, files."""
    from ehnn import datasets

    with readable_errors():
        typer.echo(datasets.card(name).describe())


@data.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Names of `ehnn data list`.")],
    data_dir: Annotated[
        OptionalPath, typer.Option(help="Folder that is searched first.", show_default="EHNN_DATA")
    ] = None,
) -> None:
    """Make sure that the files of datasets are on this machine; print their folders."""
    from ehnn import datasets

    with readable_errors(resume="Run the same command to continue."):
        cards = [datasets.card(name) for name in names]  # a wrong name is an error before a long download
        for card in cards:
            typer.echo(f"{card.name}: {datasets.fetch(card.name, data_dir)}")
