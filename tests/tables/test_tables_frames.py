"""DataFrames whose columns are not plain text or numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehnn

pd = pytest.importorskip("pandas")
LONG = 2**53
"""Beyond it, single floats of eight bytes are not all whole numbers: two neighbours would be one name."""
ROWS = [(LONG + 1, "x", "a"), (LONG, "x", "b"), (None, "y", "a"), (LONG + 2, "y", "b")]
COLUMNS = ("node", "edge", "team")


def read(data: Any, label: str | None = "team", **how: Any) -> ehnn.tables.TableData:
    return ehnn.tables.read(data, label, task="nodes", **how)


def _of_arrow() -> Any:
    pa = pytest.importorskip("pyarrow")
    node, edge, team = zip(*ROWS, strict=True)
    return pa.table({"node": pa.array(node, pa.int64()), "edge": edge, "team": team})


def _of_polars() -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS, schema=COLUMNS, orient="row")


def _of_parquet(folder: Path) -> Any:
    pytest.importorskip("pyarrow.parquet").write_table(_of_arrow(), folder / "t.parquet")
    return folder / "t.parquet"


def _of_pandas() -> Any:
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    return frame.assign(node=pd.array([row[0] for row in ROWS], dtype="Int64"))


def _of_lines(folder: Path) -> Any:
    lines = [json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in ROWS]
    (folder / "t.jsonl").write_text("\n".join(lines))
    return folder / "t.jsonl"


@pytest.mark.parametrize("kind", ["arrow", "polars", "lazy", "parquet", "pandas", "lines"])
def test_long_numbers_beside_a_blank_stay_apart(folder: Path, kind: str) -> None:
    makers = {"arrow": _of_arrow, "polars": _of_polars, "lazy": lambda: _of_polars().lazy(),
              "parquet": lambda: _of_parquet(folder), "pandas": _of_pandas,
              "lines": lambda: _of_lines(folder)}  # fmt: skip
    found = read(makers[kind]())
    assert found.h.node_names == (str(LONG + 1), str(LONG), str(LONG + 2))
    assert found.y == ["a", "b", "b"]


def test_a_lazy_frame_is_a_hypergraph() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"node": ["a", "b", "b"], "edge": ["x", "x", "y"]})
    assert ehnn.estimators.as_hypergraph(frame.lazy()).edges() == [[0, 1], [1]]


def test_whole_numbers_have_one_name_in_every_kind_of_column() -> None:
    names = [1.0, 2.0, None]
    frame = pd.DataFrame({"node": [1, 2, 1], "edge": ["x", "x", "y"], "team": ["a", "b", "a"]})
    for column in (pd.Series(names, dtype=object), pd.Categorical(names), names):
        assert read(frame.assign(node=column)).h.node_names == ("1", "2")
    mixed = frame.assign(node=pd.Series([1.0, 2.5, "c"], dtype=object), team=["a", "b", "b"])
    assert read(mixed).h.node_names == ("1.0", "2.5", "c")


def test_bytes_are_text() -> None:
    frame = pd.DataFrame(
        {"node": [b"J\xc3\xb6rg", b"b", b"\xff"], "edge": ["x"] * 3, "team": ["a", "b", "a"]}
    )
    assert read(frame).h.node_names == ("Jörg", "b", "\\xff")


def test_a_list_that_is_missing_is_empty_in_arrow_columns_too() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"items": [["a", "b"], ["b"], None, []], "kind": ["p", "q", "p", "q"]})
    for data in (table, table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype)):
        assert ehnn.tables.read(data, "kind").h.edges() == [[0, 1], [1], [], []]


# ---------------------------------------------------------------------- numbers


def _dates(numbers: Any) -> tuple[Any, Any]:
    names = [f"n{i}" for i in range(len(numbers))]
    pairs = pd.DataFrame({"node": names, "edge": [f"e{i // 2}" for i in range(len(names))]})
    return pairs, pd.DataFrame({"node": names, "seconds": numbers, "team": ["a", "b"] * (len(names) // 2)})


def test_columns_keep_small_differences_of_large_numbers() -> None:
    numbers = 1_700_000_000 + np.arange(40)
    pairs, nodes = _dates(numbers)
    found = read(pairs, nodes=nodes)
    assert (found.h.x.double().numpy()[:, 0] == numbers).all()
    later = ehnn.tables.Source(pairs.head(1), nodes.head(1))
    assert found.reader.graph(later.read()).x.tolist() == [[1_700_000_000]]
    small = read(*_dates(np.arange(40) / 7)[:1], nodes=_dates(np.arange(40) / 7)[1])
    assert str(small.h.x.dtype) == "torch.float32"  # as before: half the memory


def test_numbers_beyond_single_precision_name_the_cell() -> None:
    pairs, nodes = _dates([1.0, 1e300, 2.0, 3.0])
    with pytest.raises(
        ValueError, match=r"row 1 \(from 0\): column 'seconds' must be a number below 3.4e38, got '1e\+300'"
    ):
        read(pairs, nodes=nodes)


def test_an_index_that_may_be_meant_is_named() -> None:
    pairs = pd.DataFrame({"node": ["a", "b"], "edge": ["x", "x"]})
    with pytest.raises(ValueError, match="its index node, edge is no column: call reset_index"):
        read(pairs.assign(team=["p", "q"]).set_index(["node", "edge"]))
    with pytest.raises(ValueError, match="its index index is no column: call reset_index"):
        read(pairs, nodes=pd.DataFrame({"team": ["p", "q"]}, index=["a", "b"]))
