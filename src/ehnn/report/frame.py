"""The frame of a chart: axes, grid and caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .markup import Markup, join, shorten, tag
from .scales import Axis, brief

WIDTH, HEIGHT = 460, 270


@dataclass(frozen=True)
class Frame:
    """The place of the data inside a drawing."""

    left: int = 50
    right: int = 448
    top: int = 22
    bottom: int = 228

    def x(self, share: float) -> float:
        return round(self.left + share * (self.right - self.left), 1)

    def y(self, share: float) -> float:
        return round(self.bottom - share * (self.bottom - self.top), 1)


FRAME = Frame()


def drawing(*content: object, label: str, height: int = HEIGHT, **attributes: object) -> Markup:
    """An SVG that scales with its box; ``label`` is what a screen reader says."""
    return tag(
        "svg", *content, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label, **attributes
    )  # fmt: skip


def word(content: object, x: float, y: float, kind: str = "tick", anchor: str | None = None) -> Markup:
    return tag("text", content, x=x, y=y, class_=kind, text_anchor=anchor)


def rule(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def y_axis(axis: Axis, label: str) -> Markup:
    """Horizontal lines with their numbers, and what they measure above them."""
    places = [(FRAME.y(axis.place(tick)), brief(tick)) for tick in axis.ticks]
    lines = [rule(FRAME.left, y, FRAME.right, y) for y, _ in places]
    numbers = [word(text, FRAME.left - 7, y + 4, anchor="end") for y, text in places]
    return join([*lines, *numbers, word(shorten(label, 48), 4, 12, "axis")])


def x_label(label: str) -> Markup:
    return word(label, (FRAME.left + FRAME.right) / 2, HEIGHT - 5, "axis", "middle")


def figure(
    title: str,
    *content: object,
    note: str | None = None,
    switch: Markup | None = None,
    wide: bool = False,
    **attributes: object,
) -> Markup:
    """A card with a title, a control at its right, and a line of explanation at its end."""
    head = tag("div", tag("h4", title), switch, class_="head")
    words = None if note is None else tag("figcaption", note)
    return tag("figure", head, *content, words, class_="card wide" if wide else "card", **attributes)


def switch(label: str, group: str, choices: Sequence[str]) -> Markup:
    """Radio buttons; the elements ``data-view=choice`` of the same figure show the one that is chosen."""
    options = [
        tag(
            "label",
            tag("input", type="radio", name=group, value=choice, checked=choice == choices[0]),
            tag("span", choice),
        )
        for choice in choices
    ]
    return tag("div", *options, class_="switch", role="radiogroup", aria_label=label)


def view(choice: str, *content: object, first: bool, kind: str = "div") -> Markup:
    """What is seen while ``choice`` is chosen."""
    return tag(kind, *content, data_view=choice, hidden=not first)
