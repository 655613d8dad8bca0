"""Hypergraph classification: a task whose answer is the size of an overlap.

**Twins.** Take a 3-regular multigraph and read its vertices as hyperedges and its edges as nodes: every
hyperedge has order 3, every node has degree 2, and two hyperedges share as many nodes as there are parallel
edges between the two vertices. A *ladder* (a prism) has no parallel edges, a *necklace* (a ring in which
every second edge is double) of the same size has; so twins agree in the numbers of nodes and hyperedges, in
all orders and in all degrees, and differ in whether any two hyperedges share 2 nodes.

**Why V → E → V cannot tell.** Let all nodes have equal features. If at some layer all nodes have equal rows,
then all hyperedges receive the same multiset (three equal rows, from sources of order 1, with 𝓘 = 1, into
targets of order 3) and get equal rows; the same holds on the way back (two rows each), for pools over all
rows (equal counts in both twins), and for any function of them. By induction every layer gives the same rows
in both twins, and so does every readout: colour refinement of the incidence graph does not separate them. An
E → E layer sees 𝓘 = 1 and 3 in a ladder, and 1, 2 and 3 in a necklace, and separates them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph

SIZES = (3, 4, 5, 6, 7, 8)


def overlap_twins(size: int) -> tuple[Hypergraph, Hypergraph]:
    """(ladder, necklace): ``3 · size`` nodes of degree 2, ``2 · size`` hyperedges of order 3, x all ones.

    Two hyperedges share at most one node in the first; some share two in the second.

    >>> [h.overlap("edges", "edges").sizes.values.tolist() for h in overlap_twins(4)]
    [[1, 3], [1, 2, 3]]
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 3:
        raise ValueError(f"size must be an integer of at least 3, got {size!r}")
    i = torch.arange(size)
    after = (i + 1) % size
    ladder = torch.cat(
        [torch.stack([i, after]), torch.stack([i, after]) + size, torch.stack([i, i + size])], 1
    )
    double = torch.stack([2 * i, 2 * i + 1])
    necklace = torch.cat([double, double, torch.stack([2 * i + 1, 2 * after])], 1)
    return _dual(ladder), _dual(necklace)


def _dual(graph: Tensor) -> Hypergraph:
    """``[2, edges]`` of a graph: its vertices as hyperedges, its edges as nodes."""
    node = torch.arange(graph.shape[1]).repeat(2)
    x = torch.ones(graph.shape[1], 1)
    return Hypergraph.from_incidence(torch.stack([node, graph.flatten()]), x=x)


def overlap_hypergraphs(
    count: int, seed: int = 0, sizes: Sequence[int] = SIZES
) -> tuple[list[Hypergraph], Tensor]:
    """``count`` ladders and necklaces, alternating, renumbered at random, and their labels (0: ladder).

    ``seed`` makes the draws; ``sizes`` are the numbers of rungs to choose from.

    Hypergraphs 2i and 2i + 1 are twins: of every twin pair, a V → E → V model gets exactly one right.

    >>> found, labels = overlap_hypergraphs(4)
    >>> labels.tolist(), found[0].num_nodes == found[1].num_nodes
    ([0, 1, 0, 1], True)
    """
    generator = torch.Generator().manual_seed(seed)
    found = []
    for i in range(count):
        if i % 2 == 0:
            twins = overlap_twins(sizes[int(torch.randint(len(sizes), (), generator=generator))])
        h = twins[i % 2].permute_nodes(torch.randperm(twins[0].num_nodes, generator=generator))
        found.append(h.permute_edges(torch.randperm(h.num_edges, generator=generator)))
    return found, torch.arange(count) % 2
