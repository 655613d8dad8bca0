"""Affinities: the meetings that they smooth, the parts that nodes play, and hypergraphs without any."""

from __future__ import annotations

import torch

from ehnn import Hypergraph
from ehnn.tasks.hyperedges.affinity import RANKS, Affinity
from ehnn.testing import random_hypergraph


def meetings(h: Hypergraph) -> torch.Tensor:
    """s W s by its definition, times the total of the degrees + 1, and s once more on both sides."""
    w, degree = torch.zeros(h.num_nodes, h.num_nodes), torch.ones(h.num_nodes)
    for edge in h.edges():
        for u in edge if len(edge) > 1 else ():
            degree[u] += 1
            for v in edge:
                w[u, v] += (u != v) / (len(edge) - 1)
    return w / degree / degree.unsqueeze(1) * degree.sum()


def test_all_patterns_together_are_the_meetings():
    h = random_hypergraph(30, 40, (1, 6), seed=2)
    sets = random_hypergraph(30, 20, (2, 5), seed=3)
    w, found = meetings(h), Affinity.of(h)(sets)[:, RANKS.index(64)]
    for edge, one in zip(sets.edges(), found, strict=True):
        mean = torch.stack([w[u, v] for u in edge for v in edge if u != v]).mean()
        torch.testing.assert_close(one, mean.log1p(), atol=1e-3, rtol=1e-3)


def test_numbers_of_nodes_do_not_matter():
    h, sets = random_hypergraph(200, 300, (1, 5), seed=4), random_hypergraph(200, 9, (2, 4), seed=5)
    perm = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    found = Affinity.of(h.permute_nodes(perm))(sets.permute_nodes(perm))
    torch.testing.assert_close(found[:, 0], Affinity.of(h)(sets)[:, 0], atol=0.05, rtol=0.05)


def test_the_parts_that_nodes_play_are_seen():
    """Who asks meets who answers: a pair that never met is likely across the parts, not within one."""
    generator = torch.Generator().manual_seed(1)
    ask, answer = torch.randint(40, (2, 400), generator=generator)
    h = Hypergraph.from_edges([[a, 40 + b] for a, b in zip(ask.tolist(), answer.tolist(), strict=True)])
    across = Hypergraph.from_edges([[v, 79 - v] for v in range(40)], num_nodes=80)
    within = Hypergraph.from_edges([[v, (v + 7) % 40] for v in range(40)], num_nodes=80)
    affinity = Affinity.of(h)
    assert affinity(within)[:, 0].abs().max() < 0.01
    assert (affinity(across)[:, 0] > 0.1).float().mean() > 0.9


def test_where_nobody_meets():
    for h in (Hypergraph.from_edges([]), Hypergraph.from_edges([[0], [1]], num_nodes=3)):
        sets = Hypergraph.from_edges([[0, 1], [2]][: h.num_nodes], num_nodes=h.num_nodes)
        found = Affinity.of(h)(sets)
        assert found.shape == (sets.num_edges, len(RANKS))
        assert not found.any()
