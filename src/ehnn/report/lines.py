"""Learning curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .frame import FRAME, HEIGHT, drawing, figure, rule, switch, view, word, x_label, y_axis
from .history import History, spread, thin
from .markup import Markup, join, tag
from .scales import Axis, brief, linear, logarithmic, short, whole
from .theme import SERIES

BAND = "A curve with a band is the mean of several runs; the band is from the smallest to the largest."
DASHES = (None, "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True)
class Line:
    """A curve: the mean over the runs of a training, and their smallest and largest values.

    Attributes:
        name: in the legend.
        style: number of its colour.
        dash: number of its dashes.
        run: number of the run it belongs to.
        x, mean, low, high: ``[points]``; NaN is a gap.
        runs: how many there are at each point.
        best: epoch and value to mark, or None.
    """

    name: str
    style: int
    dash: int
    run: int
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: int = 1
    best: tuple[float, float] | None = None


def line_of(
    history: History, metric: str, name: str, *, style: int, dash: int, run: int, points: int = 400
) -> Line | None:
    """The curve of a metric, thinned to about ``points`` points; None where it was not measured."""
    values = history.metrics.get(metric)
    if values is None:
        return None
    columns = spread(values)
    kept = thin(columns[0], points)
    mean, low, high = (column[kept] for column in columns)
    best, mark = history.best(), None
    if metric == "valid" and best is not None and len(best[0]) == 1 and np.isfinite(best[1][0]):
        mark = float(history.epochs[best[0][0]]), float(best[1][0])
    return Line(name, style, dash, run, history.epochs[kept], mean, low, high, values.shape[1], mark)


def line_figure(title: str, lines: Sequence[Line], label: str, group: str, scales: bool = False) -> Markup:
    """A figure with curves over epochs; ``scales`` adds a choice between linear and logarithmic."""
    positive = _positive(lines) if scales else None
    series = [
        {"name": line.name, "style": line.style % SERIES, "run": line.run, "x": line.x.tolist(),
         "y": [None if np.isnan(v) else float(f"{v:.5g}") for v in line.mean]}
        for line in lines
    ]  # fmt: skip
    if positive is None:
        charts, choice = [_chart(title, lines, _linear(lines), label)], None
    else:
        choice = switch(f"{title}: axis", group, ("linear", "log"))
        axes = {"linear": _linear(lines), "log": logarithmic(*positive)}
        charts = [
            view(name, _chart(title, lines, axis, label), first=name == "linear")
            for name, axis in axes.items()
        ]
    several = max(line.runs for line in lines)
    note = BAND if several > 1 else None
    keys = _legend(lines) if len(lines) > 1 else None
    data = json.dumps(series, separators=(",", ":"), allow_nan=False)
    return figure(title, *charts, keys, note=note, switch=choice, data_lines=data)


def _linear(lines: Sequence[Line]) -> Axis:
    low, high = np.concatenate([l.low for l in lines]), np.concatenate([l.high for l in lines])
    return linear(float(np.nanmin(low)), float(np.nanmax(high)))


def _positive(lines: Sequence[Line]) -> tuple[float, float] | None:
    """The range of a logarithmic axis; None where a value is not above 0."""
    low, high = np.concatenate([l.low for l in lines]), np.concatenate([l.high for l in lines])
    smallest = float(np.nanmin(low))
    return (smallest, float(np.nanmax(high))) if smallest > 1e-30 else None


def _chart(title: str, lines: Sequence[Line], y: Axis, label: str) -> Markup:
    x = whole(min(int(l.x[0]) for l in lines), max(int(l.x[-1]) for l in lines))
    ticks = [
        word(brief(tick), FRAME.x(x.place(tick)), FRAME.bottom + 17, anchor="middle") for tick in x.ticks
    ]
    axes = join([y_axis(y, label), *ticks, x_label("epoch")])
    base = rule(FRAME.left, FRAME.bottom, FRAME.right, FRAME.bottom, "base")
    curves = [_curve(line, x, y) for line in lines]
    cursor = tag("g", rule(0, FRAME.top, 0, FRAME.bottom, "hair"), class_="cursor", hidden=True)
    frame = f"{FRAME.left} {FRAME.right} {FRAME.top} {FRAME.bottom} {x.low} {x.high} {y.low} {y.high}"
    return drawing(
        axes, base, *curves, cursor, label=f"{title}. {_said(lines)} Arrow keys read the values.",
        height=HEIGHT, tabindex=0, data_frame=f"{frame} {int(y.log)}", class_="lines",
    )  # fmt: skip


def _curve(line: Line, x: Axis, y: Axis) -> Markup:
    across = [FRAME.x(x.place(float(v))) for v in line.x]
    mean, low, high = (
        [None if np.isnan(v) else FRAME.y(y.place(float(v))) for v in column]
        for column in (line.mean, line.low, line.high)
    )
    parts: list[Markup] = [tag("title", line.name)]
    if line.runs > 1:
        parts.append(tag("path", d=_band(across, low, high), class_="band"))
    parts.append(tag("path", d=_path(across, mean), class_="curve", stroke_dasharray=_dash(line)))
    if line.best is not None:
        words = f"{line.name}: best on validation in epoch {short(line.best[0])}, {short(line.best[1])}"
        place = {"cx": FRAME.x(x.place(line.best[0])), "cy": FRAME.y(y.place(line.best[1]))}
        parts.append(tag("circle", tag("title", words), **place, r=4, class_="best"))
    return tag("g", *parts, class_=f"s{line.style % SERIES}", data_run=line.run)


def _dash(line: Line) -> str | None:
    return DASHES[line.dash % len(DASHES)]


def _path(across: Sequence[float], up: Sequence[float | None]) -> str:
    """Straight lines between neighbours; a point with no value is a gap."""
    parts, pen = [], "M"
    for a, b in zip(across, up, strict=True):
        if b is None:
            pen = "M"
            continue
        parts.append(f"{pen}{a:g} {b:g}")
        pen = "L"
    return "".join(parts) + ("h0" if len(parts) == 1 else "")  # a lone point is drawn by its round caps


def _band(across: Sequence[float], low: Sequence[float | None], high: Sequence[float | None]) -> str:
    known = [(a, b, c) for a, b, c in zip(across, low, high, strict=True) if b is not None and c is not None]
    there = [f"{a:g} {c:g}" for a, _, c in known]
    back = [f"{a:g} {b:g}" for a, b, _ in reversed(known)]
    return "M" + "L".join(there + back) + "Z"


def _legend(lines: Sequence[Line]) -> Markup:
    entries = [
        tag("li", _key(line), line.name, class_=f"s{line.style % SERIES}", data_run=line.run)
        for line in lines
    ]
    return tag("ul", *entries, class_="legend")


def _key(line: Line) -> Markup:
    stroke = tag("path", d="M1 5H23", class_="curve", stroke_dasharray=_dash(line))
    return tag("svg", stroke, viewBox="0 0 24 10", width=24, height=10, aria_hidden="true")


def _said(lines: Sequence[Line]) -> str:
    """The curves in words: where each begins and ends."""
    ends = []
    for line in lines[:8]:
        known = np.flatnonzero(~np.isnan(line.mean))
        places = known[[0, -1]]
        said = [f"{short(y)} in epoch {x}" for x, y in zip(line.x[places], line.mean[places], strict=True)]
        ends.append(f"{line.name}: {', '.join(said)}.")
    return " ".join(ends)
