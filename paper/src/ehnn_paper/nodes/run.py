"""Node classification: Table 2 of the paper.

``ehnn reproduce nodes --datasets zoo house-1 --models ehnn-mlp --device cuda`` needs torch, numpy
and scipy alone.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ehnn._utils.atomic import atomic_write
from ehnn.datasets import DataError, card, load
from ehnn.datasets.loading import altered
from ehnn.hypergraph import Hypergraph
from ehnn.training import NotFiniteError
from ehnn.training.task import out_of_memory
from ehnn_paper.experiment import write_unless_fuller
from ehnn_paper.results import read_rows, write_rows

from .config import MODELS, find_model
from .figure import plot
from .published import DATASETS
from .runs import make_task, run
from .table import EPOCHS, UNAVAILABLE, in_one_line, markdown, rank_rows, rows

__all__ = [
    "DATASETS", "EXPERIMENT", "MODELS", "make_task", "markdown", "plot", "reproduce", "run",
]  # fmt: skip

EXPERIMENT = "nodes"


def reproduce(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    out: Path | str = "results",
    command: str | None = None,
    data_dir: Path | str | None = None,
    report: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
    **options: Any,
) -> list[str]:
    """Every model on every dataset; each row is in ``out/nodes.json`` and ``.csv`` as soon as it is there.

    A figure of fewer runs or fewer epochs than the one in its place is reported and not written, so that a
    quick look leaves a published table as it is. The table (``nodes.md``) and the figure (``nodes.png``,
    where matplotlib is installed) follow at the end, if there is anything new.
    What cannot be done (files that are missing or corrupted, a model that is too big for memory or
    diverges) is reported and left out. Returns what went wrong, one line each. ``options`` go to `run`.

    Args:
        command: what the rows say they were made with; by default the command of their cell alone.
    """
    problems: list[str] = []
    new = False
    _check_names(datasets, models)
    for dataset, model, h, note in _cells(datasets, models, data_dir, problems, report):
        try:
            outcome = run(dataset, model, h=h, **options)
        except (ValueError, RuntimeError, MemoryError) as error:
            if not (out_of_memory(error) or isinstance(error, ValueError | NotFiniteError)):
                raise
            problems.append(f"{model} on {dataset}: {_first_line(error)}")
            report(problems[-1])
            continue
        found = rows(outcome, (command or cell_command(dataset, model, **options)) + note)
        report(f"{model} on {dataset}: {in_one_line(found)}")
        new |= write_unless_fuller(EXPERIMENT, found, out, report, f"{model} on {dataset}", EPOCHS)
    if new:
        _finish(Path(out), command or "ehnn reproduce nodes", report)
    return problems


def cell_command(dataset: str, model: str, **options: Any) -> str:
    """The command that computes one cell: what changes its figures is always in it.

    >>> cell_command("zoo", "ehnn-mlp", runs=5, tf32=True, quiet=True)
    'ehnn reproduce nodes --datasets zoo --models ehnn-mlp --runs 5 --tf32'
    """
    words = ["ehnn", "reproduce", "nodes", "--datasets", dataset, "--models", model]
    for name in ("runs", "epochs", "device", "group"):
        words += [f"--{name}", str(options[name])] if options.get(name) is not None else []
    return shlex.join(words + [f"--{name}" for name in ("amp", "tf32") if options.get(name)])


def _finish(out: Path, command: str, report: Callable[[str], None]) -> None:
    """Ranks, table and figure of all rows that there are."""
    everything = read_rows(EXPERIMENT, out)
    if not any(row["metric"] == "accuracy" for row in everything):
        return
    write_rows(EXPERIMENT, rank_rows(everything, command), out)
    with atomic_write(out / f"{EXPERIMENT}.md") as file:
        file.write(markdown(everything))
    try:
        plot(everything, out / f"{EXPERIMENT}.png")
    except ImportError as error:
        report(f"No figure: {error}")


def _check_names(datasets: Sequence[str], models: Sequence[str]) -> None:
    for dataset in datasets:
        card(dataset)
    for model in models:
        find_model(model)


def _cells(
    datasets: Sequence[str],
    models: Sequence[str],
    data_dir: Path | str | None,
    problems: list[str],
    report: Callable[[str], None],
) -> Iterator[tuple[str, str, Hypergraph, str]]:
    """Dataset, model, hypergraph, and what its command must add: files that are not the published ones."""
    for dataset in dict.fromkeys(card(name).name for name in datasets):
        try:
            h = load(dataset, data_dir)
        except ValueError as error:  # a DataError is one too
            why = f"{UNAVAILABLE}: " if isinstance(error, DataError) else ""
            problems.append(f"{dataset}: {why}{error}")
            report(problems[-1])
            continue
        others = ", ".join(path.name for path in altered(dataset, data_dir))
        if others:
            report(f"{dataset}: {others} differs from the published file; these are figures of other data")
        for model in models:
            yield dataset, model, h, f"  # another {others}" if others else ""


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
