"""The partition by label propagation for a hypergraph that is in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.parallel.growing import work

from .engine import Here
from .propagation import Layout, Settings, propagate
from .steps import Folder, Steps


def propagated(h: Hypergraph, settings: Settings, weight: Tensor | None = None) -> Tensor:
    """``[num_nodes]`` owners, balanced by ``weight [num_nodes]``, or by `work` where it is None.

    The steps are those of large jobs, in this process and with one range.
    """
    if h.num_nodes == 0 or h.num_incidences == 0 or settings.ranks == 1:
        return torch.zeros(h.num_nodes, dtype=torch.int64)
    large = h.orders > 0
    edges = int(large.sum())
    number = (large.cumsum(0) - 1)[h.incidence.t_index]
    mass = work(h) if weight is None else weight
    with tempfile.TemporaryDirectory() as scratch:
        folder = Folder(scratch)
        files = {
            "edge-orders-0": h.orders[large], "edge-orders": h.orders[large],
            "edge-nodes-0": h.incidence.index, "node-degrees-0": h.degrees, "node-edges-0": number,
            "node-mass": mass,
        }  # fmt: skip
        for name, tensor in files.items():
            folder.save(f"{name}.npy", tensor.numpy())
        layout = Layout([(0, edges, "0")], [(0, h.num_nodes, "0")])
        name = propagate(Steps(Path(scratch), Here()), layout, settings)
        return torch.from_numpy(np.array(folder.load(name))).long()
