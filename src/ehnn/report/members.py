"""Tables of models: the members of a portfolio, and the trials of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .frame import figure
from .markup import Markup, shorten, tag
from .matrix import scroll
from .scales import duration, percent, short

MOST = 30
"""Rows that are shown."""
FIGURES = {
    "accuracy": "accuracy", "macro_f1": "macro-F1", "auroc": "AUROC", "log_loss": "log loss", "r2": "R²",
    "mse": "mean squared error", "seconds": "time", "weight": "weight",
}  # fmt: skip


def members_figure(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """The members that were compared, with their figures on labels that they were not trained on."""
    there = [name for name in FIGURES if any(number(row.get(name)) is not None for row in rows)]
    head = ["model", *(FIGURES[name] for name in there)]
    body = [
        [str(row.get("member", "")), *(_told(name, row.get(name)) for name in there)] for row in rows[:MOST]
    ]
    note = "On labels that a model was not trained on. The average weighs the models as in the last column."
    return figure("Models compared", table(head, body, "Models compared"), note=note, wide=len(there) > 3)


def trials_figure(rows: Sequence[Mapping[str, Any]], metric: str) -> Markup:
    """The best trials of a search, and what they were judged by."""
    ordered = sorted(rows, key=lambda row: -(number(row.get("value")) or float("-inf")))[:MOST]
    names = list(dict.fromkeys(name for row in ordered for name in _settings(row)))
    head = ["trial", metric, *names]
    body = [
        [
            str(row.get("number", "")),
            _told("value", row.get("value")),
            *(str(_settings(row).get(n, "")) for n in names),
        ]
        for row in ordered
    ]
    best = f"The best {len(body)} of {len(rows)} trials. " if len(rows) > len(body) else ""
    note = f"{best}On validation labels, which a trial was not trained on."
    return figure("Search", table(head, body, "Search"), note=note, wide=True)


def _settings(row: Mapping[str, Any]) -> Mapping[str, Any]:
    found = row.get("params")
    return found if isinstance(found, Mapping) else {}


def table(head: Sequence[str], body: Sequence[Sequence[str]], label: str) -> Markup:
    """Lines of cells; the first cell names the line."""
    top = tag("tr", *(tag("th", name, scope="col") for name in head))
    rows = [
        tag(
            "tr",
            tag("th", shorten(line[0], 40), scope="row", title=line[0]),
            *(tag("td", shorten(c, 40)) for c in line[1:]),
        )
        for line in body
    ]
    return scroll(tag("table", tag("thead", top), tag("tbody", *rows), class_="plain"), label)


def number(value: Any) -> float | None:
    """A number, or None for anything else."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _told(name: str, value: Any) -> str:
    found = number(value)
    if found is None:
        return ""
    if name in ("accuracy", "macro_f1", "auroc", "weight"):
        return percent(found)
    return duration(found) if name == "seconds" else short(found)
