"""Splits of hyperedges in which nothing that is held out takes part in message passing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph

from .sets import distinct_sets, is_in, keep_edges, structure

MIN_ORDER = 2
"""Sets of fewer nodes are not held out unless asked for: they join nothing."""


@dataclass(frozen=True)
class EdgeSplit:
    """A hypergraph to learn from, and hyperedges to find.

    Attributes:
        known: the hyperedges that take part in message passing, with all nodes and attributes.
        valid, test: held-out hyperedges: distinct sets, none of which is a hyperedge of ``known``.

    >>> split = split_hyperedges(Hypergraph.from_edges([[i, i + 1] for i in range(10)]))
    >>> split.known.num_edges, split.valid.num_edges, split.test.num_edges
    (8, 1, 1)
    """

    known: Hypergraph
    valid: Hypergraph
    test: Hypergraph


def split_hyperedges(
    h: Hypergraph, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0, smallest: int = MIN_ORDER
) -> EdgeSplit:
    """A random split of the distinct hyperedges of ``smallest`` nodes or more: known, valid, test.

    A hyperedge of all nodes is always known.

    Identical hyperedges count as one and go together, so no duplicate of a held-out hyperedge stays behind;
    held-out parts are checked against ``known`` before they are returned. The ``fractions`` are those of the
    three parts; parts after the first are rounded down. ``seed`` makes the draw.

    >>> h = Hypergraph.from_edges([[0, 1], [1, 2], [0, 1], [2, 3], [3]], num_nodes=4)
    >>> split = split_hyperedges(h, (0.4, 0.3, 0.3))
    >>> split.known.num_edges + split.valid.num_edges + split.test.num_edges <= h.num_edges
    True
    """
    shares = [float(f) for f in fractions]
    if len(shares) != 3 or any(not 0 <= s <= 1 for s in shares) or abs(sum(shares) - 1) > 1e-6:
        raise ValueError(f"fractions must be three shares that add up to 1, got {tuple(fractions)}")
    number, sets = set_numbers(h, smallest)
    generator = torch.Generator().manual_seed(seed % 2**63)
    sets = sets[torch.randperm(len(sets), generator=generator)]
    valid, test = (math.floor(share * len(sets) + 1e-9) for share in shares[1:])
    parts = sets.split([valid, test, len(sets) - valid - test])
    known = without_sets(h, number, torch.cat(parts[:2]))
    found = EdgeSplit(known, *(one_of_each(h, number, part) for part in parts[:2]))
    check_no_leak(known, found.valid, found.test)
    return found


def set_numbers(h: Hypergraph, smallest: int = MIN_ORDER) -> tuple[Tensor, Tensor]:
    """``[num_edges]`` number of each hyperedge's set, and the numbers of sets that can be held out.

    These have at least ``smallest`` nodes, and not all nodes: a set of all has no negative of its size.
    """
    number, orders = distinct_sets(h).cpu(), h.orders.cpu()
    return number, number[(orders >= max(smallest, 1)) & (orders < h.num_nodes)].unique()


def without_sets(h: Hypergraph, number: Tensor, sets: Tensor) -> Hypergraph:
    """``h`` without any hyperedge whose set, ``number [num_edges]``, is one of ``sets``."""
    return keep_edges(h, ~torch.isin(number, sets).to(h.device))


def one_of_each(h: Hypergraph, number: Tensor, sets: Tensor) -> Hypergraph:
    """The hyperedges of ``sets``, each once, in the order of their first appearance in ``h``.

    ``number [num_edges]`` says which set a hyperedge is.
    """
    wanted = torch.isin(number, sets)
    first = torch.full((int(number.max()) + 1 if len(number) else 0,), len(number))
    first.scatter_reduce_(0, number, torch.arange(len(number)), "amin")
    keep = wanted & (first[number] == torch.arange(len(number))) if len(number) else wanted
    return structure(keep_edges(h, keep.to(h.device)))


def check_no_leak(known: Hypergraph, *held_out: Hypergraph) -> None:
    """AssertionError if a hyperedge of ``held_out``, or one identical to it, is in ``known``.

    >>> known = Hypergraph.from_edges([[0, 1], [1, 2]], num_nodes=4)
    >>> check_no_leak(known, Hypergraph.from_edges([[2, 3]], num_nodes=4))  # says nothing: no leak
    """
    for part in held_out:
        leaked = is_in(part, known)
        if bool(leaked.any()):
            which = part.edges()[int(leaked.nonzero()[0])]
            raise AssertionError(f"the held-out hyperedge {which} takes part in message passing")
