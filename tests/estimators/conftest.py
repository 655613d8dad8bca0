"""Small data that every estimator can learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ehnn


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def kinds() -> ehnn.Hypergraph:
    """60 people of three kinds who meet in groups of one kind; features are a poor hint."""
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    groups = [rng.choice(np.flatnonzero(kind == i % 3), rng.integers(2, 6), replace=False) for i in range(90)]
    hint = np.eye(3)[kind] + rng.normal(size=(60, 3))
    x = torch.tensor(hint, dtype=torch.float32)
    return ehnn.Hypergraph.from_edges([g.tolist() for g in groups], num_nodes=60, x=x, y=kind)


@pytest.fixture(scope="session")
def ring() -> list[list[int]]:
    """Stretches of three to six neighbours around a ring of 40 nodes."""
    rng = np.random.default_rng(1)
    starts, sizes = rng.integers(0, 40, 60), rng.integers(3, 7, 60)
    return [[int(s + i) % 40 for i in range(k)] for s, k in zip(starts, sizes, strict=True)]
