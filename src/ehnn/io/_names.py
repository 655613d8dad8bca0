"""Names of nodes and hyperedges: from names to numbers and back, without a Python loop."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from ehnn._utils.validation import repeated, short
from ehnn.hypergraph import Hypergraph

NODE_COLUMNS = ("node", "node_id", "vertex", "member")
"""Names, in any case, of a table's column of nodes; the first that is there is taken."""
EDGE_COLUMNS = ("edge", "edge_id", "hyperedge", "hyperedge_id", "set", "set_id", "group", "group_id")
"""The same for hyperedges."""


def factorize(
    values: Sequence[Hashable], first: Iterable[Hashable] = ()
) -> tuple[np.ndarray, list[Hashable]]:
    """Number of each value (``[len(values)]`` int64), and the distinct values in order of first appearance.

    ``first`` lists values that come before all others, whether they appear or not.
    """
    try:
        known = dict.fromkeys(first)
        known.update(dict.fromkeys(values))
        names = list(known)
        number = dict(zip(names, range(len(names)), strict=True))
        return np.fromiter(map(number.__getitem__, values), np.int64, len(values)), names
    except TypeError as error:
        raise ValueError(f"names must be hashable: {error}") from error


def identifiers(
    names: Sequence[Hashable] | None, count: int, what: str, kinds: tuple[type, ...] = ()
) -> list:
    """One distinct identifier per row: the names, or the numbers where there are none.

    ``kinds`` are the types that the target can hold (none: any).
    """
    if names is None:
        return list(range(count))
    plain = [v.item() if isinstance(v, np.generic) else v for v in names]
    if len(set(plain)) != len(plain):
        raise ValueError(f"{what} names must be distinct to be written, got {short(repeated(plain))} twice")
    for value in plain:
        if value is None or (kinds and (not isinstance(value, kinds) or isinstance(value, bool))):
            wanted = " or ".join(k.__name__ for k in kinds) or "not None"
            raise ValueError(f"{what} names must be {wanted} here, got {short(value)}")
    return plain


def as_numbers(names: Sequence[Hashable] | None) -> list[int] | None:
    """``names`` if they are exactly the numbers 0 … len − 1 in some order, and so carry no information."""
    if names is None or not all(type(v) is int for v in names):
        return None
    numbers: list[int] = list(names)  # type: ignore[arg-type]
    if numbers and (min(numbers) != 0 or max(numbers) != len(numbers) - 1):
        return None
    return numbers if len(set(numbers)) == len(numbers) else None


def drop_numbers(h: Hypergraph, keep_nodes: bool, keep_edges: bool) -> Hypergraph:
    """``h`` without names that are the numbers 0 … n−1, unless they are to be kept: name v becomes node v."""
    nodes = None if keep_nodes else as_numbers(h.node_names)
    edges = None if keep_edges else as_numbers(h.edge_names)
    if nodes is not None:
        h = (h if nodes == sorted(nodes) else h.permute_nodes(nodes)).replace(node_names=None)
    if edges is not None:
        h = (h if edges == sorted(edges) else h.permute_edges(edges)).replace(edge_names=None)
    return h
