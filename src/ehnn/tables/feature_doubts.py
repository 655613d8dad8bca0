"""Columns of features in which something else may stand than what was read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ehnn._utils.validation import short
from ehnn.io._cells import Cells, is_missing
from ehnn.io._csv_table import Table
from ehnn.io._csv_values import as_numbers

from .alike import known_as
from .columns import Feature, Number, Values, values_of
from .labels import alike_classes
from .lists import joined_classes
from .number_formats import missing_code, thousands, why_texts
from .sheet import Columns

_NAMELESS = re.compile(r"Unnamed: \d+(\.\d+)*")
_COUNTERS = frozenset((
    "#", "id", "index", "level_0", "no", "nr", "number", "row", "row_id", "rowid", "rownum", "rownames", "x",
))  # fmt: skip
_NUMBER_OF = re.compile(r"(.*[\W_])?(id|key|no|nr|num|number)", re.IGNORECASE)
_WHOLE = re.compile(r"\d+")
"""With `_NUMBER_OF`, the numbers of a register: ``customer_id``."""
_SHOWN = 5
"""Columns that are named each in a remark of its own."""
_ENOUGH = 10
"""Rows in which a column must say the same as the label to be told."""


def first_of(remarks: Sequence[str], path: str, what: str) -> list[str]:
    """The first remarks, and one that says ``what`` is with the other columns."""
    more = [f"{path}: {len(remarks) - _SHOWN} more columns {what}"] if remarks[_SHOWN:] else []
    return [*remarks[:_SHOWN], *more]


def counts_rows(table: Table, name: str) -> bool:
    """Whether a column holds the numbers of the rows, or is what pandas calls a column without a name."""
    if _NAMELESS.fullmatch(name):
        return True
    return name.lower() in _COUNTERS and _is_counter(table.column(name))


def _is_counter(cells: Cells) -> bool:
    """Whether cells hold 0, 1, 2 … or 1, 2, 3 …"""
    if len(cells.texts) < len(cells) or cells[0] not in ("0", "1"):
        return False
    start = int(cells[0])
    return cells.tolist() == list(map(str, range(start, start + len(cells))))


def _numbers_of_rows(name: str, table: Table) -> str:
    """A remark where each row has another number, by its place or in a register."""
    cells = table.column(name)
    if len(cells) < _ENOUGH or len(cells.texts) < len(cells):
        return ""
    if _is_counter(cells):
        return "the numbers of the rows; where their order means nothing, leave it out"
    if _NUMBER_OF.fullmatch(name) and all(map(_WHOLE.fullmatch, cells.texts)):
        return "another number in each row; where they are names, leave it out"
    return ""


def new_texts(feature: Feature, columns: Columns) -> str | None:
    """A remark where a column of classes has some that were not there in training."""
    if isinstance(feature, Number):
        return None
    new = set(columns.table.column(feature.column).texts.tolist()) - set(feature.values)
    new = {value for value in new if not is_missing(value)}
    if not new:
        return None
    what = f"{columns.table.path}: column {short(feature.column)}"
    told = f"{what} has {len(new)} texts that were not there in training, {short(min(new))} for one"
    return told + known_as(sorted(new), feature.values)


def far_numbers(features: Sequence[Feature], columns: Columns, known: Tensor | None) -> list[str]:
    """Remarks on columns whose numbers are all far from those of training: the unit may be another."""
    found, first = [], 0
    for feature in features:
        before = known[:, first] if known is not None and len(known) else None
        first += feature.channels
        if before is None or not isinstance(feature, Number):
            continue
        texts = list(filter(None, columns.table.column(feature.column).texts.tolist()))
        numbers = as_numbers(texts, columns.table)
        if np.isnan(numbers).any():
            numbers = as_numbers([text for text in texts if not is_missing(text)], columns.table)
        if not len(numbers) or not np.isfinite(numbers).all():
            continue
        low, high = float(before.min()), float(before.max())
        near = numbers.min() <= 2 * high - low and numbers.max() >= 2 * low - high
        if near or low == high:
            continue
        now = f"has numbers from {numbers.min():g} to {numbers.max():g}, in training from {low:g} to {high:g}"
        found.append(f"{columns.table.path}: column {short(feature.column)} {now}; is the unit the same?")
    return found


def many_classes(feature: Feature, columns: Columns, count: int) -> str | None:
    """A remark where most of the texts that are read as classes are different ones."""
    if isinstance(feature, Number):
        return None
    there = int((values_of(columns, feature.column, count).codes >= 0).sum())
    if len(feature.values) <= there / 2:
        return None
    classes = f"is read as {len(feature.values)} classes, of {there} texts"
    return f"{columns.table.path}: column {short(feature.column)} {classes}"


def like_labels(features: Sequence[Feature], columns: Columns, y: Sequence[Any]) -> list[str]:
    """Remarks on columns in which each text has one label, and each label one text."""
    number = {label: i for i, label in enumerate(dict.fromkeys(v for v in y if v is not None))}
    labels = np.array([-1 if v is None else number[v] for v in y])
    rows = np.flatnonzero(labels >= 0)
    if len(rows) < _ENOUGH or 2 * len(number) >= len(rows):
        return []
    found = []
    for feature in features:
        if not len(number) <= len(columns.table.column(feature.column).texts) <= 10 * len(number):
            continue
        codes = values_of(columns, feature.column, len(y)).codes[rows]
        pairs = np.unique(codes * len(number) + labels[rows])
        if (codes >= 0).all() and len(pairs) == len(np.unique(codes)) == len(number):
            told = f"column {short(feature.column)} tells the labels of all {len(rows)} rows"
            found.append(f"{columns.table.path}: {told}; where it was made from them, leave it out")
    return first_of(found, columns.table.path, "do so too")


def joined_texts(feature: Feature, columns: Columns) -> str | None:
    """A remark where texts that are read as classes hold several."""
    joined = None if isinstance(feature, Number) else joined_classes(feature.values)
    if joined is None or isinstance(feature, Number):
        return None
    told = f"is read as {len(feature.values)} classes, {short(joined)} for one; to split lists, give a column"
    return f"{columns.table.path}: column {short(feature.column)} {told} of 0 and 1 for each word"


def alike_texts(feature: Feature, columns: Columns) -> str | None:
    """A remark where two texts that are read as classes may be one, such as ``yes`` and ``Yes``."""
    alike = "" if isinstance(feature, Number) else alike_classes(feature.values)
    if not alike:
        return None
    return f"{columns.table.path}: column {short(feature.column)} has texts that may be one: {alike}"


def odd_numbers(feature: Feature, columns: Columns, count: int) -> str | None:
    """`_numbers_of_rows` or `doubtful_numbers` of a column of numbers."""
    if not isinstance(feature, Number):
        return None
    told = _numbers_of_rows(feature.column, columns.table)
    told = told or doubtful_numbers(values_of(columns, feature.column, count), columns.table)
    return f"{columns.table.path}: column {short(feature.column)} has {told}" if told else None


def doubtful_numbers(values: Values, table: Table) -> str:
    """`thousands` or `missing_code` of a column whose texts are all numbers."""
    codes, counts = np.unique(values.codes[values.codes >= 0], return_counts=True)
    texts = values.texts[codes].tolist()
    return thousands(texts, table) or missing_code(texts, as_numbers(texts, table), counts)


def formatted_numbers(feature: Feature, columns: Columns) -> str | None:
    """A remark where texts that are read as classes are dates or numbers, such as ``30,000`` or ``5 kg``."""
    if isinstance(feature, Number):
        return None
    hint = why_texts(feature.values)
    if not hint:
        return None
    text = next(value for value in feature.values if why_texts([value]))
    told = f"is read as {len(feature.values)} classes, {short(text)} for one{hint}"
    return f"{columns.table.path}: column {short(feature.column)} {told}"
