"""Columns of the exports of programs that are easily taken for something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ehnn
from ehnn.tables import Layout, Source, TableData

pytestmark = pytest.mark.usefixtures("folder")

PAIRS = pd.DataFrame({"node": list("abcdefghijkl"), "edge": list("xxxyyyzzzwww")})


def people(label: str = "team", **columns: Any) -> TableData:
    """Twelve people in four clubs, with columns."""
    nodes = pd.DataFrame({"node": list("abcdefghijkl"), "team": list("rb") * 6, **columns})
    return ehnn.tables.read(PAIRS, label, nodes=nodes)


@pytest.mark.parametrize(
    ("table", "layout"),
    [
        ("name,kind\na,1\nb,2\nTotal,3\n", {"node": "n", "edge": "e"}),
        ("name,items\na,b;c\nd,b\nTotal,3\n", {"edge": "name", "members": ("items",)}),
        ("name,k1,k2\na,1,0\nb,1,1\nTotal,1,0\n", {"node": "name", "sets": ("k*",)}),
    ],
)
def test_rows_of_sums_are_told_in_every_table(table: str, layout: dict[str, Any]) -> None:
    Path("t.csv").write_text(table, encoding="utf-8")
    source: tuple[Any, ...] = (Path("t.csv"), None)
    if layout.get("node") == "n":
        source = pd.DataFrame({"n": list("aab"), "e": list("xyx")}), Path("t.csv")
    told = Source(*source, layout=Layout(**layout)).read().remarks
    assert (
        "t.csv: column 'name' has the name 'Total' in one row; where that is a row of sums, leave it out"
        in told
    )


def test_names_that_pandas_has_rounded_are_told() -> None:
    Path("t.csv").write_text("node,edge\n1.0000000000000001e+18,x\n1e+18,x\n1e5,y\n", encoding="utf-8")
    told = Source(Path("t.csv")).read().remarks
    assert len(told) == 1
    assert "names such as '1.0000000000000001e+18'" in told[0]


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("Unnamed: 0.1", range(7, 19), "column 'Unnamed: 0.1' counts the rows: not used"),
        ("rownames", range(1, 13), "column 'rownames' counts the rows: not used"),
        ("rank", range(1, 13), "column 'rank' has the numbers of the rows; where their order means nothing"),
        (
            "customer_id",
            range(900, 912),
            "column 'customer_id' has another number in each row; where they are names",
        ),
        ("pay", range(900, 912), ""),
        ("year_id", [1, 2, 3] * 4, ""),
    ],
)
def test_numbers_that_only_name_the_rows_are_told(name: str, values: Any, told: str) -> None:
    """In a table that is sorted by class they give the labels away."""
    found = people(**{name: list(values)})
    assert [told in remark for remark in found.remarks] == [True] * bool(told)
    used = [feature.column for feature in found.reader.node_features]
    assert used == ([] if told.endswith("not used") else [name])


@pytest.mark.parametrize("kind", ["parquet", "pyarrow"])
def test_an_index_of_pandas_is_a_column_of_arrow(kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    nodes = pd.DataFrame({"node": list("abcdefghijkl"), "team": list("rb") * 6}).set_index("node")
    nodes.to_parquet("n.parquet")
    table = "n.parquet" if kind == "parquet" else pyarrow.Table.from_pandas(nodes)
    found = ehnn.tables.read(PAIRS, "team", nodes=table)
    assert found.y == list("rb") * 6
    assert found.remarks == []


def test_columns_of_records_are_refused_only_where_they_are_read() -> None:
    lines = [f'{{"items": ["a", "b"], "kind": "{"xy"[i % 2]}", "lines": [{{"n": {i}}}]}}' for i in range(6)]
    Path("t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = ehnn.tables.read("t.jsonl", "kind")
    assert found.h.edges() == [[0, 1]] * 6
    assert (
        "t.jsonl: columns that are not read: ['lines']; to learn from them: feature_columns" in found.remarks
    )
    for options in ({"member_columns": "lines"}, {"feature_columns": "lines"}):
        with pytest.raises(
            ValueError, match=r"line 1: column 'lines' must hold lists of names, got \{'n': 0\}"
        ):
            ehnn.tables.read("t.jsonl", "kind", **options)
    told = people(more=[[{"n": i}] for i in range(12)]).remarks
    more = "holds other things than texts, numbers and lists of names: not used"
    assert told == [f"the table of nodes: column 'more' {more}"]


def test_a_table_is_printed_in_a_line() -> None:
    found = people(size=range(12))
    assert repr(found) == (
        "TableData(Hypergraph(12 nodes, 4 hyperedges, 12 incidences, order 3, x [12, 1] float32), "
        "labels of 12 of 12 nodes, 1 in remarks)"
    )
    assert "FrameTable('the table', 12 rows, columns ['node', 'edge'])" in repr(found.sheet)
    assert len(repr(found.sheet)) < 1000


def test_a_class_that_is_taken_for_no_label_is_told() -> None:
    severity = ["None", "Mild", "Severe"] * 4
    found = people("severity", severity=severity)
    assert found.y == [None, "Mild", "Severe"] * 4
    told = "'None' in 4 rows, which is taken for no label; where it is a class, call it otherwise"
    assert found.remarks == [
        f"the table of nodes: column 'severity' has {told}",
    ]
    with pytest.raises(
        ValueError, match=r"has only one class, 'EU'; .*; it has 'NA' in 6 rows, which is taken"
    ):
        people("region", region=["NA", "EU"] * 6)
    assert people("severity", severity=[None, "Mild", "Severe"] * 4).remarks == []


def test_truths_in_two_writings_are_told() -> None:
    for texts in (["0", "FALSE", "TRUE"], ["Y", "yes", "no"]):
        told = people("active", active=texts * 4).remarks
        assert f"classes that may be one: {texts[0]!r} and {texts[1]!r} count as different" in told[-1]
    for right in (["no", "yes", "yes", "no"] * 3, ["x", "y", "y"] * 4, ["no", "yes", "perhaps"] * 4):
        assert people("active", active=right).remarks == []


def test_a_header_behind_a_mark_in_the_middle_is_refused() -> None:
    """Two files of Excel, one after the other."""
    Path("t.csv").write_text("\ufeffnode,edge\na,e\nb,e\n\ufeffnode,edge\nc,f\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 4: the row repeats the names of the columns"):
        Source(Path("t.csv")).read()


@pytest.mark.parametrize(
    ("text", "hint"),
    [("4,5", "; write fractions with a point"), ("2024-05-01", "; write dates as numbers, such as days")],
)
def test_what_to_do_where_a_number_is_expected(text: str, hint: str) -> None:
    nodes = pd.DataFrame({"node": list("abcdefghijkl"), "pay": [text, *map(str, range(11))]})
    with pytest.raises(ValueError, match=f"column 'pay' must be a finite number, got '{text}'{hint}$"):
        ehnn.tables.read(PAIRS, "pay", nodes=nodes, regression=True)


def test_few_numbers_with_a_unit_are_told() -> None:
    told = "column 'size' is read as 3 classes, '10 kg' for one; write numbers without their unit"
    assert people(size=["5 kg", "7 kg", "10 kg"] * 4).remarks == [f"the table of nodes: {told}"]
    assert people(grade=["1a", "2b", "3c"] * 4).remarks == []


@pytest.mark.parametrize("indent", [None, 2])
def test_json_with_the_records_in_an_object_is_named(indent: int | None) -> None:
    Path("t.json").write_text(json.dumps({"data": [{"items": ["a"], "kind": "x"}]}, indent=indent))
    with pytest.raises(
        ValueError, match=r"expected a list of records.* got an object with the keys \['data'\]"
    ):
        ehnn.tables.read("t.json", "kind")


def test_pairs_of_nodes_and_sets_of_one_are_told() -> None:
    def told_of(node: Any, edge: Any) -> list[str]:
        return ehnn.tables.read(pd.DataFrame({"node": node, "edge": edge}), task="nodes").remarks

    how = "where a row is a pair of nodes, which is a set of two: member_columns node edge"
    told = f"the table: 6 of 6 names of sets are names of nodes too, 'b' for one; {how}"
    assert told_of(list("abcdef"), list("bcdefa")) == [told]
    told = "the table: no set in column 'edge' has two members, so the sets tell nothing of nodes"
    assert told_of(list("abcdef"), list("uvwxyz")) == [told]
    assert told_of([1, 2, 3, 1, 2], [1, 1, 2, 2, 3]) == []  # both are counted from 1


def test_a_later_table_without_labels_has_names_for_predictions() -> None:
    later = ehnn.tables.read(PAIRS, task="nodes")
    assert (later.task, later.y, later.h.node_names) == ("nodes", None, tuple("abcdefghijkl"))
    with pytest.raises(ValueError, match="label_column must say what to predict"):
        ehnn.tables.read(PAIRS)
