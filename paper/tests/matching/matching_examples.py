"""Made-up batches of image pairs."""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ehnn_paper.matching.graphs import delaunay
from ehnn_paper.matching.pair_batch import PairBatch, Side

CHANNELS, WHOLE = 6, 4


def side_of(points: Sequence[Tensor], features: Sequence[Tensor], whole: Tensor) -> Side:
    counts = torch.tensor([len(p) for p in points])
    first = (counts.cumsum(0) - counts).tolist()
    graphs = [delaunay(p) for p in points]
    edges = torch.cat([e + row for (e, _), row in zip(graphs, first, strict=True)], 1)
    triangles = torch.cat([t + row for (_, t), row in zip(graphs, first, strict=True)], 1)
    return Side(torch.cat(list(points)), counts, edges, triangles, torch.cat(list(features)), whole)


def random_batch(
    counts: Sequence[tuple[int, int]], seed: int = 0, dtype: torch.dtype = torch.float32
) -> PairBatch:
    """Pairs with random points and features; the first keypoints match in order, the rest nothing."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype)

    sides = []
    for which in range(2):
        sizes = [c[which] for c in counts]
        points = [256 * torch.rand(n, 2, generator=generator, dtype=dtype) for n in sizes]
        sides.append(side_of(points, [draw(n, CHANNELS) for n in sizes], draw(len(sizes), WHOLE)))
    target, start = [], 0
    for n, m in counts:
        target += [start + i if i < m else -1 for i in range(n)]
        start += m
    return PairBatch(sides[0], sides[1], torch.tensor(target, dtype=torch.int64))


def member(batch: PairBatch, pair: int) -> PairBatch:
    """One image pair of a batch, alone."""

    def cut(side: Side) -> Side:
        start = int(side.counts[:pair].sum())
        stop = start + int(side.counts[pair])
        rows = slice(start, stop)
        edges, triangles = (
            t[:, (t[0] >= start) & (t[0] < stop)] - start for t in (side.edges, side.triangles)
        )
        return Side(side.points[rows], side.counts[pair : pair + 1], edges, triangles,
                    side.features[rows], side.whole[pair : pair + 1])  # fmt: skip

    a, b = cut(batch.a), cut(batch.b)
    start_a, start_b = int(batch.a.counts[:pair].sum()), int(batch.b.counts[:pair].sum())
    target = batch.target[start_a : start_a + len(a.points)]
    return PairBatch(a, b, torch.where(target >= 0, target - start_b, -1))


def renumbered(batch: PairBatch, which: str, perm: Tensor) -> PairBatch:
    """The batch with keypoint v of one side (of a single pair) renumbered ``perm[v]``."""
    side, back = getattr(batch, which), perm.argsort()
    edges = perm[side.edges].sort(0).values
    triangles = perm[side.triangles].sort(0).values
    moved = replace(
        side, points=side.points[back], features=side.features[back], edges=edges, triangles=triangles
    )
    if which == "a":
        return replace(batch, a=moved, target=batch.target[back])
    return replace(batch, b=moved, target=torch.where(batch.target >= 0, perm[batch.target], -1))


def rotated_pairs(
    pairs: int, seed: int, counts: tuple[int, int] = (5, 9), channels: int = CHANNELS
) -> PairBatch:
    """Random point sets and their rotated, scaled, shuffled copies with the same features."""
    generator = torch.Generator().manual_seed(seed)
    a, b, features_a, features_b, target, start = [], [], [], [], [], 0
    for _ in range(pairs):
        n = int(torch.randint(counts[0], counts[1] + 1, (1,), generator=generator))
        points, angle = (
            torch.rand(n, 2, generator=generator) - 0.5,
            2 * math.pi * float(torch.rand(1, generator=generator)),
        )
        turn = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        perm = torch.randperm(n, generator=generator)
        features = torch.randn(n, channels, generator=generator)
        features = features / features.norm(dim=1, keepdim=True)
        a.append(128 + 160 * points)
        b.append((128 + 120 * points @ turn)[perm])
        features_a.append(features)
        features_b.append(features[perm])
        target.append(start + perm.argsort())
        start += n
    whole = torch.ones(pairs, WHOLE)
    return PairBatch(side_of(a, features_a, whole), side_of(b, features_b, whole), torch.cat(target))
