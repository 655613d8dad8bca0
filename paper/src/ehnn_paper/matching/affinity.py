"""Affinities: how well two keypoints, two edges or two triangles fit."""

from __future__ import annotations

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn._utils.cached import plain_tensors
from ehnn.ops import segment_sum

from .association import Association, corner_orders
from .candidates import Candidates
from .pair_batch import PairBatch
from .spline import IMAGE


class Affinity(nn.Module):
    r"""Affinities of candidates and of their hyperedges.

    With features x of a, y of b, and weights w = tanh(linear([g_a, g_b])) from the global features of both
    images (as a unit vector), one linear map each for nodes and edges:

    - candidate (i, j): softplus(⟨w ∘ x_i, y_j⟩) − 1/2;
    - pair of edges (i, i') and (j, j'): half of softplus(⟨w' ∘ (x_i − x_i'), y_j − y_j'⟩) − 1/2;
    - pair of triangles: exp(−‖cos_a − cos_b‖²), with the three cosines of the angles of a triangle of
      features, corner by corner.

    Args:
        channels: of the keypoint features.
        whole_channels: of the global feature of an image.

    Shapes: ``x_a [a.n, channels]``, ``x_b [b.n, channels]`` → nodes ``[c]``, hyperedges ``[hyperedges]``.
    """

    def __init__(self, channels: int, whole_channels: int) -> None:
        super().__init__()
        self.weights = nn.Linear(2 * whole_channels, 2 * channels)

    def forward(
        self, x_a: Tensor, x_b: Tensor, batch: PairBatch, association: Association
    ) -> tuple[Tensor, Tensor]:
        nodes, edges = self._products(x_a, x_b, batch, association.candidates).unbind(1)
        parts = [_halved(edges, association), angle_affinity(x_a, x_b, batch, association)]
        return F.softplus(nodes) - 0.5, torch.cat(parts)

    def _products(self, x_a: Tensor, x_b: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
        """``[c, 2]``: ⟨w ∘ x, y⟩ of each candidate with the weights of nodes and of edges."""
        whole = F.normalize(torch.cat([batch.a.seen_whole, batch.b.seen_whole], 1), dim=1)
        weights = self.weights(whole).tanh().reshape(whole.shape[0], 2, 1, -1)
        left, right = (rows.unsqueeze(1) for rows in candidates.tables(x_a, x_b))
        found = (left * weights) @ right.mT  # [pairs, 2, width, width]
        return found.movedim(1, -1).reshape(-1, 2).index_select(0, candidates.grid)


def _halved(products: Tensor, association: Association) -> Tensor:
    """``[c] → [2 · edge_pairs]``: edge affinities from the inner products of keypoints.

    A difference of features makes the inner product of two edges four inner products of keypoints:
    those of the candidates of the hyperedge, minus those of the hyperedge that lays the edges the other
    way round.
    """
    sums = segment_sum(products, association.structure.incidence)[: 2 * association.edge_pairs]
    straight, crossed = sums.reshape(-1, 2).unbind(1)
    gap = straight - crossed
    return (F.softplus(torch.stack([gap, -gap], 1)) - 0.5).flatten() / 2


def angle_affinity(x_a: Tensor, x_b: Tensor, batch: PairBatch, association: Association) -> Tensor:
    """``[6 · triangle pairs]``: affinities of the triangles laid on each other."""
    if association.triangles_a.shape[0] == 0:
        return x_a.new_zeros(0)
    a, b = angle_cosines(torch.cat([x_a, x_b]), association.sides).split(
        [batch.a.triangles.shape[1], batch.b.triangles.shape[1]]
    )
    b = b.index_select(1, corner_orders(x_a.device).flatten()).reshape(-1, 6, 3)
    gap = a.unsqueeze(1).index_select(0, association.triangles_a) - b.index_select(0, association.triangles_b)
    return torch.exp(-gap.square().sum(2)).flatten()


def angle_cosines(x: Tensor, sides: Tensor) -> Tensor:
    """``[n, d], [2, 3t] → [t, 3]``: the cosine of the angle at each corner; 0 where a side has no length.

    ``sides`` are `triangle_sides`; products of all of a triangle with all.
    """
    start, end = sides.unbind(0)
    unit = F.normalize(x.index_select(0, end) - x.index_select(0, start), dim=1, eps=1e-6)
    unit = unit.reshape(-1, 3, x.shape[1])
    places, signs = _corners(x.device)
    return (unit @ unit.mT).flatten(1).index_select(1, places) * signs.to(x.dtype)


@lru_cache
def _corners(device: torch.device) -> tuple[Tensor, Tensor]:
    """Where the sides that meet at each corner stand in ``[3, 3]``, and the sign: at the second corner one
    of them arrives and the other one leaves."""
    with plain_tensors():
        return torch.tensor([1, 2, 5], device=device), torch.tensor([1.0, -1.0, 1.0], device=device)


class GeometricAffinity(nn.Module):
    r"""Affinities of the first NGM and NHGM: features for keypoints, geometry for edges and triangles.

    - candidate: ⟨x, y⟩ of unit features, times a learned scale;
    - pair of edges: exp(−(length_a − length_b)² / σ²), lengths as shares of the image;
    - pair of triangles: exp(−‖cos_a − cos_b‖²) of their angles in the image.

    Shapes: as `Affinity`.
    """

    def __init__(self, sigma: float = 0.1) -> None:
        super().__init__()
        self.scale, self.sigma = nn.Parameter(torch.ones(())), sigma

    def forward(
        self, x_a: Tensor, x_b: Tensor, batch: PairBatch, association: Association
    ) -> tuple[Tensor, Tensor]:
        candidates = association.candidates
        left, right = F.normalize(x_a, dim=1), F.normalize(x_b, dim=1)
        a, b = candidates.tables(left, right)
        nodes = (a @ b.mT).flatten().index_select(0, candidates.grid)
        index = association.structure.incidence.index[: 4 * association.edge_pairs].reshape(-1, 2)
        gap = _length(batch.a.points, candidates.a[index]) - _length(batch.b.points, candidates.b[index])
        angles = angle_affinity(batch.a.points, batch.b.points, batch, association)
        return self.scale * nodes, torch.cat([torch.exp(-((gap / self.sigma) ** 2)), angles]).to(nodes.dtype)


def _length(points: Tensor, ends: Tensor) -> Tensor:
    """``[n, 2], [e, 2] → [e]``: the distance of two points, as a share of the image."""
    return (points[ends[:, 0]] - points[ends[:, 1]]).norm(dim=1) / IMAGE
