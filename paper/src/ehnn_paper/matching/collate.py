"""From pairs to a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ehnn.hypergraph.pairs import starts

from .feature_cache import FeatureStore
from .graphs import delaunay
from .keypoints import Keypoints
from .pair_batch import PairBatch, Side
from .pairs import Pair


def collate(pairs: Sequence[Pair], features: FeatureStore | None = None, images: bool = False) -> PairBatch:
    """Put pairs into one batch, on the CPU, with the Delaunay graph of each image.

    With ``features`` both sides get the ``features`` and ``whole`` that it stores; with ``images`` they get
    their images, for a backbone that is trained along.
    """
    if not pairs:
        raise ValueError("pairs must hold at least one pair, got none")
    first = torch.tensor([0, *(len(pair.b) for pair in pairs[:-1])]).cumsum(0).tolist()
    target = [torch.where(p.target >= 0, p.target + row, -1) for p, row in zip(pairs, first, strict=True)]
    return PairBatch(
        _side([pair.a for pair in pairs], features, images),
        _side([pair.b for pair in pairs], features, images),
        torch.cat(target),
        tuple(pair.category for pair in pairs),
    )


def _side(items: Sequence[Keypoints], features: FeatureStore | None, images: bool) -> Side:
    counts = torch.tensor([len(k) for k in items])
    first = starts(counts).tolist()
    graphs = [delaunay(k.points) for k in items]
    seen: tuple[Tensor | None, Tensor | None] = (None, None)
    if features is not None:
        found = [features.lookup(k) for k in items]
        seen = torch.cat([rows for rows, _ in found]), torch.stack([whole for _, whole in found])
    return Side(
        points=torch.cat([k.points for k in items]),
        counts=counts,
        edges=torch.cat([edges + row for (edges, _), row in zip(graphs, first, strict=True)], 1),
        triangles=torch.cat([triangles + row for (_, triangles), row in zip(graphs, first, strict=True)], 1),
        features=seen[0],
        whole=seen[1],
        images=torch.stack([k.read_image() for k in items]) if images else None,
    )
