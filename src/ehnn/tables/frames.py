"""DataFrames, Parquet, JSON lines and records as columns of text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ehnn._utils.optional import require
from ehnn._utils.validation import short
from ehnn.io._cells import Cells
from ehnn.io._csv_table import Table
from ehnn.io._support import read_bytes, read_text

_LISTS = (list, tuple, set, frozenset, np.ndarray)
_EXACT = 2.0**53
FRAMES = ("pandas", "polars", "pyarrow")


@dataclass(repr=False)
class FrameTable(Table):
    """Columns that are not of a text file: rows have a number, or a line of a file with a record per line.

    ``index``: names of the index of a DataFrame of pandas, which is not read; ``rounded``: columns of numbers
    with a point, some so large that several whole numbers are one; ``faults``: columns that hold other things
    than texts, numbers and lists of these, and the first of them, told where the column is asked for.
    """

    lines: Sequence[int] = field(default_factory=list)
    index: Sequence[str] = field(default_factory=list)
    rounded: set[str] = field(default_factory=set)
    faults: dict[str, str] = field(default_factory=dict)

    def column(self, name: str) -> Cells:
        if name in self.faults:
            raise ValueError(self.faults[name])
        if name in self.index and name not in self.columns:
            raise ValueError(f"{self.path}: {name!r} is its index and no column: call reset_index()")
        return super().column(name)

    @property
    def top(self) -> str:
        return self.path

    def place(self, row: int) -> str:
        return f"{self.path}, line {self.lines[row]}" if self.lines else f"{self.path}, row {row} (from 0)"


def is_frame(data: object) -> bool:
    """Whether ``data`` is a DataFrame of pandas or polars, or a table of pyarrow."""
    return type(data).__module__.partition(".")[0] in FRAMES and hasattr(type(data), "columns")


def from_frame(data: Any, name: str = "the table") -> Table:
    """The columns of a DataFrame of pandas or polars, or of a table of pyarrow."""
    module = type(data).__module__.partition(".")[0]
    if module == "pyarrow":
        data = pandas_of_arrow(data)
    if module == "polars":
        data = collected(data)
        columns = {str(c): _polars_values(data[c]) for c in data.columns}
        return _table(name, columns, len(data))
    names = [str(column) for column in data.columns]
    if len(set(names)) != len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise ValueError(f"{name}: the column {short(twice)} appears twice")
    found = _table(name, {n: data.iloc[:, i] for i, n in enumerate(names)}, len(data))
    found.index = [str(level) for level in data.index.names if level is not None]
    if not found.index and data.index.inferred_type == "string":
        found.index = ["index"]  # as reset_index() calls it
    return found


def collected(data: Any) -> Any:
    """A LazyFrame of polars as a DataFrame; anything else as it is."""
    return data.collect() if hasattr(data, "collect") else data


def pandas_of_arrow(data: Any) -> Any:
    """A table of pyarrow as a DataFrame of pandas; whole numbers beside blanks are not rounded.

    A column that was the index of pandas, with a name, is a column.
    """
    frame = data.to_pandas(integer_object_nulls=True)
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index(named) if named else frame


def _polars_values(series: Any) -> Any:
    rounded = series.dtype.is_integer() and series.null_count()
    return series.to_numpy() if series.dtype.is_numeric() and not rounded else series.to_list()


def read_parquet(path: Path) -> Table:
    """The columns of a Parquet file."""
    parquet = require("pyarrow.parquet", "tables")
    import io

    try:
        frame = pandas_of_arrow(parquet.read_table(io.BytesIO(read_bytes(path))))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from error
    return from_frame(frame, str(path))


def read_records(path: Path) -> Table:
    """Records of JSON: one per line, or a list of them."""
    text = read_text(path)
    records, lines = _record_list(text, path) if text.lstrip().startswith("[") else _record_lines(text, path)
    if not records:
        raise ValueError(f"{path} has no records")
    _check_records(records, path)
    keys = dict.fromkeys(str(key) for record in records for key in record)
    columns = {key: [record.get(key) for record in records] for key in keys}
    return _table(str(path), columns, len(records), lines)


def _check_records(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A ValueError for one object that holds a whole table: by columns or by rows, as pandas writes too."""
    values = list(records[0].values()) if len(records) == 1 else []
    parts = [v if isinstance(v, dict) else next(iter(v), None) for v in values if isinstance(v, (dict, list))]
    if len(parts) == len(values) and any(isinstance(part, (dict, list)) for part in parts):
        raise ValueError(
            f"{path}: expected a list of records, one in each line, or HIF with 'incidences', got an object "
            f"with the keys {short(list(records[0]))}; of pandas: to_json(..., orient='records')"
        )


def _record_lines(text: str, path: Path) -> tuple[list[Mapping[str, Any]], list[int]]:
    with suppress(ValueError, RecursionError):
        if isinstance(whole := json.loads(text), dict):  # one object in several lines
            return [whole], [1]
    # Not splitlines(): U+2028 and the like may stand in the strings of JSON, line ends of files may not.
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = [(number, line) for number, line in enumerate(rows, 1) if line.strip()]
    records: list[Mapping[str, Any]] = []
    for number, line in found:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise ValueError(
                f'{path}, line {number}: expected a record {{"column": value, …}}, got {short(record)}'
            )
        records.append(record)
    return records, [number for number, _ in found]


def _record_list(text: str, path: Path) -> tuple[list[Mapping[str, Any]], list[int]]:
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    wrong = [record for record in records if not isinstance(record, dict)]
    if wrong:
        raise ValueError(
            f'{path}: expected a list of records {{"column": value, …}}, got {short(wrong[0])} in it'
        )
    return records, []


def _table(path: str, columns: Mapping[str, Any], size: int, lines: Sequence[int] = ()) -> FrameTable:
    place = FrameTable(path, "", {}, size, {}, lines=lines).place
    cells: dict[str, Cells] = {}
    lists: dict[str, list[list[str]]] = {}
    rounded: set[str] = set()
    faults: dict[str, str] = {}
    for name, values in columns.items():
        name = name.strip()
        if name in cells:
            raise ValueError(f"{path}: the column {short(name)} appears twice; outer blanks do not count")
        if _dtype_kind(values) in "iufbM":
            cells[name], exact = _from_array(values)
            rounded |= set() if exact else {name}
            continue
        values = list(values)
        rounded |= {name} if _are_rounded(values) else set()
        values = _whole(values)
        if any(isinstance(v, _LISTS) for v in values):
            try:
                lists[name] = _lists(values, place, name)
                values = [json.dumps(names, ensure_ascii=False) for names in lists[name]]
            except ValueError as error:
                faults[name] = str(error)
        cells[name] = Cells.of([_text(v) for v in values])
    return FrameTable(path, "", cells, size, lists, lines=lines, rounded=rounded, faults=faults)


def _lists(values: Sequence[Any], place: Callable[[int], str], column: str) -> list[list[str]]:
    """The lists of names in a column."""
    found = [_items(value, place, row, column) for row, value in enumerate(values)]
    items = iter(_whole([item for one in found for item in one]))
    return [[_text(next(items)) for _ in one] for one in found]


def _are_rounded(values: Iterable[Any]) -> bool:
    """Whether some are numbers with a point, so large that there is none for each whole number."""
    return any(isinstance(v, (float, np.floating)) and _EXACT <= abs(float(v)) < np.inf for v in values)


def _whole(values: list[Any]) -> list[Any]:
    """Numbers with a point, if they are all whole, as numbers without: 1.0 and 1 are one name."""
    points = {v for v in values if isinstance(v, (float, np.floating)) and v == v}
    if not points or not all(map(_is_whole, points)):
        return values
    return [int(v) if isinstance(v, (float, np.floating)) and v == v else v for v in values]


def _is_whole(number: Any) -> bool:
    """Whether a number with a point is whole; one of more than 19 digits is written with an exponent."""
    return abs(number) < 2**63 and float(number).is_integer()


def _dtype_kind(values: Any) -> str:
    return str(getattr(getattr(values, "dtype", None), "kind", "O"))


def _from_array(values: Any) -> tuple[Cells, bool]:
    """Numbers, truths and dates, whole numbers without a point; and whether each number is exact."""
    import pandas as pd

    codes, distinct = pd.factorize(values)
    array = np.asarray(distinct)
    exact = array.dtype.kind != "f" or not bool((np.abs(array[np.isfinite(array)]) >= _EXACT).any())
    if array.dtype.kind == "f" and array.itemsize < 8:
        array = np.array([float(str(v)) for v in array])  # 0.1, not 0.10000000149011612
    if array.dtype.kind == "f" and all(map(_is_whole, array.tolist())):
        array = array.astype(object)
        array = np.array([int(v) for v in array], dtype=object)
    texts = [_text(v) for v in (array.tolist() if array.dtype.kind != "M" else list(distinct))]
    found = Cells.of([*texts, *[""] * bool((codes < 0).any())])  # -1, the last one, is a blank
    return Cells(found.codes[codes], found.texts), exact


def _items(value: Any, place: Callable[[int], str], row: int, column: str) -> list[Any]:
    """The names in a cell that is a list, as they are; ``place(row)`` is where it stands, for errors."""
    if not isinstance(value, (str, *_LISTS)) and _text(value) == "":
        return []
    if not isinstance(value, _LISTS):
        raise ValueError(f"{place(row)}: column {short(column)} holds lists elsewhere, got {short(value)}")
    items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else list(value)
    wrong = next((item for item in items if isinstance(item, (*_LISTS, Mapping))), None)
    if wrong is not None:
        raise ValueError(
            f"{place(row)}: column {short(column)} must hold lists of names, got {short(wrong)} in a list; "
            "take the names out of it"
        )
    return items


def _text(value: Any) -> str:
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return str(value).removesuffix(" 00:00:00")
