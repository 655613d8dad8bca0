"""Bar charts: vertical for orders and degrees, horizontal for classes and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .frame import FRAME, HEIGHT, WIDTH, drawing, figure, rule, word, x_label, y_axis
from .markup import Markup, shorten, tag
from .parts import Tally
from .scales import SPACE, Axis, brief, linear, percent
from .theme import SERIES

MOST = 24
"""Upright bars beside each other; more values are put together in ranges."""
LONGEST = 17
"""Letters of a name at the left of a lying bar."""


@dataclass(frozen=True)
class Bar:
    """A value with its name.

    Attributes:
        title: what is said when it is pointed at.
        text: written beside the bar.
        style: number of its colour; None: that of the run it stands in.
        run: number of the run it belongs to.
    """

    name: str
    value: float
    title: str
    text: str | None = None
    style: int | None = None
    run: int | None = None


# ---------------------------------------------------------------------- upright


def columns(
    title: str, bars: Sequence[Bar], label: str, below: str, axis: Axis | None = None, even: bool = False
) -> Markup:
    """Upright bars, with ``label`` on the y axis and ``below`` under the x axis.

    The axis begins at 0 unless one is given; ``even`` draws a line across at 1.
    """
    axis = axis or linear(0, max(bar.value for bar in bars) or 1)
    step = (FRAME.right - FRAME.left) / len(bars)
    wide = min(step * 0.72, 46)
    drawn = [_column(bar, FRAME.left + (i + 0.5) * step, wide, axis) for i, bar in enumerate(bars)]
    longest = max(len(bar.name) for bar in bars)
    every = -(-(longest * 7 + 8) // int(step))
    dense = longest * 8.5 + 8 > step * every  # letters are larger on a phone, which hides every second
    names = [
        word(
            bar.name, round(FRAME.left + (i + 0.5) * step, 1), FRAME.bottom + 17,
            "tick odd" if dense and i // every % 2 else "tick", "middle",
        )
        for i, bar in enumerate(bars)
        if i % every == 0
    ]  # fmt: skip
    base = rule(FRAME.left, FRAME.bottom, FRAME.right, FRAME.bottom, "base")
    one = (
        rule(FRAME.left, FRAME.y(axis.place(1)), FRAME.right, FRAME.y(axis.place(1)), "mark")
        if even
        else None
    )
    said = "; ".join(bar.title for bar in bars)
    return drawing(y_axis(axis, label), *drawn, base, one, *names, x_label(below), label=f"{title}. {said}")


def _column(bar: Bar, middle: float, wide: float, axis: Axis) -> Markup:
    y = FRAME.y(axis.place(bar.value))
    box = tag(
        "rect", x=round(middle - wide / 2, 1), y=y, width=round(wide, 1), height=round(FRAME.bottom - y, 1),
        rx=2, class_="bar",
    )  # fmt: skip
    return tag("g", tag("title", bar.title), box, class_=_colour(bar))


def _colour(bar: Bar) -> str | None:
    return None if bar.style is None else f"s{bar.style % SERIES}"


def ranges(counts: Mapping[int, int]) -> list[tuple[str, int, int, int]]:
    """(name, first, last, count) of each value, or of ranges that double where there are many values.

    >>> ranges({1: 5, 2: 3})
    [('1', 1, 1, 5), ('2', 2, 2, 3)]
    >>> ranges({i: 1 for i in range(1, 41)})[-2:]
    [('16–31', 16, 31, 16), ('32–40', 32, 40, 9)]
    """
    if len(counts) <= MOST:
        return [(brief(value), value, value, count) for value, count in counts.items()]
    groups: dict[int, list[int]] = {}
    for value in counts:
        groups.setdefault(max(value, 0).bit_length(), []).append(value)
    last = max(counts)
    found = []
    for bits, values in groups.items():
        low, high = (1 << bits) >> 1, min((1 << bits) - 1, last)
        name = brief(low) if low == high else f"{brief(low)}–{brief(high)}"
        found.append((name, low, high, sum(counts[value] for value in values)))
    return found


def tally_columns(tally: Tally) -> list[Bar]:
    """Accuracy in percent for each order, with orders put together where there are many."""
    totals = ranges({int(order): total for order, (_, total) in tally.items()})
    bars = []
    for name, low, high, total in totals:
        right = sum(hits for order, (hits, _) in tally.items() if low <= int(order) <= high)
        if total:
            words = f"order {name}: {right} of {total} right ({percent(right / total)})"
            bars.append(Bar(name, 100 * right / total, words))
    return bars


# ---------------------------------------------------------------------- lying


def row_figure(title: str, bars: Sequence[Bar], label: str, high: float = 100) -> Markup:
    """Lying bars from 0 to ``high``, one under the other, each with its name at its left."""
    longest = min(max(len(bar.name) for bar in bars), LONGEST)
    left, right, pitch, top = round(20 + 7.5 * longest), WIDTH - 76, 26, 8
    height = top + pitch * len(bars) + 40
    axis = linear(0, high)
    scale = (right - left) / axis.high
    floor = top + pitch * len(bars)
    lines = [rule(round(left + t * scale, 1), top, round(left + t * scale, 1), floor + 4) for t in axis.ticks]
    numbers = [word(brief(t), round(left + t * scale, 1), floor + 18, anchor="middle") for t in axis.ticks]
    rows = [_row(bar, top + pitch * i, left, right, scale) for i, bar in enumerate(bars)]
    said = "; ".join(bar.title for bar in bars[:40])
    chart = drawing(
        *lines, *numbers, *rows, word(label, (left + right) / 2, height - 5, "axis", "middle"),
        label=f"{title}. {said}", height=height,
    )  # fmt: skip
    if height > 2 * HEIGHT:
        chart = tag("div", chart, class_="tall", tabindex=0, role="region", aria_label=title)
    return figure(title, chart)


def _row(bar: Bar, y: float, left: float, right: float, scale: float) -> Markup:
    box = {"x": left, "y": y + 4, "height": 18, "rx": 2}
    return tag(
        "g",
        tag("title", bar.title),
        tag("rect", **box, width=right - left, class_="track"),
        tag("rect", **box, width=round(max(bar.value, 0) * scale, 1), class_="bar"),
        word(shorten(bar.name, LONGEST), left - 8, y + 17, "name", "end"),
        word(bar.text, right + 8, y + 17, "tick") if bar.text else None,
        class_=_colour(bar), data_run=bar.run,
    )  # fmt: skip


def tally_rows(tally: Tally) -> list[Bar]:
    """Accuracy in percent for each class."""
    return [
        Bar(
            name, 100 * right / total if total else 0,
            f"{name}: {right} of {total} right" + (f" ({percent(right / total)})" if total else ""),
            text=f"{right}{SPACE}/{SPACE}{total}",
        )
        for name, (right, total) in tally.items()
    ]  # fmt: skip
