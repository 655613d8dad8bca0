"""Tables that are read in pieces: Parquet, Arrow and CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehnn._utils.optional import require, suggest

from .steps import Folder, Item, Steps

PARQUET = (".parquet", ".pq")
OTHERS = {
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".csv.bz2": "csv",
}


@dataclass(frozen=True)
class Input:
    """A table and the columns that are read from it.

    Attributes:
        files: in order.
        columns: names; those of ids first.
        ids: how many of the columns are ids.
    """

    files: tuple[str, ...]
    columns: tuple[str, ...]
    ids: int

    @classmethod
    def find(cls, data: str | Path, columns: Sequence[str], ids: int) -> Input:
        """A file, or all files of one format in a folder and its subfolders."""
        path = Path(data)
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.is_file() and _format(p) and p.name[0] not in "._")
            kinds = {_format(p) for p in found}
            if len(kinds) > 1:
                raise ValueError(f"{path} has files of several formats: {', '.join(sorted(map(str, kinds)))}")
        else:
            found = [path]
        if not found:
            raise ValueError(f"{path} has no file that ends in {', '.join([*PARQUET, *OTHERS])}")
        for file in found:
            if not file.is_file():
                raise FileNotFoundError(2, "no such file", str(file))
            if _format(file) is None:
                raise ValueError(f"{file} must end in one of {', '.join([*PARQUET, *OTHERS])}")
        return cls(tuple(str(p.resolve()) for p in found), tuple(columns), ids)

    def to_dict(self) -> dict[str, Any]:
        """What identifies the input: names, sizes and times of the files, and the columns."""
        stats = [(f, Path(f).stat()) for f in self.files]
        return {
            "files": [[f, s.st_size, s.st_mtime_ns] for f, s in stats], "columns": list(self.columns),
        }  # fmt: skip


def pieces(steps: Steps, name: str, given: Input, rows: int) -> list[Item]:
    """Items of about ``rows`` rows. Files that cannot be read in pieces are first written as Parquet."""
    files = given.files
    rewrite = [
        i for i, f in enumerate(files) if _format(Path(f)) != "parquet" or _largest_group(f) > 2 * rows
    ]
    items = [
        {"file": files[i], "name": f"{name}-{i:05d}.parquet", "columns": list(given.columns), "rows": rows,
         "ids": given.ids}
        for i in rewrite
    ]  # fmt: skip
    made = steps.run(f"rewrite-{name}", _rewrite, items)
    named = dict(zip(rewrite, made, strict=True))
    readable = [str(steps.path / named[i]) if i in named else f for i, f in enumerate(files)]
    types = _same_types(readable, files, given)
    found = [
        {"file": path, "source": source, "groups": groups, "columns": list(given.columns), "types": types}
        for path, source in zip(readable, files, strict=True)
        for groups in _groups(path, rows)
    ]
    if not found:
        raise ValueError(f"{files[0]} has no rows")
    return found


def read_piece(item: Item) -> Any:
    """The Arrow table of an item; a file that is damaged is a ValueError that names it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _reading(item["source"]), pq.ParquetFile(item["file"]) as file:
        table = file.read_row_groups(item["groups"], columns=item["columns"], use_threads=False)
        return pa.table({name: _as_type(table[name], kind) for name, kind in item["types"].items()})


def _rewrite(folder: Folder, item: Item) -> str:
    """Stream a file into Parquet with groups of ``rows`` rows."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    from ehnn._utils.atomic import atomic_write

    form: Any = _format(Path(item["file"]))
    with _reading(item["file"]):
        if form == "csv":  # ids as they are written: 007 is not 7
            ids = item["columns"][: item["ids"]]
            convert = require("pyarrow.csv", "scale").ConvertOptions(
                column_types=dict.fromkeys(ids, pa.string())
            )
            form = ds.CsvFileFormat(default_fragment_scan_options=ds.CsvFragmentScanOptions(convert))
        data = ds.dataset(item["file"], format=form)
        _check_columns(data.schema.names, item["columns"], item["file"])
        batches = data.scanner(
            columns=item["columns"], batch_size=min(item["rows"], 2**17), use_threads=False, batch_readahead=1
        ).to_batches()
        schema = pa.schema([data.schema.field(name) for name in item["columns"]])
        with atomic_write(folder.path / item["name"], "wb") as file, pq.ParquetWriter(file, schema) as writer:
            for table in _together(batches, schema, item["rows"]):
                writer.write_table(table)
    folder.wrote(item["name"])
    return str(item["name"])


def _together(batches: Iterator[Any], schema: Any, rows: int) -> Iterator[Any]:
    """Tables of at least ``rows`` rows, and the rest."""
    import pyarrow as pa

    kept: list[Any] = []
    for batch in batches:
        kept.append(batch)
        if sum(len(b) for b in kept) >= rows:
            yield pa.Table.from_batches(kept, schema)
            kept = []
    if kept:
        yield pa.Table.from_batches(kept, schema)


class _reading:
    """Errors of Arrow inside become a ValueError that names the file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException) or (isinstance(error, OSError) and error.errno is None):
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"{self.file} cannot be read; it may be cut off or damaged: {reason}") from error


def _format(path: Path) -> str | None:
    name = path.name.lower()
    if name.endswith(PARQUET):
        return "parquet"
    return next((kind for end, kind in OTHERS.items() if name.endswith(end)), None)


def _largest_group(file: str) -> int:
    import pyarrow.parquet as pq

    with _reading(file):
        meta = pq.read_metadata(file)
    return max((meta.row_group(i).num_rows for i in range(meta.num_row_groups)), default=0)


def _groups(file: str, rows: int) -> Iterator[list[int]]:
    """Row groups of a file that have about ``rows`` rows together."""
    import pyarrow.parquet as pq

    meta, count = pq.read_metadata(file), 0
    group: list[int] = []
    for i in range(meta.num_row_groups):
        size = meta.row_group(i).num_rows
        if group and count + size > rows:
            yield group
            group, count = [], 0
        group.append(i)
        count += size
    if count:
        yield group


def _same_types(readable: Sequence[str], sources: Sequence[str], given: Input) -> dict[str, str]:
    """The kind of each column, which must be the same in every file."""
    import pyarrow.parquet as pq

    known: dict[str, str] = {}
    for path, source in zip(readable, sources, strict=True):
        with _reading(source):
            schema = pq.read_schema(path)
        _check_columns(schema.names, given.columns, source)
        for place, name in enumerate(given.columns):
            kind = _kind(schema.field(name).type)
            if kind is None or (place < given.ids and kind.endswith("number")):
                wanted = "integers or text" if place < given.ids else "numbers, integers or text"
                raise ValueError(
                    f"column {name!r} of {source} must have {wanted}, got {schema.field(name).type}"
                )
            if known.setdefault(name, kind) != kind:
                raise ValueError(
                    f"column {name!r} of {source} has {kind}s, but {sources[0]} has {known[name]}s in it"
                )
    return known


def _check_columns(there: Sequence[str], wanted: Sequence[str], file: str) -> None:
    for name in wanted:
        if name not in there:
            raise ValueError(
                f"{file} has no column {name!r}{suggest(name, there)}; its columns: {', '.join(there[:20])}"
            )


def _kind(kind: Any) -> str | None:
    """``integer``, ``number``, ``text``, or one of these in a list."""
    import pyarrow.types as t

    if t.is_list(kind) or t.is_large_list(kind):
        inner = _kind(kind.value_type)
        return None if inner is None or inner.startswith("list") else f"list of {inner}"
    if t.is_dictionary(kind):
        return _kind(kind.value_type)
    if t.is_integer(kind) or t.is_boolean(kind):
        return "integer"
    if t.is_floating(kind) or t.is_decimal(kind):
        return "number"
    text = (
        t.is_string(kind)
        or t.is_large_string(kind)
        or (hasattr(t, "is_string_view") and t.is_string_view(kind))
    )
    return "text" if text else None


def _as_type(column: Any, kind: str) -> Any:
    import pyarrow as pa

    plain = {"integer": pa.int64(), "number": pa.float64(), "text": pa.large_string()}
    wanted = plain.get(kind) or pa.large_list(plain[kind.removeprefix("list of ")])
    return column.cast(wanted)
