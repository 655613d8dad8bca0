"""The experiments that ``ehnn reproduce`` knows. A new one is a line of the table at the end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ehnn.cli.errors import FAILED, choose_all
from ehnn.cli.show import show_table

if TYPE_CHECKING:
    from ehnn_paper.experiment import Cell, Experiment


OPTIONAL = (
    "data_dir", "iterations", "lr", "finetune", "minutes", "amp", "tf32", "group", "jobs", "choices",
    "first_seed",
)  # fmt: skip
"""Options that some experiments have."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for; None leaves a choice to the experiment."""

    models: list[str] | None = None
    settings: list[str] | None = None
    seeds: int | None = None
    epochs: int | None = None
    device: str = "cpu"
    out: Path = Path("results")
    runs_dir: Path = Path("runs")
    fresh: bool = False
    data_dir: Path | None = None
    iterations: int | None = None
    lr: float | None = None
    finetune: bool | None = None
    minutes: float | None = None
    amp: bool = False
    tf32: bool = False
    group: int | None = None
    jobs: int | None = None
    choices: int | None = None
    first_seed: int | None = None

    def refuse(self, experiment: str, known: tuple[str, ...]) -> None:
        """Raise a ValueError for options of other experiments."""
        for name in OPTIONAL:
            if name not in known and getattr(self, name) not in (None, False):
                raise ValueError(f"--{name.replace('_', '-')} does not apply to {experiment}")

    @property
    def folder(self) -> str | None:
        """The folder of the data as text."""
        return None if self.data_dir is None else str(self.data_dir)

    @property
    def seconds(self) -> float:
        """After so many seconds nothing new begins."""
        return float("inf") if self.minutes is None else 60 * self.minutes

    @property
    def resume(self) -> str:
        kept = f"{self.runs_dir} and {self.out}"
        return f"Run the same command to continue; what is done, if anything is, is kept in {kept}."


_LEGEND = "Test accuracy in %, mean ± std; epoch chosen on validation, or best on test like the paper's."


def table(place: str, asked: Request) -> int:
    """Run the `Experiment` at ``module:name``; returns the exit code."""
    from ehnn_paper.experiment import COLUMNS, finished, reproduce, table_lines

    module, _, name = place.partition(":")
    asked.refuse(name.lower().replace("_", "-"), ())
    found: Experiment = getattr(import_module(module), name)
    models = choose_all("model", asked.models, found.models)
    settings = choose_all("setting", asked.settings, found.settings)
    seeds = range(asked.seeds or 5)
    cells = reproduce(
        found, models, settings, seeds=seeds, epochs=asked.epochs, device=asked.device, out=asked.out,
        runs_dir=asked.runs_dir, fresh=asked.fresh, say=_say,
    )  # fmt: skip
    show_table(f"{found.title}\n{_LEGEND}", COLUMNS, table_lines(cells))
    typer.echo(f"\nWritten: {asked.out / found.name}.json, .csv")
    _draw(found, finished(found, asked.runs_dir, seeds, asked.epochs), asked.out)
    return 0


def nodes(asked: Request) -> int:
    """Node classification (Table 2), which keeps its runs and tells of missing data in its own way."""
    from ehnn_paper.nodes import run as nodes
    from ehnn_paper.results import read_rows

    asked.refuse("nodes", ("data_dir", "amp", "tf32", "group"))
    if asked.fresh:
        raise ValueError(
            f"nodes keeps finished runs by seed; to train again, remove {asked.runs_dir / 'nodes'}"
        )
    problems = nodes.reproduce(
        asked.settings or list(nodes.DATASETS),
        asked.models or list(nodes.MODELS),
        out=asked.out,
        report=_say,
        runs=asked.seeds or 20,
        epochs=asked.epochs or 500,
        device=asked.device,
        directory=asked.runs_dir / "nodes",
        data_dir=asked.data_dir,
        amp=asked.amp,
        tf32=asked.tf32,
        group=asked.group,
    )
    typer.echo(nodes.markdown(read_rows(nodes.EXPERIMENT, asked.out)))
    return FAILED if problems else 0


def matching(name: str, asked: Request) -> int:
    """Keypoint matching (Tables 3 and 4): a model is trained on all categories at once."""
    from ehnn_paper.matching import table as matching
    from ehnn_paper.matching.prepare import setup_of
    from ehnn_paper.matching.recipes import BENCHMARKS

    found = BENCHMARKS[name]
    asked.refuse(name, ("data_dir", "iterations", "lr", "finetune", "minutes"))
    if asked.settings:
        raise ValueError(f"{name} trains on all categories at once; leave --setting out")
    setup = setup_of(
        found, epochs=asked.epochs, iterations=asked.iterations, lr=asked.lr, finetune=asked.finetune,
        minutes=asked.minutes, device=asked.device, data_dir=asked.data_dir,
    )  # fmt: skip
    models = choose_all("model", asked.models or list(matching.SHOWN), list(found.recipes))
    rows = matching.reproduce(
        found, models, setup, seeds=range(asked.seeds or 1), out=asked.out, runs_dir=asked.runs_dir,
        fresh=asked.fresh, say=_say,
    )  # fmt: skip
    show_table(f"{found.title}\n{matching.LEGEND}", *matching.table(found, rows))
    typer.echo(f"\nWritten: {asked.out / name}.json, .csv")
    for path in matching.draw(found, asked.out):
        typer.echo(f"Drawn:   {path}")
    return 0


def graphs(asked: Request) -> int:
    """Classification of whole hypergraphs, in five folds."""
    from ehnn_paper.graphs import table as graphs
    from ehnn_paper.graphs.data import DATASETS

    asked.refuse("graphs", ("data_dir", "minutes", "jobs", "choices", "first_seed"))
    for name in ("seeds", "epochs"):
        if getattr(asked, name) is not None:
            raise ValueError(f"graphs has five folds and a fixed number of steps; leave --{name} out")
    missing = graphs.reproduce(
        choose_all("dataset", asked.settings, DATASETS),
        choose_all("model", asked.models, graphs.MODELS),
        choices=asked.choices or len(graphs.CHOICES),
        seed=asked.first_seed or 0,
        **_swept(asked),
    )
    return _told_missing(missing, asked.out / f"{graphs.EXPERIMENT}.json")


def benchmark(asked: Request) -> int:
    """Node classification with modern competitors, and average ranks."""
    from ehnn_paper.benchmark import table as benchmark
    from ehnn_paper.benchmark.data import DATASETS, FIRST
    from ehnn_paper.benchmark.settings import MODELS, ORDER

    asked.refuse("benchmark", ("data_dir", "minutes", "jobs", "choices", "first_seed"))
    if asked.choices and asked.choices > len(ORDER):
        raise ValueError(f"--choices must be at most {len(ORDER)}, got {asked.choices}")
    given: dict[str, Any] = {
        "choices": asked.choices, "runs": asked.seeds, "epochs": asked.epochs, "first_seed": asked.first_seed,
    }  # fmt: skip
    missing = benchmark.reproduce(
        choose_all("dataset", asked.settings or list(FIRST), DATASETS),
        choose_all("model", asked.models, (*MODELS, benchmark.DEFAULT)),
        **{name: value for name, value in given.items() if value is not None},
        **_swept(asked),
    )
    return _told_missing(missing, asked.out / f"{benchmark.EXPERIMENT}.json")


def _swept(asked: Request) -> dict[str, Any]:
    """What tables with a search have in common."""
    data_dir = asked.data_dir or os.environ.get("EHNN_DATA")
    if data_dir is None:
        raise ValueError("name the folder of the data: --data-dir DIR, or the variable EHNN_DATA")
    if asked.fresh:
        raise ValueError(
            f"finished trials are kept by their settings; to train again, remove {asked.runs_dir}"
        )
    return {
        "data_dir": str(data_dir), "device": asked.device, "jobs": asked.jobs or 1, "minutes": asked.minutes,
        "out": asked.out, "runs_dir": asked.runs_dir, "say": _say,
    }  # fmt: skip


def _told_missing(missing: int, path: Path) -> int:
    typer.echo(f"Written: {path}, .csv")
    if missing:
        _say(f"{missing} trials are missing, and the rows that need them; run the same command to continue")
    return FAILED if missing else 0


def incidences(asked: Request) -> int:
    """Labels of nodes within hyperedges, all models under one protocol."""
    from ehnn_paper.incidences import table as incidences
    from ehnn_paper.incidences.data import DATASETS
    from ehnn_paper.incidences.networks import NETS

    asked.refuse("incidences", ("data_dir", "minutes"))
    found = incidences.Asked(
        choose_all("dataset", asked.settings, list(DATASETS)),
        choose_all("model", asked.models or list(incidences.MODELS), [incidences.OURS, *NETS]),
        seeds=asked.seeds or 5, steps=asked.epochs or 300, device=asked.device, data_dir=asked.folder,
        out=asked.runs_dir / "incidences", results=asked.out,
    )  # fmt: skip
    command = (
        f"ehnn reproduce incidences --seeds {found.seeds} --epochs {found.steps} --device {found.device}"
    )
    _show(incidences.reproduce(found, command, seconds=asked.seconds, say=_say))
    return 0


def edge_labels(asked: Request) -> int:
    """Labels of hyperedges, all models under one protocol."""
    from ehnn_paper.edge_labels import table as edge_labels

    asked.refuse("edge-labels", ("data_dir", "minutes"))
    every = edge_labels.Asked()
    found = edge_labels.Asked(
        choose_all("dataset", asked.settings, every.datasets),
        choose_all("model", asked.models, every.models),
        seeds=asked.seeds or 3, device=asked.device, data_dir=asked.folder,
        out=asked.runs_dir / "edge-labels", results=asked.out,
    )  # fmt: skip
    command = f"ehnn reproduce edge-labels --seeds {found.seeds} --device {found.device}"
    _show(edge_labels.reproduce(found, command, seconds=asked.seconds, say=_say))
    return 0


def reactions(asked: Request) -> int:
    """Direction of reactions, and missing reactions; the settings are the three tables."""
    from ehnn_paper.reactions.table import TASKS, Asked

    asked.refuse("reactions", ("data_dir",))
    for task in choose_all("setting", asked.settings, list(TASKS)):
        command = f"ehnn reproduce reactions --setting {task}"
        command += f" --seeds {asked.seeds}" if asked.seeds else ""
        found = Asked(
            command, models=asked.models, splits=asked.seeds, data_dir=asked.folder,
            out=asked.runs_dir / "reactions", results=asked.out,
        )  # fmt: skip
        TASKS[task](found)
    return 0


def _show(rows: list[dict[str, Any]]) -> None:
    """A line for each row of results."""
    from ehnn_paper.results import shown

    columns = ("setting", "model", "metric", "mean ± std", "runs")
    lines = [(r["setting"], r["model"], r["metric"], shown(r), str(r["runs"])) for r in rows]
    show_table("In percent, of the test part", columns, lines)


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _draw(experiment: Experiment, cells: list[Cell], out: Path) -> None:
    if experiment.draw is None:
        return
    path = out / f"{experiment.name}.png"
    try:
        experiment.draw(cells, path)
    except ImportError as error:
        _say(f"No figure: {error}")
    else:
        typer.echo(f"Drawn:   {path}")


EXPERIMENTS: dict[str, Callable[[Request], int]] = {
    "k-edge": partial(table, "ehnn_paper.k_edge.recipes:K_EDGE"),
    "ablation": partial(table, "ehnn_paper.k_edge.recipes:ABLATION"),
    "k-edge-draws": partial(table, "ehnn_paper.k_edge.draws:K_EDGE"),
    "ablation-draws": partial(table, "ehnn_paper.k_edge.draws:ABLATION"),
    "nodes": nodes,
    "benchmark": benchmark,
    "graphs": graphs,
    "willow": partial(matching, "willow"),
    "voc": partial(matching, "voc"),
    "incidences": incidences,
    "edge-labels": edge_labels,
    "reactions": reactions,
}
