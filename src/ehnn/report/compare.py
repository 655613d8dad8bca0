"""A comparison of several runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .bars import Bar, row_figure
from .frame import figure
from .lines import Line, line_figure, line_of
from .markup import Markup, tag
from .matrix import scroll
from .runs import Run
from .scales import duration, percent, short
from .sections import mean_std, metric_name, on_test, share_on_test, unit
from .settings import settings
from .theme import SERIES


def comparison(runs: Sequence[Run]) -> list[Markup]:
    """A table with a box to show or hide each run, curves and accuracies of all, and what differs."""
    metrics = list(dict.fromkeys(map(metric_name, runs)))  # unlike ones have no axis in common
    found = [_table(runs, len(metrics) > 1)]
    if lines := _lines(runs, "loss"):
        found.append(line_figure("Training loss", lines, "loss", "all-loss", scales=True))
    for i, metric in enumerate(metrics):
        if lines := _lines(runs, "valid", metric):
            found.append(line_figure("Validation", lines, metric, f"all-valid-{i}", scales=False))
    bars = _bars(runs, [share_on_test(run) for run in runs], lambda value: percent(value / 100))
    found += [row_figure("Test accuracy", bars, "accuracy, %")] if len(bars) > 1 else []
    bars = _bars(runs, [run.seconds for run in runs], duration)
    found += [row_figure("Time", bars, "seconds", max(bar.value for bar in bars))] if len(bars) > 1 else []
    different = _differences(runs)
    return found if different is None else [*found, different]


def _lines(runs: Sequence[Run], key: str, metric: str | None = None) -> list[Line]:
    """The curves of all runs, or of those of one metric."""
    points = max(60, min(400, 4000 // len(runs)))
    lines = [
        line_of(run.history, key, run.name, style=place, dash=place, run=place, points=points)
        for place, run in enumerate(runs)
        if run.history is not None and metric in (None, metric_name(run))
    ]
    return [line for line in lines if line is not None]


def _bars(runs: Sequence[Run], values: Sequence[float | None], write: Callable[[float], str]) -> list[Bar]:
    """A bar for each run that has a value."""
    return [
        Bar(run.name, value, f"{run.name}: {write(value)}", text=write(value), style=place, run=place)
        for place, (run, value) in enumerate(zip(runs, values, strict=True))
        if value is not None
    ]


COLUMNS = ("run", "model", "task", "best validation", "in epoch", "test", "time")


def _table(runs: Sequence[Run], mixed: bool) -> Markup:
    """``mixed``: the runs have different metrics, which are named beside their values."""
    head = tag("tr", *(tag("th", name, scope="col") for name in COLUMNS))
    rows = [
        tag("tr", *_fields(run, place, mixed), class_=f"s{place % SERIES}") for place, run in enumerate(runs)
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain runs")
    note = "Untick a run to hide it everywhere on this page."
    return figure("Runs", scroll(table, "Runs"), note=note, wide=True)


def _fields(run: Run, place: int, mixed: bool) -> list[Markup]:
    box = tag("input", type="checkbox", checked=True, data_shows=place, aria_label=f"Show {run.name}")
    swatch = tag("span", class_="swatch", aria_hidden="true")
    link = tag("a", run.name, href=f"#run-{place}")
    best = None if run.history is None else run.history.best()
    test = on_test(run)
    values = [run.model, run.task, None, None, test and (f"{test[1]} ({test[0]})" if mixed else test[1])]
    if best is not None and run.history is not None:
        epochs = np.unique(run.history.epochs[best[0]])
        values[2] = mean_std(best[1], unit(run)) + (f" ({metric_name(run)})" if mixed else "")
        values[3] = short(float(epochs[0])) if len(epochs) == 1 else f"{epochs[0]}–{epochs[-1]}"
    values.append(None if run.seconds is None else duration(run.seconds))
    first = tag("th", tag("div", box, swatch, link, class_="pick"), scope="row")
    return [first, *(tag("td", "–" if value is None else value) for value in values)]


def _differences(runs: Sequence[Run]) -> Markup | None:
    """The settings that two runs have with different values."""
    tables = [settings(run) for run in runs]
    keys = dict.fromkeys(key for table in tables for key in table)
    different = [key for key in keys if len({table[key] for table in tables if key in table}) > 1]
    if not different:
        return None
    head = tag(
        "tr", tag("th", "setting", scope="col"),
        *(tag("th", run.name, scope="col", data_run=place) for place, run in enumerate(runs)),
    )  # fmt: skip
    rows = [
        tag(
            "tr", tag("th", key, scope="row"),
            *(tag("td", table.get(key, "–"), data_run=place) for place, table in enumerate(tables)),
        )
        for key in different
    ]  # fmt: skip
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    return figure("Settings that differ", scroll(table, "Settings that differ"), wide=True)
