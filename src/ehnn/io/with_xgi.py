"""XGI hypergraphs, directed ones too."""

from __future__ import annotations

from typing import Any

from ehnn._utils.optional import require
from ehnn.hypergraph import Hypergraph

from ._columns import Key, plain
from ._names import factorize, identifiers
from ._records import (
    Records,
    describe,
    edge_attributes,
    is_directed,
    node_attributes,
    sided,
    to_hypergraph,
)
from ._support import single

_INCIDENCE = "incidence_weight"


def to_xgi(h: Hypergraph) -> Any:
    """An ``xgi.Hypergraph`` whose identifiers are the names, or the numbers where there are none.

    With two or three roles it is an ``xgi.DiHypergraph``: role 0 is the tail, 1 the head, 2 both. Other
    numbers of roles are refused. Features and labels are attributes ``x`` and ``y``, hyperedge weights
    ``weight``; each hyperedge has its incidence weights, if any, as a dictionary by node under
    ``incidence_weight``. Dtypes are kept in the network attribute ``ehnn``, so everything is carried but a
    batch and ``incidence_x``, which are refused. Names must be distinct.

    >>> to_xgi(Hypergraph.from_edges([[0, 1], [1, 2]])).num_edges
    2
    """
    xgi = require("xgi")
    h = single(h, "to_xgi", carries=("direction",))
    nodes = identifiers(h.node_names, h.num_nodes, "node")
    edges = identifiers(h.edge_names, h.num_edges, "hyperedge")
    members = [[nodes[v] for v in edge] for edge in h.edges()]
    directed = is_directed(h)
    result = xgi.DiHypergraph() if directed else xgi.Hypergraph()
    result["ehnn"] = describe(h)
    result.add_nodes_from(nodes)
    result.set_node_attributes(dict(zip(nodes, node_attributes(h), strict=True)))
    result.add_edges_from(dict(zip(edges, _sides(h, members) if directed else members, strict=True)))
    result.set_edge_attributes(dict(zip(edges, _edge_attributes(h, members), strict=True)))
    return result


def _sides(h: Hypergraph, members: list[list[Any]]) -> list[tuple[list[Any], list[Any]]]:
    assert h.roles is not None
    roles = iter(h.roles.tolist())
    marked = [[(v, next(roles)) for v in edge] for edge in members]
    return [([v for v, r in edge if r != 1], [v for v, r in edge if r != 0]) for edge in marked]


def _edge_attributes(h: Hypergraph, members: list[list[Any]]) -> list[dict[str, Any]]:
    attributes = edge_attributes(h)
    if h.edge_weight is not None:
        for record, weight in zip(attributes, plain(h.edge_weight), strict=True):
            record["weight"] = weight
    if h.incidence_weight is not None:
        weights = iter(plain(h.incidence_weight))
        for record, edge in zip(attributes, members, strict=True):
            record[_INCIDENCE] = dict(zip(edge, weights, strict=False))
    return attributes


def from_xgi(hypergraph: Any, *, x: Key = None, edge_x: Key = None, y: Key = None) -> Hypergraph:
    """A hypergraph from an ``xgi.Hypergraph`` (or an ``xgi.SimplicialComplex``: its simplices).

    An ``xgi.DiHypergraph`` has roles: 0 in the tail, 1 in the head, 2 in both. Identifiers become names
    unless they are the numbers 0 … n−1; ``weight`` of hyperedges is read. Other attributes are not kept.

    Args:
        x, edge_x, y: attribute or attributes to use as node features, hyperedge features, node labels
            (text becomes class numbers, sorted). None: what `to_xgi` wrote, if it did.

    >>> import xgi
    >>> from_xgi(xgi.Hypergraph([["Ann", "Ben"]])).node_names
    ('Ann', 'Ben')
    """
    xgi = require("xgi")
    directed = isinstance(hypergraph, xgi.DiHypergraph)
    if not directed and not isinstance(hypergraph, xgi.Hypergraph):
        raise ValueError(f"from_xgi takes an xgi.Hypergraph, got {type(hypergraph).__name__}")
    nodes, edges = list(hypergraph.nodes), list(hypergraph.edges)
    members = hypergraph.edges.members(dtype=dict)
    attributes = [hypergraph.edges[e] for e in edges]
    pairs = [(v, e) for e in edges for v in members[e]]
    sides = hypergraph.edges.dimembers(dtype=dict) if directed else {}
    by_edge = dict(zip(edges, (a.get(_INCIDENCE) or {} for a in attributes), strict=True))
    return to_hypergraph(
        Records(
            "xgi hypergraph", nodes, edges,
            factorize([v for v, _ in pairs], nodes)[0], factorize([e for _, e in pairs], edges)[0],
            [hypergraph.nodes[v] for v in nodes], attributes,
            [a.get("weight") for a in attributes],
            [by_edge[e].get(v) for v, e in pairs],
            hypergraph._net_attr.get("ehnn"),
            sided(*([v in sides[e][s] for v, e in pairs] for s in (0, 1))) if directed else None,
        ), x, edge_x, y,
    )  # fmt: skip
