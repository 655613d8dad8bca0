"""Ways to build a Hypergraph from arrays: no Python loop over nodes, hyperedges or incidences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.cached import plain_tensors
from ehnn._utils.validation import as_count, as_index, as_rows, numpy_to_torch, repeated, short

from .hypergraph import Hypergraph
from .pairs import SparsePattern, pairs_from_coo, repeat
from .roles import MAX_ROLES, check_one_role, nested_roles
from .weighted import check_finite

MAX_INFERRED = 100_000_000
"""Counts above this are not inferred from the largest number of a short list: more likely a wrong number."""


PER_INCIDENCE = ("incidence_weight", "incidence_x", "roles")
"""Attributes of a Hypergraph with a row for each incidence."""


def from_edges(
    edges: Iterable[Iterable[int]],
    num_nodes: int | None,
    roles: Iterable[Iterable[int]] | None,
    attributes: dict[str, Any],
) -> Hypergraph:
    """`Hypergraph.from_edges`."""
    try:
        lists = list(map(tuple, edges))
    except TypeError as error:
        raise ValueError(f"edges must be collections of node numbers, got {short(edges)}") from error
    num_nodes = None if num_nodes is None else as_count(num_nodes, "num_nodes")
    lengths = torch.tensor(list(map(len, lists)), dtype=torch.int64, device="cpu")
    flat = list(chain.from_iterable(lists))
    if any(isinstance(v, str) for v in flat[:1000]):
        raise ValueError(
            f"node numbers in edges must be integers, got {short(flat)}; for names: ehnn.io.from_named_edges"
        )
    node = as_index(flat, "node numbers in edges", num_nodes)
    of_pairs = {"roles": None if roles is None else nested_roles(roles, lists)}
    return assemble(node, repeat(lengths, node.shape[0]), num_nodes, len(lists), of_pairs, attributes)


def from_incidence(
    incidence: Any,
    num_nodes: int | None,
    num_edges: int | None,
    of_pairs: dict[str, Any],
    attributes: dict[str, Any],
) -> Hypergraph:
    """`Hypergraph.from_incidence`."""
    node, edge, shape, values = _read_incidence(incidence)
    for name, given, found in (("num_nodes", num_nodes, shape[0]), ("num_edges", num_edges, shape[1])):
        if given is not None and found is not None and given != found:
            raise ValueError(
                f"{name}={given} does not match the incidence matrix of shape {shape}; "
                "a 2 × nnz index must have an integer dtype"
            )
    num_nodes = num_nodes if shape[0] is None else shape[0]
    num_edges = num_edges if shape[1] is None else shape[1]
    if of_pairs.get("incidence_weight") is None:
        of_pairs |= {"incidence_weight": values}
    return assemble(node, edge, num_nodes, num_edges, of_pairs, attributes)


def assemble(
    node: Tensor,
    edge: Tensor,
    num_nodes: int | None,
    num_edges: int | None,
    of_pairs: dict[str, Any],
    attributes: dict[str, Any],
) -> Hypergraph:
    """A Hypergraph from ``node``, ``edge`` (``[nnz]`` each) and attributes; counts not given are inferred.

    ``of_pairs`` has a row for each of the incidences, in the order given here.
    """
    if node.shape[0] != edge.shape[0]:
        raise ValueError(f"{node.shape[0]} node numbers and {edge.shape[0]} hyperedge numbers do not pair up")
    num_nodes, nodes_by = _count(num_nodes, "num_nodes", attributes, ("x", "y", "node_names"))
    num_edges, edges_by = _count(num_edges, "num_edges", attributes, ("edge_x", "edge_weight", "edge_names"))
    node = as_index(node, f"node numbers{nodes_by}", num_nodes)
    edge = as_index(edge, f"hyperedge numbers{edges_by}", num_edges)
    num_nodes = _largest(node, "node") if num_nodes is None else num_nodes
    num_edges = _largest(edge, "hyperedge") if num_edges is None else num_edges
    dims = {"incidence_x": (2,)}
    rows = {
        k: as_rows(v, k, node.shape[0], "incidence", dims.get(k, (1,)))
        for k, v in of_pairs.items()
        if v is not None
    }
    with plain_tensors():  # a hypergraph outlives the inference_mode that it was built in
        pairs, order = pairs_from_coo(edge, node, num_edges, num_nodes, need_order=bool(rows))
    if rows.get("roles") is not None:
        roles = rows["roles"] = as_index(rows["roles"], "roles", MAX_ROLES).to(node.device)
        check_one_role(node, edge, roles, pairs)
    if order is not None and len(pairs) < node.shape[0]:
        _check_repeated(node, edge, order, rows, attributes)
    sorted_rows: dict[str, Any] = {k: v.to(node.device)[order] for k, v in rows.items() if v is not None}
    return Hypergraph(pairs, **sorted_rows, **attributes)


def _check_repeated(
    node: Tensor, edge: Tensor, order: Tensor, rows: dict[str, Any], attributes: dict[str, Any]
) -> None:
    """Raise a ValueError if an incidence that is given twice has two weights, or two rows of features.

    ``order`` has the place of the first of each, sorted by hyperedge and node.
    """
    number = torch.stack([edge, node]).unique(dim=1, return_inverse=True)[1]
    first = order[number]
    for name in ("incidence_weight", "incidence_x"):
        values = rows.get(name)
        if values is None:
            continue
        before = values[first.to(values.device)]
        other = (values != before) & ~(values.isnan() & before.isnan())
        if not bool(other.any()):
            continue
        at = int(other.reshape(len(values), -1).any(1).nonzero()[0])
        names = [
            int(index[at]) if given is None else short(given[int(index[at])])
            for index, given in ((node, attributes.get("node_names")), (edge, attributes.get("edge_names")))
        ]
        both = " and ".join(short(values[i].tolist()) for i in (int(first[at]), at))
        raise ValueError(
            f"node {names[0]} is given twice in hyperedge {names[1]}, with {name} {both}; give it once"
        )


def _count(
    given: int | None, name: str, attributes: dict[str, Any], rows: tuple[str, ...]
) -> tuple[int | None, str]:
    """The count that was given, or that of the rows of an attribute, or None; and which attribute it was."""
    if given is not None:
        return as_count(given, name), ""
    for row in rows:
        if attributes.get(row) is not None:
            try:
                return len(attributes[row]), f" (counted by the rows of {row})"
            except TypeError as error:
                value = short(attributes[row])
                raise ValueError(f"{row} must have one row per {name[4:-1]}, got {value}") from error
    return None, ""


def _largest(index: Tensor, what: str) -> int:
    """The count that the largest number seen implies."""
    count = int(index.max()) + 1 if index.numel() else 0
    if count > max(MAX_INFERRED, 100 * index.shape[0]):
        raise ValueError(
            f"the largest {what} number {count - 1:,} would make {count:,} {what}s from {index.shape[0]:,} "
            f"incidences; give num_{what.removeprefix('hyper')}s if this is intended"
        )
    return count


def _read_incidence(incidence: Any) -> tuple[Tensor, Tensor, tuple[int | None, int | None], Tensor | None]:
    """(node, hyperedge, (num_nodes, num_edges) or Nones, values or None) of any accepted form."""
    if type(incidence).__module__.startswith("scipy.sparse"):
        return _read_scipy(incidence)
    if isinstance(incidence, Tensor) and incidence.layout != torch.strided:
        return _read_torch_sparse(incidence)
    if isinstance(incidence, (tuple, list)) and len(incidence) == 2:
        node, edge = (as_index(incidence[i], ("node numbers", "hyperedge numbers")[i]) for i in range(2))
        return node, edge, (None, None), None
    try:
        dense = incidence if isinstance(incidence, Tensor) else numpy_to_torch(np.asarray(incidence))
    except (TypeError, ValueError) as error:
        raise ValueError(f"incidence must be a matrix or a 2 × nnz index, got {short(incidence)}") from error
    if dense.dim() != 2:
        raise ValueError(f"incidence must have two dimensions, got shape {tuple(dense.shape)}")
    if dense.is_complex():
        raise ValueError(f"incidence entries must be real numbers, got dtype {dense.dtype}")
    if dense.dtype in (torch.uint16, torch.uint32, torch.uint64):
        dense = dense.to(torch.int64)  # torch has few operations on these
    if dense.shape[0] == 2 and not dense.is_floating_point() and dense.dtype != torch.bool:
        return dense[0].to(torch.int64), dense[1].to(torch.int64), (None, None), None
    if dense.shape[1] == 2 and dense.dtype == torch.int64 and dense.shape[0] > 2 and int(dense.max()) > 1:
        raise ValueError(
            f"incidence of shape {tuple(dense.shape)} with whole numbers up to {int(dense.max())} looks like "
            "pairs: a 2 × nnz index is its transpose; weights are floats"
        )
    node, edge = dense.nonzero(as_tuple=True)
    return node, edge, tuple(dense.shape), _weights(dense[node, edge], node, edge)  # type: ignore[return-value]


def _read_scipy(matrix: Any) -> tuple[Tensor, Tensor, tuple[int, int], Tensor | None]:
    if len(matrix.shape) != 2:
        raise ValueError(f"incidence must have two dimensions, got shape {matrix.shape}")
    coo = matrix.tocoo()
    keep = coo.data != 0
    node, edge = (torch.from_numpy(a[keep].astype(np.int64)) for a in (coo.row, coo.col))
    return node, edge, tuple(matrix.shape), _weights(_real(coo.data[keep]), node, edge)


def _read_torch_sparse(matrix: Tensor) -> tuple[Tensor, Tensor, tuple[int, int], Tensor | None]:
    coo = matrix.to_sparse_coo()
    if coo.sparse_dim() != 2 or coo.dense_dim():
        raise ValueError(f"incidence must have two sparse dimensions, got shape {tuple(matrix.shape)}")
    # Not coalesced: that would add up repeated entries, which are merged here as everywhere else.
    values = coo._values()
    if values.is_complex():
        raise ValueError(f"incidence entries must be real numbers, got dtype {values.dtype}")
    keep = values != 0
    node, edge = coo._indices()[:, keep]
    return node, edge, tuple(matrix.shape), _weights(values[keep], node, edge)  # type: ignore[return-value]


def _real(data: np.ndarray) -> Tensor:
    if data.dtype.kind not in "biuf":
        raise ValueError(f"incidence entries must be real numbers, got dtype {data.dtype}")
    return numpy_to_torch(data.astype(np.float64) if data.dtype.itemsize > 8 else data)


def _weights(values: Tensor, node: Tensor, edge: Tensor) -> Tensor | None:
    """Incidence weights, or None if all are 1."""
    check_finite(
        "incidence entries", values, lambda row: f"node {int(node[row])} in hyperedge {int(edge[row])}"
    )
    return None if bool((values == 1).all()) else values


def permute(h: Hypergraph, nodes: Tensor | None, edges: Tensor | None) -> Hypergraph:
    """``h`` with node v renumbered ``nodes[v]`` and hyperedge e renumbered ``edges[e]``."""
    old_node, old_edge = h.index
    node = old_node if nodes is None else nodes.to(h.device)[old_node]
    edge = old_edge if edges is None else edges.to(h.device)[old_edge]
    pairs, order = pairs_from_coo(edge, node, h.num_edges, h.num_nodes, has_incidence_rows(h))
    return rebuild(h, pairs, order, _inverse(nodes, h), _inverse(edges, h))


def subhypergraph(h: Hypergraph, nodes: Any, whole_edges: bool) -> Hypergraph:
    """`Hypergraph.subhypergraph`."""
    nodes = as_index(nodes, "nodes", h.num_nodes).to(h.device)
    if nodes.unique().shape[0] != nodes.shape[0]:
        raise ValueError(f"nodes must not repeat, got {short(repeated(nodes.tolist()))} twice")
    new_number = torch.full((h.num_nodes,), -1, dtype=torch.int64, device=h.device)
    new_number[nodes] = torch.arange(nodes.shape[0], device=h.device)
    node, edge = h.index
    inside = new_number[node] >= 0
    kept = torch.bincount(edge[inside], minlength=h.num_edges)
    edges = ((kept > 0) & (kept == h.orders) if whole_edges else kept > 0).nonzero().squeeze(1)
    edge_number = torch.full((h.num_edges,), -1, dtype=torch.int64, device=h.device)
    edge_number[edges] = torch.arange(edges.shape[0], device=h.device)
    places = (inside & (edge_number[edge] >= 0)).nonzero().squeeze(1)
    row, col = edge_number[edge[places]], new_number[node[places]]
    pairs, order = pairs_from_coo(row, col, edges.shape[0], nodes.shape[0], has_incidence_rows(h))
    return rebuild(h, pairs, None if order is None else places[order], nodes, edges)


def has_incidence_rows(h: Hypergraph) -> bool:
    """Whether ``h`` has attributes of incidences, whose rows move when incidences are sorted again."""
    return any(getattr(h, name) is not None for name in PER_INCIDENCE)


def _inverse(perm: Tensor | None, h: Hypergraph) -> Tensor | None:
    return None if perm is None else torch.argsort(perm.to(h.device))


def rebuild(
    h: Hypergraph, pairs: SparsePattern, places: Tensor | None, nodes: Tensor | None, edges: Tensor | None
) -> Hypergraph:
    """``h`` on new pairs: rows ``nodes`` / ``edges`` / ``places`` of its attributes (None: all, in order)."""

    def take(value: Any, rows: Tensor | None) -> Any:
        if value is None or rows is None:
            return value
        return value[rows] if isinstance(value, Tensor) else tuple(value[i] for i in rows.tolist())

    changes = {k: take(getattr(h, k), nodes) for k in ("x", "y", "node_names", "node_batch")}
    changes |= {k: take(getattr(h, k), edges) for k in ("edge_x", "edge_weight", "edge_names", "edge_batch")}
    changes |= {k: take(getattr(h, k), places) for k in PER_INCIDENCE}
    return dataclasses.replace(h, incidence=pairs, _overlaps={}, **changes)
