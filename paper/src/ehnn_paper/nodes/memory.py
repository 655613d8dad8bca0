"""How many runs of node classification fit into memory, and how much they took."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

import torch

from ehnn.hypergraph import Hypergraph

from .config import Settings

_TENSORS = {"ehnn-mlp": 55, "ehnn-transformer": 150, "all-set-transformer": 35, "all-deep-sets": 20}
"""How many tensors [nodes + hyperedges, width] a training step holds: measured, a third to spare."""


def default_group(h: Hypergraph, model: str, settings: Settings, device: str) -> int:
    """How many runs fit side by side."""
    row = 4 * max(settings.width, h.features("nodes").shape[1])
    tensors = _TENSORS.get(model.rstrip("+"), 30)
    return max(1, int(_budget(device) // (tensors * (h.num_nodes + h.num_edges) * row + 1)))


def _budget(device: str) -> float:
    """Bytes to plan with."""
    if torch.device(device).type == "cuda":
        return 0.8 * torch.cuda.mem_get_info(torch.device(device))[0]
    try:
        return 0.4 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 4e9


def _give_back() -> None:
    """Let the system have what earlier runs freed, or it would hide what the next one takes."""
    gc.collect()
    with suppress(OSError, AttributeError):  # glibc alone can be asked
        ctypes.CDLL("libc.so.6").malloc_trim(0)


class Memory:
    """The largest amount of memory since it was made: allocated on a GPU; on a CPU, what the process has
    more than it had then."""

    def __init__(self, device: str) -> None:
        self.gpu = torch.device(device) if torch.device(device).type == "cuda" else None
        if self.gpu is not None:
            torch.cuda.reset_peak_memory_stats(self.gpu)
        else:
            _give_back()
            with suppress(OSError):  # Linux starts the high-water mark again
                Path("/proc/self/clear_refs").write_text("5")
        self.before = 0.0 if self.gpu is not None else self._most()

    def peak_mb(self) -> float:
        """Megabytes (10⁶ bytes)."""
        if self.gpu is not None:
            return torch.cuda.max_memory_allocated(self.gpu) / 1e6
        return max(self._most() - self.before, 0.0)

    @staticmethod
    def _most() -> float:
        """The high-water mark of this process."""
        with suppress(OSError):
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1.024e-3
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3
