"""The example of SciPy's functions: built from the installed package, written as a table."""

import csv

import pytest

import ehnn
from ehnn.datasets import scipy_functions
from ehnn.datasets.functions import write_example


@pytest.fixture(scope="module")
def found():
    return scipy_functions()


def test_functions_are_nodes_and_words_are_sets_of_them(found):
    h, module = found
    assert h.num_nodes == len(module) > 1000
    assert int(h.orders.min()) >= 2
    members = {h.edge_names[e]: {h.node_names[v] for v in edge} for e, edge in enumerate(h.edges())}
    assert {"ttest_ind", "ttest_rel"} <= members["axis"]
    assert "savgol_filter" in members["polyorder"]


def test_a_function_belongs_to_the_module_that_exports_it(found):
    h, module = found
    assert list(module) == list(h.node_names)
    assert module["dijkstra"] == "sparse.csgraph"
    assert len(set(module.values())) == 15


def test_the_table_gives_the_module_of_every_third_function(found, tmp_path):
    h, module = found
    write_example(tmp_path / "functions.csv")
    with open(tmp_path / "functions.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert 0.97 * h.num_incidences < len(rows) < h.num_incidences
    known = {row["function"] for row in rows if row["module"]}
    assert known <= set(h.node_names[::3])
    assert all(row["module"] in ("", module[row["function"]]) for row in rows)
    read = ehnn.io.read_csv(tmp_path / "functions.csv", node="function", edge="word")
    assert read.num_incidences == len(rows)


def test_the_table_is_read_without_remarks(tmp_path):
    write_example(tmp_path / "functions.csv")
    columns = {"node_column": "function", "edge_column": "word"}
    found = ehnn.tables.read(tmp_path / "functions.csv", "module", **columns)
    assert found.remarks == []
