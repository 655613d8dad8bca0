"""Tables of numbers in text files. Lines are searched one by one only after an error."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ehnn._utils.untrusted import check_file
from ehnn._utils.validation import short

from .errors import bad_line

# Entries of a label column that mean an unknown label.
MISSING = frozenset({"", "?", "nan", "na", "none", "null", "-1"})


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; bytes that are not UTF-8 become U+FFFD, so that a check can name the line."""
    check_file(path)
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_table(
    path: Path, *, separator: str | None = None, label: bool = False, header: int = 0
) -> np.ndarray:
    """``[rows, columns]`` float64 numbers of a text file, blank lines skipped.

    ``separator`` None is white space. With ``label`` the last column may hold a missing-label mark, which
    reads as NaN. A line that does not fit is a ValueError that names it.
    """
    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*input contained no data.*")
            table = np.loadtxt(
                path,
                dtype=np.float64,
                delimiter=separator,
                comments=None,
                ndmin=2,
                skiprows=header,
                encoding="utf-8",
            )
    except ValueError:
        table = _read_slowly(path, separator, label, header)
    if table.size == 0:
        raise bad_line(path, header + 1, "the file holds no rows")
    finite = np.isfinite(table)
    if label:
        table[table[:, -1] == -1, -1] = np.nan
        finite[:, -1] = ~np.isinf(table[:, -1])
    check_rows(path, np.asarray(finite.all(axis=1)), "holds a number that is not finite", header)
    return table


def check_rows(path: Path, good: np.ndarray, problem: str, header: int = 0) -> None:
    """Raise the error of the first row of ``path`` that is not good."""
    if not good.all():
        raise bad_line(path, line_of_row(path, int(np.argmin(good)), header), problem)


def line_of_row(path: Path, row: int, header: int = 0) -> int:
    """The line (from 1) of a table's row: blank lines are not rows."""
    lines = [i for i, line in enumerate(read_lines(path), 1) if i > header and line.strip()]
    return lines[row]


def _read_slowly(path: Path, separator: str | None, label: bool, header: int) -> np.ndarray:
    rows: list[list[float]] = []
    for number, line in enumerate(read_lines(path), 1):
        if number <= header or not line.strip():
            continue
        rows.append(_parse(path, number, line, separator, label))
        if len(rows[-1]) != len(rows[0]):
            raise bad_line(path, number, f"{len(rows[-1])} columns, expected {len(rows[0])}")
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def _parse(path: Path, number: int, line: str, separator: str | None, label: bool) -> list[float]:
    # A tab keeps an empty last field in place, where white space in general would swallow it.
    tokens = line.split("\t" if separator is None and "\t" in line else separator)
    values = []
    for column, token in enumerate(tokens):
        text = token.strip()
        if label and column == len(tokens) - 1 and text.lower() in MISSING:
            values.append(math.nan)
            continue
        try:
            values.append(float(text))
        except ValueError:
            raise bad_line(path, number, f"column {column + 1} must be a number, got {text[:40]!r}") from None
    return values


def as_integers(
    path: Path, column: np.ndarray, what: str, low: int, header: int = 0, high: int = 2**53 - 1
) -> np.ndarray:
    """A column of `read_table` as int64, each from ``low`` to ``high``."""
    good = (column == np.floor(column)) & (column >= low) & (column <= high)
    above = "" if high == 2**53 - 1 else f" and at most {high:,}"
    check_rows(path, good, f"{what} must be an integer, at least {low}{above}", header)
    return column.astype(np.int64)


def read_csv_columns(path: Path, names: Sequence[str], *, label: bool = False) -> np.ndarray:
    """``[rows, len(names)]`` float64: the named columns of a CSV file of numbers with a header line."""
    lines = io.StringIO(_text(path))
    header = [cell.strip() for cell in next(csv.reader(lines), [])]
    lost = [name for name in names if name not in header]
    if lost:
        raise bad_line(path, 1, f"no column {lost[0]!r} in the header {short(header[:8], 200)}")
    table = read_table(path, separator=",", label=label, header=1)
    if table.shape[1] != len(header):
        raise bad_line(path, line_of_row(path, 0, 1), f"{table.shape[1]} columns, expected {len(header)}")
    return table[:, [header.index(name) for name in names]]


def read_csv_text(path: Path, name: str) -> list[str]:
    """One text column of a CSV file, quotes resolved, blank cells kept."""
    reader = csv.reader(io.StringIO(_text(path), newline=""))
    header = [cell.strip() for cell in next(reader, [])]
    if name not in header:
        raise bad_line(path, 1, f"no column {name!r} in the header {short(header[:8], 200)}")
    return _column(path, reader, header.index(name), len(header))


def _text(path: Path) -> str:
    check_file(path)
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _column(path: Path, reader: Any, place: int, width: int) -> list[str]:
    cells: list[str] = []
    try:
        for row in reader:
            # The writer leaves a blank line for an empty cell of a one-column file.
            if len(row) != width and not (width == 1 and not row):
                raise bad_line(path, reader.line_num, f"{len(row)} columns, expected {width}")
            cells.append(row[place] if row else "")
    except csv.Error as error:
        raise bad_line(path, reader.line_num, str(error)) from None
    return cells
