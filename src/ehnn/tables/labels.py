"""Labels in a column: classes or numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ehnn._utils.validation import short
from ehnn.io._cells import Cells
from ehnn.io._csv_values import as_numbers

from .alike import says_none, writing
from .columns import not_finite, values_of
from .lists import joined_classes
from .matrices import is_truth, is_yes
from .number_formats import is_number
from .sheet import Columns

MANY_NUMBERS = 20
"""More classes than this that are all numbers are pointed out."""
_MAY_BE_CLASSES = ("na", "n/a", "none")
_WHOLE = re.compile(r"(0|[1-9]\d{0,14})(\.0+)?")  # with gaps between them, tables write 1 as 1.0


def read_labels(columns: Columns, name: str, count: int, numeric: bool, hint: str = "") -> list[Any]:
    """``[count]`` a class (text; a whole number or a truth where all are) or a number each; None: no label.

    ``hint`` is that of `values_of`.

    Raises:
        ValueError: names the file and what is wrong with the column.
    """
    values = values_of(columns, name, count, hint)
    place, distinct = columns.table.path, values.used
    if not distinct:
        raise ValueError(f"{place}: column {short(name)} has no label at all")
    parsed = as_numbers(distinct, columns.table)
    good = np.isfinite(parsed)
    if numeric:
        if not good.all():
            wrong = distinct[int(np.argmin(good))]
            raise not_finite(columns.table, values.row_of(wrong), name, wrong)
        if len(set(parsed.tolist())) == 1:
            raise ValueError(
                f"{place}: column {short(name)} has only one number, {parsed[0]:g}; there is nothing to "
                "tell apart"
            )
        number = dict(zip(distinct, parsed.tolist(), strict=True))
        return [None if v is None else number[v] for v in values.tolist()]
    where, none = f"{place}: column {short(name)}", none_remark(columns.table.column(name))
    _check_classes(distinct, good, int((values.codes >= 0).sum()), where, f"; it has {none}" * bool(none))
    if all(_WHOLE.fullmatch(v) for v in distinct):
        return [None if v is None else int(float(v)) for v in values.tolist()]
    if set(distinct) == {"True", "False"}:  # as pandas and Python write truths
        return [None if v is None else v == "True" for v in values.tolist()]
    return values.tolist()


def class_remarks(values: Sequence[Any]) -> list[str]:
    """Remarks where classes may be something else: two spellings of one class, or numbers."""
    distinct = {v for v in values if v is not None}
    remarks = [f"classes that may be one: {alike}"] if (alike := alike_classes(values)) else []
    if (blank := like_blank(values)) is not None:
        remarks.append(f"a class {short(blank)}; where it means that there is no label, leave it blank")
    if (minus := _minus_one({str(v) for v in distinct})) is not None:
        remarks.append(f"a class {minus}; where it means that there is no label, leave it blank")
    joined = joined_classes(sorted({v for v in distinct if isinstance(v, str)}))
    if joined is not None:
        remarks.append(f"a class {short(joined)}, which may be a list; it counts as one class")
    if len(distinct) > MANY_NUMBERS and all(is_number(str(v)) for v in distinct):
        remarks.append(
            f"{len(distinct)} different numbers, read as classes; to predict a number: --regression"
        )
    return remarks


def none_remark(cells: Cells) -> str:
    """A remark where a word is taken for no label that may be a class: None of None, Mild and Severe."""
    found = cells.where(lambda text: text.lower() in _MAY_BE_CLASSES)
    if not found.any():
        return ""
    word = short(cells[int(np.argmax(found))])
    return (
        f"{word} in {found.sum()} rows, which is taken for no label; where it is a class, call it otherwise"
    )


def _minus_one(texts: set[str]) -> str | None:
    """-1 as it is written, where it stands beside 0 or several classes, all whole numbers."""
    found = sorted(texts & {"-1", "-1.0"})
    others = texts - set(found)
    if not found or not all(map(_WHOLE.fullmatch, others)):
        return None
    return found[0] if len(others) > 1 or "0" in others or "0.0" in others else None


def alike_classes(values: Iterable[Any]) -> str:
    """Two classes of text that may be one and count as different, or nothing.

    >>> alike_classes(["yes", "no", "Yes "]), alike_classes(["1", "1.0"])
    ("'Yes ' and 'yes' count as different", "'1' and '1.0' count as different")
    >>> alike_classes(["0", "FALSE", "TRUE"])
    "'0' and 'FALSE' count as different"
    """
    seen: dict[str, str] = {}
    texts = sorted({v for v in values if isinstance(v, str)})
    truths = all(map(is_truth, texts)) and any(len(text) > 1 for text in texts)  # x and y are classes
    for value in texts:
        kind = str(is_yes(value)) if truths else writing(value)
        if (before := seen.setdefault(kind, value)) != value:
            return f"{short(before)} and {short(value)} count as different"
    return ""


def like_blank(values: Iterable[Any]) -> str | None:
    """The first class of text that may be a way to say that there is none, if there is one."""
    texts = sorted({v for v in values if isinstance(v, str)})
    return next(filter(says_none, texts), None)


def _check_classes(distinct: list[str], numbers: np.ndarray, labelled: int, where: str, none: str) -> None:
    if len(distinct) == 1:
        told = f"{where} has only one class, {short(distinct[0])}; there is nothing to tell apart"
        raise ValueError(told + none)
    if len(distinct) <= max(2, labelled // 2):
        return
    hint = "; to predict a number: --regression" if numbers.all() else ""
    raise ValueError(f"{where} has {len(distinct)} classes for {labelled} labels, too many to learn{hint}")
