"""BBGM: affinities trained through a solver of the quadratic assignment problem."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..association import Association
from ..candidates import Candidates
from ..hungarian import hungarian
from ..loss import SMALLEST, truth
from ..pair_batch import PairBatch
from .matcher import Matcher


class BlackBoxMatcher(Matcher):
    r"""BBGM (Rolínek, Swoboda, Zietlow, Paulus, Musil, Martius; ECCV 2020): affinities, then a solver.

    The gradient is that of a piecewise linear interpolation of the solver (Vlastelica et al., ICLR 2020):
    with :math:`x(a)` the matching for affinities a, and g the gradient of the loss at it,

    .. math:: \nabla_a = \big(x(a) - x(a - \lambda g)\big) / \lambda.

    While training, what is true is made harder by a margin: its affinities lose ``margin`` / 2 and the others
    gain as much. The authors solve by dual decomposition (LPMP); here it is `integer_fixed_point`, which is
    weaker. Affinities are those of the other matchers (`Affinity`).

    Args:
        strength: λ of the interpolation.
        margin: of the affinities, while training.
        steps: of the solver.
        options: of `Matcher`.

    Shapes: as `Matcher`. What is said of a candidate is the logarithm of 1 or of `SMALLEST`.
    """

    def __init__(
        self,
        channels: int = 1024,
        whole_channels: int = 512,
        *,
        strength: float = 80.0,
        margin: float = 1.0,
        steps: int = 10,
        **options: Any,
    ) -> None:
        pairwise: Any = _Pairwise()
        super().__init__(pairwise, channels, whole_channels, **options)
        self.strength, self.margin, self.steps = strength, margin, steps
        self.classifier = nn.Identity()  # the solver decides

    def forward(self, batch: PairBatch, association: Association | None = None) -> Tensor:
        association = self.associate(batch) if association is None else association
        nodes, edges = self.affinity(*self._features(batch), batch, association)
        if self.training:
            true = truth(batch, association.candidates)
            both = true[two_ends(association)].all(0)
            nodes, edges = (a + self.margin * (0.5 - t.to(a)) for a, t in ((nodes, true), (edges, both)))
        found: Any = _Solve.apply(nodes, edges, association, self.strength, self.steps)
        return (found + SMALLEST).log()


class _Pairwise(nn.Module):
    """Says that 2-edges are all that is read."""

    orders = (2,)
    width = 1


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, nodes: Tensor, edges: Tensor, association: Association, strength: float, steps: int
    ) -> Tensor:
        found = integer_fixed_point(nodes, edges, association, steps)
        ctx.save_for_backward(nodes, edges, found)
        ctx.told = association, strength, steps
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        nodes, edges, found = ctx.saved_tensors
        association, strength, steps = ctx.told
        other = integer_fixed_point(nodes - strength * grads[0], edges, association, steps)
        pairs = two_ends(association)
        both = found[pairs].prod(0) - other[pairs].prod(0)
        return (found - other) / strength, both / strength, None, None, None


def two_ends(association: Association) -> Tensor:
    """``[2, 2-edges]``: the candidates of each 2-edge."""
    return association.structure.incidence.index[: 4 * association.edge_pairs].reshape(-1, 2).T


@torch.no_grad()
def integer_fixed_point(nodes: Tensor, edges: Tensor, association: Association, steps: int = 10) -> Tensor:
    r"""A matching of large :math:`\sum_c a_c x_c + \sum_{cc'} a_{cc'} x_c x_{c'}`, ``[c]`` of 0 and 1.

    IPFP (Leordeanu, Hebert, Sukthankar; NeurIPS 2009) from the uniform start: the best matching for the
    gradient, then the best point on the way to it. The best of all matchings on the way is returned.

    Args:
        nodes: ``[c]`` affinities of candidates, of any sign.
        edges: ``[hyperedges]`` of which those of 2-edges are used.
        association: with 2-edges.
        steps: at most.

    Solved on the CPU: on a GPU, it is waited for.
    """
    candidates, device = association.candidates.to("cpu"), nodes.device
    pairs = two_ends(association).cpu()
    a, k = nodes.detach().double().cpu(), edges[: pairs.shape[1]].detach().double().cpu()
    x = (1 / torch.maximum(candidates.counts_a, candidates.counts_b).clamp(min=1).double())[candidates.pair]
    best, value = torch.zeros_like(a), a.new_full((candidates.num_pairs,), -torch.inf)
    for _ in range(steps):
        slope = a + _pull(x, k, pairs)
        corner = (hungarian(slope, candidates)[candidates.a] == candidates.b).double()
        found = candidates.total(corner * (a + _pull(corner, k, pairs) / 2))
        better = found > value
        best, value = torch.where(better[candidates.pair], corner, best), torch.maximum(value, found)
        way = corner - x
        rise, bend = candidates.total(slope * way), candidates.total(way * _pull(way, k, pairs) / 2)
        if bool((rise < 1e-9).all()):
            break
        share = torch.where(bend < 0, (rise / (-2 * bend).clamp(min=1e-12)).clamp(0, 1), 1.0)
        x = x + share[candidates.pair] * way
    return best.to(nodes.dtype).to(device)


def _pull(x: Tensor, k: Tensor, pairs: Tensor) -> Tensor:
    """``[c]``: what the 2-edges of each candidate add to its slope."""
    out = torch.zeros_like(x)
    return out.index_add_(0, pairs[0], k * x[pairs[1]]).index_add_(0, pairs[1], k * x[pairs[0]])


def hamming_loss(log_p: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
    """Wrong entries of the matching matrices, per image pair: what BBGM is trained with."""
    p = log_p.exp()
    return torch.where(truth(batch, candidates), 1 - p, p).sum() / candidates.num_pairs
