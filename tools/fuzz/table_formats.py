"""Hypergraphs as people keep them: CSV tables, lists of hyperedges, HIF, tables of results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from ehnn import Hypergraph, io
from ehnn.tables import Layout, read_sheet
from ehnn.tables.columns import learn_feature, with_node_table

from .seeds import Seed, files_in

NAMES = ("ann", "bob", "çem", "dan eve")


def example(named: bool = True) -> Hypergraph:
    """Four nodes, three hyperedges, everything that a hypergraph can carry."""
    names = {"node_names": NAMES, "edge_names": ("A", "B", "C")} if named else {}
    h = Hypergraph.from_edges(
        [[0, 1, 2], [2, 3], [0, 3]], 4, x=torch.arange(8.0).reshape(4, 2), y=torch.tensor([0, 1, 1, 0]),
        edge_x=torch.ones(3, 1), edge_weight=torch.tensor([1.0, 2.0, 0.5]), **names,
    )  # fmt: skip
    return h.replace(incidence_weight=torch.linspace(1, 2, 7))


def csv_tables(folder: Path) -> Iterable[Seed]:
    for number, (named, delimiter) in enumerate(((True, ","), (True, ";"), (False, "\t"))):
        own = folder / str(number)
        own.mkdir()
        io.write_csv(example(named), own / "h.csv", delimiter=delimiter)
        yield Seed(files_in(own), lambda f, d=delimiter: io.read_csv(f / "h.csv", delimiter=d))
    pairs = b'person,club\nann,x\nbob,x\nbob,"y, z"\ncem,y\n'
    people = b"person,age,team\nann,31,red\nbob,4.5,blue\ncem,,red\n"
    yield Seed(
        {"pairs.csv": pairs, "people.csv": people},
        lambda f: io.read_csv(
            f / "pairs.csv", node="person", edge="club", nodes=f / "people.csv", label="team"
        ),
    )
    yield Seed(
        {"pairs.csv": b"node,edge\n0,0\n1,0\n5,2\n"}, lambda f: io.read_csv(f / "pairs.csv", names="index")
    )


def tables(folder: Path) -> Iterable[Seed]:
    """As the command line reads a file of sets, and perhaps one of nodes."""
    people = b"person,age,team\nann,31,red\nbob,4.5,blue\ncem,,red\n"
    pairs = b"person,club,year\nann,x,1990\nbob,x,1990\nbob,y,\ncem,y,\n"
    sets = b'id;members;kind\n1;"[""ann"", ""bob""]";a\n2;"[""bob"", ""cem""]";b\n'
    listed = b"basket\tmembers\tprice\n1\tann|bob\t2.5\n2\tbob|cem|dan\t3\n"
    layout = Layout(node="person", edge="club")
    yield Seed({"p.csv": pairs, "n.csv": people}, lambda f: _learn(f / "p.csv", layout, f / "n.csv"))
    yield Seed({"p.csv": pairs}, lambda f: _learn(f / "p.csv", layout))
    yield Seed({"s.csv": sets}, lambda f: _learn(f / "s.csv", Layout()))
    yield Seed({"s.tsv": listed}, lambda f: _learn(f / "s.tsv", Layout(kind="sets")))
    yield Seed({"l.txt": b"ann, bob\ncem, ann\n"}, lambda f: _learn(f / "l.txt", Layout()))
    io.write_hif(example(), folder / "h.json")
    yield Seed(files_in(folder), lambda f: _learn(f / "h.json", Layout()))


def _learn(path: Path, layout: Layout, nodes: Path | None = None) -> Hypergraph:
    sheet = read_sheet(path, layout)
    if nodes is not None:
        sheet = with_node_table(sheet, nodes, None)
    for columns, count in ((sheet.nodes, sheet.h.num_nodes), (sheet.edges, sheet.h.num_edges)):
        for name in () if columns is None else columns.table.columns:
            with suppress(ValueError):  # a column may well be about something else
                learn_feature(columns, name, count)
    return sheet.h


def lines(folder: Path) -> Iterable[Seed]:
    plain, named = b"0 1 2\n2 3\n\n0 3\n", b"ann;bob\ncem;dan eve;ann\n"
    yield Seed({"h.txt": plain}, lambda f: io.read_edge_lines(f / "h.txt"))
    yield Seed({"h.txt": b"1,2,3\n3,4\n"}, lambda f: io.read_edge_lines(f / "h.txt", separator=",", base=1))
    yield Seed({"h.txt": plain}, lambda f: io.read_edge_lines(f / "h.txt", num_nodes=5))
    yield Seed({"h.txt": named}, lambda f: io.read_edge_lines(f / "h.txt", separator=";", named=True))


def hif(folder: Path) -> Iterable[Seed]:
    for named in (True, False):
        io.write_hif(example(named), folder / "h.json")
        yield Seed(files_in(folder), lambda f: io.read_hif(f / "h.json"))
    foreign: dict[str, Any] = {
        "network-type": "undirected", "metadata": {"name": "x"},
        "nodes": [{"node": n, "attrs": {"age": 3, "v": [1, 2]}} for n in ("a", "b")],
        "edges": [{"edge": 1, "weight": 2.0}],
        "incidences": [{"node": "a", "edge": 1}, {"node": "b", "edge": 1, "weight": 0.5}],
    }  # fmt: skip
    data = {"h.json": json.dumps(foreign).encode()}
    yield Seed(data, lambda f: io.read_hif(f / "h.json", x=["age", "v"], y="age"))


FORMATS = {"csv": csv_tables, "tables": tables, "lines": lines, "hif": hif}
