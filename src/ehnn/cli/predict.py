"""``ehnn predict``: what a model of ``ehnn train --data`` says of a file."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.validate import short
from ehnn.io.atomic import atomic_write

from .candidates import score_candidates
from .columns import is_missing
from .errors import readable_errors
from .layouts import Layout
from .recipe import Files, Recipe, digest_of
from .run_folder import check_target
from .sheets import Sheet
from .table_options import (
    Delimiter,
    EdgeColumn,
    IdColumn,
    LayoutName,
    MemberColumns,
    NodeColumn,
    NodesFile,
    Separator,
    layout_from,
)

SCREEN = Path("-")


@dataclass
class Predictions:
    """A table to write, and remarks for the user."""

    header: Sequence[str]
    rows: Iterable[Sequence[Any]]
    remarks: list[str]


def predict(
    model: Annotated[Path, typer.Option(metavar="DIR", help="The folder that `ehnn train --data` wrote.")],
    data: Annotated[Path, typer.Option(help="The file of sets; with --task hyperedges, of candidates.")],
    nodes: NodesFile = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write; - is the screen.")] = Path(
        "predictions.csv"
    ),
    layout: LayoutName = "auto",
    node_column: NodeColumn = None,
    edge_column: EdgeColumn = None,
    member_columns: MemberColumns = None,
    separator: Separator = None,
    delimiter: Delimiter = None,
    id_column: IdColumn = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is there.")] = False,
) -> None:
    """Predict with a trained model: a CSV file with a row per node or set and a probability per class.

    The file is read as in training; options say where it differs. A model of `--task hyperedges` scores the
    sets of the file: how likely each belongs together.

    \b
    ehnn predict --model runs/mine --data my.csv --out predicted.csv
    """
    with readable_errors():
        recipe = Recipe.load(model)
        said = layout_from(layout, node_column, edge_column, member_columns, separator, delimiter)
        files = Files(data, nodes, _merged(recipe, data, said), id_column or recipe.id_column)
        if out != SCREEN:
            check_target(out, [*files.paths(), *model.iterdir()], force)
        found = predicted(model, recipe, files)
        for remark in found.remarks:
            typer.echo(f"Note: {remark}", err=True)
        count = _write(out, found)
    if out != SCREEN:
        typer.echo(f"Written: {out}, {count} row{'s' * (count != 1)}", err=True)


def predicted(model: Path, recipe: Recipe, files: Files) -> Predictions:
    """What the model in a folder says of the files."""
    from ehnn.estimators import HyperedgePredictor, NodeClassifier, load

    candidates = recipe.task == "hyperedges"
    if recipe.id_column is not None and recipe.features and files.nodes is None and not candidates:
        columns = ", ".join(repr(feature.column) for feature in recipe.features)
        raise ValueError(f"the model reads the columns {columns} of a table of nodes: give --nodes")
    estimator: Any = load(model)
    sheet, remarks = files.read(loose=True)
    if isinstance(estimator, HyperedgePredictor):
        header, rows, more = score_candidates(estimator, sheet)
        return Predictions(header, rows, remarks + more)
    _check_same_sets(recipe, sheet)
    graph, more = recipe.graph(sheet)
    remarks += more + _new_classes(recipe, sheet, estimator) + _other_file(recipe, sheet)
    blank = recipe.unknown_rows(graph)
    remarks += _blank_rows(recipe, graph, blank)
    first = "set" if recipe.task == "sets" else "node"
    if isinstance(estimator, NodeClassifier):
        probabilities = recipe.judged(graph, estimator.predict_proba)
        labels = estimator.classes_[probabilities.argmax(1)].tolist()
        shares = probabilities.round(6).tolist()
        header = [first, "predicted", *(f"p({c})" for c in estimator.classes_.tolist())]
    else:
        labels = recipe.judged(graph, estimator.predict).tolist()
        shares, header = [[]] * len(labels), [first, "predicted"]
    told = zip(graph.node_names or (), labels, shares, blank.tolist(), strict=True)
    rows = ((n, *[""] * (len(header) - 1)) if no else (n, label, *row) for n, label, row, no in told)
    return Predictions(header, rows, remarks)


def _blank_rows(recipe: Recipe, graph: Hypergraph, blank: np.ndarray) -> list[str]:
    """A remark on rows of which the model knows nothing."""
    if not blank.any():
        return []
    name = short((graph.node_names or ())[int(blank.argmax())])
    of, by = ("sets", "member") if recipe.task == "sets" else ("nodes", "set")
    return [f"left blank: {blank.sum()} {of} without a {by} that was there in training, {name} for one"]


def _merged(recipe: Recipe, data: Path, said: Layout) -> Layout:
    """The layout of training with what was said; that alone, where it tells of another kind of file."""
    trained = recipe.layout
    kind = Layout().of_file(data).kind
    same_file = kind == trained.kind or (kind == "auto" and trained.kind in ("pairs", "sets"))
    if said.kind not in ("auto", trained.kind) or not same_file:
        return said
    if (said.members and trained.kind != "sets") or (said.node and trained.kind != "pairs"):
        return said
    return replace(trained, **{k: v for k, v in vars(said).items() if v and k != "kind"})


def _check_same_sets(recipe: Recipe, sheet: Sheet) -> None:
    """Sets without names are known by their place, which means nothing in another file."""
    named = sheet.layout.edge is not None or sheet.layout.kind == "hif"
    if (
        recipe.task == "nodes"
        and recipe.places.names
        and not named
        and digest_of(sheet.path) != recipe.digest
    ):
        raise ValueError(
            f"{sheet.path} is not the file of training, and its sets have no names by which to know them: "
            "name them (--edge-column) in both, or train with --no-places"
        )


def _other_file(recipe: Recipe, sheet: Sheet) -> list[str]:
    """A remark where nodes are judged by other sets than those of training."""
    if recipe.task != "nodes" or digest_of(sheet.path) == recipe.digest:
        return []
    return [
        f"{sheet.path} is not the file of training, and its nodes are judged by the sets in it alone: "
        "best, it has those of training too"
    ]


def _new_classes(recipe: Recipe, sheet: Sheet, estimator: Any) -> list[str]:
    """A remark where the file has labels that the model cannot know."""
    columns = recipe.columns(sheet)
    if columns is None or recipe.label not in columns.table.columns or not hasattr(estimator, "classes_"):
        return []
    cells = columns.table.column(recipe.label)
    known = {str(c) for c in estimator.classes_.tolist()}
    new = {cell for cell in set(cells) - known if not is_missing(cell)}
    if not new:
        return []
    row = next(row for row, cell in enumerate(cells) if cell in new)
    count = sum(cell in new for cell in cells)
    return [
        f"{columns.table.place(row)}: class {short(cells[row])} was not there in training and cannot be "
        f"predicted; {count} rows have such a class"
    ]


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
