"""``ehnn predict``: predictions of a model of ``ehnn train --data`` for a file."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ehnn._utils.atomic import atomic_write

from .errors import readable_errors
from .table_options import NodesFile, TableOptions, with_options

if TYPE_CHECKING:
    from ehnn.tables import Source
    from ehnn.tables.reader import Reader

SCREEN = Path("-")


@dataclass
class Predictions:
    """A table to write, and remarks for the user."""

    header: Sequence[str]
    rows: Iterable[Sequence[Any]]
    remarks: list[str]


@with_options
def predict(
    *,
    model: Annotated[Path, typer.Option(metavar="DIR", help="The folder that `ehnn train --data` wrote.")],
    data: Annotated[Path, typer.Option(help="The file of sets; with --task hyperedges, of candidates.")],
    nodes: NodesFile = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write; - is the screen.")] = Path(
        "predictions.csv"
    ),
    table: TableOptions,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Predict from this table alone, without the table of training."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
) -> None:
    """Predict with a trained model: a CSV file with a row per node or set and a probability per class.

    The table is read as in training; options say where it differs. Its nodes and sets are joined by name to
    those of training. A model of `--task hyperedges` scores the sets of the table: how likely each belongs
    together.

    \b
    ehnn predict --model runs/mine --data my.csv --out predicted.csv
    """
    from ehnn.estimators import load
    from ehnn.tables import Source
    from ehnn.tables.later import as_trained

    from .run_folder import check_target

    with readable_errors():
        estimator: Any = load(model)
        reader = reader_of(estimator, model)
        source = as_trained(reader, Source(data, nodes, table.as_layout(), table.id_column))
        if out != SCREEN:
            check_target(out, [*source.tables(), *model.iterdir()], force)
        found = predicted(estimator, reader, source, alone)
        for remark in found.remarks:
            typer.echo(f"Note: {remark}", err=True)
        count = _write(out, found)
    if out != SCREEN:
        typer.echo(f"Written: {out}, {count} row{'s' * (count != 1)}", err=True)


def predicted(estimator: Any, reader: Reader, source: Source, alone: bool = False) -> Predictions:
    """The predictions of a model for tables."""
    from ehnn.tables.later import ask_sheet

    from .candidates import score_candidates
    from .fit_labels import FIRST

    if reader.task == "hyperedges":
        sheet = source.read(loose=True)
        header, rows, remarks = score_candidates(estimator, sheet)
        return Predictions(header, rows, [*sheet.remarks, *reader.remarks(sheet), *remarks])
    reader.check(source)
    sheet = source.read(loose=True)
    asked = ask_sheet(reader, sheet, alone)
    remarks = [*sheet.remarks, *asked.remarks]
    first = FIRST[reader.task]
    if reader.regression:
        numbers = estimator.predict(asked).tolist()
        rows = ((*name, number) for name, number in zip(asked.names, numbers, strict=True))
        return Predictions([*first, "predicted"], rows, remarks)
    classes = estimator.classes_.tolist()
    remarks += filter(None, [reader.new_labels(sheet, classes)])
    labels, proba = estimator.predict_with_proba(asked)
    shown = zip(asked.names, labels.tolist(), proba.round(6).tolist(), strict=True)
    header = [*first, "predicted", *(f"p({c})" for c in classes)]
    return Predictions(header, ((*name, label, *shares) for name, label, shares in shown), remarks)


def reader_of(estimator: Any, model: Path) -> Reader:
    """How the model reads tables."""
    reader: Reader | None = getattr(estimator, "reader_", None)
    if reader is None:
        raise ValueError(
            f"{model} was fitted in Python on a hypergraph: it does not know how tables are read"
        )
    return reader


def _write(out: Path, found: Predictions) -> int:
    """Write the table; returns the number of its rows."""
    rows = list(found.rows)
    if out == SCREEN:
        try:
            _write_rows(sys.stdout, found.header, rows)
            sys.stdout.flush()
        except BrokenPipeError:  # `| head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return len(rows)
    with atomic_write(out) as file:
        _write_rows(file, found.header, rows)
    return len(rows)


def _write_rows(file: Any, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
