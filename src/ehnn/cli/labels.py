"""Labels in a column: classes or numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ehnn.hypergraph.validate import short

from .columns import as_numbers, not_finite, values_of
from .sheets import Columns

_WHOLE = re.compile(r"(0|[1-9]\d{0,14})(\.0+)?")  # with gaps between them, tables write 1 as 1.0


def read_labels(columns: Columns, name: str, count: int, numeric: bool, hint: str = "") -> list[Any]:
    """``[count]`` a class (text, or a whole number where all are) or a number each; None: no label.

    ``hint`` is that of `values_of`.

    Raises:
        ValueError: names the file and what is wrong with the column.
    """
    values, first = values_of(columns, name, count, hint)
    place = columns.table.path
    distinct = sorted({v for v in values if v is not None})
    if not distinct:
        raise ValueError(f"{place}: column {name!r} has no label at all")
    parsed = as_numbers(distinct, columns.table)
    good = np.isfinite(parsed)
    if numeric:
        if not good.all():
            wrong = distinct[int(np.argmin(good))]
            raise not_finite(columns.table, int(first[values.index(wrong)]), name, wrong)
        if len(set(parsed.tolist())) == 1:
            raise ValueError(
                f"{place}: column {name!r} has only one number, {parsed[0]:g}; there is nothing to tell apart"
            )
        number = dict(zip(distinct, parsed.tolist(), strict=True))
        return [None if v is None else number[v] for v in values]
    _check_classes(distinct, good, sum(v is not None for v in values), f"{place}: column {name!r}")
    if all(_WHOLE.fullmatch(v) for v in distinct):
        return [None if v is None else int(float(v)) for v in values]
    return values


def alike_classes(values: list[Any]) -> str:
    """Two classes that are one in lower case, or nothing."""
    seen: dict[str, str] = {}
    for value in sorted({v for v in values if isinstance(v, str)}):
        if (before := seen.setdefault(value.casefold(), value)) != value:
            return f"{short(before)} and {short(value)}"
    return ""


def _check_classes(distinct: list[str], numbers: np.ndarray, labelled: int, where: str) -> None:
    if len(distinct) == 1:
        raise ValueError(f"{where} has only one class, {short(distinct[0])}; there is nothing to tell apart")
    if len(distinct) <= max(2, labelled // 2):
        return
    hint = "; to predict a number: --regression" if numbers.all() else ""
    raise ValueError(f"{where} has {len(distinct)} classes for {labelled} labels, too many to learn{hint}")
