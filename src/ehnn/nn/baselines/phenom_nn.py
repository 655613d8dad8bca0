"""PhenomNN, simple (Wang et al., From Hypergraph Energy Functions to Hypergraph NNs, ICML 2023)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ehnn.hypergraph import Hypergraph, SparsePattern
from ehnn.ops import segment_sum

from ._model import NodeModel
from ._structure import derived, members_of, power, scale, stars_of


class PhenomNN(NodeModel):
    r"""PhenomNN (simple): steps towards the minimum of an energy of the hypergraph.

    .. math::
        Y^{(0)} = \mathrm{relu}(X W_1), \qquad
        Y \leftarrow (1 - a) Y + a\, Q^{-1}\big(\lambda_0 A_\beta Y + \lambda_1 A_\gamma Y + Y^{(0)}\big)

    where :math:`A_\beta` and :math:`A_\gamma` are :math:`H H^\top + I` and :math:`H D_e^{-1} H^\top + I`,
    each normalised symmetrically by its row sums, and :math:`Q = \lambda_0 D_\beta + \lambda_1 D_\gamma + I`
    with the row sums of the normalised matrices. The output is :math:`\mathrm{relu}(Y) W_2`. Weights are
    ignored.

    >>> from ehnn import Hypergraph
    >>> PhenomNN(2, 3)(Hypergraph.from_edges([[0, 1, 2]], num_nodes=4, x=torch.ones(4, 2))).shape
    torch.Size([4, 3])

    Args:
        d_in, d_out: channels of the node features and of the output.
        width: channels in between.
        layers: steps.
        dropout: of the features and before the output.
        lambda0, lambda1: weights of the two terms.
        step: a; None means 1 / (1 + λ₀ + λ₁).
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        *,
        width: int = 64,
        layers: int = 16,
        dropout: float = 0.5,
        lambda0: float = 0.0,
        lambda1: float = 20.0,
        step: float | None = None,
    ) -> None:
        super().__init__(d_in, d_out, width=width, layers=layers, dropout=dropout)
        self.steps, self.lambda0, self.lambda1 = layers, lambda0, lambda1
        self.step = 1 / (1 + lambda0 + lambda1) if step is None else step
        self.embed, self.classifier = nn.Linear(d_in, width), nn.Linear(width, d_out)

    def forward(self, h: Hypergraph, x: Tensor | None = None) -> Tensor:
        """``[num_nodes, d_out]`` logits; ``x [num_nodes, d_in]`` replaces ``h.x``."""
        first = y = torch.relu(self.embed(self.dropouts[-1](self.features(h, x))))
        beta, gamma, share, row_sums = derived(h.incidence, _norms, first.dtype)
        inverse = 1 / (self.lambda0 * row_sums[0] + self.lambda1 * row_sums[1] + 1)
        for _ in range(self.steps):
            total = first
            for factor, root, of_edges in ((self.lambda0, beta, None), (self.lambda1, gamma, share)):
                if factor:
                    total = total + factor * _normalised(y, members_of(h), stars_of(h), root, of_edges)
            y = (1 - self.step) * y + self.step * scale(inverse, total)
        return self.classifier(self.dropouts[-2](y.relu()))


def _normalised(
    x: Tensor, members: SparsePattern, stars: SparsePattern, root: Tensor, share: Tensor | None
) -> Tensor:
    """``[num_nodes, d] → [num_nodes, d]``: R (H S Hᵀ + I) R x with diagonal R, S."""
    scaled = scale(root, x)
    edges = segment_sum(scaled, members)
    edges = edges if share is None else scale(share, edges)
    return scale(root, segment_sum(edges, stars) + scaled)


def _norms(
    incidence: SparsePattern, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Inverse square roots of the row sums of both matrices, D_e⁻¹, and the row sums once normalised."""
    stars = incidence.transpose()
    orders = incidence.lengths.to(torch.float64)
    share = power(orders, -1)
    beta = power(segment_sum(orders.unsqueeze(1), stars).squeeze(1) + 1, -0.5)
    gamma = power(incidence.t_lengths.to(torch.float64) + 1, -0.5)
    ones = torch.ones(incidence.num_cols, 1, dtype=torch.float64, device=orders.device)
    sums = [
        _normalised(ones, incidence, stars, root, of_edges).squeeze(1).to(dtype)
        for root, of_edges in ((beta, None), (gamma, share))
    ]
    return beta.to(dtype), gamma.to(dtype), share.to(dtype), (sums[0], sums[1])
