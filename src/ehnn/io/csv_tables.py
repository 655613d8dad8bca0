"""CSV files: rows of (node, hyperedge), with columns of weights, features and labels."""

from __future__ import annotations

import csv
import os
from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.atomic import atomic_write
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from ._columns import plain
from ._csv_roles import read_roles
from ._csv_sides import Side, as_floats
from ._csv_table import Table, check_delimiter, read_table
from ._csv_values import ONE_WEIGHT, check_one, parse
from ._names import drop_numbers, identifiers
from ._support import check_role_names, reading_once, single

Path = str | os.PathLike[str]
Names = Literal["auto", "text", "number", "index"]
_NAMES = ("auto", "text", "number", "index")


@reading_once()
def read_csv(
    path: Path,
    *,
    node: str = "node",
    edge: str = "edge",
    weight: str | None = None,
    role: str | None = None,
    node_features: Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    edge_weight: str | None = None,
    edge_features: Sequence[str] | None = None,
    nodes: Path | None = None,
    edges: Path | None = None,
    names: Names = "auto",
    num_nodes: int | None = None,
    num_edges: int | None = None,
    delimiter: str = ",",
) -> Hypergraph:
    """A hypergraph from a CSV file with a header line and one (node, hyperedge) incidence per row.

    A row whose hyperedge is blank only declares its node, so isolated nodes can be listed; a row whose
    node is blank declares its hyperedge. Feature and hyperedge weight columns need a value in at least
    one row of each node (or hyperedge), and the same value wherever they have one; labels may be missing.
    They may also be in tables of their own (``nodes``, ``edges``), which then list all nodes or hyperedges
    and fix their order. Numbers of features and weights get torch's default dtype. Cells lose outer
    white space.

    >>> with open("members.csv", "w") as file:
    ...     _ = file.write("person,club\\nAnn,chess\\nBen,chess\\nBen,choir\\n")
    >>> read_csv("members.csv", node="person", edge="club").node_names
    ('Ann', 'Ben')

    Args:
        path: the file, with cells separated by ``delimiter``.
        node, edge: columns that say which node is in which hyperedge.
        weight: column of incidence weights. For this and the columns below, None means those that
            `write_csv` writes (``weight``, ``incidence_role``, ``x0`` …, ``y``, ``edge_weight``, ``edge_x0``
            …), if there are any, and an empty text or list means no column.
        role: column of the role of the node in the hyperedge: whole numbers from 0, or ``tail`` and ``head``
            (a pair with a row for each is in both: role 2), or other words, numbered in sorted order.
        node_features, edge_features: columns of ``x`` and ``edge_x``, in order.
        label: column of ``y`` (several: ``y`` has two dimensions). Whole numbers are kept; other numbers
            are too; text becomes class numbers, in sorted order. Blank, ``NA``, ``NaN``, ``null`` and the
            like mean that there is none: −1, or NaN among numbers that are not whole.
        edge_weight: column of hyperedge weights.
        nodes, edges: CSV files with the columns of the nodes and of the hyperedges.
        names: what the cells of ``node`` and ``edge`` are. ``"text"``: names. ``"number"``: names that are
            integers. ``"index"``: node and hyperedge numbers from 0 (no names), of which there may be
            ``num_nodes`` and ``num_edges``. ``"auto"``: numbers if they are exactly 0 … n−1, else text.

    Raises:
        ValueError: names the file, the line and the column.
    """
    if names not in _NAMES:
        raise ValueError(f"names must be one of {_NAMES}, got {names!r}")
    check_delimiter(delimiter)
    table = read_table(path, delimiter)
    node_side = Side.read(table, node, nodes, names, num_nodes, "node")
    edge_side = Side.read(table, edge, edges, names, num_edges, "hyperedge")
    rows = np.flatnonzero((node_side.owner >= 0) & (edge_side.owner >= 0))
    empty = (node_side.owner < 0) & (edge_side.owner < 0)
    if empty.any():
        raise ValueError(
            f"{table.place(int(np.argmax(empty)))}: columns {short(node)} and {short(edge)} are both blank"
        )
    weight = _one(weight, "weight", table)
    edge_weight = _one(edge_weight, "edge_weight", edge_side.table)
    weights = None if weight is None else as_floats(parse(table, weight, rows, float))
    role = _one(role, "incidence_role", table)
    ends = node_side.owner[rows], edge_side.owner[rows]
    if weights is not None and weight is not None:
        check_one(table, weight, rows, ends, weights.numpy(), ONE_WEIGHT)
    h = Hypergraph.from_incidence(
        ends,
        len(node_side.names),
        len(edge_side.names),
        node_side.features(node_features, "x"),
        edge_side.features(edge_features, "edge_x"),
        node_side.labels(label),
        edge_weight=None if edge_weight is None else as_floats(edge_side.numbers(edge_weight)),
        incidence_weight=weights,
        roles=None if role is None else read_roles(table, role, rows, ends),
        node_names=node_side.names,
        edge_names=edge_side.names,
    )
    return drop_numbers(h, names in ("text", "number"), names in ("text", "number"))


def write_csv(
    h: Hypergraph,
    path: Path,
    *,
    nodes: Path | None = None,
    edges: Path | None = None,
    delimiter: str = ",",
    role_names: Sequence[str] = (),
) -> None:
    """Write ``h`` to ``path`` as CSV, atomically: columns ``node``, ``edge`` and whatever ``h`` has.

    Cells are separated by ``delimiter``.

    Incidence weights are in ``weight``, roles in ``incidence_role`` (as numbers, or as ``role_names``, which
    `read_csv` numbers in sorted order), features in ``x0`` … and ``edge_x0`` …,
    labels in ``y`` (``y0`` …), hyperedge weights in ``edge_weight``; `read_csv` finds them all. The columns
    of the nodes and of the hyperedges go to the files ``nodes`` and ``edges`` if given, otherwise into rows
    of the one file that declare a node or a hyperedge. Isolated nodes and empty hyperedges are kept.

    CSV does not carry dtypes, types of names (read integers with ``names="number"``, and text that
    spells 0 … n−1 with ``names="text"``), the number of roles or features of width 0; names lose outer white
    space. A batch, ``incidence_x``, names that are not distinct then and names that are blank are refused.

    >>> write_csv(Hypergraph.from_edges([[0, 1], [1, 2]]), "sets.csv")
    >>> read_csv("sets.csv").edges()
    [[0, 1], [1, 2]]
    """
    h = single(h, "write_csv", carries=("roles",))
    check_delimiter(delimiter)
    node_ids, edge_ids = (
        _cells(h.node_names, h.num_nodes, "node"),
        _cells(h.edge_names, h.num_edges, "edge"),
    )
    node_columns = _columns({"x": h.x, "y": h.y})
    edge_columns = _columns({"edge_weight": h.edge_weight, "edge_x": h.edge_x})
    node, edge = h.index.tolist()
    pairs = {"node": [node_ids[v] for v in node], "edge": [edge_ids[e] for e in edge]}
    pairs |= _columns({"weight": h.incidence_weight, "incidence_role": h.roles})
    if role_names and h.roles is not None:
        check_role_names(h, role_names)
        pairs["incidence_role"] = [role_names[role] for role in h.roles.tolist()]
    blocks = [pairs]
    if nodes is not None:
        _write(nodes, [{"node": node_ids, **node_columns}], delimiter)
    else:
        all_nodes = bool(node_columns) or h.node_names is not None
        blocks.insert(0, _declare("node", node_ids, node_columns, None if all_nodes else h.degrees))
    if edges is not None:
        _write(edges, [{"edge": edge_ids, **edge_columns}], delimiter)
    else:
        all_edges = bool(edge_columns) or h.edge_names is not None
        blocks.insert(-1, _declare("edge", edge_ids, edge_columns, None if all_edges else h.orders))
    _write(path, blocks, delimiter)


def _one(given: str | None, usual: str, table: Table) -> str | None:
    if given is None:
        return usual if usual in table.columns else None
    return given or None


def _cells(names: Sequence[Hashable] | None, count: int, what: str) -> list[str]:
    cells = [str(name).strip() for name in identifiers(names, count, what)]
    if "" in cells or len(set(cells)) != count:
        raise ValueError(f"{what} names must be distinct as text, and not blank, to be written as CSV")
    return cells


def _columns(tensors: dict[str, Tensor | None]) -> dict[str, list]:
    """Columns of the tensors by name; one with two dimensions gives a numbered column per channel."""
    columns: dict[str, list] = {}
    for name, tensor in tensors.items():
        if tensor is None:
            continue
        tensor = tensor.to(torch.uint8) if tensor.dtype == torch.bool else tensor
        parts = {name: tensor} if tensor.dim() == 1 else {f"{name}{i}": t for i, t in enumerate(tensor.T)}
        columns |= {key: plain(value) for key, value in parts.items()}
    return columns


def _declare(key: str, ids: list[str], columns: dict[str, list], uses: Tensor | None) -> dict[str, list]:
    """Rows that only declare: all, or those without uses."""
    if uses is None:
        return {key: ids, **columns}
    return {key: [ids[i] for i in (uses == 0).nonzero().squeeze(1).tolist()]}


def _write(path: Path, blocks: list[dict[str, list]], delimiter: str) -> None:
    header = list(dict.fromkeys(name for block in reversed(blocks) for name in block))
    with atomic_write(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow(header)
        for block in blocks:
            size = len(next(iter(block.values())))
            writer.writerows(zip(*(block.get(name, repeat("", size)) for name in header), strict=True))
