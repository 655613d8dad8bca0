"""The partition by label propagation: cut, balance, and its array functions against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ehnn.hypergraph import Hypergraph
from ehnn.parallel.growing import ghosts, grow
from ehnn.sharding import kernels
from ehnn.sharding.in_memory import propagated
from ehnn.sharding.propagation import Settings
from ehnn.testing import random_hypergraph


def communities(groups: int, size: int, seed: int = 0) -> Hypergraph:
    """Groups of nodes with hyperedges inside, and a few between; the numbers of the nodes say nothing."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(groups * size)
    inside = [rng.choice(size, 4, replace=False) + size * (i % groups) for i in range(6 * groups * size // 4)]
    between = [rng.choice(groups * size, 2, replace=False) for _ in range(groups * size // 20)]
    return Hypergraph.from_edges([number[e].tolist() for e in [*inside, *between]], num_nodes=groups * size)


@pytest.mark.parametrize("solver", ["growing", "mtkahypar"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_communities_are_found(ranks: int, solver: str) -> None:
    if solver == "mtkahypar":
        pytest.importorskip("mtkahypar")
    h = communities(8, 100)
    weight = torch.ones(800, dtype=torch.int64)
    part = propagated(h, Settings(ranks, 0.05, solver=solver, clusters=16), weight)
    load = torch.bincount(part, minlength=ranks)
    assert int(load.max()) <= 1.05 * 800 / ranks + 1
    contiguous = ghosts(h.incidence, grow(h, ranks, 0.05, 0, weight), ranks)
    assert ghosts(h.incidence, part, ranks) < contiguous / 4


def test_the_same_seed_gives_the_same_partition() -> None:
    h = communities(4, 50)
    first, second, other = (propagated(h, Settings(2, seed=s, solver="growing")) for s in (0, 0, 1))
    assert torch.equal(first, second)
    assert ghosts(h.incidence, other, 2) <= h.num_edges


@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (1, 1), (3, 4)])
def test_small_and_empty_hypergraphs(shape: tuple[int, int]) -> None:
    h = random_hypergraph(*shape, (0, min(2, shape[0])), seed=0)
    part = propagated(h, Settings(2, solver="growing"))
    assert part.shape == (shape[0],)
    assert bool(((part >= 0) & (part < 2)).all())


def test_gains_are_the_change_of_the_connectivity() -> None:
    h = random_hypergraph(30, 40, (1, 5), seed=3)
    rng, ranks = np.random.default_rng(0), 3
    part = rng.integers(ranks, size=30)
    edge, node = h.incidence.rows.numpy(), h.incidence.index.numpy()
    table = kernels.presence(edge, part[node], 40, ranks)
    degrees, edges = h.degrees.numpy(), h.incidence.t_index.numpy()
    to, gain = kernels.gains(degrees, table[edges], part, ranks)
    before = ghosts(h.incidence, torch.from_numpy(part), ranks)
    for v in range(30):
        changes = []
        for rank in range(ranks):
            moved = part.copy()
            moved[v] = rank
            changes.append(before - ghosts(h.incidence, torch.from_numpy(moved), ranks))
        assert gain[v] == changes[to[v]] == max(c for r, c in enumerate(changes) if r != part[v])


def test_contracted_hyperedges_and_their_weights() -> None:
    edge = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3])
    cluster = np.array([4, 4, 7, 7, 4, 5, 5, 5, 7])  # {4, 7} twice, {5} vanishes, {5, 7}
    orders, members, weights = kernels.contracted(edge, cluster)
    parts = np.split(members, np.cumsum(orders)[:-1])
    found = {frozenset(p.tolist()): int(w) for p, w in zip(parts, weights, strict=True)}
    assert found == {frozenset({4, 7}): 2, frozenset({5, 7}): 1}


def test_labels_of_full_clusters_are_not_taken() -> None:
    node, votes = np.arange(6), np.zeros(6, dtype=np.int64)
    size, mass = np.array([2.0, 1, 1, 1, 1, 1]), np.ones(6)
    given = {"label": np.arange(6), "size": size, "mass": mass, "numbers": np.arange(6)}
    for salt in range(5):
        new = kernels.new_labels(node, votes, np.ones(6), **given, limit=4, share=1, salt=salt)
        assert (new == 0).sum() <= 3  # node 0, and two more
        full = kernels.new_labels(node, votes, np.ones(6), **given, limit=2, share=1, salt=salt)
        assert full.tolist() == list(range(6))
