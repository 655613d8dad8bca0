"""A batch of image pairs, without padding."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

NOT_COUNTED = -2
"""The target of a keypoint that `permutation_loss` does not count."""


@dataclass(frozen=True)
class Side:
    """One image of every pair of a batch; keypoints of all images stand one after the other.

    Edges and triangles stand in the order of the pairs too.

    Attributes:
        points: ``[n, 2]``, x and y in pixels of the (256 × 256) image.
        counts: ``[pairs]``, keypoints of each image; they sum to n.
        edges: ``[2, e]``, Delaunay edges as rows of ``points``, each undirected edge once.
        triangles: ``[3, t]``, Delaunay triangles as rows of ``points``, each once.
        features: ``[n, channels]``, what the backbone sees at each keypoint; None before it has looked.
        whole: ``[pairs, channels]``, the global feature of each image; None likewise.
        images: ``[pairs, 3, 256, 256]`` uint8, where a backbone is trained along; None with frozen features.
        known_owner: what `owner` found before; None if it was not asked.
    """

    points: Tensor
    counts: Tensor
    edges: Tensor
    triangles: Tensor
    features: Tensor | None = None
    whole: Tensor | None = None
    images: Tensor | None = None
    known_owner: Tensor | None = None

    @property
    def seen(self) -> Tensor:
        """``features``; a ValueError before a backbone has looked."""
        return _looked_at(self.features, "features of keypoints")

    @property
    def seen_whole(self) -> Tensor:
        """``whole``, likewise."""
        return _looked_at(self.whole, "global features of images")

    @property
    def owner(self) -> Tensor:
        """``[n]``: the pair that each keypoint belongs to."""
        if self.known_owner is not None:
            return self.known_owner
        pairs = torch.arange(self.counts.shape[0], device=self.counts.device)
        return pairs.repeat_interleave(self.counts, output_size=self.points.shape[0])

    def per_pair(self, rows: Tensor) -> Tensor:
        """``[pairs]``: how many of ``rows`` (``edges`` or ``triangles``) each pair has."""
        member = self.owner[rows[0]]
        return torch.zeros_like(self.counts).index_add_(0, member, torch.ones_like(member))

    def to(self, device: torch.device | str) -> Side:
        return replace(self, **{k: v.to(device, non_blocking=True) for k, v in _tensors(self).items()})


@dataclass(frozen=True)
class Sizes:
    """Numbers of a batch that the host must know to make its association hypergraph.

    Attributes:
        width: the most keypoints that an image has.
        candidates: Σ over pairs of keypoints of a × keypoints of b.
        edge_pairs, triangle_pairs: the same for edges and triangles.
    """

    width: int
    candidates: int
    edge_pairs: int
    triangle_pairs: int


@dataclass(frozen=True)
class PairBatch:
    """Pairs of images whose keypoints are to be matched.

    Attributes:
        a, b: the two sides; image i of ``a`` belongs with image i of ``b``.
        target: ``[a.n]``, the row of ``b.points`` that each keypoint of ``a`` matches, −1 for none, or
            `NOT_COUNTED`.
        categories: of each pair.
        known_sizes: what `sizes` found before the batch went to a GPU; None if it was not asked.
    """

    a: Side
    b: Side
    target: Tensor
    categories: tuple[str, ...] = ()
    known_sizes: Sizes | None = None

    @property
    def num_pairs(self) -> int:
        return self.a.counts.shape[0]

    @property
    def sizes(self) -> Sizes:
        """The sizes of this batch; on a GPU one synchronisation, unless it came from the CPU by `to`."""
        if self.known_sizes is not None:
            return self.known_sizes
        a, b = self.a, self.b
        found = [
            torch.cat([a.counts, b.counts, a.counts.new_zeros(1)]).max(),
            (a.counts * b.counts).sum(),
            (a.per_pair(a.edges) * b.per_pair(b.edges)).sum(),
            (a.per_pair(a.triangles) * b.per_pair(b.triangles)).sum(),
        ]
        return Sizes(*torch.stack(found).tolist())

    def to(self, device: torch.device | str) -> PairBatch:
        return replace(
            self,
            a=self.a.to(device),
            b=self.b.to(device),
            target=self.target.to(device, non_blocking=True),
            known_sizes=self.sizes,
        )


def _looked_at(features: Tensor | None, what: str) -> Tensor:
    if features is None:
        raise ValueError(f"the batch has no {what}; let a backbone look first")
    return features


def _tensors(side: Side) -> dict[str, Tensor]:
    found = {f.name: getattr(side, f.name) for f in fields(side)}
    return {name: value for name, value in found.items() if value is not None}
