"""What moved predictions, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .frame import figure
from .markup import Markup, shorten
from .members import number, table
from .runs import Run
from .scales import percent, short

MOST, LINES = 12, 10
"""Rows that are shown, and effects of each."""


def explanation_figures(run: Run) -> list[Markup]:
    """A card for each row that was explained, the last ones that `ehnn explain` was asked for."""
    return [_card(row) for row in run.explanations[-MOST:]]


def _card(row: Mapping[str, Any]) -> Markup:
    odds = row.get("unit") != "number"
    value = number(row.get("value"))
    text = "" if value is None else percent(value) if odds else short(value)
    target = f"p({shorten(str(row.get('target')), 40)}) = {text}" if odds else text
    found = row.get("contributions")
    parts = [p for p in found if isinstance(p, Mapping)] if isinstance(found, Sequence) else []
    body = [_line(part, odds) for part in parts[:LINES]]
    head = ["name", "kind", "effect", "", "without it"]
    name = row.get("row")
    who = " in ".join(map(str, name)) if isinstance(name, list) else str(name)
    title = f"Why {shorten(who, 60)}: {shorten(str(row.get('prediction')), 40)}"
    unit = "Effects on the log-odds" if odds else "Effects on the number"
    note = f"{target}. {unit} of leaving out one thing at a time."
    return figure(title, table(head, body, title), note=note, wide=True)


def _line(part: Mapping[str, Any], odds: bool) -> list[str]:
    effect, left = number(part.get("effect")), number(part.get("without"))
    shown = "" if effect is None else f"{effect:+.2f}" if odds else f"{effect:+.4g}"
    after = "" if left is None else percent(left) if odds else short(left)
    texts = (str(part.get(key, "")) for key in ("name", "kind"))
    return [*texts, shown, str(part.get("detail", "")), after]
