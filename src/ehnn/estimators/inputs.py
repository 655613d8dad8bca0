"""From whatever holds a hypergraph to a `Hypergraph`, and from names to numbers of nodes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn import io
from ehnn._utils.optional import suggest
from ehnn._utils.validation import repeated, short
from ehnn.hypergraph import Hypergraph
from ehnn.io._names import EDGE_COLUMNS, NODE_COLUMNS
from ehnn.io.named import in_order
from ehnn.tables import Layout, TableData, read_sheet
from ehnn.tables.frames import collected, is_frame, pandas_of_arrow
from ehnn.tables.lists import SEPARATORS
from ehnn.tables.reading import in_python

from .doubts import warn_of_names
from .labels import plain

_HOW = (
    "a Hypergraph, a list of hyperedges, a mapping of named hyperedges, an incidence matrix, a pandas frame "
    "of (node, hyperedge) rows, or an object of PyG, XGI, HyperNetX or NetworkX"
)


def as_hypergraph(data: Any) -> Hypergraph:
    """Convert lists, matrices, DataFrames, files or objects of other libraries to a Hypergraph.

    ``data`` may be a Hypergraph; a list of hyperedges, each a collection of node numbers or of names; a
    mapping from hyperedge names to such collections; a scipy or dense incidence matrix ``[num_nodes,
    num_edges]`` or a 2 × nnz index; a DataFrame (pandas, polars, pyarrow) with a row per (node, hyperedge); a
    file, or what `ehnn.tables.read` read from one; a HIF dictionary; and the objects of PyG
    (``HyperGraphData``, or ``Data`` with ``hyperedge_index``), XGI, HyperNetX and NetworkX (bipartite
    graphs).

    The columns of a frame are found by name: node, node_id, vertex or member, and edge, hyperedge, set or
    group, these also with _id. Of two columns one such name is enough. `ehnn.tables.read` takes other names,
    and other layouts, labels and features. A dense matrix holds 0 and 1: other numbers, which may be features
    by mistake, are refused; `Hypergraph.from_incidence` takes them as weights.

    >>> as_hypergraph([["ann", "bob"], ["bob", "cy"]]).node_names
    ('ann', 'bob', 'cy')
    >>> as_hypergraph([[0, 1], [1, 2, 3]])
    Hypergraph(4 nodes, 2 hyperedges, 5 incidences, orders 2 to 3)
    """
    found = _converted(data)
    if found is not data and not isinstance(data, (str, os.PathLike, TableData)):
        warn_of_names(found)
    if found.incidence_x is not None:
        warnings.warn("incidence_x of the hypergraph: estimators do not read it", stacklevel=3)
    return _plain_numbers(found)


def _plain_numbers(h: Hypergraph) -> Hypergraph:
    """``h`` without gradients, which would go back into what made its features; an error for sparse ones."""
    changed = {}
    for name in ("x", "edge_x", "edge_weight", "incidence_weight"):
        value = getattr(h, name)
        if value is None:
            continue
        if value.layout != torch.strided:
            raise ValueError(f"{name} must be dense, got {value.layout}: give {name}.to_dense()")
        if value.requires_grad:
            changed[name] = value.detach()
    return h.replace(**changed) if changed else h


def _converted(data: Any) -> Hypergraph:
    if isinstance(data, Hypergraph):
        return data
    if isinstance(data, TableData):
        return data.h
    if isinstance(data, (str, os.PathLike)):
        try:
            return read_sheet(data, Layout()).h
        except ValueError as error:
            told = in_python(str(error))
            hint = "; ehnn.tables.read takes these arguments" if told != str(error) else ""
            raise ValueError(f"{told}{hint}") from error
    convert = _FOREIGN.get(type(data).__module__.partition(".")[0])
    if convert is not None and not isinstance(data, np.generic):
        return convert(data)
    if isinstance(data, Mapping):
        if "incidences" in data:
            return io.from_hif_dict(data)
        return io.from_named_edges(dict(zip(data, _without_counts(data.values()), strict=True)))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _from_lists(data)
    raise ValueError(f"a hypergraph must be {_HOW}; got {short(data)}")


def _from_lists(edges: Iterable[Any]) -> Hypergraph:
    if isinstance(edges, (set, frozenset)):
        raise ValueError("hyperedges must have an order, got a set of them: give a list or a mapping")
    edges = _without_counts(edges)
    try:
        lists = [e if isinstance(e, str) else tuple(map(plain, in_order(e))) for e in edges]
    except TypeError as error:
        raise ValueError(f"hyperedges must be collections of nodes: {error}") from error
    numbers = all(isinstance(v, Integral) and not isinstance(v, bool) for edge in lists for v in edge)
    return Hypergraph.from_edges(lists) if numbers else io.from_named_edges(lists)  # type: ignore[arg-type]


def _without_counts(edges: Iterable[Any]) -> list[Any]:
    """Hyperedges as a list, with a warning where one is a mapping, whose values are not read."""
    found = list(edges)
    counts = next((edge for edge in found if isinstance(edge, Mapping)), None)
    if counts is not None:
        warnings.warn(
            f"the values of {short(counts)} are not read, its keys are the nodes of a hyperedge; as weights: "
            "ehnn.tables.read(frame, weight_column=...) with a row per (node, hyperedge)",
            stacklevel=6,
        )
    return found


def incidence_lines(data: Any, h: Hypergraph) -> np.ndarray | None:
    """``[rows]`` the incidence of ``h = as_hypergraph(data)`` that each row of a DataFrame is; else None."""
    if not is_frame(data):
        return None
    frame = _as_pandas(data)
    (nodes, _), (edges, _) = (_codes(frame[c].tolist()) for c in _node_and_edge(list(frame.columns)))
    there = h.index[1].numpy() * h.num_nodes + h.index[0].numpy()
    return np.searchsorted(there, edges * h.num_nodes + nodes)


def _from_pandas(frame: Any) -> Hypergraph:
    if not hasattr(frame, "columns"):
        raise ValueError(
            f"a pandas frame of (node, hyperedge) rows is expected, got {type(frame).__name__}; a Series of "
            "lists is given as series.to_dict()"
        )
    node, edge = _node_and_edge(list(frame.columns))
    unread = [c for c in frame.columns if str(c).lower() in ("weight", "edge_weight", "role")]
    if unread:
        name = str(unread[0]).lower()
        warnings.warn(
            f"column {unread[0]!r} of the frame is not read: ehnn.tables.read(frame, {name}_column="
            f"{unread[0]!r}, ...) reads it",
            stacklevel=5,
        )
    for column in (node, edge):
        missing = np.flatnonzero(frame[column].isna().to_numpy())
        if missing.size:
            raise ValueError(f"column {column!r} of the frame is empty in row {int(missing[0])} (from 0)")
        if frame[column].dtype == object and frame[column].map(_is_list).any():
            raise ValueError(f"column {column!r} of the frame holds lists: {_read_lists(column)}")
    nodes, node_names = _codes(frame[node].tolist())
    edges, edge_names = _codes(frame[edge].tolist())
    h = Hypergraph.from_incidence(
        (nodes, edges), len(node_names), len(edge_names), node_names=node_names, edge_names=edge_names
    )
    lists = (name for name in node_names if isinstance(name, str) and any(s in name for s in SEPARATORS))
    if h.num_edges > 1 and bool((h.orders == 1).all()) and (several := next(lists, None)) is not None:
        warnings.warn(
            f"each hyperedge has one node, {short(several)} for one; if this is a list: {_read_lists(node)}",
            stacklevel=5,
        )
    return h


def _is_list(cell: Any) -> bool:
    return isinstance(cell, (list, tuple, set, np.ndarray))


def _read_lists(column: Any) -> str:
    return f"ehnn.tables.read(frame, member_columns=[{column!r}], task='hyperedges') reads them"


def _node_and_edge(columns: list[Any]) -> tuple[Any, Any]:
    """The columns of nodes and of hyperedges: by name, or of two columns by the name of one."""
    nodes, edges = _named(columns, NODE_COLUMNS), _named(columns, EDGE_COLUMNS)
    if nodes and edges:
        return nodes[0], edges[0]
    if len(columns) != 2 or not nodes + edges or len(nodes + edges) == 2:
        raise ValueError(
            f"which columns of the frame are the nodes and the hyperedges? It has {short(columns, 300)}. "
            "Call them 'node' and 'hyperedge', or say it: "
            "ehnn.tables.read(frame, node_column=..., edge_column=..., task='hyperedges').h"
        )
    first, second = columns
    return (second, first) if nodes == [second] or edges == [first] else (first, second)


def _named(columns: list[Any], names: tuple[str, ...]) -> list[Any]:
    """The columns with one of ``names``, in the order of ``names``."""
    return [c for name in names for c in columns if str(c).lower() == name]


def _codes(values: list[Hashable]) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Number of each value and the names; names that are the numbers 0 … n−1 keep their order."""
    names = list(dict.fromkeys(values))
    if all(type(v) is int for v in names) and set(names) == set(range(len(names))):
        return np.asarray(values, np.int64), tuple(range(len(names)))
    number = dict(zip(names, range(len(names)), strict=True))
    return np.fromiter(map(number.__getitem__, values), np.int64, len(values)), tuple(names)


def _from_other_frame(frame: Any) -> Hypergraph:
    """Of polars or pyarrow."""
    if not is_frame(frame):
        raise ValueError(f"a DataFrame of (node, hyperedge) rows is expected, got {type(frame).__name__}")
    return _from_pandas(_as_pandas(frame))


def _as_pandas(frame: Any) -> Any:
    module = type(frame).__module__.partition(".")[0]
    if module == "pandas":
        return frame
    if module == "pyarrow":
        return pandas_of_arrow(frame)
    import pandas as pd

    frame = collected(frame)
    return pd.DataFrame({column: frame[column].to_list() for column in frame.columns})


def _from_array(array: Any) -> Hypergraph:
    """A 2 × nnz index of integers, or a dense matrix of 0 and 1."""
    array = np.asarray(array) if isinstance(array, np.matrix) else array  # what todense() of scipy gives
    dense = not getattr(array, "is_sparse", False) and str(getattr(array, "layout", "strided")).endswith(
        "strided"
    )
    if getattr(array.dtype, "kind", "f") in "USO":
        raise ValueError(
            f"an incidence matrix must hold 0 and 1, got {array.dtype} of shape {array.shape}; hyperedges of "
            "names are given as lists: array.tolist()"
        )
    if dense and array.ndim == 2 and len(array) == 2 and _is_whole(array) and _is_matrix_of_two(array):
        raise ValueError(
            f"is the array of shape {tuple(array.shape)} an incidence matrix of 2 nodes, or (node, "
            "hyperedge) in each column? As a matrix give it with numbers that have a point: "
            "array.astype(float)"
        )
    if dense and array.ndim == 2 and not (array.shape[0] == 2 and _is_whole(array)):
        wrong = array[(array != 0) & (array != 1)]
        if len(wrong):
            raise ValueError(
                f"an incidence matrix must hold 0 and 1, got {float(wrong[0]):g} in one of "
                f"{tuple(array.shape)}; features are given as x of a Hypergraph, and weights with "
                "Hypergraph.from_incidence"
            )
    return Hypergraph.from_incidence(array)


def _is_matrix_of_two(array: Any) -> bool:
    """Whether a 2 × nnz index would say the same twice, and holds 0 and 1 alone as a matrix does."""
    return array.shape[1] > 4 and bool(((array == 0) | (array == 1)).all())


def _is_whole(array: Any) -> bool:
    return "int" in str(array.dtype)


def _from_pyg(data: Any) -> Hypergraph:
    if "num_vertices" in data:
        return io.from_pyg_bipartite(data)
    if "hypergraph" not in type(data).__name__.lower() and "hyperedge_index" not in data:
        raise ValueError(
            f"a torch_geometric HyperGraphData, or a Data with hyperedge_index, is expected, got "
            f"{type(data).__name__}, whose edge_index joins nodes with nodes; make its hyperedges first"
        )
    return io.from_pyg(data)


_FOREIGN: dict[str, Callable[[Any], Hypergraph]] = {
    "scipy": io.from_scipy,
    "pandas": _from_pandas,
    "polars": _from_other_frame,
    "pyarrow": _from_other_frame,
    "torch_geometric": _from_pyg,
    "xgi": io.from_xgi,
    "hypernetx": io.from_hypernetx,
    "networkx": io.from_networkx,
    "numpy": _from_array,
    "torch": _from_array,
}


# ---------------------------------------------------------------------- nodes by name


def node_numbers(h: Hypergraph, nodes: Iterable[Any], what: str = "node", row: str = "node") -> Tensor:
    """``[len(nodes)]`` int64 numbers of nodes given by name, or by number where ``h`` has no names.

    ``row`` says in errors what the nodes are: hyperedges, where ``h`` is a dual.
    """
    wanted = [plain(v) for v in nodes]
    if h.node_names is None:
        for v in wanted:
            if not isinstance(v, int) or isinstance(v, bool) or not 0 <= v < h.num_nodes:
                raise ValueError(f"{what} {short(v)} is not a {row}: expected 0 to {h.num_nodes - 1}")
        return torch.tensor(wanted, dtype=torch.int64)
    number = {name: i for i, name in enumerate(h.node_names)}
    if len(number) != h.num_nodes:
        name = short(repeated(h.node_names))
        raise ValueError(f"{row} names must be distinct to look {row}s up by name, got {name} twice")
    try:
        return torch.tensor([number[v] for v in wanted], dtype=torch.int64)
    except (KeyError, TypeError):
        unknown = next(v for v in wanted if not _known(v, number))
    absent = sum(not _known(v, number) for v in wanted)
    more = f" (nor are {absent - 1} others)" if absent > 1 else ""
    guess = suggest(unknown, list(number)[:10_000])
    what_is = "; a node is what is in a hyperedge" if row == "node" else ""
    raise ValueError(f"{what} {short(unknown)} is not a {row}{guess}{more}{what_is}")


def _known(value: Any, known: Mapping[Hashable, int]) -> bool:
    try:
        return value in known
    except TypeError:
        return False
