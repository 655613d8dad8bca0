"""How a network is trained where memory is short: whole, with φ in chunks of rows, or by samples."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from ehnn.hypergraph import Hypergraph
from ehnn.ops import bounded_memory

WAYS = ("whole", "bounded", "sampled")
PART = 0.8
"""Of the free memory, what training may take."""
_TENSORS = {"ehnn-mlp": (21, 15), "ehnn-transformer": (34, 25)}
"""Tensors [nodes + hyperedges, width] that a pair of layers holds while it trains, whole and bounded.

Measured on a CPU at width 64: 14 and 14, whose kernels make φ again in any case, and 23 and 19. A GPU keeps
more of a whole φ, so there is something to spare."""
_CHUNK = 2**18
"""Rows of a chunk of φ."""


def way_of(h: Hypergraph, model: str, width: int, pairs: int, device: torch.device | str) -> str:
    """One of `WAYS`: the first whose training fits into `PART` of the memory that is free on ``device``.

    ``model`` (without ``+``), ``width`` and the number of ``pairs`` of layers nodes → all → nodes tell what
    is held. Where the memory is not known, ``whole``.
    """
    free = free_memory(device)
    if free is None:
        return WAYS[0]
    whole, bounded = training_bytes(h, model, width, pairs)
    return WAYS[0] if whole <= PART * free else WAYS[1] if bounded <= PART * free else WAYS[2]


def training_bytes(h: Hypergraph, model: str, width: int, pairs: int) -> tuple[int, int]:
    """Bytes of a training step, whole and bounded: activations, and the indices of the relations."""
    rows = h.num_nodes + h.num_edges
    indices = 80 * h.num_incidences + 130 * rows
    held = [tensors * pairs * rows * 4 * width + indices for tensors in _TENSORS[model]]
    return held[0], held[1]


def free_memory(device: torch.device | str) -> int | None:
    """Bytes that are free on a GPU, or in the machine (or its container); None where that is not known."""
    if torch.device(device).type == "cuda":
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    known = [size for size in (_available(), _container()) if size is not None]
    return min(known) if known else None


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return None
    return next((int(s.split()[1]) * 1024 for s in lines if s.startswith("MemAvailable:")), None)


def _container() -> int | None:
    """What is left of the limit of a control group (Linux); cached files are given up when it is needed."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        parts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(limit - used + int(parts["inactive_file"]), 0)
    except (OSError, ValueError, KeyError):  # "max": no limit
        return None


@contextmanager
def within(way: str) -> Iterator[None]:
    """φ in chunks, unless the ``way`` is ``whole``."""
    if way == WAYS[0]:
        yield
        return
    with bounded_memory(_CHUNK):
        yield
