"""Figures: learning curves, and accuracy by marked order with the orders never seen in training shaded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from ehnn_paper.experiment import Cell
from ehnn_paper.figures import COLOURS, new_figure, save_figure

_GREYS = ("#777777", "#AAAAAA")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_MAIN = ("ehnn-mlp", "ehnn-transformer", "all-deep-sets", "all-set-transformer")
_UNSEEN = "#F3E9D8"


def draw_k_edge(cells: Sequence[Cell], path: Path) -> None:
    """Write a PNG with a column per setting: test accuracy over epochs above, by marked order below.

    Above: the median of the runs, and their quartiles as a band. Below: the mean of the runs.

    ``extra["orders"]`` of a cell holds the orders of its training hypergraphs, ``extra["by_order"]`` the
    accuracies of its runs at each marked order.
    """
    settings = list(dict.fromkeys(cell["setting"] for cell in cells))
    if not settings:
        raise ValueError("cells must hold at least one cell to draw, got none")
    styles = _styles(list(dict.fromkeys(cell["model"] for cell in cells)))
    figure = new_figure(figsize=(1.2 + 3.9 * len(settings), 6.6), dpi=150, layout="constrained")
    axes = figure.subplots(2, len(settings), squeeze=False, sharey=True)
    for column, setting in enumerate(settings):
        here = [cell for cell in cells if cell["setting"] == setting]
        _curves(axes[0][column], here, styles)
        _by_order(axes[1][column], here, styles)
        axes[0][column].set_title(setting)
    for row in axes:
        row[0].set_ylabel("test accuracy, %")
    axes[0][0].set_ylim(_floor(cells), 101)
    _legend(figure, axes)
    save_figure(figure, path)


def _curves(ax: Any, cells: Sequence[Cell], styles: dict[str, dict[str, Any]]) -> None:
    for cell in cells:
        epochs, test = cell["curves"]["epoch"], cell["curves"]["test"]
        style = {k: v for k, v in styles[cell["model"]].items() if k != "marker"}
        ax.plot(epochs, [median(row) for row in test], label=cell["model"], **style)
        if len(test[0]) > 1:
            low, _, high = zip(*(quantiles(row, method="inclusive") for row in test), strict=True)
            ax.fill_between(epochs, low, high, color=style["color"], alpha=0.12, linewidth=0)
    ax.set_xlabel("epoch")
    ax.xaxis.get_major_locator().set_params(integer=True)
    _plain(ax)


def _by_order(ax: Any, cells: Sequence[Cell], styles: dict[str, dict[str, Any]]) -> None:
    for cell in cells:
        by_order = {int(k): v for k, v in cell["extra"]["by_order"].items()}
        means = _means(list(by_order.values()))
        ax.plot(list(by_order), means, label=cell["model"], markersize=4, **styles[cell["model"]])
    orders = sorted({int(k) for cell in cells for k in cell["extra"]["by_order"]})
    unseen = [k for k in orders if k not in cells[0]["extra"]["orders"]]
    for k in unseen:
        ax.axvspan(k - 0.5, k + 0.5, color=_UNSEEN, zorder=0, linewidth=0)
    if unseen:
        ax.set_title("shaded: orders never seen in training", fontsize=9, color="#8A6D3B")
    ax.set_xticks(orders)
    ax.set_xlabel("order of the marked hyperedge")
    _plain(ax)


def _styles(models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Baselines grey, ours in colour; an improved variant has the colour of its model and a broken line."""
    colours, greys, marks = cycle(COLOURS), cycle(_GREYS), cycle(_MARKS)
    found: dict[str, dict[str, Any]] = {}
    for model in sorted(models, key=lambda m: m.rstrip("+") not in _MAIN):  # these look alike in every figure
        base = model.rstrip("+")
        if model != base and base in found:
            found[model] = found[base] | {"linestyle": (0, (4, 1.5))}
        else:
            colour = next(colours if model.startswith("ehnn") else greys)
            found[model] = {"color": colour, "marker": next(marks), "linestyle": "-", "linewidth": 1.6}
    return found


def _floor(cells: Sequence[Cell]) -> float:
    """Where the axis begins: below all that was learned; the first epochs may start from below it."""
    late = [min(_means(c["curves"]["test"][len(c["curves"]["test"]) // 2 :])) for c in cells]
    orders = [min(_means(list(c["extra"]["by_order"].values()))) for c in cells]
    return max(0.0, min(70.0, *late, *orders) - 3)


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(row) / len(row) for row in rows]


def _plain(ax: Any) -> None:
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _legend(figure: Any, axes: Any) -> None:
    """One legend below, of the models of all columns."""
    found: dict[str, Any] = {}
    for ax in axes[1]:
        names = [line.get_label() for line in ax.lines]
        found |= dict(zip(names, ax.lines, strict=True))
    columns = min(len(found), 2 + 2 * len(axes[0]) if len(axes[0]) > 1 else 2)
    figure.legend(
        found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )
