"""HyperNetX hypergraphs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ehnn._utils.optional import require
from ehnn.hypergraph import Hypergraph

from ._columns import Key, plain
from ._names import factorize, identifiers
from ._records import Records, describe, edge_attributes, node_attributes, to_hypergraph
from ._support import single


def to_hypernetx(h: Hypergraph) -> Any:
    """A ``hypernetx.Hypergraph`` whose identifiers are the names, or the numbers where there are none.

    Features and labels are properties ``x`` and ``y``, weights the weights of HyperNetX, roles the property
    ``role`` of its cells. HyperNetX shows
    no isolated nodes and no empty hyperedges; they are carried in its property tables, where
    `from_hypernetx` finds them. Dtypes are kept in the attribute ``ehnn`` of the object itself, which
    HyperNetX's own operations drop. Names must be str or int and distinct; a batch is refused.

    >>> to_hypernetx(Hypergraph.from_edges([[0, 1], [1, 2]])).shape
    (3, 2)
    """
    hnx, pd = require("hypernetx"), require("pandas")
    h = single(h, "to_hypernetx", carries=("roles",))
    nodes = identifiers(h.node_names, h.num_nodes, "node", (str, int))
    edges = identifiers(h.edge_names, h.num_edges, "hyperedge", (str, int))
    node, edge = h.index.tolist()
    columns = {"edges": [edges[e] for e in edge], "nodes": [nodes[v] for v in node]}
    if h.incidence_weight is not None:
        columns["weight"] = plain(h.incidence_weight)
    if h.roles is not None:
        columns["role"] = plain(h.roles)
    result = hnx.Hypergraph(
        pd.DataFrame(columns) if h.num_incidences else None,
        node_properties=_table(pd, nodes, node_attributes(h), None),
        edge_properties=_table(
            pd, edges, edge_attributes(h), None if h.edge_weight is None else plain(h.edge_weight)
        ),
        misc_properties_col="misc_properties",
    )
    result.ehnn = describe(h)
    return result


def _table(pd: Any, ids: list, attributes: list[dict[str, Any]], weight: list | None) -> Any:
    columns = {"uid": ids, "weight": weight or 1, "misc_properties": attributes}
    return pd.DataFrame(columns) if ids else None


def from_hypernetx(hypergraph: Any, *, x: Key = None, edge_x: Key = None, y: Key = None) -> Hypergraph:
    """A hypergraph from a ``hypernetx.Hypergraph``.

    Nodes and hyperedges are in the order of the property tables, which may list isolated nodes and
    empty hyperedges, then of the incidences. Identifiers become names unless they are mere numbers
    0 … n−1. Weights of hyperedges and incidences are read; those of nodes and other properties are
    not kept.

    Args:
        x, edge_x, y: property or properties to use as node features, hyperedge features, node labels
            (text becomes class numbers, sorted). None: what `to_hypernetx` wrote, if it did.

    >>> import hypernetx
    >>> from_hypernetx(hypernetx.Hypergraph({"chess": ["Ann", "Ben"]})).node_names
    ('Ann', 'Ben')
    """
    hnx = require("hypernetx")
    if not isinstance(hypergraph, hnx.Hypergraph):
        raise ValueError(f"from_hypernetx takes a hypernetx.Hypergraph, got {type(hypergraph).__name__}")
    pairs = [(_plain(e), _plain(v)) for e, v in hypergraph.incidences]
    cell_ids, cell_attrs, cell_weights = _rows(hypergraph.incidences)
    cells, marks = (dict(zip(cell_ids, values, strict=True)) for values in (cell_weights, cell_attrs))
    nodes, node_attrs, _ = _rows(hypergraph.nodes)
    edges, edge_attrs, weights = _rows(hypergraph.edges)
    node, all_nodes = factorize([v for _, v in pairs], nodes)
    edge, all_edges = factorize([e for e, _ in pairs], edges)
    edge_weight = [*weights, *[hypergraph.edges.default_weight] * (len(all_edges) - len(edges))]
    return to_hypergraph(
        Records(
            "hypernetx hypergraph", all_nodes, all_edges, node, edge,
            [*node_attrs, *({} for _ in all_nodes[len(nodes) :])],
            [*edge_attrs, *({} for _ in all_edges[len(edges) :])],
            edge_weight,
            [cells.get(pair, hypergraph.incidences.default_weight) for pair in pairs],
            getattr(hypergraph, "ehnn", None),
            incidence_attributes=[marks.get(pair, {}) for pair in pairs],
        ), x, edge_x, y,
    )  # fmt: skip


def _rows(view: Any) -> tuple[list[Hashable], list[dict[str, Any]], list[Any]]:
    """Identifiers, properties and weights of a property table."""
    table = view.property_store.properties
    ids = [_plain(i) for i in table.index]
    others = [c for c in table.columns if c not in ("weight", "misc_properties")]
    columns = {c: table[c].tolist() for c in others}
    attributes = [dict(misc) for misc in table["misc_properties"]]
    for i, record in enumerate(attributes):
        record.update({c: values[i] for c, values in columns.items()})
    return ids, attributes, table["weight"].tolist()


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value
