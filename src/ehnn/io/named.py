"""Hyperedges as collections of names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ehnn._utils.validation import is_missing, repeated, short
from ehnn.hypergraph import Hypergraph

from ._names import factorize
from ._support import single

NamedEdges = Iterable[Iterable[Hashable]] | Mapping[Hashable, Iterable[Hashable]]


def from_named_edges(
    edges: NamedEdges,
    *,
    node_names: Sequence[Hashable] | None = None,
    x: Any = None,
    edge_x: Any = None,
    y: Any = None,
    edge_weight: Any = None,
) -> Hypergraph:
    """A hypergraph from hyperedges given as collections of node names.

    Nodes are numbered in order of first appearance, or in the order of ``node_names``, which may
    list nodes that are in no hyperedge and must list all the others. A mapping gives the names of the
    hyperedges as its keys. A name repeated within a hyperedge counts once. Members of a Python set are taken
    in alphabetical order. A name that is missing (None, NaN) is a ValueError.

    >>> h = from_named_edges({"duet": ["ann", "bob"], "trio": ["bob", "cy", "ann"]})
    >>> h.node_names, h.edge_names, h.edges()
    (('ann', 'bob', 'cy'), ('duet', 'trio'), [[0, 1], [0, 1, 2]])

    Args:
        x, edge_x, y, edge_weight: as in `Hypergraph.from_edges`, in the order of the nodes and hyperedges.
    """
    edge_names = tuple(edges) if isinstance(edges, Mapping) else None
    members = _members(edges.values() if isinstance(edges, Mapping) else edges)
    flat = list(chain.from_iterable(members))
    known = () if node_names is None else tuple(node_names)
    codes, names = factorize(flat, known)
    _check_names(names, members, edge_names, known)
    if len(set(known)) != len(known):
        raise ValueError(f"node_names must be distinct, got {short(repeated(known))} twice")
    if node_names is not None and len(names) != len(known):
        raise ValueError(f"node_names lacks {short(names[len(known)])}, which is in a hyperedge")
    lengths = np.fromiter(map(len, members), np.int64, len(members))
    return Hypergraph.from_incidence(
        (codes, np.repeat(np.arange(len(members)), lengths)),
        len(names), len(members), x, edge_x, y,
        edge_weight=edge_weight, node_names=tuple(names), edge_names=edge_names,
    )  # fmt: skip


def _check_names(
    names: Sequence[Hashable],
    members: Sequence[tuple[Hashable, ...]],
    edge_names: Sequence[Hashable] | None,
    known: Sequence[Hashable],
) -> None:
    """A ValueError for a node or a hyperedge whose name is None, NaN or the like."""
    if any(map(is_missing, known)):
        place = next(i for i, name in enumerate(known) if is_missing(name))
        raise ValueError(f"node_names has a missing name in row {place} (from 0)")
    if any(map(is_missing, names)):
        place, edge = next((i, e) for i, e in enumerate(members) if any(map(is_missing, e)))
        which = f"{place} (from 0)" if edge_names is None else short(edge_names[place])
        raise ValueError(f"hyperedge {which} has a missing node: {short(edge)}")
    if edge_names is not None and any(map(is_missing, edge_names)):
        place = next(i for i, name in enumerate(edge_names) if is_missing(name))
        raise ValueError(f"hyperedge {place} (from 0) has a missing name: {short(edge_names[place])}")


def _members(edges: Iterable[Iterable[Hashable]]) -> list[tuple[Hashable, ...]]:
    try:
        members = list(edges)
        text = next((e for e in members if isinstance(e, (str, bytes))), None)
        if text is None:
            return [in_order(edge) for edge in members]
    except TypeError as error:
        raise ValueError(f"edges must be collections of node names: {error}") from error
    raise ValueError(f"edges must be collections of node names, got the text {short(text)} as a hyperedge")


def in_order(edge: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The members as they are given; of a set sorted, for its order changes from process to process."""
    if isinstance(edge, (set, frozenset)):
        return tuple(sorted(edge, key=lambda name: (str(name), type(name).__name__)))
    return tuple(edge)


def to_named_edges(h: Hypergraph) -> list[list[Hashable]] | dict[Hashable, list[Hashable]]:
    """The hyperedges as lists of node names (numbers where there are none).

    A dictionary if the hyperedges have names, otherwise a list. It carries the hyperedges, empty ones
    too, and both kinds of names; not isolated nodes, the order of the nodes (pass ``h.node_names``
    to `from_named_edges` to keep both), features, labels or weights.

    >>> to_named_edges(from_named_edges({"chess": ["Ann", "Ben"], "choir": ["Ben", "Cleo"]}))
    {'chess': ['Ann', 'Ben'], 'choir': ['Ben', 'Cleo']}
    """
    h = single(h, "to_named_edges")
    edges: list[list[Hashable]] = h.edges()  # type: ignore[assignment]
    if h.node_names is not None:
        name = h.node_names.__getitem__
        edges = [list(map(name, edge)) for edge in edges]  # type: ignore[arg-type]
    if h.edge_names is None:
        return edges
    if len(set(h.edge_names)) != h.num_edges:
        twice = short(repeated(h.edge_names))
        raise ValueError(f"edge_names must be distinct to be the keys of a dictionary, got {twice} twice")
    return dict(zip(h.edge_names, edges, strict=True))
