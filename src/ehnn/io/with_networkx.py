"""NetworkX: the bipartite graph of nodes and hyperedges."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from ehnn._utils.optional import require
from ehnn._utils.validation import short
from ehnn.hypergraph import Hypergraph

from ._columns import Key, plain
from ._names import factorize, identifiers
from ._records import Records, describe, edge_attributes, node_attributes, to_hypergraph
from ._support import single

_TAG = "hyperedge"


def to_networkx(h: Hypergraph) -> Any:
    """The bipartite ``networkx.Graph``: nodes have ``bipartite=0``, hyperedges ``bipartite=1``.

    Graph nodes are the names; without names, nodes are 0 … n−1 and hyperedges n … n+m−1. Where a
    hyperedge would share its key with a node, all hyperedges are keyed ``("hyperedge", name)``. Features
    and labels are attributes ``x`` and ``y``, hyperedge and incidence weights are ``weight``, and
    ``graph["ehnn"]`` keeps dtypes, so everything is carried but a batch, which is refused.
    Names must be distinct.

    >>> to_networkx(Hypergraph.from_edges([[0, 1]])).number_of_edges()
    2
    """
    nx = require("networkx")
    h = single(h, "to_networkx")
    nodes = identifiers(h.node_names, h.num_nodes, "node")
    edges = identifiers(h.edge_names, h.num_edges, _TAG)
    keys = edges if h.edge_names is not None else [h.num_nodes + e for e in edges]
    about = describe(h) | {"keys": "names" if h.edge_names is not None else "shifted"}
    if not set(keys).isdisjoint(nodes):
        keys, about["keys"] = [(_TAG, e) for e in edges], "tagged"
    graph = nx.Graph(ehnn=about)
    graph.add_nodes_from((k, {"bipartite": 0} | a) for k, a in zip(nodes, node_attributes(h), strict=True))
    graph.add_nodes_from((k, {"bipartite": 1} | a) for k, a in zip(keys, edge_attributes(h), strict=True))
    if h.edge_weight is not None:
        nx.set_node_attributes(graph, dict(zip(keys, plain(h.edge_weight), strict=True)), "weight")
    node, edge = h.index.tolist()
    ends = [[nodes[v] for v in node], [keys[e] for e in edge]]
    if h.incidence_weight is None:
        graph.add_edges_from(zip(*ends, strict=True))
    else:
        graph.add_weighted_edges_from(zip(*ends, plain(h.incidence_weight), strict=True))
    return graph


def from_networkx(
    graph: Any,
    *,
    nodes: Iterable[Hashable] | None = None,
    x: Key = None,
    edge_x: Key = None,
    y: Key = None,
) -> Hypergraph:
    """A hypergraph from a bipartite NetworkX graph.

    Graph nodes with ``bipartite=0`` (or those in ``nodes``, if given) are nodes and the others are
    hyperedges, in the order of the graph; their keys become names unless they are the numbers 0 … n−1.
    ``weight`` of hyperedges and incidences is read. Directions and other attributes are not kept. Parallel
    edges count once; with different weights they are a ValueError.

    Args:
        x, edge_x, y: attribute or attributes to use as node features, hyperedge features, node labels
            (text becomes class numbers, sorted). None: what `to_networkx` wrote, if it did.

    >>> import networkx
    >>> from_networkx(networkx.davis_southern_women_graph())
    Hypergraph(18 nodes, 14 hyperedges, 89 incidences, orders 3 to 14)
    """
    nx = require("networkx")
    if not isinstance(graph, nx.Graph):
        raise ValueError(f"from_networkx takes a networkx graph, got {type(graph).__name__}")
    sides = _sides(graph, None if nodes is None else set(nodes))
    node_keys = [k for k, side in sides.items() if side == 0]
    edge_keys = [k for k, side in sides.items() if side == 1]
    pairs = [(a, b, w) if sides[a] == 0 else (b, a, w) for a, b, w in graph.edges(data="weight")]
    for node, edge, _ in pairs:
        if sides[node] == sides[edge]:
            raise ValueError(f"graph is not bipartite: {short(node)} and {short(edge)} are on one side")
    about = graph.graph.get("ehnn")
    keys = about.get("keys") if isinstance(about, dict) else "shifted"
    return to_hypergraph(
        Records(
            "networkx graph", node_keys, _names(edge_keys, keys, len(node_keys)),
            factorize([p[0] for p in pairs], node_keys)[0], factorize([p[1] for p in pairs], edge_keys)[0],
            [graph.nodes[k] for k in node_keys], [graph.nodes[k] for k in edge_keys],
            [graph.nodes[k].get("weight") for k in edge_keys], [p[2] for p in pairs], about,
        ), x, edge_x, y,
    )  # fmt: skip


def _sides(graph: Any, nodes: set | None) -> dict[Hashable, int]:
    if nodes is not None:
        strange = next((k for k in nodes if k not in graph), None)
        if strange is not None:
            raise ValueError(f"nodes has {short(strange)}, which is not in the graph")
        return {key: 0 if key in nodes else 1 for key in graph}
    sides = dict(graph.nodes(data="bipartite"))
    for key, side in sides.items():
        if side not in (0, 1):
            raise ValueError(
                f"graph node {short(key)} has bipartite={side!r}, expected 0 (node) or 1 (hyperedge); "
                "or say which are nodes with nodes=..."
            )
    return sides


def _names(keys: list[Hashable], style: object, num_nodes: int) -> list[Hashable]:
    """Names of the hyperedges from the keys of their graph nodes."""
    if style == "tagged" and all(isinstance(k, tuple) and len(k) == 2 and k[0] == _TAG for k in keys):
        return [k[1] for k in keys]  # type: ignore[index]
    numbers = range(num_nodes, num_nodes + len(keys))
    if style == "shifted" and all(type(k) is int and k in numbers for k in keys):
        return [k - num_nodes for k in keys]  # type: ignore[operator]
    return keys
