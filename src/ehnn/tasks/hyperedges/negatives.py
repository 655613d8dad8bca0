"""Sets of nodes that are not hyperedges, as large as ones that are."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.pairs import lexsort, repeat, starts

from .connected import Neighbours, grow, neighbours, repeats
from .sets import from_rows, is_in, structure

SAMPLERS = ("uniform", "degree", "hard")
CONNECTED = ("motif", "clique")
"""Kinds that hang together in the known hypergraph."""
_TRIES = 50


def sample_negatives(
    h: Hypergraph,
    positives: Hypergraph,
    kind: str = "uniform",
    *,
    seed: int = 0,
    avoid: Hypergraph | None = None,
    replaced: float = 0.5,
) -> Hypergraph:
    """For each positive, a set of equally many nodes that is not a hyperedge of ``avoid`` nor a positive.

    Args:
        h: the known hypergraph, for degrees.
        positives: hyperedges over the same nodes.
        kind: ``"uniform"``: nodes drawn evenly. ``"degree"``: drawn by their degree in ``h`` (plus one).
            ``"hard"``: the positive itself with a share ``replaced`` of its nodes (at least one; at least
            one stays where it has two) exchanged for others, drawn by degree. ``"mixed"``: the three in turn.
            ``"motif"``: grown from a node drawn by degree, each next one in a hyperedge of ``h`` with one
            of those before. ``"clique"``: the positive with one node exchanged for one that shares a
            hyperedge of ``h`` with each of the others, or with one of them where none does. Where all such
            sets are hyperedges, a ``"hard"`` one takes the place of either.
        seed: makes the draws.
        avoid: hyperedges that no negative may be; ``h`` by default.

    >>> h = Hypergraph.from_edges([[0, 1, 2], [2, 3]], num_nodes=9)
    >>> sample_negatives(h, h, "hard").orders.tolist()
    [3, 2]
    """
    if kind not in (*SAMPLERS, *CONNECTED, "mixed"):
        raise ValueError(f"kind must be one of {(*SAMPLERS, *CONNECTED, 'mixed')}, got {kind!r}")
    if not 0 < replaced <= 1:
        raise ValueError(f"replaced must be in (0, 1], got {replaced!r}")
    generator = torch.Generator().manual_seed(seed % 2**63)
    positives, avoid = structure(positives).to("cpu"), structure(h if avoid is None else avoid).to("cpu")
    weight = h.degrees.cpu().double() + 1
    again = torch.arange(positives.num_edges)
    turn = again % len(SAMPLERS)
    sampler = kind if kind in SAMPLERS else "hard"
    chosen = turn if kind == "mixed" else torch.full_like(turn, SAMPLERS.index(sampler))
    beside = neighbours(structure(h).to("cpu")) if kind in CONNECTED else None

    def draw(which: Tensor, connected: bool) -> Hypergraph:
        if beside is not None and connected:
            return _draw_connected(_take(positives, which), kind == "clique", weight, beside, generator)
        return _draw(_take(positives, which), chosen[which], weight, replaced, generator)

    found = draw(again, True)
    for attempt in range(_TRIES):
        fresh = _take(found, again)
        again = again[is_in(fresh, avoid) | is_in(fresh, positives)]
        if not len(again):
            return found
        found = _put(found, again, draw(again, attempt < _TRIES // 2))
    order = int(positives.orders[again[0]])
    raise ValueError(
        f"no set of {order} of the {h.num_nodes} nodes was found that is not a hyperedge, in {_TRIES} tries"
    )


def _draw(
    positives: Hypergraph, kind: Tensor, weight: Tensor, replaced: float, generator: torch.Generator
) -> Hypergraph:
    """One set per positive; ``kind`` numbers the sampler of each."""
    pairs, orders = positives.incidence, positives.orders
    keep_count = torch.where(kind == 2, orders - _replaced(orders, replaced), 0)
    key = torch.rand(len(pairs), generator=generator, dtype=torch.float64)
    place = torch.argsort(pairs.rows + key)  # the nodes of each set in random order
    rank = torch.arange(len(pairs)) - pairs.ptr[pairs.rows]
    kept = rank < keep_count[pairs.rows]
    node = pairs.index[place]
    node = _fill(node, pairs.rows, kept, kind[pairs.rows], weight, generator)
    return from_rows(orders, node, positives.num_nodes)


def _draw_connected(
    positives: Hypergraph, clique: bool, weight: Tensor, beside: Neighbours, generator: torch.Generator
) -> Hypergraph:
    """One set per positive, of nodes that are beside each other."""
    pairs = positives.incidence
    key = torch.rand(len(pairs), generator=generator, dtype=torch.float64)
    node = pairs.index[torch.argsort(pairs.rows + key)]
    rank = torch.arange(len(pairs)) - pairs.ptr[pairs.rows]
    first = rank == 0
    fresh = first & (pairs.lengths[pairs.rows] == 1) if clique else first
    total, u = weight.cumsum(0), torch.rand(int(fresh.sum()), generator=generator, dtype=torch.float64)
    node[fresh] = torch.searchsorted(total, u * total[-1]).clamp(max=len(weight) - 1)
    node, open_ = grow(node, pairs.rows, ~first | fresh if clique else first, beside, clique, generator)
    node = _fill_exactly(node, pairs.rows, open_, positives.num_nodes, generator)
    return from_rows(positives.orders, node, positives.num_nodes)


def _replaced(orders: Tensor, share: float) -> Tensor:
    """How many nodes of a set are replaced: at least one, and not all if it has two or more."""
    wanted = (share * orders.double()).round().long().clamp(min=1)
    return torch.minimum(wanted, (orders - 1).clamp(min=1)).clamp(max=orders)


def _fill(
    node: Tensor, row: Tensor, kept: Tensor, kind: Tensor, weight: Tensor, generator: torch.Generator
) -> Tensor:
    """``node`` with new distinct nodes where it is not kept, drawn by weight or evenly."""
    n = weight.shape[0]
    total = weight.cumsum(0)
    hard = kind == 2
    taken_out = (row * n + node)[hard & ~kept]
    node, open_ = node.clone(), ~kept
    for attempt in range(_TRIES):
        places = open_.nonzero().squeeze(1)
        if not len(places):
            return node
        u = torch.rand(len(places), generator=generator, dtype=torch.float64)
        drawn = torch.searchsorted(total, u * total[-1]).clamp(max=n - 1)
        flat = (kind[places] == 0) | (attempt > _TRIES // 2)  # few nodes left: weights would not find them
        node[places] = torch.where(flat, (u * n).long().clamp(max=n - 1), drawn)
        open_ = repeats(node, row, ~open_)
        if attempt < _TRIES // 2:  # prefer nodes that were not taken out
            open_ |= hard & ~kept & torch.isin(row * n + node, taken_out) & _room(row, n)
    return _fill_exactly(node, row, open_, n, generator)


def _room(row: Tensor, n: int) -> Tensor:
    """Whether the set of each entry leaves half of the nodes free."""
    return (torch.bincount(row) * 2 < n)[row]


def _fill_exactly(node: Tensor, row: Tensor, open_: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """The few sets that are nearly all nodes: a permutation of the free nodes for each."""
    for r in row[open_].unique().tolist():
        mine = (row == r).nonzero().squeeze(1)
        free = torch.ones(n, dtype=torch.bool)
        free[node[mine[~open_[mine]]]] = False
        others = free.nonzero().squeeze(1)
        wanted = mine[open_[mine]]
        node[wanted] = others[torch.randperm(len(others), generator=generator)[: len(wanted)]]
    return node


def _take(h: Hypergraph, edges: Tensor) -> Hypergraph:
    """The hyperedges numbered ``edges``, in that order."""
    lengths = h.orders[edges]
    row = repeat(lengths, int(lengths.sum()))
    offset = torch.arange(len(row)) - starts(lengths)[row]
    return from_rows(lengths, h.incidence.index[h.incidence.ptr[edges][row] + offset], h.num_nodes)


def _put(h: Hypergraph, edges: Tensor, new: Hypergraph) -> Hypergraph:
    """``h`` with the hyperedges ``edges`` exchanged for those of ``new``, of the same orders."""
    stay = torch.ones(h.num_edges, dtype=torch.bool)
    stay[edges] = False
    keep = stay[h.incidence.rows]
    row = torch.cat([h.incidence.rows[keep], edges[new.incidence.rows]])
    node = torch.cat([h.incidence.index[keep], new.incidence.index])
    row, node = lexsort(row, node, h.num_nodes)
    return Hypergraph.from_incidence(torch.stack([node, row]), h.num_nodes, h.num_edges)
