"""Prepare the shards of a training run from a labelled hypergraph, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ehnn.hypergraph import Hypergraph
from ehnn.tasks import NodeClassification

from .files import check_sizes, read_manifest, save_shards
from .owners import partition


def shard_folder(directory: str | Path, ranks: int) -> Path:
    """The folder in which a run keeps its shards for ``ranks`` ranks."""
    return Path(directory) / f"shards-{ranks:05d}"


def prepare_shards(
    directory: str | Path,
    ranks: int,
    source: dict[str, Any],
    load: Callable[[], Hypergraph],
    method: str = "auto",
) -> bool:
    """Partition a hypergraph and save its shards, unless they exist; returns whether it saved them.

    Call it in one process. ``source`` (JSON values) says what the shards are made from. Shards of the same
    source and number of ranks are used again; ``load`` is then not called. A file that is missing or
    truncated is a ValueError that names it. The ranks check the checksums when they read the files.
    """
    folder = shard_folder(directory, ranks)
    try:
        manifest = read_manifest(folder)
    except ValueError:  # none, or one that was never finished
        manifest = {}
    if manifest.get("source") == source and manifest["ranks"] == ranks:
        check_sizes(folder)
        return False
    for part in folder.glob(".*.part"):  # of a process that was killed while it wrote
        part.unlink(missing_ok=True)
    h = load()
    save_shards(h, partition(h, ranks, method), folder, source)
    return True


def with_parts(h: Hypergraph, seed: int) -> Hypergraph:
    """``h`` with ``y [num_nodes, 3]``: labels in the column of a node's part, drawn by ``seed``.

    >>> import ehnn, torch
    >>> h = ehnn.Hypergraph.from_edges([[0, 1, 2, 3]], x=torch.eye(4), y=torch.tensor([0, 1, 0, 1]))
    >>> with_parts(h, seed=0).y.shape
    torch.Size([4, 3])
    """
    task = NodeClassification(h, [seed])
    return h.replace(y=torch.cat([task.train, task.valid, task.test]).T.contiguous())
