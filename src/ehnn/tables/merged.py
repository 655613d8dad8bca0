"""New tables beside those of training: one hypergraph, in which the known nodes and sets come first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.roles import MAX_ROLES
from ehnn.io._names import factorize


@dataclass(frozen=True)
class Merged:
    """The result of `merge`: two hypergraphs joined into one.

    Attributes:
        h: nodes and hyperedges of the known one, in their order, then those that are new.
        nodes, edges: ``[new.num_nodes]`` and ``[new.num_edges]`` numbers in ``h`` of those of the new one.
        new_nodes, new_edges: how many of them are not in the known one.

    >>> from ehnn.io import from_named_edges
    >>> found = merge(from_named_edges({"s": ["a", "b"]}), from_named_edges({"t": ["a", "c"]}))
    >>> found.h.num_nodes, found.new_nodes, found.new_edges
    (3, 1, 1)
    """

    h: Hypergraph
    nodes: np.ndarray
    edges: np.ndarray
    new_nodes: int
    new_edges: int


def merge(
    known: Hypergraph,
    new: Hypergraph,
    sets: str = "named",
    said: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
) -> Merged:
    """Join the hypergraph ``new`` to the hypergraph ``known`` by the names of their nodes and hyperedges.

    Nodes with the same name become one node. Features are those of ``new``, see ``said``.

    Args:
        known: nodes and hyperedges that come first.
        new: those that are added.
        sets: which hyperedges are one: ``"named"``: those of one name, with the members of both. ``"same"``:
            those of one name and the same members. ``"new"``: none.
        said: of ``new.x`` and ``new.edge_x``, ``[rows, channels]``: where they say something; elsewhere what
            is known of a node or hyperedge stays. None: everywhere.

    >>> from ehnn.io import from_named_edges
    >>> found = merge(from_named_edges({"s": ["a", "b"]}), from_named_edges({"s": ["c"], "t": ["a", "c"]}))
    >>> found.h.edges(), found.h.node_names, found.nodes.tolist(), found.edges.tolist()
    ([[0, 1, 2], [0, 2]], ('a', 'b', 'c'), [2, 0], [0, 1])
    """
    nodes, node_names = factorize(_names(new.node_names), _names(known.node_names))
    edges, edge_names = factorize(_names(new.edge_names), _names(known.edge_names))
    if sets != "named":
        same = _same_members(known, new, nodes, edges) & (sets == "same")
        edges = np.where(same, edges, known.num_edges + np.cumsum(~same) - 1)
        fresh = [name for name, old in zip(_names(new.edge_names), same, strict=True) if not old]
        edge_names = [*_names(known.edge_names), *_other_names(fresh, set(_names(known.edge_names)))]
    node, edge = new.index.numpy()
    index = np.concatenate([known.index.numpy(), np.stack([nodes[node], edges[edge]])], 1)
    # The last of equal incidences counts: that of the new hypergraph.
    _, last = np.unique((index[1] * len(node_names) + index[0])[::-1], return_index=True)
    kept = np.sort(index.shape[1] - 1 - last)
    h = Hypergraph.from_incidence(
        index[:, kept], len(node_names), len(edge_names),
        joined_rows(known.x, new.x, nodes, len(node_names), said[0]),
        joined_rows(known.edge_x, new.edge_x, edges, len(edge_names), said[1]),
        edge_weight=_weights(known.edge_weight, new.edge_weight, edges, len(edge_names)),
        incidence_weight=joined_weights(known, new, kept), roles=joined_roles(known, new, kept),
        node_names=tuple(node_names), edge_names=tuple(edge_names),
    ).replace(num_roles=max(known.num_roles, new.num_roles))  # fmt: skip
    count = len(node_names) - known.num_nodes, len(edge_names) - known.num_edges
    return Merged(h, nodes, edges, *count)


def _names(names: tuple[object, ...] | None) -> list[str]:
    return [] if names is None else list(map(str, names))


def _other_names(names: list[str], taken: set[str]) -> list[str]:
    """Names that are not taken: a model would take a hyperedge of a known name for the known one."""
    return [name if name not in taken else _other_name(name, taken) for name in names]


def _other_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += " (new)"
    return name


def _same_members(known: Hypergraph, new: Hypergraph, nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """``[new.num_edges]``: whether the known hyperedge of the same name has the same members and roles."""
    named = edges < known.num_edges
    place = np.where(named, edges, 0)
    node, edge = new.index.numpy()
    width = max(known.num_nodes, int(nodes.max(initial=-1)) + 1)
    there = marked(known.index[1].numpy() * width + known.index[0].numpy(), known)
    here = marked(place[edge] * width + nodes[node], new)
    shared = np.bincount(edge[np.isin(here, there)], minlength=new.num_edges)
    orders = new.orders.numpy()
    of_known = known.orders.numpy()[place] if known.num_edges else orders
    return named & (shared == orders) & (of_known == orders)


def marked(keys: np.ndarray, h: Hypergraph) -> np.ndarray:
    """``[num_incidences]`` keys of the incidences of ``h`` that differ where roles do."""
    return keys * MAX_ROLES + (0 if h.roles is None else h.roles.numpy())


def joined_rows(
    known: Tensor | None,
    new: Tensor | None,
    places: np.ndarray,
    count: int,
    said: np.ndarray | None = None,
) -> Tensor | None:
    """``[count, channels]``: rows of ``known``, with those of ``new`` at their ``places``; see `merge`."""
    if known is None or new is None:
        return None
    found = known.new_zeros((count, known.shape[1]))
    found[: len(known)] = known
    at, values = torch.from_numpy(places), new.to(known.dtype)
    if said is not None:
        values = torch.where(torch.from_numpy(said) | (at >= len(known)).unsqueeze(1), values, found[at])
    found[at] = values
    return found


def _weights(known: Tensor | None, new: Tensor | None, places: np.ndarray, count: int) -> Tensor | None:
    if known is None and new is None:
        return None
    found = torch.ones(count)
    if known is not None:
        found[: len(known)] = known.to(found.dtype)
    if new is not None:
        found[torch.from_numpy(places)] = new.to(found.dtype)
    return found


def joined_roles(known: Hypergraph, new: Hypergraph, kept: np.ndarray) -> Tensor | None:
    """Roles of the incidences that are kept; a hypergraph without incidences needs none."""
    if known.roles is None and new.roles is None:
        return None
    parts = [h.index.new_zeros(h.num_incidences) if h.roles is None else h.roles for h in (known, new)]
    return torch.cat(parts)[torch.from_numpy(kept)]


def joined_weights(known: Hypergraph, new: Hypergraph, kept: np.ndarray) -> Tensor | None:
    """Weights of the incidences that are kept, 1 where there were none."""
    if known.incidence_weight is None and new.incidence_weight is None:
        return None
    parts = [
        torch.ones(h.num_incidences) if h.incidence_weight is None else h.incidence_weight
        for h in (known, new)
    ]
    return torch.cat(parts)[torch.from_numpy(kept)]
