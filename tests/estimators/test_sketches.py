"""Sketches: what their inner products estimate, and how little a missing hyperedge changes them."""

from __future__ import annotations

import numpy as np
import torch

import ehnn
from ehnn.estimators.sketches import sketch_features


def operator(h: ehnn.Hypergraph) -> np.ndarray:
    """S, densely."""
    incidence = np.zeros((h.num_nodes, h.num_edges))
    incidence[tuple(h.index.numpy())] = 1
    root = np.diag(np.maximum(incidence.sum(1), 1) ** -0.5)
    return root @ incidence @ np.diag(1 / np.maximum(incidence.sum(0), 1)) @ incidence.T @ root


def cosines(x: np.ndarray) -> np.ndarray:
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x @ x.T


def test_inner_products_are_those_of_the_smoothed_rows(ring: list[list[int]]) -> None:
    h = ehnn.Hypergraph.from_edges([*ring, []])
    found = sketch_features(h, 4096, seed=3).numpy()
    s = operator(h)
    for part, exact in ((found[:, :4096], s), (found[:, 4096:], s @ s @ s)):
        np.testing.assert_allclose(cosines(part), cosines(exact), atol=0.08)  # 5 / sqrt(4096)


def test_a_missing_hyperedge_changes_other_places_little(ring: list[list[int]]) -> None:
    whole = ehnn.Hypergraph.from_edges(ring, num_nodes=40)
    less = ehnn.Hypergraph.from_edges(ring[1:], num_nodes=40)
    change = (sketch_features(whole, 16) - sketch_features(less, 16)).norm(dim=1)
    touched = torch.zeros(40, dtype=torch.bool)
    touched[ring[0]] = True
    assert change[~touched].mean() < 0.5 * change[touched].mean()
    assert change.mean() < 0.3 * sketch_features(whole, 16).norm(dim=1).mean()


def test_degenerate_hypergraphs_and_seeds() -> None:
    assert sketch_features(ehnn.Hypergraph.from_edges([]), 4).shape == (0, 8)
    alone = ehnn.Hypergraph.from_edges([[], [1, 2]], num_nodes=4)
    found = sketch_features(alone, 4, seed=1)
    assert found.isfinite().all()
    assert not found[[0, 3]].any()
    assert torch.equal(found, sketch_features(alone, 4, seed=1))
    assert not torch.equal(found, sketch_features(alone, 4, seed=2))
