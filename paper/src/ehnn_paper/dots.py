"""Dot plots of many models: EHNN and the best competitor in colour, the others grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ehnn_paper.figures import new_figure, save_figure

Values = Mapping[str, Mapping[str, float]]
"""``values[model][category]``, in percent."""
BEST = ("#000000", "D")
LOOKS = {
    "ehnn-mlp": ("#56B4E9", "o"),
    "ehnn-transformer": ("#0072B2", "o"),
    "ehnn-mlp+": ("#E69F00", "s"),
    "ehnn-transformer+": ("#D55E00", "s"),
    "mlp+": ("#CC79A7", "^"),
    "all-set-transformer+": ("#009E73", "v"),
}
"""Colour and mark; other models are grey."""
_SHIFTS = {
    "ehnn-mlp": -0.24, "ehnn-transformer": -0.12, "ehnn-mlp+": 0.12, "ehnn-transformer+": 0.24, "mlp+": 0.24,
    "all-set-transformer+": 0.36,
}  # fmt: skip
"""Up or down from the line of the category, so that equal values do not cover each other."""
_GREY = "#BBBBBB"
_WIDTH = 8.3  # inches: the width of a README at 100 dots per inch


def draw_dots(values: Values, path: Path | str, xlabel: str, least: float | None = None) -> Path:
    """Write a PNG with a line for each category and a dot for each model; the mean is the last line.

    The competitor with the best mean is highlighted in every line. Values below ``least`` are drawn at the
    edge, as arrows.
    """
    categories = categories_of(values)
    rows = {model: {**row, "mean": row.get("mean", _mean(row))} for model, row in values.items() if row}
    best = max(competitors(rows), key=lambda m: rows[m]["mean"], default=None)
    figure, axes = _begin([*categories, "mean"])
    axes.axhline(len(categories) - 0.5, color="#888888", linewidth=0.8)
    for model, row in rows.items():
        name, colour, mark = _look(model, best)
        points = [
            (row[c], y + _SHIFTS.get(model, 0)) for y, c in enumerate([*categories, "mean"]) if c in row
        ]
        _dots(axes, points, name, colour, mark, least)
    return _end(figure, axes, path, xlabel)


def draw_lead(values: Values, path: Path | str, xlabel: str, least: float) -> Path:
    """Write a PNG with a line for each category: points above the best competitor in that category.

    The name and the value of the best competitor stand on the right. Models more than ``-least`` points
    behind are drawn at the edge, as arrows.
    """
    categories = categories_of(values)
    figure, axes = _begin(categories)
    best: dict[str, tuple[float, str]] = {}
    for category in categories:
        here = [(values[m][category], m) for m in competitors(values) if category in values[m]]
        best[category] = max(here, default=(0.0, ""))
    for model, row in values.items():
        name, colour, mark = _look(model, None)
        points = [
            (row[c] - best[c][0], y + _SHIFTS.get(model, 0)) for y, c in enumerate(categories) if c in row
        ]
        _dots(axes, points, name, colour, mark, least)
    axes.axvline(0, color=BEST[0], linewidth=1)
    _dots(axes, [(0.0, y) for y in range(len(categories))], "best competitor", *BEST, least)
    for y, category in enumerate(categories):
        value, name = best[category]
        axes.annotate(
            f"{name} {value:.1f}", (1.01, y), xycoords=("axes fraction", "data"), va="center", size=9
        )
    return _end(figure, axes, path, xlabel)


def categories_of(values: Values) -> list[str]:
    """The categories of all models, without the mean."""
    found = list(dict.fromkeys(c for row in values.values() for c in row if c != "mean"))
    if not found:
        raise ValueError("values must hold a model with a category, got none")
    return found


def competitors(values: Values) -> list[str]:
    """The models that are not ours: neither EHNN nor another model with our inputs (+)."""
    return [m for m in values if not m.startswith("ehnn") and not m.endswith("+")]


def _mean(row: Mapping[str, float]) -> float:
    return sum(row.values()) / len(row)


def _look(model: str, best: str | None) -> tuple[str, str, str]:
    """Name in the legend, colour and mark."""
    if model == best:
        return f"{model} (best competitor)", *BEST
    return (model, *LOOKS[model]) if model in LOOKS else ("other models", _GREY, "o")


def _begin(lines: Sequence[str]) -> tuple[Any, Any]:
    figure = new_figure(figsize=(_WIDTH, 1.4 + 0.36 * len(lines)), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(lines)), lines, fontsize=10)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.grid(axis="x", color="#E5E5E5")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    for y in range(len(lines)):
        axes.axhline(y, color="#F0F0F0", linewidth=0.8, zorder=0)
    return figure, axes


def _dots(
    axes: Any, points: list[tuple[float, float]], name: str, colour: str, mark: str, least: float | None
) -> None:
    grey = colour == _GREY
    look = {"color": colour, "zorder": 2 if grey else 3, "alpha": 0.8 if grey else 1.0, "linewidths": 0.5}
    edge = {"edgecolors": "white", "s": 30 if grey else 50}
    inside = [(x, y) for x, y in points if least is None or x >= least]
    below = [(least, y) for x, y in points if least is not None and x < least]
    if inside:
        axes.scatter(*zip(*inside, strict=True), marker=mark, label=name, **look, **edge)
    if below:
        axes.scatter(*zip(*below, strict=True), marker="<", **look, **edge)


def _end(figure: Any, axes: Any, path: Path | str, xlabel: str) -> Path:
    axes.set_xlabel(xlabel)
    handles, names = axes.get_legend_handles_labels()
    found = dict(zip(names, handles, strict=True))
    grey = {n: h for n, h in found.items() if n == "other models"}
    found = {n: h for n, h in found.items() if n not in grey} | grey
    figure.legend(
        found.values(), found.keys(), loc="outside upper center", ncols=3, frameon=False, fontsize=9
    )
    return save_figure(figure, Path(path))
