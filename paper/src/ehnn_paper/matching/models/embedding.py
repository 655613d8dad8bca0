"""PCA-GM, IPCA-GM and CIE: keypoints are embedded with their own graph and the other image, then compared."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..association import Association, associate
from ..candidates import Candidates
from ..pair_batch import PairBatch
from ..sinkhorn import sinkhorn
from ..spline import IMAGE


class EmbeddingMatcher(nn.Module):
    """Graph convolution, exchange with the other image, graph convolution, comparison, Sinkhorn.

    - PCA-GM (Wang, Yan, Yang; ICCV 2019): one exchange, weighted by the matching found so far.
    - IPCA-GM (the same, TPAMI 2020): the exchange is repeated with the matching that it gave.
    - CIE (Yu, Wang, Yan, Li; ICLR 2020): the convolution has channels of edges too (``edge_channels``); the
      row CIE-H of the paper is this one trained with `hungarian_attention_loss`.

    Args:
        channels: of the keypoint features.
        width: of the embeddings.
        exchanges: with the other image.
        edge_channels: embed edges, from their length and direction.

    Shapes: a `PairBatch` with ``features`` → ``[c]``, as `Matcher`.
    """

    def __init__(
        self, channels: int = 1024, width: int = 512, *, exchanges: int = 1, edge_channels: bool = False
    ) -> None:
        super().__init__()
        self.exchanges = exchanges
        self.first = GraphConv(channels, width, edge_channels)
        self.second = GraphConv(width, width, edge_channels)
        self.exchange = nn.Linear(2 * width, width)
        self.compare = nn.ModuleList([Bilinear(width), Bilinear(width)])

    def associate(self, batch: PairBatch) -> Association:
        """The candidates, without hyperedges."""
        return associate(batch, ())

    def forward(self, batch: PairBatch, association: Association | None = None) -> Tensor:
        candidates = (self.associate(batch) if association is None else association).candidates
        graph = directed_edges(batch)
        x = self.first(F.normalize(torch.cat([batch.a.seen, batch.b.seen]), dim=1), *graph)
        log_p = self._match(0, x, batch, candidates)
        for _ in range(self.exchanges):
            y = self.exchange(torch.cat([x, self._other(log_p.exp(), x, batch, candidates)], 1))
            y = self.second(y, *graph)
            log_p = self._match(1, y, batch, candidates)
        return log_p

    def _match(self, number: int, x: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
        left, right = _images(F.normalize(x, dim=1), batch, candidates)
        scores = self.compare[number](left, right).flatten().index_select(0, candidates.grid)
        return sinkhorn(scores, candidates)

    def _other(self, p: Tensor, x: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
        """``[n, width]``: for each keypoint those of the other image, weighted by the matching."""
        left, right = _images(x, batch, candidates)
        dense = candidates.dense(p)
        parts = []
        for rows, place in ((dense @ right, candidates.rows_a), (dense.mT @ left, candidates.rows_b)):
            parts.append(rows.flatten(0, 1).index_select(0, place))
        return torch.cat(parts)


def _images(x: Tensor, batch: PairBatch, candidates: Candidates) -> tuple[Tensor, Tensor]:
    return candidates.tables(*x.split([batch.a.points.shape[0], batch.b.points.shape[0]]))


def directed_edges(batch: PairBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Sources, targets ``[e]`` and looks ``[e, 3]`` of the edges of both sides, in both directions."""
    edges = torch.cat([batch.a.edges, batch.b.edges + batch.a.points.shape[0]], 1)
    source, target = torch.cat([edges, edges.flip(0)], 1)
    points = torch.cat([batch.a.points, batch.b.points])
    step = (points[source] - points[target]) / IMAGE
    return source, target, torch.cat([step.norm(dim=1, keepdim=True), step], 1)


class GraphConv(nn.Module):
    r"""x_i' = mean over neighbours j of relu(W x_j), plus relu(U x_i).

    With edge channels each neighbour is weighted channel by channel, W x_j ∘ V e_ij (CIE).
    """

    def __init__(self, d_in: int, d_out: int, edge_channels: bool) -> None:
        super().__init__()
        self.around, self.own = nn.Linear(d_in, d_out), nn.Linear(d_in, d_out)
        self.edge = nn.Linear(3, d_out) if edge_channels else None

    def forward(self, x: Tensor, source: Tensor, target: Tensor, look: Tensor) -> Tensor:
        messages = self.around(x).relu().index_select(0, source)
        if self.edge is not None:
            messages = messages * self.edge(look)
        total = messages.new_zeros(x.shape[0], messages.shape[1]).index_add(0, target, messages)
        count = messages.new_zeros(x.shape[0]).index_add(0, target, messages.new_ones(target.shape[0]))
        return total / count.clamp(min=1).unsqueeze(1) + self.own(x).relu()


class Bilinear(nn.Module):
    """⟨x, A y⟩ of all keypoints of two images; A starts near the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(width) + torch.randn(width, width) / width)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """``[pairs, n, width], [pairs, m, width] → [pairs, n, m]``."""
        return left @ self.matrix @ right.mT
