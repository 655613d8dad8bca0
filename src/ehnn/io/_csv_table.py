"""A CSV file as columns of text, with the line of every row for error messages."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ehnn._utils.optional import suggest
from ehnn._utils.validation import short

from ._cells import Cells
from ._support import read_text

# A list of many members in one cell is longer than Python's limit of 131,072 characters.
csv.field_size_limit(max(csv.field_size_limit(), 1 << 30))
_CHUNK = 2_000  # rows turned into columns at a time: bounds the number of small lists alive


@dataclass
class Table:
    """Columns of text with names.

    Attributes:
        path: the file, or a word for what was given; begins every message.
        delimiter: between the cells of the file.
        columns: by name.
        size: number of rows.
        lists: columns whose cells were lists in the source, as lists of names.
        header: whether the names of the columns are in the file; else they are numbers from 1.
        first_line: the line of the header, or without one of the first row.
        comments: lines at the top that begin with ``#`` and are left out.
    """

    path: str
    delimiter: str
    columns: dict[str, Cells]
    size: int
    lists: dict[str, list[list[str]]]
    header: bool = True
    first_line: int = 1
    comments: int = 0

    def __repr__(self) -> str:
        columns = short(list(self.columns), 300)
        return f"{type(self).__name__}({self.path!r}, {self.size} rows, columns {columns})"

    def column(self, name: str) -> Cells:
        """The cells of a column; a ValueError names the columns there are."""
        if name not in self.columns:
            found = short(list(self.columns), 300)
            only = next(iter(self.columns)) if len(self.columns) == 1 else ""
            other = next((mark for mark in (";", "\t", "|") if mark in only), None)
            hint = f"; cells seem to be split by {other!r}: give it as the delimiter" if other else ""
            number = name.isdecimal() and 0 < int(name) <= len(self.columns) and self.header
            hint = hint or ("; for a file without a header line: --no-header" if number else "")
            raise ValueError(
                f"{self.top}: there is no column {name!r}; found {found}"
                + (hint or suggest(name, self.columns))
            )
        return self.columns[name]

    @property
    def top(self) -> str:
        """Where the names of the columns are."""
        return f"{self.path}, line {self.first_line}"

    def place(self, row: int) -> str:
        """File and line of a row, found by reading again: only errors ask."""
        rows = Rows(read_text(self.path), self.delimiter, self.header)
        next(islice(rows, row + self.header, None))
        return f"{self.path}, line {rows.line}"


class Rows:
    """The rows of a CSV text, without blank lines and what programs write above the header.

    Those are ``sep=;`` (Excel) and comments: leading lines that begin with ``#`` and have another number of
    cells than the line below them. Without a ``header`` they are rows from the first line that has as many
    cells as the others, and is not ``# text``.
    """

    def __init__(self, text: str, delimiter: str, header: bool = True) -> None:
        text = _single_spaces(text) if delimiter == " " else text
        told, self.comments = _above(text, delimiter, header)
        self.skipped = told + self.comments
        # newline="" leaves line ends inside quoted cells as they are.
        lines = io.StringIO(text, newline="")
        for _ in range(self.skipped):
            lines.readline()
        self._reader = csv.reader(lines, delimiter=delimiter, strict=True)

    @property
    def line(self) -> int:
        """The line, from 1, at which the last row ended."""
        return self.skipped + self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        return next(row for row in self._reader if row and (len(row) > 1 or row[0].strip()))


def _single_spaces(text: str) -> str:
    """Words with one space between them, in the same lines; quoted text as it is."""
    return text if '"' in text else "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _above(text: str, delimiter: str, header: bool) -> tuple[int, int]:
    """Number of lines with ``sep=``, and of comments below it, above the header or the first row."""
    lines = io.StringIO(text, newline="")
    told = int(text[:4].lower() == "sep=" and len(lines.readline().strip()) == 5)
    if not told:
        lines.seek(0)
    marked: list[str] = []
    below = ""
    for below in lines:
        if not below.startswith("#"):
            break
        marked.append(below)
    while below and not below.strip():
        below = lines.readline()
    width = below.count(delimiter)  # of the last of these lines, where there is nothing below them
    if not header:
        rows = (i for i, line in enumerate(marked) if line[1:2].strip() and line.count(delimiter) == width)
        return told, next(rows, len(marked))
    # "#node,edge" is a header: it has as many cells as the rows.
    is_header = bool(marked) and not below.startswith("#") and marked[-1].count(delimiter) == width > 0
    return told, len(marked) - is_header


def check_delimiter(delimiter: object) -> None:
    """Refuse what the csv module would choke on."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        raise ValueError(f"delimiter must be one character, no quote or line end; got {delimiter!r}")


def read_table(path: str | os.PathLike[str], delimiter: str, header: bool = True) -> Table:
    """The columns of a CSV file (UTF-8, byte-order mark allowed). Blank lines are skipped.

    Cells and names of columns lose outer white space. A column that is blank in all lines, header included
    (a delimiter at the end of each line), and the unnamed row numbers that pandas writes are left out.
    Without a ``header`` the columns are called 1, 2 …
    """
    text = read_text(path)
    rows = Rows(text, delimiter, header)
    try:
        top = next(rows, None)
        if top is None:
            raise ValueError(f"{path} is empty: expected a header line with the names of the columns")
        first = rows.line
        names = _names(top, f"{path}, line {first}") if header else []
        if not header:
            rows = Rows(text, delimiter, header)
        width = len(top)
        plain = _plain_columns(text, delimiter, width, rows.skipped + header)
        columns = _quoted_columns(rows, width) if plain is None else plain
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line}: {error}") from error
    if columns is None:
        raise _ragged(path, delimiter, width, header)
    cells = [Cells.of(column) for column in columns]
    size = len(cells[0])
    if not header:
        numbered = {str(i): c for i, c in enumerate(cells, 1)}
        return Table(str(path), delimiter, numbered, size, {}, False, first, rows.comments)
    for i, (name, column) in enumerate(zip(names, cells, strict=True), 1):
        if not name and not _says_nothing(column):
            raise ValueError(
                f"{path}, line {first}: column {i} has no name in the header; give it one, or leave out "
                "a title above the header"
            )
    kept = {name: column for name, column in zip(names, cells, strict=True) if name}
    return Table(str(path), delimiter, kept, size, {}, first_line=first)


def _names(row: list[str], place: str) -> list[str]:
    """The names in a header line; all but the blank ones are distinct."""
    names = [name.strip() for name in row]
    if names[0].startswith("#") and len(names) > 1:
        names[0] = names[0].lstrip("#").strip()
    twice, count = Counter(filter(None, names)).most_common(1)[0] if any(names) else ("", 1)
    if count > 1:
        raise ValueError(f"{place}: the column {short(twice)} appears twice")
    return names


def _says_nothing(cells: Cells) -> bool:
    """Whether a column is blank, or holds the numbers of its rows."""
    return not any(cells.texts) or cells.texts.tolist() == list(map(str, range(len(cells))))


def _plain_columns(text: str, delimiter: str, width: int, skipped: int) -> Sequence[np.ndarray] | None:
    """The cells by column where nothing is quoted (much faster than the csv module); None elsewhere."""
    text = text.replace("\r\n", "\n")
    text = _single_spaces(text) if delimiter == " " else text
    if any(mark in text for mark in ('"', "\r", "\0")) or not delimiter.isascii():
        return None
    lines = [line for line in text.split("\n") if line.strip()][skipped:]
    counts = {line.count(delimiter) for line in lines}
    extra = counts == {width} and all(line.rstrip(" ").endswith(delimiter) for line in lines)
    if not counts <= {width - 1} and not extra:
        return None
    if not lines:
        return [np.empty(0, object)] * width
    import pandas as pd

    frame = pd.read_csv(
        io.StringIO("\n".join(lines) + "\n"), sep=delimiter, header=None, dtype=str, na_filter=False,
        quoting=csv.QUOTE_NONE, skip_blank_lines=False, names=range(width + extra), index_col=False,
    )  # fmt: skip
    return [frame[i].to_numpy(dtype=object) for i in range(width)]


def _quoted_columns(rows: Iterator[list[str]], width: int) -> Sequence[list[str]] | None:
    """The cells by column, or None if a row has more or fewer cells than the header.

    Where every row ends with a delimiter, and the header does not, the blank cell after it does not count.
    """
    columns: list[list[str]] = [[] for _ in range(width)]
    widths: set[int] = set()
    while chunk := list(islice(rows, _CHUNK)):
        widths |= set(map(len, chunk))
        if len(widths) > 1 or not (widths <= {width, width + 1}):
            return None
        if widths == {width + 1} and any(row[-1].strip() for row in chunk):
            return None
        for column, cells in zip(columns, zip(*chunk, strict=True), strict=False):
            column.extend(cells)
    return columns


def _ragged(path: str | os.PathLike[str], delimiter: str, width: int, header: bool) -> ValueError:
    rows = Rows(read_text(path), delimiter, header)
    row = next(row for row in rows if len(row) != width)
    return ValueError(f"{path}, line {rows.line}: expected {width} cells, got {len(row)}")
