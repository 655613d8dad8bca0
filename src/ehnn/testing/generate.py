"""Random hypergraphs, without a loop over nodes, hyperedges or incidences."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ehnn._utils.validation import as_count, as_index
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.pairs import repeat


def random_hypergraph(
    num_nodes: int,
    num_edges: int,
    orders: int | tuple[int, int] | Iterable[int] = (2, 10),
    *,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    d_node: int | None = None,
    d_edge: int | None = None,
    dtype: torch.dtype | None = None,
) -> Hypergraph:
    """A hypergraph whose hyperedges are uniformly random sets of nodes.

    Each hyperedge has an order drawn uniformly from ``orders`` and is then a uniformly random set of
    that many nodes; hyperedges may repeat. Costs O(incidences · log incidences).

    >>> random_hypergraph(10, 4, orders=3, seed=0, d_node=2)
    Hypergraph(10 nodes, 4 hyperedges, 12 incidences, order 3, x [10, 2] float32)

    Args:
        num_nodes, num_edges: the counts.
        orders: one order, a *tuple* of two (the lowest and the highest, both included), or any other
            collection of the orders to draw from.
        seed, generator: the source of randomness, one of the two; without either, torch's global one.
        d_node, d_edge: the number of Gaussian features of each node / hyperedge; None for no features.
        dtype: of the features.
    """
    num_nodes, num_edges = as_count(num_nodes, "num_nodes"), as_count(num_edges, "num_edges")
    if seed is not None and generator is not None:
        raise ValueError("give seed or generator, not both")
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
    choices = _order_choices(orders, num_nodes, num_edges)
    drawn = torch.randint(max(len(choices), 1), (num_edges,), generator=generator)
    keys = _random_sets(choices[drawn] if num_edges else drawn, num_nodes, generator)
    edge = torch.div(keys, max(num_nodes, 1), rounding_mode="floor")
    return Hypergraph.from_incidence(
        (keys - edge * num_nodes, edge),
        num_nodes,
        num_edges,
        x=_gaussian(num_nodes, d_node, "d_node", generator, dtype),
        edge_x=_gaussian(num_edges, d_edge, "d_edge", generator, dtype),
    )


def _order_choices(orders: int | Iterable[int], num_nodes: int, num_edges: int) -> Tensor:
    """``[choices]`` the orders to draw from."""
    if isinstance(orders, int):
        choices = torch.tensor([orders])
    elif isinstance(orders, tuple) and len(orders) == 2:
        low, high = as_index(orders, "orders").tolist()
        if low > high:
            raise ValueError(f"orders must be (lowest, highest), got {orders}")
        choices = torch.arange(low, high + 1)
    else:
        choices = as_index(orders if isinstance(orders, Tensor) else list(orders), "orders")
    if num_edges and not len(choices):
        raise ValueError("orders must hold at least one order, got none")
    # With no hyperedges to draw, no order is too large.
    return as_index(choices, "orders", num_nodes + 1) if num_edges else choices


def _random_sets(sizes: Tensor, n: int, generator: torch.Generator | None) -> Tensor:
    """Keys ``set · n + member``, sorted, of uniformly random sets of ``sizes`` members out of ``n``."""
    large = sizes > n // 2
    # A large set is drawn as the complement of a small one: repeats among the draws stay rare.
    keys = _small_random_sets(torch.where(large, n - sizes, sizes), n, generator)
    if not bool(large.any()):
        return keys
    full = large.nonzero().squeeze(1)
    place = torch.full_like(sizes, -1)
    place[full] = torch.arange(len(full))
    place_of_key = place[torch.div(keys, n, rounding_mode="floor")]
    left_out = place_of_key >= 0
    inside = torch.ones(len(full), n, dtype=torch.bool)
    inside.view(-1)[place_of_key[left_out] * n + keys[left_out] % n] = False
    row, member = inside.nonzero(as_tuple=True)
    return torch.cat([keys[~left_out], full[row] * n + member]).sort().values


def _small_random_sets(sizes: Tensor, n: int, generator: torch.Generator | None) -> Tensor:
    """`_random_sets` where no size is above n / 2.

    Members are drawn with replacement and repeats are drawn again: each round draws exactly what is
    missing and at least halves it on average, and the sets are uniform, for the first k distinct
    members of a sequence of uniform draws are a uniform k-set.
    """
    keys = sizes.new_zeros(0)
    missing = sizes
    while total := int(missing.sum()):
        drawn = torch.randint(n, (total,), generator=generator)
        keys = torch.unique(torch.cat([keys, repeat(missing, total) * n + drawn]))
        found = torch.bincount(torch.div(keys, n, rounding_mode="floor"), minlength=len(sizes))
        missing = sizes - found
    return keys


def _gaussian(
    rows: int, width: int | None, name: str, generator: torch.Generator | None, dtype: torch.dtype | None
) -> Tensor | None:
    if width is None:
        return None
    return torch.randn(rows, as_count(width, name), generator=generator, dtype=dtype)
