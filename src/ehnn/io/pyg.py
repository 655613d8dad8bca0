"""PyTorch Geometric: `HyperGraphData`, and the star expansion as a `Data`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ehnn._utils.optional import require
from ehnn.hypergraph import Hypergraph

from ._support import single

_NAMES = ("node_names", "edge_names")


def to_pyg(h: Hypergraph) -> Any:
    """A ``torch_geometric.data.hypergraph_data.HyperGraphData`` on the device of ``h``.

    ``x``, ``edge_index`` (node, hyperedge), ``edge_attr`` (hyperedge features) and ``y`` are as PyG
    defines them. ``num_nodes``, ``num_hyperedges``, ``hyperedge_weight``, ``incidence_weight``,
    ``node_names`` and ``edge_names`` are stored beside them where there are any, so everything is
    carried but the membership of a batch, which is refused. (PyG itself takes its ``num_edges``
    from the largest hyperedge number in use.)

    >>> to_pyg(Hypergraph.from_edges([[0, 1], [1, 2]])).edge_index.tolist()
    [[0, 1, 1, 2], [0, 0, 1, 1]]
    """
    data = require("torch_geometric.data.hypergraph_data")
    h = single(h, "to_pyg")
    more = {"hyperedge_weight": h.edge_weight, "incidence_weight": h.incidence_weight} | _names(h)
    return data.HyperGraphData(
        x=h.x,
        edge_index=h.index,
        edge_attr=h.edge_x,
        y=h.y,
        num_nodes=h.num_nodes,
        num_hyperedges=h.num_edges,
        **{key: value for key, value in more.items() if value is not None},
    )


def from_pyg(data: Any) -> Hypergraph:
    """A hypergraph from ``data``, a ``HyperGraphData``; see `to_pyg` for the attributes that are read.

    A ``Data`` with ``hyperedge_index`` (and ``hyperedge_attr``), as the arguments of PyG's ``HypergraphConv``
    are called, is read too; its ``edge_index`` and ``edge_attr`` are then those of a graph and not read.
    Counts that are not stored come from the rows of the attributes, then from the largest number
    seen. Other attributes are not kept. ``y`` must be a label per node.

    >>> from_pyg(to_pyg(Hypergraph.from_edges([[0, 1], [1, 2]]))).edges()
    [[0, 1], [1, 2]]
    """
    values = _stored(data, "from_pyg")
    prefix = "hyperedge" if "hyperedge_index" in values else "edge"
    return Hypergraph.from_incidence(
        _index(values, f"{prefix}_index"),
        values.get("num_nodes"),
        values.get("num_hyperedges"),
        values.get("x"),
        values.get(f"{prefix}_attr"),
        values.get("y"),
        edge_weight=values.get("hyperedge_weight"),
        incidence_weight=values.get("incidence_weight"),
        node_names=values.get("node_names"),
        edge_names=values.get("edge_names"),
    )


def to_pyg_bipartite(h: Hypergraph) -> Any:
    """The star expansion as a ``torch_geometric.data.Data``: a graph node per node, then per hyperedge.

    ``edge_index`` has every incidence both ways, node v ↔ num_vertices + e, with ``edge_weight`` its
    weight. ``x`` is ``h.features("all")``: ``[num_nodes + num_edges, d_v + d_e]``. ``y`` has one row per
    node of ``h``, ``node_type`` is 0 for nodes and 1 for hyperedges. The counts ``num_vertices`` and
    ``num_hyperedges``, the widths, hyperedge weights and names are stored, so everything is carried
    but the membership of a batch, which is refused; ``x`` and ``edge_x`` must have one dtype.

    >>> to_pyg_bipartite(Hypergraph.from_edges([[0, 1]])).edge_index.tolist()
    [[0, 1, 2, 2], [2, 2, 0, 1]]
    """
    data = require("torch_geometric.data")
    h = single(h, "to_pyg_bipartite")
    if h.x is not None and h.edge_x is not None and h.x.dtype != h.edge_x.dtype:
        raise ValueError(f"x and edge_x must have one dtype, got {h.x.dtype} and {h.edge_x.dtype}")
    node, edge = h.index
    there = torch.stack([node, edge + h.num_nodes])
    kind = torch.zeros(h.num_nodes + h.num_edges, dtype=torch.int64, device=h.device)
    kind[h.num_nodes :] = 1
    has_features = h.x is not None or h.edge_x is not None
    more = {
        "x": h.features("all") if has_features else None,
        "node_channels": None if h.x is None else h.x.shape[1],
        "hyperedge_channels": None if h.edge_x is None else h.edge_x.shape[1],
        "y": h.y,
        "edge_weight": None if h.incidence_weight is None else h.incidence_weight.repeat(2),
        "hyperedge_weight": h.edge_weight,
    } | _names(h)
    return data.Data(
        edge_index=torch.cat([there, there.flip(0)], 1),
        num_nodes=h.num_nodes + h.num_edges,
        num_vertices=h.num_nodes,
        num_hyperedges=h.num_edges,
        node_type=kind,
        **{key: value for key, value in more.items() if value is not None},
    )


def from_pyg_bipartite(data: Any) -> Hypergraph:
    """A hypergraph from ``data``, a bipartite ``Data`` as `to_pyg_bipartite` makes it.

    ``num_vertices`` and ``num_hyperedges`` are needed; graph nodes from num_vertices on are hyperedges.
    An incidence may be given one way or both. Without stored widths, ``x`` is taken as node features
    alone. ``x`` has a row per graph node, ``y`` a row per node.

    >>> from_pyg_bipartite(to_pyg_bipartite(Hypergraph.from_edges([[0, 1]]))).edges()
    [[0, 1]]
    """
    values = _stored(data, "from_pyg_bipartite")
    n, m = values.get("num_vertices"), values.get("num_hyperedges")
    if type(n) is not int or type(m) is not int:
        raise ValueError(f"num_vertices and num_hyperedges must be stored as integers, got {n!r} and {m!r}")
    low, high = _index(values, "edge_index").sort(0).values
    if low.numel() and (int(low.max()) >= n or int(high.min()) < n):
        raise ValueError(f"edge_index must join nodes (below {n}) with hyperedges (from {n} to {n + m - 1})")
    x, edge_x = _split(values, n, m)
    return Hypergraph.from_incidence(
        (low, high - n), n, m, x, edge_x, values.get("y"),
        edge_weight=values.get("hyperedge_weight"), incidence_weight=values.get("edge_weight"),
        node_names=values.get("node_names"), edge_names=values.get("edge_names"),
    )  # fmt: skip


def _split(values: dict[str, Any], n: int, m: int) -> tuple[Tensor | None, Tensor | None]:
    """Node features and hyperedge features out of the common ``x``."""
    x, d_v, d_e = values.get("x"), values.get("node_channels"), values.get("hyperedge_channels")
    if x is None:
        return None, None
    if x.dim() != 2 or x.shape[0] != n + m:
        raise ValueError(f"x must have one row per graph node ({n + m}), got shape {tuple(x.shape)}")
    if d_v is None and d_e is None:
        return x[:n], None
    if (d_v or 0) + (d_e or 0) != x.shape[1]:
        raise ValueError(f"x has {x.shape[1]} channels, not the {d_v} of nodes and {d_e} of hyperedges")
    return None if d_v is None else x[:n, :d_v], None if d_e is None else x[n:, x.shape[1] - d_e :]


def _names(h: Hypergraph) -> dict[str, list | None]:
    return {key: None if getattr(h, key) is None else list(getattr(h, key)) for key in _NAMES}


def _stored(data: Any, function: str) -> dict[str, Any]:
    """What the data object stores (its properties guess counts, so they are not asked)."""
    module = require("torch_geometric.data")
    if isinstance(data, module.Batch):
        raise ValueError(f"{function} takes one data object; convert each of batch.to_data_list()")
    if not isinstance(data, module.Data):
        raise ValueError(f"{function} takes a torch_geometric Data object, got {type(data).__name__}")
    return data.to_dict()


def _index(values: dict[str, Any], name: str) -> Tensor:
    index = values.get(name)
    if not isinstance(index, Tensor) or index.dim() != 2 or index.shape[0] != 2:
        found = tuple(index.shape) if isinstance(index, Tensor) else index
        raise ValueError(f"{name} must be a tensor of shape [2, incidences], got {found}")
    return index
