"""NMGM: matchings of several images, made consistent by their spectrum."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..association import Association, associate
from ..pair_batch import PairBatch
from ..sinkhorn import sinkhorn
from .groups import Groups, pairs_of

SMALLEST_GAP = 1e-2


class Synchronised(nn.Module):
    r"""NMGM (Wang, Yan, Yang; TPAMI 2022): NGM on all pairs of a group of images, then synchronisation.

    With P the doubly stochastic matrices of all pairs of m images in one symmetric matrix (identities on
    its diagonal), the k leading eigenvectors U of P, k the most keypoints of an image, give matchings that
    agree along every way round: the blocks of :math:`m\, U U^\top`, then Sinkhorn. Consistent matchings have
    exactly k eigenvalues m, and the others are 0.

    The images that are matched together are those of a batch of pairs, see `Groups`: what is said of a pair
    depends on the pairs of its category beside it.

    Args:
        matcher: of pairs, reading 2-edges (NGM).
        most: pairs of a group.

    Shapes: as `Matcher`.
    """

    def __init__(self, matcher: nn.Module, most: int = 4) -> None:
        super().__init__()
        self.matcher, self.most = matcher, most

    def associate(self, batch: PairBatch) -> Association:
        """The candidates, without hyperedges: those of all pairs of a group are made in `forward`."""
        return associate(batch, ())

    def forward(self, batch: PairBatch, association: Association | None = None) -> Tensor:
        candidates = (self.associate(batch) if association is None else association).candidates
        groups = Groups.of(batch, self.most)
        left, right = groups.pairs
        pairs = pairs_of(groups, left, right)
        structure = associate(pairs, (2,))
        p = self.matcher(pairs, structure).exp()
        joint = groups.joint(p, groups.cells_of(structure.candidates, left, right))
        leading = torch.zeros_like(groups.sizes).scatter_reduce(0, groups.group, groups.images.counts, "amax")
        found: Any = _Projector.apply(joint, leading)
        number = torch.arange(batch.num_pairs, device=left.device)
        cells = groups.cells_of(candidates, number, number + batch.num_pairs)
        size = groups.sizes[groups.group[candidates.pair]]
        return sinkhorn(found.flatten()[cells] * size, candidates)


class _Projector(torch.autograd.Function):
    r"""The projection onto the leading eigenvectors of symmetric matrices.

    .. math::
        dP = \sum_{i \le k < j} \frac{u_i^\top dW u_j}{\lambda_i - \lambda_j} (u_i u_j^\top + u_j u_i^\top)

    Eigenvalues that coincide within either side, as those of consistent matchings do, do no harm; a
    derivative of the single eigenvectors would be infinite there.
    """

    @staticmethod
    def forward(ctx: Any, matrices: Tensor, leading: Tensor) -> Tensor:
        values, vectors = torch.linalg.eigh(matrices)  # ascending
        width = matrices.shape[-1]
        chosen = torch.arange(width, device=matrices.device) >= width - leading.unsqueeze(1)
        ctx.save_for_backward(values, vectors, chosen)
        kept = vectors * chosen.unsqueeze(1)
        return kept @ kept.mT

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        values, vectors, chosen = ctx.saved_tensors
        across = chosen.unsqueeze(2) & ~chosen.unsqueeze(1)
        gap = (values.unsqueeze(2) - values.unsqueeze(1)).clamp(min=SMALLEST_GAP)
        inner = vectors.mT @ (grads[0] + grads[0].mT) @ vectors
        half = vectors @ torch.where(across, inner / gap, 0) @ vectors.mT
        return (half + half.mT) / 2, None
