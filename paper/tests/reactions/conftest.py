"""A small network of random reactions."""

import numpy as np
import pytest

from ehnn_paper.reactions.data import Reactions, from_arrays


def arrays(reactions: int = 60, metabolites: int = 25, seed: int = 0) -> dict[str, np.ndarray]:
    """Reactions with two metabolites on each side; metabolites of low numbers are consumed more often."""
    draw = np.random.default_rng(seed)
    node = np.concatenate([np.sort(draw.choice(metabolites, 4, replace=False)) for _ in range(reactions)])
    return {
        "node": node, "edge": np.repeat(np.arange(reactions), 4), "side": np.tile([-1, -1, 1, 1], reactions),
        "num_nodes": np.array(metabolites), "num_edges": np.array(reactions),
        "lb": np.where(np.arange(reactions) % 4 == 0, -1.0, 0.0), "ub": np.ones(reactions),
        "same": np.arange(reactions) // 2, "x": draw.integers(5, size=(metabolites, 3)),
        "compartment": np.arange(metabolites) % 2,
    }  # fmt: skip


@pytest.fixture
def network() -> Reactions:
    return from_arrays(arrays())
