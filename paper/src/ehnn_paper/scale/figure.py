"""Figures of the benchmarks, drawn from the tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ehnn_paper.figures import new_figure, save_figure
from ehnn_paper.measure.roofline import work_of
from ehnn_paper.measure.tables import Say
from ehnn_paper.results import read_rows

_SIZE = re.compile(r"(\d+e\d+) incidences, (.+)")


def draw_scale(out: Path, say: Say = print) -> None:
    """``scale.png``: time and memory against incidences with a line of slope 1, from ``scale.json``."""
    try:
        figure = new_figure(figsize=(11, 4.2), dpi=110, layout="constrained")
    except ImportError as error:
        say(f"no figure: {error}")
        return
    rows = read_rows("scale", out)
    panels = figure.subplots(1, 2)
    for axes, metric, title in (
        (panels[0], "total_ms", "EHNN-MLP, forward and backward (ms)"),
        (panels[1], "peak_mb", "peak memory (MB)"),
    ):
        _draw(axes, _curves(rows, metric), title)
    save_figure(figure, out / "scale.png")


def draw_performance(out: Path, say: Say = print) -> None:
    """``performance.png``: time per incidence on a GPU against size, from ``scale`` and ``gpu-kernels``.

    Nothing is drawn without rows of a GPU. The roofline is the time in which a copy moves the bytes that an
    EHNN-MLP pair needs.
    """
    try:
        figure = new_figure(figsize=(7.5, 4.4), dpi=110, layout="constrained")
    except ImportError as error:
        say(f"no figure: {error}")
        return
    rows = [
        row for row in (*read_rows("scale", out), *read_rows("gpu-kernels", out)) if "cuda" in row["setting"]
    ]
    curves = {
        name: [(size, 1e6 * ms / size) for size, ms in points]
        for name, points in (_curves(rows, "total_ms") | _curves(rows, "eager_ms")).items()
        if name.startswith(("ehnn-mlp", "hgnn", "pyg")) and name.endswith(("cuda", "highest"))
    }
    if not curves:
        return
    axes = figure.subplots()
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    copy = [row["mean"] for row in rows if (row["model"], row["metric"]) == ("copy", "gb_per_s")]
    if copy:
        least = _bytes_per_incidence() / copy[-1]
        axes.axhline(least, color="grey", linestyle="--", label=f"roofline of EHNN-MLP, {least:.2f} ns")
    axes.set(xscale="log", yscale="log", xlabel="incidences", title="forward and backward, ns per incidence")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    save_figure(figure, out / "performance.png")


def _bytes_per_incidence(size: int = 10**5, width: int = 64) -> float:
    from .scale import made_hypergraph

    h = made_hypergraph(size, "cpu")
    return work_of("ehnn-mlp", h, width).step.bytes / h.num_incidences


def _curves(rows: list[dict[str, Any]], metric: str) -> dict[str, list[tuple[float, float]]]:
    """Points (incidences, value) by model and device."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        found = _SIZE.fullmatch(row["setting"])
        if found and row["metric"] == metric:
            name = f"{row['model']}, {found[2]}"
            curves.setdefault(name, []).append((float(found[1]), row["mean"]))
    return {name: sorted(points) for name, points in sorted(curves.items())}


def _draw(axes: Any, curves: dict[str, list[tuple[float, float]]], title: str) -> None:
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    if curves:
        x, y = max(points[-1] for points in curves.values())
        low = min(points[0][0] for points in curves.values())
        axes.plot([low, x], [y * low / x, y], color="grey", linestyle="--", label="slope 1")
        axes.legend(frameon=False, fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="incidences", title=title)
    axes.grid(True, which="major", alpha=0.3)
