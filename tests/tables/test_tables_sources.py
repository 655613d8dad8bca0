"""The same sets from every kind of file and DataFrame."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ehnn.io import to_named_edges
from ehnn.tables import read
from ehnn.tables.labels import read_labels
from ehnn.tables.layouts import Layout
from ehnn.tables.sheets import read_sheet

pytestmark = pytest.mark.usefixtures("folder")
pd = pytest.importorskip("pandas")

SETS = {"s1": ["007", "ann", "Bö, jr"], "s2": ["ann", "cy"], "s3": ["cy", "007"]}
PAIRS = [(node, name) for name, members in SETS.items() for node in members]
KINDS = {"s1": "x", "s2": "y", "s3": None}
RECORDS = [{"set": name, "members": members, "kind": KINDS[name]} for name, members in SETS.items()]


def pairs_csv() -> str:
    return "node,edge\n" + "".join(f'"{n}",{e}\n' for n, e in PAIRS)


def frame() -> Any:
    return pd.DataFrame(PAIRS, columns=["node", "edge"])


def written(name: str, data: bytes) -> Path:
    Path(name).write_bytes(data)
    return Path(name)


def parquet(table: Any) -> Path:
    pytest.importorskip("pyarrow")
    table.to_parquet("a.parquet")
    return Path("a.parquet")


def polars(table: Any) -> Any:
    return pytest.importorskip("polars").DataFrame(table.to_dict("list"))


def arrow(table: Any) -> Any:
    return pytest.importorskip("pyarrow").table(table.to_dict("list"))


def lines_of(records: list[dict[str, Any]]) -> bytes:
    return "\n\n".join(json.dumps(r, ensure_ascii=False) for r in records).encode()


SOURCES: dict[str, Callable[[], Any]] = {
    "csv": lambda: written("a.csv", pairs_csv().encode()),
    "csv.gz": lambda: written("a.csv.gz", gzip.compress(pairs_csv().encode())),
    "utf-16": lambda: written("a.csv", pairs_csv().encode("utf-16")),
    "index": lambda: written("a.csv", frame().to_csv().encode()),
    "pandas": frame,
    "categories": lambda: frame().astype("category"),
    "polars": lambda: polars(frame()),
    "pyarrow": lambda: arrow(frame()),
    "parquet": lambda: parquet(frame()),
    "pandas lists": lambda: pd.DataFrame(RECORDS),
    "polars lists": lambda: polars(pd.DataFrame(RECORDS)),
    "parquet lists": lambda: parquet(pd.DataFrame(RECORDS)),
    "json lines": lambda: written("a.jsonl", lines_of(RECORDS)),
    "json lines in .json": lambda: written("a.json", lines_of(RECORDS).replace(b"\n\n", b"\n")),
    "packed json lines": lambda: written("a.ndjson.gz", gzip.compress(lines_of(RECORDS))),
    "records": lambda: written("a.json", json.dumps(RECORDS).encode()),
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_sets_from_every_source(source: str) -> None:
    sheet = read_sheet(SOURCES[source](), Layout())
    found = to_named_edges(sheet.h)
    assert isinstance(found, dict)
    assert {name: sorted(members) for name, members in found.items()} == {
        name: sorted(members) for name, members in SETS.items()
    }
    if sheet.layout.kind == "sets":
        assert read_labels(sheet.edges, "kind", 3, False) == ["x", "y", None]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1, 2, None], ["1", "2"]),
        ([1.5, 2.0, float("nan")], ["1.5", "2.0"]),
        ([True, False, None], ["True", "False"]),
        (pd.to_datetime(["2024-01-05", "2024-02-01", None]), ["2024-01-05", "2024-02-01"]),
        (pd.array([1, 2, None], dtype="Int64"), ["1", "2"]),
    ],
    ids=["whole", "fractions", "truths", "dates", "nullable"],
)
def test_names_of_a_frame_are_text_as_a_person_would_write_it(values: Any, names: list[str]) -> None:
    table = pd.DataFrame({"node": values, "edge": ["e", "e", "e"]})
    assert list(read_sheet(table, Layout()).h.node_names) == names


def test_rows_of_frames_and_lines_of_records_are_named() -> None:
    table = pd.DataFrame({"set": ["a", "b"], "members": [["x"], 3.5]})
    with pytest.raises(ValueError, match=r"row 1 \(from 0\): column 'members' holds lists elsewhere"):
        read_sheet(table, Layout())
    Path("a.jsonl").write_text('{"node": "a", "edge": "b"}\n\n{"node": "a"', encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.jsonl, line 3: not JSON"):
        read_sheet("a.jsonl", Layout())
    Path("a.json").write_text("[null]", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.json: expected a list of records .* got None in it"):
        read_sheet("a.json", Layout())
    Path("a.jsonl").write_text('{"set": "s", "members": ["a"]}\n\n{"set": "s", "members": ["b"]}')
    with pytest.raises(ValueError, match=r"a\.jsonl, line 3: 's' names a second set"):
        read_sheet("a.jsonl", Layout())


def test_a_file_that_is_not_parquet_is_named() -> None:
    pytest.importorskip("pyarrow")
    Path("a.parquet").write_text("node,edge\n")
    with pytest.raises(ValueError, match=r"a\.parquet is not a Parquet file"):
        read_sheet("a.parquet", Layout())


@pytest.mark.parametrize("kind", [int, float, "Int64"])
def test_numbers_may_be_names_in_every_layout_of_a_frame(kind: Any) -> None:
    number = pd.Series([3, 1, 2]).astype(kind)
    pairs = pd.DataFrame({"node": ["1", "2", "3"], "edge": ["x", "x", "y"]})
    nodes = pd.DataFrame({"node": number, "team": ["a", "b", "b"]})
    assert read(pairs, "team", nodes=nodes).y == ["b", "b", "a"]
    sets = pd.DataFrame({"set": number, "members": [["a"], ["b"], ["a", "b"]]})
    assert read_sheet(sets, Layout(edge="set")).h.edge_names == ("3", "1", "2")
    matrix = pd.DataFrame({"node": number, "x": [1, 0, 1]})
    assert read_sheet(matrix, Layout(node="node", sets=("x",))).h.node_names == ("3", "1", "2")


def test_columns_that_differ_by_outer_blanks_are_refused() -> None:
    told = "the column 'team' appears twice; outer blanks do not count"
    table = pd.DataFrame({"node": ["a", "b"], "edge": ["e", "e"], "team": [1, 2], "team ": [3, 4]})
    Path("a.jsonl").write_text(table.to_json(orient="records", lines=True), encoding="utf-8")
    for data in (table, "a.jsonl"):
        with pytest.raises(ValueError, match=told):
            read_sheet(data, Layout())


def test_line_separators_in_strings_of_json_end_no_line() -> None:
    rows = [{"node": name, "edge": "e"} for name in ("a\u2028b", "c\u0085d", "e")]
    for end in ("\n", "\r\n", "\r"):
        text = end.join(json.dumps(row, ensure_ascii=False) for row in rows)
        Path("a.jsonl").write_bytes(text.encode())
        assert read_sheet("a.jsonl", Layout()).h.node_names == ("a\u2028b", "c\u0085d", "e")


@pytest.mark.parametrize("cell", ["3.5", "[[1]]"])
def test_errors_in_lists_name_the_line_of_a_record(cell: str) -> None:
    Path("a.jsonl").write_text(f'{{"members": ["a"]}}\n\n{{"members": {cell}}}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.jsonl, line 3: column 'members'"):
        read_sheet("a.jsonl", Layout())
