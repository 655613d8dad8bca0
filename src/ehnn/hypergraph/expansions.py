"""Graphs made from a hypergraph, as index tensors, and a hypergraph with self-loops."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import torch
from torch import Tensor

from .hypergraph import Hypergraph
from .pairs import pairs_from_coo
from .products import MAX_PAIRS, common_columns
from .roles import refuse_roles
from .weighted import product


class Graph(NamedTuple):
    """A graph made from a hypergraph: its links as an index tensor, and their weights.

    Attributes:
        index: ``[2, links]`` (from, to) in each column; both directions of every link, no self-loops.
        weight: ``[links]`` int64, how many times the link arises.
        num_nodes: the number of graph nodes.

    >>> graph = clique_expansion(Hypergraph.from_edges([[0, 1], [0, 1, 2]]))
    >>> graph.num_nodes, graph.weight.tolist()
    (3, [2, 1, 2, 1, 1, 1])
    """

    index: Tensor  # type: ignore[assignment]  # shadows tuple.index
    weight: Tensor
    num_nodes: int


def clique_expansion(h: Hypergraph, max_pairs: int = MAX_PAIRS) -> Graph:
    """The graph that links two nodes if they share a hyperedge; the weight is how many they share.

    More than ``max_pairs`` possible links are refused.

    >>> clique_expansion(Hypergraph.from_edges([[0, 1], [0, 1, 2]])).index.tolist()
    [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    """
    stars = h.incidence.transpose()
    return _without_loops(*common_columns(stars, stars, max_pairs), h.num_nodes)


def line_expansion(h: Hypergraph, max_pairs: int = MAX_PAIRS) -> Graph:
    """The graph that links two hyperedges if they share a node; the weight is how many they share.

    More than ``max_pairs`` possible links are refused.

    >>> line_expansion(Hypergraph.from_edges([[0, 1], [0, 1, 2]])).index.tolist()
    [[0, 1], [1, 0]]
    """
    return _without_loops(*common_columns(h.incidence, h.incidence, max_pairs), h.num_edges)


def star_expansion(h: Hypergraph) -> Graph:
    """The bipartite graph that links node v with hyperedge e, numbered ``num_nodes + e``, if v is in e.

    >>> star_expansion(Hypergraph.from_edges([[0, 1]])).index.tolist()
    [[0, 1, 2, 2], [2, 2, 0, 1]]
    """
    node, edge = h.index
    edge = edge + h.num_nodes
    index = torch.stack([torch.cat([node, edge]), torch.cat([edge, node])])
    return Graph(index, torch.ones_like(index[0]), h.num_nodes + h.num_edges)


def dual(h: Hypergraph) -> Hypergraph:
    """The dual hypergraph: hyperedges become nodes, and each node becomes the set of its hyperedges.

    Features, names and batch members change sides; ``y`` is left out. A hyperedge weight becomes a factor of
    the weights of its incidences. Roles and features of incidences stay with them.

    >>> dual(Hypergraph.from_edges([[0, 1], [1, 2]])).edges()
    [[0], [0, 1], [1]]
    """
    weight = h.incidence_weight
    if h.edge_weight is not None:
        weight = product(weight, h.edge_weight[h.incidence.rows])

    def by_node(values: Tensor | None) -> Tensor | None:
        return None if values is None else values[h.incidence.t_perm]

    return Hypergraph(
        h.incidence.transpose(), x=h.edge_x, edge_x=h.x, incidence_weight=by_node(weight),
        incidence_x=by_node(h.incidence_x), roles=by_node(h.roles), num_roles=h.num_roles,
        node_names=h.edge_names, edge_names=h.node_names, node_batch=h.edge_batch, edge_batch=h.node_batch,
        num_members=h.num_members,
    )  # fmt: skip


def with_self_loops(h: Hypergraph) -> Hypergraph:
    """Add a hyperedge {v} at the end of ``h`` for every node v that has no such hyperedge.

    Attributes of nodes stay, and the batch; those of hyperedges are left out. Roles are refused.

    >>> with_self_loops(Hypergraph.from_edges([[0, 1], [1]], num_nodes=3)).edges()
    [[0, 1], [1], [0], [2]]
    """
    refuse_roles(h.roles, "with_self_loops")
    node, edge = h.index
    own = torch.zeros(h.num_nodes, dtype=torch.bool, device=h.device)
    own[node[h.orders[edge] == 1]] = True
    loops = (~own).nonzero().squeeze(1)
    new = h.num_edges + torch.arange(loops.shape[0], device=h.device)
    pairs, _ = pairs_from_coo(
        torch.cat([edge, new]), torch.cat([node, loops]), h.num_edges + len(loops), h.num_nodes
    )
    found = Hypergraph(pairs, x=h.x, y=h.y, node_names=h.node_names)
    if h.num_members == 1:
        return found
    edge_batch = torch.cat([h.edge_batch, h.node_batch[loops]])
    return dataclasses.replace(
        found, node_batch=h.node_batch, edge_batch=edge_batch, num_members=h.num_members
    )


def _without_loops(row: Tensor, col: Tensor, count: Tensor, num_nodes: int) -> Graph:
    keep = (row != col).nonzero().squeeze(1)
    keep = keep[torch.argsort(row[keep] * num_nodes + col[keep])]
    return Graph(torch.stack([row[keep], col[keep]]), count[keep], num_nodes)
