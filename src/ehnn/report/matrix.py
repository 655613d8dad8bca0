"""The confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .frame import WIDTH, drawing, figure, switch, word
from .markup import Markup, join, shorten, tag
from .scales import percent

TABLE = 20
"""Classes that fit into a table of numbers; more are a picture and the commonest mistakes."""
MISTAKES, CELLS = 15, 2000


def confusion_figure(confusion: np.ndarray, labels: Sequence[str], group: str) -> Markup:
    """Rows are true, columns predicted: a table with counts or percentages, or a picture if it is large."""
    if len(confusion) <= TABLE:
        choice = switch("Confusion matrix: numbers", group, ("counts", "percent"))
        note = "Rows are true classes, columns predicted ones; shade and percentages are shares of a row."
        wide = len(confusion) > 8
        return figure("Confusion matrix", _table(confusion, labels), note=note, switch=choice, wide=wide)
    note = f"{len(confusion)} classes: rows are true, columns predicted; the shade is the share of a row."
    parts = [figure("Confusion matrix", _picture(confusion, labels), note=note)]
    if np.trace(confusion) < confusion.sum():
        parts.append(figure("Commonest mistakes", _mistakes(confusion, labels)))
    return join(parts)


def _shares(confusion: np.ndarray) -> np.ndarray:
    return confusion / np.maximum(confusion.sum(1, keepdims=True), 1)


def _table(confusion: np.ndarray, labels: Sequence[str]) -> Markup:
    shares = _shares(confusion)
    upright = "upright" if max(map(len, labels)) > 5 else None
    names = [
        tag("th", tag("span", shorten(name, 16)), scope="col", title=name, class_=upright) for name in labels
    ]
    corner = tag("td", "true ↓ predicted →", class_="corner")
    rows = [
        tag(
            "tr",
            tag("th", shorten(name, 20), scope="row", title=name),
            *(_cell(confusion[i], shares[i], i, j, labels) for j in range(len(labels))),
        )
        for i, name in enumerate(labels)
    ]
    table = tag("table", tag("thead", tag("tr", corner, *names)), tag("tbody", *rows), class_="confusion")
    return scroll(table, "Confusion matrix")


def _cell(counts: np.ndarray, shares: np.ndarray, i: int, j: int, labels: Sequence[str]) -> Markup:
    count, share = int(counts[j]), float(shares[j])
    whole = int(counts.sum())
    words = f"true {labels[i]}, predicted {labels[j]}: {count} of {whole} ({percent(share)})"
    kind = "right" if i == j else ("miss" if count else "none")
    return tag(
        "td",
        tag("span", count, data_view="counts"),
        tag("span", f"{100 * share:.0f}" if whole else "–", data_view="percent", hidden=True),
        title=words, class_=kind, style=f"--share:{share:.3f}" if count else None,
    )  # fmt: skip


def scroll(table: Markup, label: str) -> Markup:
    """A box in which a wide table scrolls, also with the keyboard."""
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=label)


def _picture(confusion: np.ndarray, labels: Sequence[str]) -> Markup:
    shares, size, side = _shares(confusion), len(confusion), WIDTH - 40
    cell = side / size
    i, j = np.nonzero(confusion)
    largest = np.argsort(-confusion[i, j], kind="stable")[:CELLS]
    squares = [
        tag(
            "rect",
            tag("title", f"true {labels[a]}, predicted {labels[b]}: {confusion[a, b]}"),
            x=f"{30 + b * cell:.1f}", y=f"{24 + a * cell:.1f}", width=f"{cell:.1f}", height=f"{cell:.1f}",
            fill_opacity=f"{max(shares[a, b], 0.08):.2f}", class_="heat",
        )
        for a, b in zip(i[largest].tolist(), j[largest].tolist(), strict=True)
    ]  # fmt: skip
    box = tag("rect", x=30, y=24, width=side, height=side, class_="box")
    names = [word("predicted", 30 + side / 2, 14, "axis", "middle")]
    turned = tag("text", "true", transform=f"translate(18 {24 + side / 2}) rotate(-90)", class_="axis",
                 text_anchor="middle")  # fmt: skip
    right = int(np.trace(confusion))
    return drawing(
        box, *squares, *names, turned, height=side + 30,
        label=f"Confusion matrix of {size} classes: {right} of {confusion.sum()} on the diagonal",
    )  # fmt: skip


def _named(label: str) -> Markup:
    return tag("td", shorten(label, 40), title=label)


def _mistakes(confusion: np.ndarray, labels: Sequence[str]) -> Markup:
    off = confusion.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-off, axis=None, kind="stable")[:MISTAKES]
    places = [divmod(int(place), len(off)) for place in order if off.flat[place]]
    rows = [tag("tr", _named(labels[i]), _named(labels[j]), tag("td", int(off[i, j]))) for i, j in places]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("true", "predicted", "times")))
    return scroll(tag("table", tag("thead", head), tag("tbody", *rows), class_="plain"), "Commonest mistakes")
