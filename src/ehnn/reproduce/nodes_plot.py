"""Node classification: the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ehnn.io._figures import new_figure, save_figure

from .nodes_paper import DATASETS, PAPER
from .nodes_table import accuracies


def plot(table_rows: Sequence[Mapping[str, Any]], path: Path | str) -> Path:
    """Our accuracies (with the standard deviation) and the paper's (crosses), a panel for each dataset.

    The format is that of the ending of ``path``; the file is written whole or not at all.
    """
    ours = accuracies(table_rows)
    spread = {(r["model"], r["setting"]): r["std"] or 0 for r in table_rows if r["metric"] == "accuracy"}
    columns = [d for d in DATASETS if any(d in row for row in ours.values())] or [""]
    size = 2.2 * len(columns) + 1.6, 0.28 * len(ours) + 1.2
    figure = new_figure(figsize=size, dpi=150, layout="constrained")
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    for panel, dataset in zip(panels, columns, strict=True):
        _draw(panel, dataset, ours, spread)
    panels[0].set_yticks(range(len(ours)), list(ours), fontsize=8)
    panels[0].invert_yaxis()
    panels[0].legend(fontsize=7)
    return save_figure(figure, path)


def _draw(
    panel: Any, dataset: str, ours: Mapping[str, Mapping[str, float]], spread: Mapping[tuple[str, str], float]
) -> None:
    """One dataset: a line of the panel for each model."""
    shown = [(place, m) for place, m in enumerate(ours) if dataset in ours[m]]
    quoted = [(place, m) for place, m in shown if dataset in PAPER.get(m, {})]
    panel.errorbar(
        [ours[m][dataset] for _, m in shown], [place for place, _ in shown],
        xerr=[spread[m, dataset] for _, m in shown], fmt="o", ms=4, color="#0072B2", label="here",
    )  # fmt: skip
    panel.plot(
        [PAPER[m][dataset][0] for _, m in quoted], [place for place, _ in quoted],
        "x", color="black", label="paper",
    )  # fmt: skip
    panel.set_title(dataset, fontsize=9)
    panel.set_xlabel("test accuracy, %", fontsize=7)
    panel.tick_params(axis="x", labelsize=7)
    panel.grid(axis="x", alpha=0.3)
