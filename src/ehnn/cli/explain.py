"""``ehnn explain``: what moved a prediction of a model of ``ehnn train --data``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from ehnn._utils.atomic import atomic_write

from .errors import fail, readable_errors
from .predict import reader_of
from .table_options import Names, NodesFile, TableOptions, with_options

_KEPT = 100
"""Explanations that are kept for the report."""
ASKS = {"nodes": ("node",), "sets": ("set",), "incidences": ("node", "set")}
"""The options that name a row of each task."""


@with_options
def explain(
    *,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The folder that `ehnn train --data` wrote.")
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The file of sets.")],
    node: Annotated[
        Names, typer.Option(metavar="NAME", help="A node to explain; more than once for more.")
    ] = None,
    set_: Annotated[Names, typer.Option("--set", metavar="NAME", help="The same for a set.")] = None,
    target: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="CLASS",
            show_default="what is predicted",
            help="The class whose probability is explained.",
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, help="How many things of each kind are left out, one at a time.")
    ] = 24,
    lines: Annotated[int, typer.Option(min=1, help="How many effects to print for each node or set.")] = 10,
    nodes: NodesFile = None,
    table: TableOptions,
) -> None:
    """Explain predictions: which sets, co-members and columns moved them.

    One thing at a time is left out, and the model predicts again. An effect is the change of the log-odds of
    the class (of the number). A node is named with --node, a set with --set, a node within a set with both.
    The folder of the model keeps what was found; `ehnn report` shows it.

    \b
    ehnn explain runs/mine my.csv --node ann
    ehnn explain runs/mine my.csv --node ann --target red
    """
    from ehnn.estimators import load
    from ehnn.report.records import as_json
    from ehnn.report.runs import EXPLANATIONS
    from ehnn.tables import Source
    from ehnn.tables.later import as_trained, ask_sheet

    with readable_errors():
        estimator: Any = load(model)
        reader = reader_of(estimator, model)
        if reader.task == "hyperedges":
            raise ValueError(f"{model} scores candidates (--task hyperedges); ehnn explain is for labels")
        rows = _rows(reader.task, node or [], set_ or [])
        source = as_trained(reader, Source(data, nodes, table.as_layout(), table.id_column))
        reader.check(source)
        sheet = source.read(loose=True)
        asked = ask_sheet(reader, sheet)
        for remark in (*sheet.remarks, *asked.remarks):
            typer.echo(f"Note: {remark}", err=True)
        found = estimator.explain(asked, rows, target=_class_of(estimator, target), most=most)
        _keep(model / EXPLANATIONS, as_json(found.to_dict()))
    typer.echo("\n\n".join("\n".join(row.lines(lines)) for row in found))


def _rows(task: str, nodes: list[str], sets: list[str]) -> list[Any]:
    """The rows that are asked for."""
    given = {"node": nodes, "set": sets}
    wanted = ASKS[task]
    for name, values in given.items():
        if bool(values) != (name in wanted):
            shown = " and ".join(f"--{option} NAME" for option in wanted)
            fail(f"the model predicts labels of {task}: give {shown}")
    if task == "incidences":
        if len(nodes) != len(sets):
            fail(f"--node and --set must be given equally often, got {len(nodes)} and {len(sets)}")
        return list(zip(nodes, sets, strict=True))
    return given[wanted[0]]


def _class_of(estimator: Any, target: str | None) -> Any:
    """The class with this text."""
    from ehnn._utils.validation import short

    classes = getattr(estimator, "classes_", None)
    if target is None:
        return None
    if classes is None:
        raise ValueError(f"--target is for classes, got {target!r} of a model that predicts numbers")
    found = [c for c in classes.tolist() if str(c) == target]
    if not found:
        raise ValueError(f"--target {target!r} is not a class; known: {short(classes.tolist(), 300)}")
    return found[0]


def _keep(path: Path, found: list[dict[str, Any]]) -> None:
    """Add to what was explained before, in place of earlier explanations of the same rows."""
    try:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    except ValueError:
        before = []
    keys = [_key(row) for row in found]
    kept = [row for row in before if isinstance(row, dict) and _key(row) not in keys] if before else []
    with atomic_write(path) as file:
        file.write(json.dumps([*kept, *found][-_KEPT:], allow_nan=False) + "\n")


def _key(row: dict[str, Any]) -> str:
    return json.dumps([row.get("row"), row.get("target")])
