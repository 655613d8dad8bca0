"""Spectral features of the incidence matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch

from ehnn import Hypergraph
from ehnn.estimators import spectral
from ehnn.estimators.spectral import SpectralEmbedding
from ehnn.testing import random_hypergraph


def named(h: Hypergraph) -> Hypergraph:
    return h.replace(edge_names=tuple(map(str, range(h.num_edges))))


def test_the_embedding_tell_circles_apart() -> None:
    pairs = [[i + side, j + side] for side in (0, 10) for i in range(9) for j in (i + 1, (i + 3) % 10)]
    x, _ = SpectralEmbedding.learn(named(Hypergraph.from_edges(pairs)), rank=2).encode(
        named(Hypergraph.from_edges(pairs))
    )
    apart = torch.cdist(x, x)
    assert apart[:10, 10:].min() > apart[:10, :10].max()


def test_the_embedding_follow_renumbering_and_names() -> None:
    h = named(Hypergraph.from_edges([*random_hypergraph(20, 30, (2, 5), seed=1).edges(), [19]], num_nodes=20))
    learned = SpectralEmbedding.learn(h, rank=4)
    assert learned.names == tuple(map(str, range(30)))  # the last joins nothing
    x, known = learned.encode(h)
    assert x.shape == (20, 4)
    assert known.tolist() == [True] * 30 + [False]
    again, _ = SpectralEmbedding.learn(h.permute_nodes(torch.arange(19, -1, -1)), rank=4).encode(h)
    torch.testing.assert_close(again, x, atol=1e-4, rtol=1e-4)
    other = h.replace(edge_names=tuple(str(i + 28) for i in range(h.num_edges)))
    y, known = learned.encode(other)
    assert known.tolist() == [True] * 2 + [False] * 29
    assert set(y.any(1).nonzero().squeeze(1).tolist()) == {v for edge in h.edges()[:2] for v in edge}


def test_the_embedding_of_many_are_nearly_those_of_a_whole_decomposition(monkeypatch) -> None:
    h = named(random_hypergraph(60, 200, (2, 5), seed=0))
    exact, _ = SpectralEmbedding.learn(h, rank=3).encode(h)
    monkeypatch.setattr(spectral, "_DENSE", 0)
    monkeypatch.setattr(spectral, "_STEPS", 40)
    near, _ = SpectralEmbedding.learn(h, rank=3).encode(h)
    assert (near - exact).abs().max() < 0.05 * exact.abs().max()


def test_a_new_node_gets_the_coordinates_of_its_twin() -> None:
    """A node that was not there in fit, in the same hyperedges as one that was, has the same coordinates."""
    from ehnn.estimators.portfolio.company import _extended
    from ehnn.estimators.portfolio.spectral import spectral_features

    h = random_hypergraph(40, 30, (2, 6), seed=2)
    matrix = spectral.incidence(h).tocsr()
    known = spectral_features(matrix, 5)
    twin = matrix[[7]]
    both = scipy.sparse.vstack([matrix, twin]).tocsr()
    found = _extended(known, np.array([*range(40), -1]), both)
    np.testing.assert_allclose(found[:40], known)
    np.testing.assert_allclose(found[40], known[7], atol=1e-4)
