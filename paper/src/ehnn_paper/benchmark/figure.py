"""The figure of average ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ehnn_paper.figures import COLOURS, new_figure, save_figure


def draw_ranks(average: Mapping[str, float], difference: float, path: Path) -> Path:
    """A dot for each model, best above; the band is the critical difference from the best one."""
    order = sorted(average, key=lambda model: average[model])
    figure = new_figure(figsize=(6.4, 0.6 + 0.32 * len(order)), dpi=150, layout="constrained")
    ax = figure.subplots()
    best = average[order[0]]
    ax.axvspan(best, best + difference, color="#EEEEEE", zorder=0, label="not told apart from the best (5 %)")
    for place, model in enumerate(order):
        colour = COLOURS[1] if model.startswith("ehnn") else "#777777"
        ax.plot([average[model]], [place], "o", color=colour)
        ax.annotate(
            f"{average[model]:.1f}", (average[model], place), (6, -3), textcoords="offset points", fontsize=8
        )
    ax.set_yticks(range(len(order)), order)
    ax.invert_yaxis()
    ax.set_xlabel("average rank, 1 is best")
    ax.set_xlim(1, max(len(order), best + difference + 0.5))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower right", frameon=False, fontsize=8)
    return save_figure(figure, path)
