"""Cells of a column as numbers, and as one value per node or hyperedge."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

import numpy as np

from ehnn._utils.validation import short

from ._csv_table import Table

_NOT_COMMA = (";", "\t")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")


class NotNumbersError(ValueError):
    """A cell that should be a number is something else."""


def parse(table: Table, name: str, rows: np.ndarray, kind: type) -> np.ndarray:
    """The cells of a column in some rows as int64 or float64; an error names the first bad line."""
    cells = table.column(name)
    codes = cells.codes[rows]
    used = np.unique(codes)
    found = np.zeros(len(cells.texts), np.int64 if kind is int else np.float64)
    try:
        found[used] = numbers(cells.texts[used].tolist(), kind)
    except (ValueError, OverflowError):
        with_comma = as_numbers(cells.texts[used].tolist(), table) if kind is float else np.array([np.nan])
        if not np.isnan(with_comma).any():
            found[used] = with_comma
            return found[codes]
        row = next(r for r in rows.tolist() if not _is_number(cells[r], kind))
        wanted = "whole number" if kind is int else "number"
        raise NotNumbersError(
            f"{table.place(row)}: column {short(name)} must be a {wanted}, got {short(cells[row])}"
        ) from None
    return found[codes]


def numbers(texts: Sequence[str], kind: type) -> np.ndarray:
    """Texts as int64 or float64, or ValueError or OverflowError."""
    if any("_" in text for text in texts):  # Python reads 1_000 as a number
        raise ValueError("underscore in a number")
    return np.fromiter(map(kind, texts), np.int64 if kind is int else np.float64, len(texts))


def as_numbers(texts: Sequence[str], table: Table) -> np.ndarray:
    """The numbers that cells of a column say, NaN where they say none.

    Where commas do not separate the cells, ``4,3`` is a number, if all cells are numbers that way.

    Raises:
        ValueError: every comma may as well stand between thousands.
    """
    found = _as_floats(texts)
    if np.isnan(found).any() and table.delimiter in _NOT_COMMA and not any("." in text for text in texts):
        pointed = _as_floats([text.replace(",", ".") for text in texts])
        if np.isnan(pointed).any():
            return found
        unsure = [text for text in texts if "," in text]
        if all(map(_THOUSANDS.fullmatch, unsure)):
            raise ValueError(
                f"{table.path}: {short(unsure[0])} may be {unsure[0].replace(',', '')} or "
                f"{unsure[0].replace(',', '.')}; write thousands without a comma and fractions with a point"
            )
        return pointed
    return found


def _as_floats(texts: Sequence[str]) -> np.ndarray:
    try:
        return numbers(texts, float)
    except ValueError:
        return np.array([_as_float(text) for text in texts], dtype=np.float64)


def _as_float(text: str) -> float:
    try:
        return float(numbers([text], float)[0])
    except ValueError:
        return float("nan")


def _is_number(text: str, kind: type) -> bool:
    try:
        numbers([text], kind)
        return True
    except (ValueError, OverflowError):
        return False


def one_per_owner(
    table: Table,
    column: str,
    values: np.ndarray,
    rows: np.ndarray,
    owner: np.ndarray,
    names: Sequence[Hashable],
    missing: float | None = None,
) -> np.ndarray:
    """``[owners]``: the value of each, given in at least one of its rows and the same in all of them.

    ``values`` are the parsed cells of ``rows``, ``owner`` (``[table.size]``) the owner of every row;
    ``missing`` is the value of an owner that has none (None: an error).
    """
    whose = owner[rows]
    first = np.full(len(names), -1)
    first[whose[::-1]] = np.arange(len(rows))[::-1]
    if missing is None and (first < 0).any():
        name = names[int(np.argmax(first < 0))]
        raise ValueError(f"{table.path}: no line gives {short(name)} a value in column {short(column)}")
    expected = values[first[whose]]
    same = values == expected
    if values.dtype.kind == "f":
        same |= np.isnan(values) & np.isnan(expected)
    if not same.all():
        at = int(np.argmin(same))
        now, before = (short(table.column(column)[rows[i]]) for i in (at, first[whose[at]]))
        raise ValueError(
            f"{table.place(int(rows[at]))}: column {short(column)} gives {now} for {short(names[whose[at]])}"
            f", but an earlier line gave {before}"
        )
    found = values[first]
    if missing is not None:
        found[first < 0] = missing
    return found


ONE_ROLE = "a node has one role in a set: give the combination a word of its own"
ONE_WEIGHT = "a node has one weight in a set: leave one of the rows out, or add them up"


def check_one(
    table: Table,
    column: str,
    rows: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    values: np.ndarray,
    remedy: str,
) -> None:
    """A ValueError if two rows say different things of a node in one set; ``ends`` are node and set."""
    node, edge = ends
    _, start, pair = np.unique(
        edge * (int(node.max(initial=0)) + 1) + node, return_index=True, return_inverse=True
    )
    first = start[pair]
    wrong = np.flatnonzero(values != values[first])
    if len(wrong):
        row, before = int(rows[wrong[0]]), int(rows[first[wrong[0]]])
        cells = table.column(column)
        raise ValueError(
            f"{table.place(row)}: column {short(column)} says {short(cells[row])} of a node that "
            f"{table.place(before)} says {short(cells[before])} of in the same set; {remedy}"
        )
