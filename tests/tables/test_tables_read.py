"""From tables to a hypergraph with labels, and later tables beside those of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ehnn.io import from_named_edges, to_named_edges
from ehnn.tables import Source, merge, read
from ehnn.tables.later import as_trained, ask
from ehnn.tables.reader import Reader

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("folder")

MEMBERS = pd.DataFrame(
    {
        "person": ["ann", "bob", "bob", "cy", "cy", "dan"],
        "club": ["x", "x", "y", "y", "z", "z"],
        "role": ["head", "member", "head", "member", "head", "member"],
        "fee": [3, 3, 4, 4, 5, 5],
    }
)
PEOPLE = pd.DataFrame(
    {
        "person": ["dan", "cy", "ann", "eve", "bob"],
        "team": ["r", "b", "r", None, "b"],
        "age": [30, 20, None, 40, 50],
    }
)
COLUMNS = {"node_column": "person", "edge_column": "club"}


def test_labels_and_features_of_nodes_follow_their_names() -> None:
    found = read(MEMBERS, "team", nodes=PEOPLE, **COLUMNS)
    assert found.h.node_names == ("ann", "bob", "cy", "dan", "eve")
    assert (found.task, found.y) == ("nodes", ["r", "b", "b", "r", None])
    assert found.h.x.squeeze(1).tolist() == [35, 50, 20, 30, 40]
    assert found.h.edge_x is None


def test_labels_of_sets_with_features_of_both_sides() -> None:
    sets = pd.DataFrame({"items": [["a", "b"], ["b"], ["a"]], "price": [1.5, 2, 3], "kind": ["x", "y", "x"]})
    items = pd.DataFrame({"id": ["a", "b"], "size": [1, 2]})
    found = read(sets, "kind", nodes=items, task="sets", feature_columns=["price", "size"])
    assert found.y == ["x", "y", "x"]
    assert found.h.edge_x.squeeze(1).tolist() == [1.5, 2, 3]
    assert found.h.x.squeeze(1).tolist() == [1, 2]


def test_a_column_of_the_table_of_sets_is_a_label_of_sets() -> None:
    sets = pd.DataFrame({"basket": ["1", "2"], "items": ["a;b", "b;c"], "kind": ["x", "y"]})
    items = pd.DataFrame({"node": ["a", "b", "c"], "price": [1.0, 2.0, 3.0], "colour": ["r", "r", "g"]})
    assert read(sets, "kind", nodes=items, edge_column="basket").task == "sets"
    assert read(sets, "colour", nodes=items, edge_column="basket").task == "nodes"


@pytest.mark.parametrize("option", ["role_column", "weight_column", "edge_weight_column"])
def test_the_label_is_no_input(option: str) -> None:
    column = "role" if option == "role_column" else "fee"
    with pytest.raises(ValueError, match=f"{option}: '{column}' is the label, which would give the answer"):
        read(MEMBERS, column, task="incidences", **COLUMNS, **{option: column})


def test_labels_of_nodes_within_sets_are_in_the_order_of_the_incidences() -> None:
    shuffled = MEMBERS.sample(frac=1, random_state=3)
    found = read(shuffled, "role", task="incidences", **COLUMNS)
    role = {(p, c): r for p, c, r in MEMBERS[["person", "club", "role"]].itertuples(index=False)}
    names = [(found.h.node_names[v], found.h.edge_names[e]) for v, e in found.h.index.T.tolist()]
    assert found.y == [role[name] for name in names]
    twice = pd.concat([MEMBERS, MEMBERS.head(1).assign(role="guest")])
    with pytest.raises(
        ValueError, match=r"row 6 .*'guest' of the node in the set \('ann', 'x'\), but .*'head'"
    ):
        read(twice, "role", task="incidences", **COLUMNS)


def test_a_column_that_may_name_the_sets_is_told() -> None:
    table = pd.DataFrame({"basket": ["b1", "b2"], "items": ["a b", "b c"], "kind": ["x", "y"]})
    assert read(table, "kind").remarks[-1].endswith("if 'basket' names the sets: edge_column basket")
    assert not any("names the sets" in told for told in read(table, "kind", edge_column="basket").remarks)


def test_columns_that_are_not_read_are_told() -> None:
    def remarks(table: Any) -> list[str]:
        return read(table, "role", task="incidences", **COLUMNS).remarks

    told = "the table: columns that are not read: ['fee']; to learn from them: feature_columns"
    assert remarks(MEMBERS) == [told]
    weighted = MEMBERS.rename(columns={"fee": "edge_weight"})
    told = "the table: column 'edge_weight' is not read; as weights: edge_weight_column edge_weight"
    assert remarks(weighted) == [told]
    found = read(weighted, "role", task="incidences", edge_weight_column="edge_weight", **COLUMNS)
    assert (found.h.edge_weight.tolist(), found.remarks) == ([3, 4, 5], [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "node_column and edge_column"),
        ({"node_colum": "person"}, "no argument 'node_colum' \\(did you mean 'node_column'"),
        ({**COLUMNS, "label_column": "team"}, "there is no column 'team'"),
        ({**COLUMNS, "label_column": "role"}, "task sets; of nodes within sets: task incidences"),
        ({**COLUMNS, "label_column": "fee", "task": "rows"}, "task must be one of nodes, sets, incidences"),
    ],
)
def test_errors_in_python_name_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read(MEMBERS, **({"label_column": "role"} | options))
    assert "--" not in str(caught.value)


def test_a_reader_reads_later_tables_as_the_first(tmp_path: Path) -> None:
    found = read(MEMBERS, "team", nodes=PEOPLE, **COLUMNS)
    again = Reader.restore(found.reader.about(), found.reader.tensors())
    assert again.about() == found.reader.about()
    later = Source(MEMBERS.head(2).replace("bob", "new"), PEOPLE.replace("bob", "new"), again.layout)
    joined = again.join(later.read())
    assert joined.h.node_names == ("ann", "bob", "cy", "dan", "eve", "new")
    assert (joined.new_nodes, joined.new_edges) == (1, 0)
    assert joined.h.x.squeeze(1).tolist() == [35, 50, 20, 30, 40, 50]
    assert to_named_edges(joined.h)["x"] == ["ann", "bob", "new"]
    with pytest.raises(ValueError, match="reads the columns 'age' of a table of nodes"):
        again.check(Source(MEMBERS))


def test_numbered_sets_of_another_file_are_new_ones() -> None:
    lists = pd.DataFrame({"members": [["a", "b"], ["b", "c"]], "kind": ["x", "y"]})
    reader = read(lists, "kind").reader
    assert reader.join(Source(lists).read()).edges.tolist() == [0, 1]
    other = pd.DataFrame({"members": [["a", "b"], ["c", "d"]]})
    assert reader.join(Source(other, layout=reader.layout).read(loose=True)).edges.tolist() == [2, 3]


names = st.sampled_from("abcdef")
edges = st.dictionaries(st.sampled_from("xyz"), st.sets(names, min_size=1, max_size=4), min_size=1)


@settings(max_examples=60, deadline=None)
@given(edges, edges)
def test_a_merged_hypergraph_is_the_union_with_the_known_one_first(one: dict, two: dict) -> None:
    known, new = from_named_edges(one), from_named_edges(two)
    found = merge(known, new)
    union = {name: one.get(name, set()) | two.get(name, set()) for name in (*one, *two)}
    assert {name: set(members) for name, members in to_named_edges(found.h).items()} == union
    assert found.h.node_names[: known.num_nodes] == known.node_names
    assert found.h.edge_names[: known.num_edges] == known.edge_names
    assert [found.h.node_names[v] for v in found.nodes] == list(new.node_names)
    assert [found.h.edge_names[e] for e in found.edges] == list(new.edge_names)
    same = merge(known, new, "same")
    kept = [name for name in two if set(two[name]) == set(one.get(name, ()))]
    assert same.new_edges == len(two) - len(kept)
    assert len(set(same.h.edge_names)) == same.h.num_edges
    assert [set(np.array(same.h.node_names)[e]) for e in map(same.h.edges().__getitem__, same.edges)] == list(
        two.values()
    )


def test_weights_are_merged_and_those_of_the_new_table_count() -> None:
    known = from_named_edges({"s": ["a", "b"]}).replace(incidence_weight=torch.tensor([2.0, 3.0]))
    new = from_named_edges({"s": ["b"], "t": ["a"]}, edge_weight=[5.0, 6.0])
    found = merge(known, new)
    assert found.h.incidence_weight.tolist() == [2, 1, 1]
    assert found.h.edge_weight.tolist() == [5, 6]


@pytest.mark.parametrize("task", ["nodes", "sets", "incidences"])
def test_every_row_is_asked_once_in_whole_new_sets(task: str) -> None:
    """Parts hold each row once; hyperedges of training grow by a few rows at a time, new ones are whole."""
    draw = np.random.default_rng(0)
    rows = [(f"n{v}", f"e{e}") for e in range(30) for v in draw.choice(20, 3, replace=False)]
    table = pd.DataFrame(rows, columns=["node", "edge"]).assign(kind=[f"k{i % 2}" for i in range(90)])
    if task != "incidences":
        table["kind"] = table["node" if task == "nodes" else "edge"].map(lambda name: f"k{int(name[1:]) % 2}")
    reader = read(table, "kind", task=task).reader
    later = [
        ("n0", "new"),
        ("m0", "new"),
        ("m1", "new"),
        ("m1", "e3"),
        ("m2", "e3"),
        ("n5", "e0"),
        ("n7", "new"),
    ]
    asked = ask(
        reader, Source(pd.DataFrame([*later, *rows[:6]], columns=["node", "edge"]), layout=reader.layout)
    )
    assert sorted(np.concatenate([part.places for part in asked.parts]).tolist()) == list(
        range(len(asked.names))
    )
    for part in asked.parts:
        names = part.h.node_names, part.h.edge_names
        for row, place in zip(part.rows.tolist(), part.places.tolist(), strict=True):
            if task == "incidences":
                node, edge = part.h.index[:, row].tolist()
                assert asked.names[place] == (names[0][node], names[1][edge])
            else:
                assert asked.names[place] == (names[task == "sets"][row].removesuffix(" (new)"),)
        members = to_named_edges(part.h)
        if "new" in members and task == "nodes":
            assert set(members["new"]) == {"n0", "m0", "m1", "n7"}
            assert len(members["e3"]) <= 4


def test_the_table_of_training_is_asked_as_it_was() -> None:
    data = read(MEMBERS, "team", nodes=PEOPLE, **COLUMNS)
    asked = ask(data.reader, Source(MEMBERS, PEOPLE, data.reader.layout, "person"))
    assert (len(asked.parts), asked.remarks) == (1, [])
    assert asked.parts[0].h == data.h
    alone = ask(data.reader, Source(MEMBERS, PEOPLE, data.reader.layout, "person"), alone=True)
    assert [name for (name,) in alone.names] == list(data.h.node_names)


@pytest.mark.parametrize("data", [{"person": ["a"]}, [{"person": "a"}], MEMBERS["person"]])
def test_what_is_no_table_is_named(data: Any) -> None:
    with pytest.raises(ValueError, match=r"the table must be a file, or a DataFrame .*, got"):
        read(data, "team", **COLUMNS)
    with pytest.raises(ValueError, match=r"the table of nodes must be a file, or a DataFrame .*, got"):
        read(MEMBERS, "team", nodes=data, **COLUMNS)


def test_an_index_with_a_name_is_no_column() -> None:
    with pytest.raises(ValueError, match=r"'person' is its index and no column: call reset_index\(\)"):
        read(MEMBERS.set_index("person"), "role", **COLUMNS)
    named = PEOPLE.set_index("person")
    with pytest.raises(ValueError, match=r"its index .* is no column: call reset_index\(\)"):
        read(MEMBERS, "team", nodes=named[["team"]], **COLUMNS)


def test_truths_are_truths() -> None:
    table = pd.DataFrame({"node": list("abcd"), "edge": list("xxyy"), "kind": [True, True, False, None]})
    assert read(table, "kind").y == [True, True, False, None]
    assert read(table.assign(kind=["TRUE", "TRUE", "FALSE", ""]), "kind").y == ["TRUE", "TRUE", "FALSE", None]


def test_a_class_that_may_be_a_blank_is_told() -> None:
    table = pd.DataFrame({"node": list("abcd"), "edge": list("xxyy"), "kind": ["a", "-", "a", "-"]})
    assert any("has a class '-'; where it means that there is no" in r for r in read(table, "kind").remarks)
    assert read(table.replace("-", "b"), "kind").remarks == []


def test_whole_numbers_with_and_without_a_point_are_told() -> None:
    pairs = pd.DataFrame({"node": ["1.0", "2.0", "3.0"], "edge": ["x", "x", "y"]})
    people = pd.DataFrame({"node": ["1", "2", "3"], "team": ["a", "b", "a"]})
    with pytest.raises(ValueError, match=r"the first is '1' .*; '1.0' is known: write whole numbers"):
        read(pairs, "team", nodes=people)
    found = read(pairs.assign(node=["1", "2", "3"], team=["a", "b", "a"]), "team")
    asked = ask(found.reader, Source(pairs, layout=found.reader.layout))
    assert "'1.0' for one; '1' is known: write whole numbers in the same way" in asked.remarks[0]


def test_a_later_file_may_have_another_delimiter(tmp_path: Path) -> None:
    MEMBERS.to_csv(tmp_path / "comma.csv", index=False)
    halves = MEMBERS.assign(fee=MEMBERS.fee + 0.5)
    halves.to_csv(tmp_path / "semicolon.csv", index=False, sep=";", decimal=",")
    for first, later in (("comma.csv", "semicolon.csv"), ("semicolon.csv", "comma.csv")):
        reader = read(tmp_path / first, task="hyperedges", **COLUMNS).reader
        found = as_trained(reader, Source(tmp_path / later)).read().h
        assert found.node_names == reader.known.node_names
