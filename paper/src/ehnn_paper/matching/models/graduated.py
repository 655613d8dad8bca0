"""GANN-MGM: several images matched by graduated assignment, which teaches the features."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn.hypergraph.pairs import starts

from ..association import Association, associate
from ..candidates import Candidates, candidates_of
from ..hungarian import hungarian
from ..loss import SMALLEST
from ..pair_batch import PairBatch, Side
from ..sinkhorn import sinkhorn
from ..spline import Refine, spline_graph
from .groups import Groups, pairs_of


class Graduated(nn.Module):
    r"""GANN-MGM (Wang, Yan, Yang; TPAMI 2023): unsupervised, on groups of images (`Groups`).

    Keypoints of all images of a group are assigned to a common set, the universe: U with a row per keypoint.
    From W, the Sinkhorn matrices of feature similarity of all pairs, and A, the weighted Delaunay graphs,

    .. math:: U \leftarrow \mathrm{Sinkhorn}_\tau\big(A U U^\top A U + \lambda W U\big)

    image by image, with τ falling from step to step, then with the Hungarian algorithm. The matching of
    two images is :math:`U_1 U_2^\top`. Training makes it the target of W: no label is read. The universe is
    that of the image with most keypoints, and W's columns of it are the start (the authors' is random).

    Args:
        channels: of the keypoint features.
        refine, refine_width: SplineConv layers that are trained, see `Refine`.
        most: pairs of a group.
        weight: λ.
        temperatures: τ of each step.

    Shapes: as `Matcher` where it predicts. While training, what is returned is the loss of each candidate,
    ``[c]``, to be added up (`sum_of_terms`).
    """

    def __init__(
        self,
        channels: int = 1024,
        *,
        refine: int = 2,
        refine_width: int | None = None,
        most: int = 4,
        weight: float = 1.0,
        temperatures: tuple[float, ...] = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05),
    ) -> None:
        super().__init__()
        self.refine = Refine(channels, refine, refine_width)
        self.most, self.weight, self.temperatures = most, weight, temperatures

    def associate(self, batch: PairBatch) -> Association:
        """The candidates, without hyperedges."""
        return associate(batch, ())

    def forward(self, batch: PairBatch, association: Association | None = None) -> Tensor:
        candidates = (self.associate(batch) if association is None else association).candidates
        groups = Groups.of(batch, self.most)
        x = self._features(batch)
        with torch.no_grad():
            matched = self._solve(groups, x.detach(), candidates, batch.num_pairs)
        if not self.training:
            return (matched.to(x.dtype) + SMALLEST).log()
        left, right = x.split([batch.a.points.shape[0], batch.b.points.shape[0]])
        log_p = sinkhorn((left[candidates.a] * right[candidates.b]).sum(1), candidates)
        return -torch.where(matched, log_p, (-torch.expm1(log_p)).clamp(min=SMALLEST).log())

    def _features(self, batch: PairBatch) -> Tensor:
        x = torch.cat([batch.a.seen, batch.b.seen])
        if len(self.refine.layers):
            x = self.refine(x, spline_graph(batch.a, batch.b))
        return F.normalize(x, dim=1)

    def _solve(self, groups: Groups, x: Tensor, candidates: Candidates, count: int) -> Tensor:
        """``[c]`` bool: the matching of the pairs of a batch."""
        universe = _largest(groups)[groups.group]
        images = torch.arange(2 * count, device=x.device)
        to_universe = pairs_of(groups, images, universe)
        assigned = candidates_of(to_universe)
        column = assigned.local_b
        similar, adjacent = self._similarity(groups, x), adjacency(groups)
        cells = groups.cells_of(assigned, images, universe)
        place = cells // groups.width * int(assigned.width) + column  # in [groups · width, universe]
        shape = (groups.number, groups.width, int(assigned.width))

        def table(values: Tensor) -> Tensor:
            return values.new_zeros(shape[0] * shape[1] * shape[2]).scatter(0, place, values).reshape(shape)

        u = table(similar.flatten()[cells])
        for temperature in self.temperatures:
            drawn = self._drawn(u, similar, adjacent).flatten()[place]
            u = table(sinkhorn(drawn, assigned, temperature=temperature).exp())
        rows = hungarian(self._drawn(u, similar, adjacent).flatten()[place], assigned).to(x.device)
        u = table((rows[assigned.a] == assigned.b).to(x.dtype))
        number = images[:count]
        return (u @ u.mT).flatten()[groups.cells_of(candidates, number, number + count)] > 0.5

    def _drawn(self, u: Tensor, similar: Tensor, adjacent: Tensor) -> Tensor:
        around = adjacent @ u
        return around @ (u.mT @ around) + self.weight * (similar @ u)

    def _similarity(self, groups: Groups, x: Tensor) -> Tensor:
        """W ``[groups, width, width]``."""
        left, right = groups.pairs
        pairs = pairs_of(groups, left, right)
        found = candidates_of(pairs)
        first = starts(groups.images.counts)
        rows_a, rows_b = first[left][found.pair] + found.local_a, first[right][found.pair] + found.local_b
        p = sinkhorn((x[rows_a] * x[rows_b]).sum(1), found).exp()
        return groups.joint(p, groups.cell(rows_a, rows_b))


def _largest(groups: Groups) -> Tensor:
    """``[groups]``: the image with most keypoints, the first of equals."""
    counts = groups.images.counts
    key = counts * len(counts) + torch.arange(len(counts) - 1, -1, -1, device=counts.device)
    best = torch.zeros_like(groups.sizes).scatter_reduce(0, groups.group, key, "amax")
    return len(counts) - 1 - best % len(counts)


def adjacency(groups: Groups) -> Tensor:
    """A ``[groups, width, width]``: Delaunay edges, weighed by their length against the image's mean length.

    The rows of an image with edges sum to 1 on average.
    """
    images: Side = groups.images
    ends, owner = images.edges, images.owner[images.edges[0]]
    length = (images.points[ends[0]] - images.points[ends[1]]).norm(dim=1)

    def total(values: Tensor) -> Tensor:
        return values.new_zeros(len(images.counts)).index_add(0, owner, values).clamp(min=1e-12)[owner]

    weight = torch.exp(-((length * total(torch.ones_like(length)) / total(length)) ** 2))
    weight = weight * images.counts[owner] / (2 * total(weight))
    flat = weight.new_zeros(groups.number * groups.width**2)
    flat = flat.scatter(0, groups.cell(ends[0], ends[1]), weight)
    upper = flat.reshape(groups.number, groups.width, groups.width)
    return upper + upper.mT


def sum_of_terms(terms: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
    """The loss of `Graduated`, per keypoint of a: truth is not read."""
    return terms.sum() / max(len(batch.target), 1)
