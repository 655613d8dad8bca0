"""XGI hypergraphs."""

from __future__ import annotations

from typing import Any

from ehnn.hypergraph import Hypergraph

from ._columns import Key, plain
from ._names import factorize, identifiers
from ._records import Records, describe, edge_attributes, node_attributes, to_hypergraph
from ._support import require, single

_INCIDENCE = "incidence_weight"


def to_xgi(h: Hypergraph) -> Any:
    """An ``xgi.Hypergraph`` whose identifiers are the names, or the numbers where there are none.

    Features and labels are attributes ``x`` and ``y``, hyperedge weights ``weight``; each hyperedge has its
    incidence weights, if any, as a dictionary by node under ``incidence_weight``. Dtypes are kept in
    the network attribute ``ehnn``, so everything is carried but a batch, which is refused. Names must
    be distinct.
    """
    xgi = require("xgi")
    h = single(h, "to_xgi")
    nodes = identifiers(h.node_names, h.num_nodes, "node")
    edges = identifiers(h.edge_names, h.num_edges, "hyperedge")
    members = [[nodes[v] for v in edge] for edge in h.edges()]
    result = xgi.Hypergraph()
    result["ehnn"] = describe(h)
    result.add_nodes_from(nodes)
    result.set_node_attributes(dict(zip(nodes, node_attributes(h), strict=True)))
    result.add_edges_from(dict(zip(edges, members, strict=True)))
    result.set_edge_attributes(dict(zip(edges, _edge_attributes(h, members), strict=True)))
    return result


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

    Identifiers become names unless they are mere numbers 0 … n−1; ``weight`` of hyperedges is read.
    Other attributes are not kept. A directed hypergraph is refused.

    Args:
        x, edge_x, y: attribute or attributes to use as node features, hyperedge features, node labels
            (text becomes class numbers, sorted). None: what `to_xgi` wrote, if it did.
    """
    xgi = require("xgi")
    if not isinstance(hypergraph, xgi.Hypergraph):
        raise ValueError(f"from_xgi takes an xgi.Hypergraph, got {type(hypergraph).__name__}")
    nodes, edges = list(hypergraph.nodes), list(hypergraph.edges)
    members = hypergraph.edges.members(dtype=dict)
    attributes = [hypergraph.edges[e] for e in edges]
    pairs = [(v, e) for e in edges for v in members[e]]
    by_edge = dict(zip(edges, (a.get(_INCIDENCE) or {} for a in attributes), strict=True))
    return to_hypergraph(
        Records(
            "xgi hypergraph", nodes, edges,
            factorize([v for v, _ in pairs], nodes)[0], factorize([e for _, e in pairs], edges)[0],
            [hypergraph.nodes[v] for v in nodes], attributes,
            [a.get("weight") for a in attributes],
            [by_edge[e].get(v) for v, e in pairs],
            hypergraph._net_attr.get("ehnn"),
        ), x, edge_x, y,
    )  # fmt: skip
