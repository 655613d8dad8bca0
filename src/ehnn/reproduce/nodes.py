"""Node classification: Table 2 of the paper.

``python -m ehnn.reproduce.nodes --datasets zoo house-1 --models ehnn-mlp --device cuda`` needs torch, numpy
and scipy alone.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ehnn.datasets import DataError, card, load
from ehnn.hypergraph import Hypergraph
from ehnn.results import provenance, read_rows, write_atomically, write_rows
from ehnn.tasks.node_classification import NodeClassification, SampledNodeClassification
from ehnn.training import NotFiniteError, fit
from ehnn.training.checkpoint import NAME as CHECKPOINT
from ehnn.training.checkpoint import load_checkpoint

from .nodes_config import DATASETS, MODELS, PAPER, Settings, find_model, make_model, settings_of

EXPERIMENT = "nodes"
UNAVAILABLE = "data not available here"
NOT_PUBLISHED = ("modelnet40", "yelp")
"""Datasets of which some files are not to be had everywhere."""

# ---------------------------------------------------------------------- one model on one dataset


@dataclass(frozen=True)
class Outcome:
    """All runs of one model on one dataset.

    ``records`` has one entry per run: ``seed``, ``valid`` and ``test`` (percent, at the epoch of the best
    validation accuracy), ``epoch``, ``seconds`` (None if it was not trained in one go) and ``peak_mb``.
    """

    dataset: str
    model: str
    records: tuple[dict[str, Any], ...]

    def values(self, key: str) -> list[float]:
        """One number per run that has it."""
        return [r[key] for r in self.records if r[key] is not None]


def run(
    dataset: str,
    model: str,
    *,
    runs: int = 20,
    epochs: int = 500,
    device: str = "cpu",
    directory: Path | str | None = None,
    data_dir: Path | str | None = None,
    group: int | None = None,
    settings: Settings | None = None,
    h: Hypergraph | None = None,
    checkpoints: bool = True,
    quiet: bool = False,
) -> Outcome:
    """Train ``runs`` runs of one model, side by side, and select each on validation.

    With a ``directory`` finished runs are kept there, for these settings and number of epochs, and never
    trained again: asking for more runs trains the missing ones. Interrupted runs go on from their last
    checkpoint (unless ``checkpoints`` is False).

    Args:
        group: largest number of runs side by side; by default what fits into memory. When memory runs
            out all the same, it is halved.
        settings: in place of the committed ones.
        h: in place of the dataset's hypergraph.
    """
    settings = settings or settings_of(model, dataset)
    h = load(card(dataset).name, data_dir) if h is None else h
    shape = (h.num_nodes, h.num_edges, h.num_incidences)
    store = _Store.open(
        directory, dataset, model, {"settings": settings.to_dict(), "epochs": epochs, "h": shape}
    )
    h = (with_self_loops(h) if find_model(model).self_loops else h).to(device)
    todo = [seed for seed in range(runs) if seed not in store.records]
    size = group or default_group(h, model, settings, device)
    train = partial(_train, h, dataset, model, settings, epochs, store, checkpoints, device, quiet)
    while todo:
        size = math.ceil(len(todo) / math.ceil(len(todo) / size))  # groups of even size
        try:
            store.add(train(todo[:size]))
            todo = todo[size:]
        except torch.OutOfMemoryError:
            if size == 1:
                raise
            size = (size + 1) // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return Outcome(dataset, model, tuple(store.records[seed] for seed in range(runs)))


def _train(
    h: Hypergraph,
    dataset: str,
    model: str,
    settings: Settings,
    epochs: int,
    store: _Store,
    checkpoints: bool,
    device: str,
    quiet: bool,
    seeds: list[int],
) -> list[dict[str, Any]]:
    """The records of one group of runs."""
    task = make_task(h, model, seeds, settings)
    make = partial(make_model, model, settings, task.num_features, task.num_outputs)
    directory = store.group(seeds) if checkpoints else None
    found = None if directory is None else load_checkpoint(directory)
    before = 0 if found is None else found[1]["epoch"]
    memory, start = _Memory(device), time.monotonic()
    result = fit(
        make, task, seeds, settings.train_config(epochs, model), directory=directory, device=device,
        label=f"{model}, {dataset}, runs {seeds[0]} to {seeds[-1]}", quiet=quiet,
    )  # fmt: skip
    seconds = time.monotonic() - start
    shared = {
        "seconds": seconds / len(seeds) if before == 0 else None,
        "peak_mb": memory.peak_mb() / len(seeds) if before < epochs else None,
    }
    tests = result.selected("validation")
    return [
        {"seed": s, "valid": v, "test": t, "epoch": e, **shared}
        for s, v, t, e in zip(seeds, result.best_valid, tests, result.best_epoch, strict=True)
    ]


def make_task(
    h: Hypergraph, model: str, seeds: Sequence[int], settings: Settings, *, score_test: bool = True
) -> NodeClassification:
    """The task of a model: full batch, or minibatches for a model that samples (at most 16 a epoch)."""
    if not find_model(model).sampled:
        return NodeClassification(h, seeds, score_test=score_test)
    size = max(512, math.ceil(h.num_nodes / 16))
    options = {name: settings.options[name] for name in ("metapaths", "layers") if name in settings.options}
    return SampledNodeClassification(h, seeds, score_test=score_test, batch_size=size, **options)


def with_self_loops(h: Hypergraph) -> Hypergraph:
    """``h`` and, at the end, a hyperedge {v} for every node v that has none."""
    node, edge = h.index
    own = torch.zeros(h.num_nodes, dtype=torch.bool, device=h.device)
    own[node[h.orders[edge] == 1]] = True
    loops = (~own).nonzero().squeeze(1)
    new = h.num_edges + torch.arange(loops.shape[0], device=h.device)
    index = torch.stack([torch.cat([node, loops]), torch.cat([edge, new])])
    return Hypergraph.from_incidence(index, h.num_nodes, h.num_edges + loops.shape[0], x=h.x, y=h.y)


# ---------------------------------------------------------------------- memory

_TENSORS = {"ehnn-mlp": 55, "ehnn-transformer": 150, "all-set-transformer": 35, "all-deep-sets": 20}
"""How many tensors [nodes + hyperedges, width] a training step holds: measured, a third to spare."""


def default_group(h: Hypergraph, model: str, settings: Settings, device: str) -> int:
    """How many runs fit side by side."""
    row = 4 * max(settings.width, h.features("nodes").shape[1])
    return max(1, int(_budget(device) // (_TENSORS.get(model, 30) * (h.num_nodes + h.num_edges) * row + 1)))


def _budget(device: str) -> float:
    """Bytes to plan with."""
    if torch.device(device).type == "cuda":
        return 0.8 * torch.cuda.mem_get_info(torch.device(device))[0]
    try:
        return 0.4 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 4e9


class _Memory:
    """The largest amount of memory since it was made: allocated on a GPU, or of the process on a CPU."""

    def __init__(self, device: str) -> None:
        self.gpu = torch.device(device) if torch.device(device).type == "cuda" else None
        if self.gpu is not None:
            torch.cuda.reset_peak_memory_stats(self.gpu)
        else:
            with suppress(OSError):  # Linux starts the high-water mark again
                Path("/proc/self/clear_refs").write_text("5")

    def peak_mb(self) -> float:
        if self.gpu is not None:
            return torch.cuda.max_memory_allocated(self.gpu) / 1e6
        with suppress(OSError):
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1.024e-3
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3


# ---------------------------------------------------------------------- what is kept of finished runs


class _Store:
    """Records of finished runs by seed, in a file of their own for every choice of settings."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self.records: dict[int, dict[str, Any]] = {}
        if directory is not None and (directory / "runs.json").exists():
            self.records = {r["seed"]: r for r in self._read(directory / "runs.json")}

    @classmethod
    def open(
        cls, directory: Path | str | None, dataset: str, model: str, identity: Mapping[str, Any]
    ) -> _Store:
        if directory is None:
            return cls(None)
        text = json.dumps(identity, sort_keys=True, indent=1)
        own = Path(directory) / dataset / f"{model}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        own.mkdir(parents=True, exist_ok=True)
        write_atomically(own / "settings.json", text + "\n")
        return cls(own)

    @staticmethod
    def _read(path: Path) -> list[dict[str, Any]]:
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is not JSON ({error}); delete it to train its runs again") from error

    def group(self, seeds: Sequence[int]) -> Path | None:
        """Where a group of runs keeps its checkpoint; None where nothing can be kept."""
        if self.directory is None or importlib.util.find_spec("safetensors") is None:
            return None
        return self.directory / f"seeds-{seeds[0]}-{seeds[-1]}-of-{len(seeds)}"

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        """Keep the records of a finished group; its checkpoint has done its work."""
        found = {r["seed"]: r for r in records}
        self.records |= found
        if self.directory is None:
            return
        write_atomically(
            self.directory / "runs.json", json.dumps(list(self.records.values()), indent=1) + "\n"
        )
        group = self.group(list(found))
        if group is not None:
            (group / CHECKPOINT).unlink(missing_ok=True)


# ---------------------------------------------------------------------- rows, ranks, table, plot


def rows(outcome: Outcome, command: str) -> list[dict[str, Any]]:
    """The rows of the results table for one model and dataset: accuracy, time and memory per run."""
    paper = PAPER.get(outcome.model, {}).get(outcome.dataset)
    kinds = (
        ("test", "accuracy", "validation", paper[0] if paper else None),
        ("seconds", "seconds_per_run", "none", None),
        ("peak_mb", "peak_mb", "none", None),
    )
    out = []
    for key, metric, selection, figure in kinds:
        values = torch.tensor(outcome.values(key), dtype=torch.float64)
        if len(values):
            out.append({
                "setting": outcome.dataset, "model": outcome.model, "selection": selection, "metric": metric,
                "mean": values.mean().item(), "std": values.std(correction=0).item(), "runs": len(values),
                "paper": figure, **provenance(command),
            })  # fmt: skip
    return out


def average_ranks(table: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Mean rank (1 is best) of each model over the columns present: ``{model: {dataset: accuracy}}``.

    As in the paper, equal figures share the better rank, and a model without a figure in a column
    is ranked behind all that have one.
    """
    columns = sorted({dataset for row in table.values() for dataset in row})
    ranks: dict[str, list[int]] = {model: [] for model in table}
    for dataset in columns:
        figures = [row[dataset] for row in table.values() if dataset in row]
        for model, row in table.items():
            own = row.get(dataset, -math.inf)
            ranks[model].append(1 + sum(figure > own for figure in figures))
    return {model: sum(found) / len(found) for model, found in ranks.items() if found}


def rank_rows(table_rows: Iterable[Mapping[str, Any]], command: str) -> list[dict[str, Any]]:
    """Average rank of each model; beside it the paper's, over the same models and datasets."""
    ours = _accuracies(table_rows)
    columns = {dataset for row in ours.values() for dataset in row}
    theirs = {
        model: {d: mean for d, (mean, _) in PAPER[model].items() if d in columns}
        for model in ours
        if model in PAPER
    }
    paper = average_ranks(theirs)
    return [
        {
            "setting": "mean", "model": model, "selection": "validation", "metric": "rank", "mean": rank,
            "std": None, "runs": len(columns), "paper": paper.get(model), **provenance(command),
        }
        for model, rank in average_ranks(ours).items()
    ]  # fmt: skip


def _accuracies(table_rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """``{model: {dataset: mean}}`` in the order of the paper's rows, ours after them."""
    found: dict[str, dict[str, float]] = {}
    for row in table_rows:
        if row["metric"] == "accuracy" and row["selection"] == "validation":
            found.setdefault(row["model"], {})[row["setting"]] = row["mean"]
    order = [*MODELS, *(name for name in found if name not in MODELS)]
    return {name: found[name] for name in order if name in found}


def markdown(table_rows: Sequence[Mapping[str, Any]]) -> str:
    """Ours ± standard deviation over runs, the paper's in brackets, as a Markdown table."""
    ours, cells = _accuracies(table_rows), _cell_texts(table_rows)
    ranks = average_ranks(ours)
    columns = [d for d in DATASETS if d in NOT_PUBLISHED or any(d in row for row in ours.values())]
    columns += sorted({d for row in ours.values() for d in row} - set(columns))
    lines = ["| | " + " | ".join((*columns, "average rank")) + " |", "|---" * (len(columns) + 2) + "|"]
    for model in ours:
        texts = [cells.get((model, dataset), "–") + _quoted(model, dataset) for dataset in columns]
        lines.append(f"| {model} | " + " | ".join(texts) + f" | {ranks[model]:.1f} |")
    lines += ["", "Mean ± standard deviation over runs; in brackets the paper's."]
    absent = [d for d in columns if not any(d in row for row in ours.values())]
    if absent:
        fill = f"`ehnn reproduce nodes --datasets {' '.join(absent)} --data-dir DIR`"
        lines += [f"{', '.join(absent)}: {UNAVAILABLE}; with the files in DIR, {fill} fills them."]
    return "\n".join(lines) + "\n"


def _cell_texts(table_rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    return {
        (r["model"], r["setting"]): f"{r['mean']:.2f} ± {r['std'] or 0:.2f}"
        for r in table_rows
        if r["metric"] == "accuracy" and r["selection"] == "validation"
    }


def _quoted(model: str, dataset: str) -> str:
    paper = PAPER.get(model, {}).get(dataset)
    return f" ({paper[0]:.2f} ± {paper[1]:.2f})" if paper else ""


def plot(table_rows: Sequence[Mapping[str, Any]], path: Path | str) -> Path:
    """Our accuracies (with the standard deviation) and the paper's (crosses), a panel for each dataset."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("the plot needs matplotlib: pip install 'ehnn[plot]'") from error
    ours = _accuracies(table_rows)
    columns = [d for d in DATASETS if any(d in row for row in ours.values())]
    figure = Figure(figsize=(2.2 * max(len(columns), 1) + 1.6, 0.28 * len(ours) + 1.2), layout="constrained")
    panels = figure.subplots(1, max(len(columns), 1), sharey=True, squeeze=False)[0]
    deviation = {(r["model"], r["setting"]): r["std"] or 0 for r in table_rows if r["metric"] == "accuracy"}
    for panel, dataset in zip(panels, columns, strict=False):
        shown = [m for m in ours if dataset in ours[m]]
        places = [list(ours).index(m) for m in shown]
        spread = [deviation[m, dataset] for m in shown]
        panel.errorbar([ours[m][dataset] for m in shown], places, xerr=spread, fmt="o", ms=4, label="here")
        quoted = [
            (PAPER[m][dataset][0], p)
            for m, p in zip(shown, places, strict=True)
            if dataset in PAPER.get(m, {})
        ]
        panel.plot(*(zip(*quoted, strict=True) if quoted else ((), ())), "x", color="black", label="paper")
        panel.set_title(dataset, fontsize=9)
        panel.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(ours)), list(ours), fontsize=8)
    panels[0].invert_yaxis()
    if columns:
        panels[0].legend(fontsize=7)
    figure.savefig(path)
    return Path(path)


# ---------------------------------------------------------------------- the whole table


def reproduce(
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    out: Path | str = "results",
    command: str = "ehnn reproduce nodes",
    data_dir: Path | str | None = None,
    report: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
    **options: Any,
) -> list[str]:
    """Every model on every dataset; each row is in ``out/nodes.json`` and ``.csv`` as soon as it is there.

    What cannot be done (files that are not to be had, a model that runs out of memory or diverges) is
    reported and left out. Returns what went wrong, one line each. ``options`` go to `run`.
    """
    problems: list[str] = []
    _check_names(datasets, models)
    for dataset, model, h in _cells(datasets, models, data_dir, problems):
        try:
            outcome = run(dataset, model, h=h, **options)
        except (torch.OutOfMemoryError, NotFiniteError) as error:
            problems.append(f"{model} on {dataset}: {error}")
            report(problems[-1])
            continue
        found = rows(outcome, command)
        write_rows(EXPERIMENT, found, out)
        report(f"{model} on {dataset}: {_summary(found)}")
    everything = read_rows(EXPERIMENT, out)
    if any(row["metric"] == "accuracy" for row in everything):
        write_rows(EXPERIMENT, rank_rows(everything, command), out)
        write_atomically(Path(out) / f"{EXPERIMENT}.md", markdown(everything))
    return problems


def _check_names(datasets: Sequence[str], models: Sequence[str]) -> None:
    for dataset in datasets:
        card(dataset)
    for model in models:
        find_model(model)


def _cells(
    datasets: Sequence[str], models: Sequence[str], data_dir: Path | str | None, problems: list[str]
) -> Iterator[tuple[str, str, Hypergraph]]:
    for name in datasets:
        dataset = card(name).name
        try:
            h = load(dataset, data_dir)
        except DataError as error:
            problems.append(f"{dataset}: {UNAVAILABLE}: {error}")
            print(problems[-1], file=sys.stderr)
            continue
        for model in models:
            yield dataset, model, h


def _summary(found: Sequence[Mapping[str, Any]]) -> str:
    accuracy = found[0]
    paper = "" if accuracy["paper"] is None else f" (paper {accuracy['paper']:.2f})"
    cost = "".join(f", {r['mean']:.3g} {r['metric']}" for r in found[1:])
    return f"{accuracy['mean']:.2f} ± {accuracy['std']:.2f}{paper} over {accuracy['runs']} runs{cost}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of ``python -m ehnn.reproduce.nodes``."""
    parser = argparse.ArgumentParser(prog="python -m ehnn.reproduce.nodes", description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="NAME")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data-dir", default=None, help="folder with the raw files; default $EHNN_DATA")
    parser.add_argument("--out", default="results", help="folder of nodes.json, nodes.csv and nodes.md")
    parser.add_argument("--directory", default="runs/nodes", help="finished runs and checkpoints")
    parser.add_argument("--no-checkpoints", dest="checkpoints", action="store_false")
    parser.add_argument("--group", type=int, default=None, help="largest number of runs side by side")
    parser.add_argument("--quiet", action="store_true")
    given = vars(parser.parse_args(arguments))
    shown = shlex.join(sys.argv[1:] if arguments is None else arguments)
    command = f"python -m ehnn.reproduce.nodes {shown}".strip()
    try:
        problems = reproduce(given.pop("datasets"), given.pop("models"), command=command, **given)
    except ValueError as error:
        parser.error(str(error))
    print(markdown(read_rows(EXPERIMENT, given["out"])))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
