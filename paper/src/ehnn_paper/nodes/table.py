"""Node classification: rows of results, average ranks, the table in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ehnn_paper.results import provenance, shown, summary

from .config import MODELS
from .published import DATASETS, NOT_PUBLISHED, PAPER
from .recipes import RECIPES
from .runs import Outcome

EPOCHS, RUNS = 500, 20
"""Of each run, and of them, in the paper."""
UNAVAILABLE = "data not available here"
NOT_RANKED = ("zoo",)
"""Datasets that do not count in average ranks: hyperedges of Zoo are its classes."""


def rows(outcome: Outcome, command: str) -> list[dict[str, Any]]:
    """The rows of the results table for one model and dataset: accuracy, time and memory per run."""
    paper = PAPER.get(outcome.model, {}).get(outcome.dataset)
    kinds = (
        ("test", "accuracy", "validation", paper[0] if paper else None),
        ("seconds", "seconds_per_run", "none", None),
        ("peak_mb", "peak_mb", "none", None),
    )
    out: list[dict[str, Any]] = []
    for key, metric, selection, figure in kinds:
        counted = [record for record in outcome.records if record.get(key) is not None]
        about = provenance(
            command, seeds=[r["seed"] for r in counted], settings=outcome.settings, runs=outcome.records
        )
        if counted:
            out.append({
                "setting": outcome.dataset, "model": outcome.model, "selection": selection, "metric": metric,
                **summary([record[key] for record in counted]), "paper": figure, **about,
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
    """Average rank of each model; beside it the paper's, over the same models and datasets.

    Neither the datasets of `NOT_RANKED` count nor the recipes beyond the paper, which few models got.
    """
    ours = ranked(table_rows)
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


def accuracies(table_rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """``{model: {dataset: mean}}`` in the order of the paper's rows, ours after them."""
    found: dict[str, dict[str, float]] = {}
    for row in table_rows:
        if row["metric"] == "accuracy" and row["selection"] == "validation":
            found.setdefault(row["model"], {})[row["setting"]] = row["mean"]
    order = [*MODELS, *(name for name in found if name not in MODELS)]
    return {name: found[name] for name in order if name in found}


def ranked(table_rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """`accuracies` of the models and datasets that count in average ranks."""
    found = {model: row for model, row in accuracies(table_rows).items() if model not in RECIPES}
    return {m: {d: mean for d, mean in row.items() if d not in NOT_RANKED} for m, row in found.items()}


def markdown(table_rows: Sequence[Mapping[str, Any]]) -> str:
    """Ours ± standard deviation over runs, the paper's in brackets, as a Markdown table.

    It has the datasets of the rows; once these are all that can be had, the paper's other ones as well.
    """
    ours, cells = accuracies(table_rows), _cell_texts(table_rows)
    ranks = average_ranks(ranked(table_rows))
    there = {d for row in ours.values() for d in row}
    full = there.issuperset(set(DATASETS) - set(NOT_PUBLISHED))
    columns = [d for d in DATASETS if d in there or (full and d in NOT_PUBLISHED)]
    columns += sorted(there - set(columns))
    lines = ["| | " + " | ".join((*columns, "average rank")) + " |", "|---" * (len(columns) + 2) + "|"]
    for model in ours:
        texts = [cells.get((model, dataset), "–") + _quoted(model, dataset) for dataset in columns]
        rank = f"{ranks[model]:.1f}" if model in ranks else "–"
        lines.append(f"| {model} | " + " | ".join(texts) + f" | {rank} |")
    lines += ["", f"Mean ± standard deviation over {RUNS} runs, [or as many]; in round brackets the paper's."]
    absent = [d for d in columns if d not in there]
    if absent:
        fill = f"`ehnn reproduce nodes --datasets {' '.join(absent)} --data-dir DIR`"
        lines += [f"{', '.join(absent)}: {UNAVAILABLE}; with the files in DIR, {fill} fills them."]
    return "\n".join(lines) + "\n"


def in_one_line(found: Sequence[Mapping[str, Any]]) -> str:
    """The rows of one model and dataset in one line."""
    accuracy = found[0]
    paper = "" if accuracy["paper"] is None else f" (paper {accuracy['paper']:.2f})"
    cost = "".join(f", {r['mean']:.3g} {r['metric']}" for r in found[1:])
    return f"{shown(accuracy, 2)}{paper} over {accuracy['runs']} runs{cost}"


def _cell_texts(table_rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    return {
        (r["model"], r["setting"]): shown(r, 2) + (f" [{r['runs']}]" if r["runs"] != RUNS else "")
        for r in table_rows
        if r["metric"] == "accuracy" and r["selection"] == "validation"
    }


def _quoted(model: str, dataset: str) -> str:
    paper = PAPER.get(model, {}).get(dataset)
    return f" ({paper[0]:.2f} ± {paper[1]:.2f})" if paper else ""
