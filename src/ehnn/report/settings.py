"""How a run was configured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .markup import Markup, shorten, tag
from .matrix import scroll
from .runs import Run

LONG, MOST = 400, 20_000
"""Characters that are shown at first, and that are kept."""


def long_text(value: object) -> object:
    """A text as it is, or its beginning, which unfolds, where it is long."""
    text = str(value)
    if len(text) <= LONG:
        return value
    first = f"{text[: LONG // 2]}… ({len(text):,} characters)"
    whole = text if len(text) <= MOST else f"{text[:MOST]}…"
    return tag("details", tag("summary", first), tag("div", whole, class_="tall"))


def configuration(run: Run) -> Markup | None:
    """The settings as a table, and the command."""
    rows = [*settings(run).items(), ("ehnn", run.version)]
    cells = [
        tag("tr", tag("th", shorten(key, 80), scope="row"), tag("td", long_text(value)))
        for key, value in rows
        if value is not None
    ]
    if not cells and run.command is None:
        return None
    table = scroll(tag("table", tag("tbody", *cells), class_="settings"), "Settings") if cells else None
    command = (
        None if run.command is None else tag("div", tag("code", long_text(run.command)), class_="command")
    )
    return tag("div", command, table, class_="card wide")


def settings(run: Run) -> dict[str, str]:
    """Task, model and parameters by name, as text."""
    first = {"task": run.task, "model": run.model}
    return {key: value for key, value in first.items() if value is not None} | {
        key: value for key, value in flat(run.parameters).items() if key not in first or first[key] is None
    }


def flat(parameters: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Parameters by dotted name, as text.

    >>> flat({"lr": 0.001, "options": {"heads": 4}, "seeds": [0, 1], "amp": False, "patience": None})
    {'lr': '0.001', 'options.heads': '4', 'seeds': '0, 1', 'amp': 'no', 'patience': 'none'}
    """
    found: dict[str, str] = {}
    for key, value in parameters.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = _plain(value)
    return found


def _plain(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, list) and all(isinstance(v, (int, float, str)) for v in value):
        return ", ".join(map(str, value))
    return json.dumps(value) if isinstance(value, list) else str(value)
