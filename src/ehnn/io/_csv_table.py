"""A CSV file as columns of text, and columns as one value per node or hyperedge."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import Any

import numpy as np

from ehnn.hypergraph.validate import short

from ._support import read_text, suggest

NO_NAME = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"))
"""What stands where the name of a node would: fewer spellings than of a value, for these are names too."""
_MISSING = frozenset(("", "?", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none"))


def is_missing(cell: str) -> bool:
    """Whether a cell says that nothing is known, in capitals or not.

    >>> [is_missing(cell) for cell in ("NaN", "n/a", "0", "no")]
    [True, True, False, False]
    """
    return cell.strip().lower() in _MISSING


_CHUNK = 2_000  # rows turned into columns at a time: bounds the number of small lists alive


@dataclass
class Table:
    """The columns of a CSV file with a header line, as text."""

    path: str
    delimiter: str
    columns: dict[str, list[str]]
    size: int

    def column(self, name: str) -> list[str]:
        """The cells of a column; a ValueError names the columns there are."""
        if name not in self.columns:
            found = short(list(self.columns), 300)
            only = next(iter(self.columns)) if len(self.columns) == 1 else ""
            other = next((mark for mark in (";", "\t", "|") if mark in only), None)
            hint = f"; cells seem to be split by {other!r}: give it as the delimiter" if other else ""
            raise ValueError(
                f"{self.path}, line 1: there is no column {name!r}; found {found}"
                + (hint or suggest(name, self.columns))
            )
        return self.columns[name]

    def place(self, row: int) -> str:
        """File and line of a row, found by reading again: only errors ask."""
        reader = _reader(read_text(self.path), self.delimiter)
        next(islice((r for r in reader if r), row + 1, None))
        return f"{self.path}, line {reader.line_num}"


def check_delimiter(delimiter: object) -> None:
    """Refuse what the csv module would choke on."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        raise ValueError(f"delimiter must be one character, no quote or line end; got {delimiter!r}")


def _reader(text: str, delimiter: str) -> Any:
    # newline="" leaves line ends inside quoted cells as they are.
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)


def read_table(path: str | os.PathLike[str], delimiter: str) -> Table:
    """The columns of a CSV file (UTF-8, byte-order mark allowed). Blank lines are skipped.

    Cells and names of columns lose outer white space.
    """
    text = read_text(path)
    reader = _reader(text, delimiter)
    try:
        header = next((row for row in reader if row), None)
        if header is None:
            raise ValueError(f"{path} is empty: expected a header line with the names of the columns")
        header = list(map(str.strip, header))
        if len(set(header)) != len(header):
            twice = Counter(header).most_common(1)[0][0]
            raise ValueError(f"{path}, line {reader.line_num}: the column {short(twice)} appears twice")
        columns = _plain_columns(text, delimiter, len(header))
        if columns is None:
            columns = _quoted_columns(reader, len(header))
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from error
    if columns is None:
        raise _ragged(path, delimiter, len(header))
    trimmed = (list(map(str.strip, cells)) for cells in columns)
    return Table(str(path), delimiter, dict(zip(header, trimmed, strict=True)), len(columns[0]))


def _plain_columns(text: str, delimiter: str, width: int) -> list[list[str]] | None:
    """The cells by column where nothing is quoted (much faster than the csv module); None elsewhere."""
    text = text.replace("\r\n", "\n")
    if '"' in text or "\r" in text:
        return None
    lines = [line for line in text.split("\n") if line.strip()][1:]
    if any(line.count(delimiter) != width - 1 for line in lines):
        return None
    cells = delimiter.join(lines).split(delimiter) if lines else []
    return [cells[i::width] for i in range(width)]


def _quoted_columns(reader: Iterator[list[str]], width: int) -> list[list[str]] | None:
    """The cells by column, or None if a row has more or fewer cells than the header."""
    columns: list[list[str]] = [[] for _ in range(width)]
    while chunk := list(islice(reader, _CHUNK)):
        rows = [row for row in chunk if not _is_blank(row)]
        if any(len(row) != width for row in rows):
            return None
        for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
            column.extend(cells)
    return columns


def _is_blank(row: list[str]) -> bool:
    """A line without a cell, or of white space alone."""
    return not row or (len(row) == 1 and not row[0].strip())


def _ragged(path: str | os.PathLike[str], delimiter: str, width: int) -> ValueError:
    reader = _reader(read_text(path), delimiter)
    row = next(row for row in reader if not _is_blank(row) and len(row) != width)
    return ValueError(f"{path}, line {reader.line_num}: expected {width} cells, got {len(row)}")


def given(cells: Sequence[str]) -> np.ndarray:
    """``[rows]`` which cells are not blank."""
    return np.fromiter(map(bool, cells), bool, len(cells))


class NotNumbersError(ValueError):
    """A cell that should be a number is something else."""


def parse(table: Table, name: str, rows: np.ndarray, kind: type) -> np.ndarray:
    """The cells of a column in some rows as int64 or float64; an error names the first bad line."""
    cells = table.column(name)
    chosen = cells if len(rows) == len(cells) else [cells[r] for r in rows.tolist()]
    try:
        return numbers(chosen, kind)
    except (ValueError, OverflowError):
        row = next(r for r in rows.tolist() if not _is_number(cells[r], kind))
        wanted = "whole number" if kind is int else "number"
        raise NotNumbersError(
            f"{table.place(row)}: column {name!r} must be a {wanted}, got {short(cells[row])}"
        ) from None


def numbers(cells: Sequence[str], kind: type) -> np.ndarray:
    """Cells as int64 or float64, or ValueError or OverflowError."""
    if any("_" in cell for cell in cells):  # Python reads 1_000 as a number
        raise ValueError("underscore in a number")
    return np.fromiter(map(kind, cells), np.int64 if kind is int else np.float64, len(cells))


def _is_number(cell: str, kind: type) -> bool:
    try:
        numbers([cell], kind)
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
        raise ValueError(f"{table.path}: no line gives {short(name)} a value in column {column!r}")
    expected = values[first[whose]]
    same = values == expected
    if values.dtype.kind == "f":
        same |= np.isnan(values) & np.isnan(expected)
    if not same.all():
        at = int(np.argmin(same))
        now, before = (short(table.column(column)[rows[i]]) for i in (at, first[whose[at]]))
        raise ValueError(
            f"{table.place(int(rows[at]))}: column {column!r} says {now} of {short(names[whose[at]])}, "
            f"which had {before} before"
        )
    found = values[first]
    if missing is not None:
        found[first < 0] = missing
    return found


def select(cells: Sequence[str], mask: np.ndarray) -> list[str]:
    """The cells where ``mask`` is true."""
    return list(compress(cells, mask.tolist()))
