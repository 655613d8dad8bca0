"""The cut of the clusters, in one process."""

from __future__ import annotations

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph
from ehnn.parallel.growing import grow
from ehnn.parallel.owners import installed


def solve(
    orders: np.ndarray, members: np.ndarray, weights: np.ndarray, mass: np.ndarray, ranks: int,
    imbalance: float, seed: int, pins: int, solver: str = "auto",
) -> tuple[np.ndarray, str]:  # fmt: skip
    """``[clusters]`` owners, and how they were found.

    ``orders``, ``members`` and ``weights`` are those of hyperedges between clusters, ``mass`` the weight of
    each cluster. Hyperedges beyond ``pins`` members in total, the largest, are left out.
    """
    if ranks == 1:
        return np.zeros(len(mass), dtype=np.int64), "one"
    small = np.argsort(orders, kind="stable")
    kept = np.zeros(len(orders), dtype=bool)
    kept[small[np.cumsum(orders[small]) <= pins]] = True
    members, orders, weights = members[np.repeat(kept, orders)], orders[kept], weights[kept]
    edge = np.repeat(np.arange(len(orders)), orders)
    pairs = torch.from_numpy(np.stack([members, edge]).astype(np.int64))
    h = Hypergraph.from_incidence(pairs, len(mass), len(orders))
    load = torch.from_numpy(np.round(mass).astype(np.int64))
    if solver == "mtkahypar" or (solver == "auto" and installed()):
        from ehnn.parallel.kahypar import kahypar

        part = kahypar(h, ranks, imbalance, seed, load, torch.from_numpy(weights.astype(np.int64)))
        return part.numpy(), "mtkahypar"
    return grow(h, ranks, imbalance, passes=8, weight=load).numpy(), "growing"
