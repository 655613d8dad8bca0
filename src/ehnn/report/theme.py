"""The style of a page: colours for light and dark mode, and the CSS and JavaScript files."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

SERIES = 8
"""Colours for runs and classes; the next ones begin again, with other dashes."""

COLOURS = {
    "page": ("#f5f6f8", "#0f1319"),
    "card": ("#ffffff", "#181d26"),
    "line": ("#dde1e7", "#2c3440"),
    "grid": ("#e9ecf0", "#262d38"),
    "control": ("#8a93a1", "#6c7889"),
    "text": ("#1a212c", "#e7ebf1"),
    "muted": ("#566070", "#9ea9b9"),
    "accent": ("#2459b8", "#7fb0ff"),
    "on-accent": ("#ffffff", "#0f1319"),
    "wrong": ("#b3261e", "#ff8a80"),
    "heat": ("36 89 184", "127 176 255"),
    "heat-most": ("0.55", "0.42"),
    "series-0": ("#2459b8", "#7fb0ff"),
    "series-1": ("#b8530a", "#f6a35f"),
    "series-2": ("#18794a", "#52c98d"),
    "series-3": ("#a8307f", "#f08fcf"),
    "series-4": ("#0b7382", "#4cc8da"),
    "series-5": ("#6644c7", "#b39dfa"),
    "series-6": ("#80542a", "#d9ab7d"),
    "series-7": ("#525d6c", "#aab5c4"),
}
"""(light, dark) by name."""


def style() -> str:
    """The style sheet: the colours as variables, then the rules."""
    light, dark = ("".join(f"--{k}:{pair[i]};" for k, pair in COLOURS.items()) for i in (0, 1))
    series = "".join(f".s{i}{{--c:var(--series-{i})}}" for i in range(SERIES))
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media(prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}"
        f":root[data-theme=light]{{color-scheme:light;{light}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        f"{series}\n{_file('page.css')}"
    )


def script() -> str:
    """The controls."""
    return _file("page.js")


def policy() -> str:
    """What a browser may do with the page: this style and this script, and nothing from anywhere else."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


@cache
def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")
