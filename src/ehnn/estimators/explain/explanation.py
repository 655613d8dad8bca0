"""What an explanation says, as data, as a table and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from ehnn._utils.validation import short

from ..labels import plain

_NAME, _LINES = 48, 10
"""Characters of a name, and contributions of a row, in the text."""
_NOTHING = 0.005
"""Log-odds that are shown as 0."""


@dataclass(frozen=True)
class Contribution:
    """One thing that was left out, and what that changed.

    Attributes:
        kind: ``"hyperedge"``, ``"co-member"``, ``"member"``, ``"node"``, ``"feature"`` or ``"own label"``.
        name: of the hyperedge, node or feature; a number where it has no name.
        detail: what is known of it: the size of a hyperedge, the label of a co-member, the value of a
            feature.
        effect: the log-odds of the class (the predicted number) with it, less those without it. Above 0 it
            speaks for the class.
        without: the probability of the class (the predicted number) without it.

    >>> Contribution("hyperedge", "chess", "4 members", 1.5, 0.4).effect
    1.5
    """

    kind: str
    name: Any
    detail: str
    effect: float
    without: float


@dataclass(frozen=True)
class Explanation:
    """What moved the prediction of one row.

    Attributes:
        row: its name, or its number where there are no names.
        prediction: the predicted class or number; for several labels, 0 or 1 of the explained one.
        target: the explained class; of several labels or numbers, the name or the number of the column.
        value: the probability of ``target``, or the predicted number.
        unit: of effects: ``"log-odds"`` or ``"number"``.
        contributions: the largest effects first, of either sign.
        near: incidences of the neighbourhood on which things were left out; None: the whole hypergraph, so
            that every effect is exactly what removing the thing does.
        near_value: ``value`` on this neighbourhood.
        untried: how many hyperedges, co-members and features were not tried, by kind.
        several: whether ``target`` is one of several labels or numbers.

    >>> part = Contribution("hyperedge", "chess", "4 members", 1.5, 0.4)
    >>> print(Explanation("ann", "red", "red", 0.75, "log-odds", (part,)))
    ann: predicted red, p(red) = 0.750
      +1.50  hyperedge  chess  4 members
    """

    row: Any
    prediction: Any
    target: Any
    value: float
    unit: str
    contributions: tuple[Contribution, ...]
    near: int | None = None
    near_value: float | None = None
    untried: tuple[tuple[str, int], ...] = ()
    several: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        left_out = ("contributions", "untried", "several")
        own = {k: plain(v) for k, v in vars(self).items() if k not in left_out}
        parts = [{k: plain(v) for k, v in vars(c).items()} for c in self.contributions]
        return {**own, "untried": dict(self.untried), "contributions": parts}

    def lines(self, most: int = _LINES) -> list[str]:
        """The explanation as text, with the ``most`` largest effects."""
        odds = self.unit == "log-odds"
        said = f"{self.value:.4g}"
        if odds:  # one of several labels is 0 or 1
            said = (
                f"{_text(self.prediction)}, p({1 if self.several else _text(self.target)}) = {self.value:.3f}"
            )
        what = f", {'label' if odds else 'number'} {_text(self.target)}" if self.several else ""
        rows = [
            (f"{c.effect:+.2f}" if odds else f"{c.effect:+.4g}", c.kind, _text(c.name), c.detail)
            for c in self.contributions[:most]
        ]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        told = [
            f"  {a:>{widths[0]}}  {b:<{widths[1]}}  {c:<{widths[2]}}  {d}".rstrip() for a, b, c, d in rows
        ]
        more = len(self.contributions) - len(rows)
        return [f"{_text(self.row)}{what}: predicted {said}", *told, *self._notes(more)]

    def _notes(self, more: int) -> list[str]:
        found = [f"  not shown: {more} smaller effect{'s' * (more != 1)}"] if more else []
        if self.unit == "log-odds" and all(abs(c.effect) < _NOTHING for c in self.contributions):
            found.append("  no single thing changes it: several say the same, or nothing is read of the row")
        if self.untried:
            told = ", ".join(f"{count} {kind}{'s' * (count != 1)}" for kind, count in self.untried)
            found.append(f"  not tried: {told}")
        if self.near is not None:
            there = f"({self.near_value:.4g} there)"
            found.append(f"  measured on the nearest {self.near} incidences {there}")
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines())


class Explanations(Sequence[Explanation]):
    """Explanations of several ``rows``, as ``estimator.explain(h, rows)`` returns them.

    >>> part = Contribution("hyperedge", "chess", "4 members", 1.5, 0.4)
    >>> found = Explanations([Explanation("ann", "red", "red", 0.75, "log-odds", (part,))])
    >>> len(found), found[0].row, found.to_dict()[0]["contributions"][0]["name"]
    (1, 'ann', 'chess')
    """

    def __init__(self, rows: Sequence[Explanation]) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Explanation: ...
    @overload
    def __getitem__(self, place: slice) -> Explanations: ...
    def __getitem__(self, place: int | slice) -> Explanation | Explanations:
        return Explanations(self.rows[place]) if isinstance(place, slice) else self.rows[place]

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values for JSON, an entry for each row."""
        return [row.to_dict() for row in self.rows]

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line for each contribution."""
        import pandas as pd

        heads = ("row", "prediction", "target", "value")
        lines = [
            {name: getattr(row, name) for name in heads} | vars(part)
            for row in self.rows
            for part in row.contributions
        ]
        return pd.DataFrame(lines, columns=[*heads, "kind", "name", "detail", "effect", "without"])

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.rows))

    __repr__ = __str__


def _text(name: Any) -> str:
    """A name that fits on a line."""
    name = plain(name)
    text = " in ".join(map(_text, name)) if isinstance(name, tuple) else str(name)
    return text if len(text) <= 2 * _NAME and text.isprintable() else short(text, _NAME)
