"""The sections of a run. Each is None or empty if the run has no data for it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .bars import Bar, columns, ranges, row_figure, tally_columns, tally_rows
from .frame import figure, switch, view
from .lines import line_figure, line_of
from .markup import Markup, tag
from .matrix import confusion_figure, scroll
from .members import members_figure, trials_figure
from .network import drawn, network_figure
from .runs import Run
from .scales import SPACE, counting, duration, linear, percent, short
from .settings import long_text


def metric_name(run: Run) -> str:
    """What the validation metric measures; accuracies of training are in percent."""
    classes = (run.test is not None and run.test.accuracy is not None) or "class" in (run.task or "").lower()
    valid = None if run.history is None else run.history.metrics.get("valid")
    likely = valid is not None and float(np.nanmin(valid)) >= 0  # several labels per node: a negative loss
    return run.metric or ("accuracy, %" if classes and likely else "metric, larger is better")


def unit(run: Run) -> str:
    return f"{SPACE}%" if metric_name(run).endswith("%") else ""


def share_on_test(run: Run) -> float | None:
    """Accuracy on test data in percent; of several splits, the mean."""
    tests = run.runs or ([] if run.test is None else [run.test])
    known = [100 * test.accuracy for test in tests if test.accuracy is not None]
    return float(np.mean(known)) if known else None


def mean_std(values: np.ndarray, unit: str = "") -> str:
    """A number, or mean ± sample standard deviation over runs; percentages with one digit."""
    known = values[~np.isnan(values)]
    if not len(known):
        return "–"
    mean, std = (
        f"{v:.1f}" if unit else short(float(v)) for v in (known.mean(), np.std(known, ddof=len(known) > 1))
    )
    return (mean if len(known) == 1 else f"{mean} ± {std}") + unit


def on_test(run: Run) -> tuple[str, str] | None:
    """Name and value of the figure on test data: of several splits, mean ± deviation of the test parts.

    Of a training's curves it is that at the epoch best on validation.
    """
    tests = run.runs or ([] if run.test is None else [run.test])
    several = f", {len(tests)} splits" if len(tests) > 1 else ""
    shares = [test.accuracy for test in tests if test.accuracy is not None]
    if tests and len(shares) == len(tests):
        return f"test accuracy{several}", mean_std(
            100 * np.array(shares), f"{SPACE}%"
        ) if several else percent(shares[0])
    if tests and tests[0].more:
        name = next(iter(tests[0].more))
        values = np.array([test.more.get(name, np.nan) for test in tests])
        return f"test {name.replace('_', ' ')}{several}", mean_std(values)
    chosen = None if run.history is None else run.history.selected("test")
    return None if chosen is None else ("test, chosen on validation", mean_std(chosen, unit(run)))


# ---------------------------------------------------------------------- figures at a glance


def tiles(run: Run) -> Markup | None:
    """The figures that one looks for first."""
    found = [(on_test(run) or ("", "")), *_training_tiles(run)]
    if run.data is not None:
        found += [(name, short(value)) for name, value in run.data.sizes.items()]
    found.append(("time", "" if run.seconds is None else duration(run.seconds)))
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in found if value]
    return tag("dl", *shown, class_="tiles") if shown else None


def _training_tiles(run: Run) -> list[tuple[str, str]]:
    if run.history is None:
        return []
    found = [("epochs", short(float(run.history.epochs[-1])))]
    best = run.history.best()
    if best is not None:
        found.insert(0, ("best validation", mean_std(best[1], unit(run))))
        epochs = run.history.epochs[best[0]]
        where = (
            short(float(epochs[0])) if len(set(epochs.tolist())) == 1 else f"{epochs.min()}–{epochs.max()}"
        )
        found.insert(1, ("in epoch", where))
    if run.history.runs > 1:
        found.append(("simultaneous runs", short(run.history.runs)))
    return found


# ---------------------------------------------------------------------- training and results


def curves(run: Run, place: int) -> list[Markup]:
    """Loss, and the validation (and test) metric, over epochs."""
    if run.history is None:
        return []
    figures = []
    loss = line_of(run.history, "loss", "loss", style=place, dash=0, run=place)
    if loss is not None:
        figures.append(line_figure("Training loss", [loss], "loss", f"loss-{place}", scales=True))
    lines = [
        line_of(run.history, key, name, style=place + i, dash=i, run=place)
        for i, (key, name) in enumerate((("valid", "validation"), ("test", "test")))
    ]
    there = [line for line in lines if line is not None]
    if there:
        title = "Validation and test" if len(there) > 1 else there[0].name.capitalize()
        figures.append(line_figure(title, there, metric_name(run), f"metric-{place}"))
    return figures


def results(run: Run, place: int) -> list[Markup]:
    """Confusion matrix, accuracy per class and per order."""
    test, found = run.test, [_figures(run)] if run.summary or (run.test and run.test.more) else []
    found += [members_figure(run.leaderboard)] if run.leaderboard else []
    found += [trials_figure(run.trials, metric_name(run))] if run.trials else []
    if test is None:
        return found
    if test.confusion is not None and len(test.confusion):
        found.append(confusion_figure(test.confusion, class_names(run), f"confusion-{place}"))
    if test.per_class:
        bars = tally_rows(test.per_class)
        found.append(row_figure("Accuracy per class", bars, "accuracy, %"))
    if test.per_order and (bars := tally_columns(test.per_order)):
        note = "A node counts to every order of its hyperedges." if "node" in (run.task or "") else None
        chart = columns("Accuracy per order", bars, "accuracy, %", "order of the hyperedge", linear(0, 100))
        found.append(figure("Accuracy per order", chart, note=note))
    return found


def _figures(run: Run) -> Markup:
    """Further figures as lines, as the run says them."""
    more = {} if run.test is None else run.test.more
    lines = run.summary or {name.replace("_", " "): short(value) for name, value in more.items()}
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", long_text(value))) for name, value in lines.items()
    ]
    return figure(
        "Figures", scroll(tag("table", tag("tbody", *rows), class_="settings"), "Figures"), wide=True
    )


def class_names(run: Run) -> list[str]:
    """Names of the classes of the confusion matrix: the labels, else those of the classes, else numbers."""
    size = 0 if run.test is None or run.test.confusion is None else len(run.test.confusion)
    for names in (run.labels or [], list(run.test.per_class) if run.test is not None else []):
        if len(names) == size:
            return names
    return [str(i) for i in range(size)]


# ---------------------------------------------------------------------- hypergraph


def structure(run: Run, place: int) -> list[Markup]:
    """The hypergraph drawn, and its orders and degrees."""
    found = []
    if run.hypergraph is not None and drawn(run.hypergraph):
        found.append(network_figure(run.hypergraph, run.labels or [], f"network-{place}"))
    if run.data is not None and run.data.orders:
        found.append(_distribution(run.data.orders, "order", "hyperedges", f"orders-{place}"))
    if run.data is not None and run.data.degrees:
        found.append(_distribution(run.data.degrees, "degree", "nodes", f"degrees-{place}"))
    return found


def _distribution(counts: Mapping[int, int], one: str, many: str, group: str) -> Markup:
    """How many there are of each; with a logarithmic axis to choose where some are rare."""
    title = f"{one.capitalize()}s of {many}"
    bars = [Bar(name, count, f"{one} {name}: {short(count)} {many}") for name, _, _, count in ranges(counts)]
    most, least = max(bar.value for bar in bars), min(bar.value for bar in bars)
    plain = linear(0, most, min(5, int(most)))  # no half nodes
    if most < 30 * least:
        return figure(title, columns(title, bars, many, one, plain))
    axes = {"linear": plain, "log": counting(int(most))}
    views = [
        view(name, columns(title, bars, many, one, axis), first=name == "linear")
        for name, axis in axes.items()
    ]
    return figure(title, *views, switch=switch(f"{title}: axis", group, list(axes)))


def notes(run: Run) -> Markup | None:
    """What could not be read."""
    if not run.notes:
        return None
    lines = tag("ul", *(tag("li", note) for note in run.notes))
    return tag("div", tag("p", "Some of this run could not be read and is left out:"), lines, class_="notes")
