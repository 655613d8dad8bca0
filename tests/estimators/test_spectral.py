"""Spectral features of the incidence matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch

from ehnn import Hypergraph
from ehnn.estimators.portfolio import spectral
from ehnn.estimators.portfolio.fit_nodes import _extended
from ehnn.estimators.portfolio.node_table import incidence_matrix
from ehnn.estimators.portfolio.spectral import spectral_features
from ehnn.testing import random_hypergraph


def coordinates(h: Hypergraph, rank: int) -> torch.Tensor:
    return torch.from_numpy(spectral_features(incidence_matrix(h), rank))


def test_coordinates_tell_circles_apart() -> None:
    pairs = [[i + side, j + side] for side in (0, 10) for i in range(9) for j in (i + 1, (i + 3) % 10)]
    x = coordinates(Hypergraph.from_edges(pairs), 2)
    apart = torch.cdist(x, x)
    assert apart[:10, 10:].min() > apart[:10, :10].max()


def test_coordinates_follow_renumbering() -> None:
    h = Hypergraph.from_edges([*random_hypergraph(20, 30, (2, 5), seed=1).edges(), [19]], num_nodes=20)
    x = coordinates(h, 4)
    assert x.shape == (20, 4)
    order = torch.arange(19, -1, -1)
    torch.testing.assert_close(coordinates(h.permute_nodes(order), 4)[order], x, atol=1e-4, rtol=1e-4)
    alone = coordinates(h.replace(), 4)  # a hyperedge of one node joins nothing
    torch.testing.assert_close(coordinates(Hypergraph.from_edges(h.edges()[:-1], 20), 4), alone)


def test_coordinates_of_many_are_nearly_those_of_a_whole_decomposition(monkeypatch) -> None:
    h = random_hypergraph(60, 200, (2, 5), seed=0)
    exact = coordinates(h, 3)
    monkeypatch.setattr(spectral, "_DENSE", 0)
    monkeypatch.setattr(spectral, "_STEPS", 40)
    assert (coordinates(h, 3) - exact).abs().max() < 0.05 * exact.abs().max()


def test_a_new_node_gets_the_coordinates_of_its_twin() -> None:
    """A node that was not there in fit, in the same hyperedges as one that was, has the same coordinates."""
    h = random_hypergraph(40, 30, (2, 6), seed=2)
    matrix = incidence_matrix(h)
    known = spectral_features(matrix, 5)
    twin = matrix[[7]]
    both = scipy.sparse.vstack([matrix, twin]).tocsr()
    found = _extended(known, np.array([*range(40), -1]), both)
    np.testing.assert_allclose(found[:40], known)
    np.testing.assert_allclose(found[40], known[7], atol=1e-4)
