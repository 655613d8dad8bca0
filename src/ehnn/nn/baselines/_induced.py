"""Attention within groups of rows: what WHATsNet and CoNHD share."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ehnn.hypergraph import SparsePattern
from ehnn.ops import segment_softmax_sum

from ..layer import check_heads


class GroupAttention(nn.Module):
    r"""Multi-head attention of a Set Transformer (Lee et al., ICML 2019) without LayerNorm.

    .. math:: o = W_q q + \mathrm{softmax}\big(W_q q \cdot W_k x / \sqrt d\big)\, W_v x, \qquad
        y = o + \mathrm{ReLU}(W_o o)

    with heads of d / heads channels each; the logits are divided by the root of the total width d.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = check_heads(heads, width, "width")
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def to_groups(self, queries: Tensor, x: Tensor, groups: SparsePattern) -> Tensor:
        """Queries ``[num_groups or 1, m, d]`` attend to the rows ``x [rows, d]`` of their group.

        ``groups`` is groups × rows, each row in one group. Returns ``[num_groups, m, d]``.
        """
        q = self.query(queries)
        m, shape = queries.shape[1], (self.heads, -1)
        mine = q.expand(groups.num_rows, -1, -1) if q.shape[0] == 1 else q
        key, value = self.key(x).unflatten(1, shape), self.value(x).unflatten(1, shape)
        wanted = mine.unflatten(2, shape)[groups.t_index]  # [rows, m, heads, c]
        logits = (wanted * key.unsqueeze(1)).sum(-1) / math.sqrt(q.shape[-1])
        values = value.unsqueeze(1).expand(-1, m, -1, -1)
        found = segment_softmax_sum(values.flatten(1, 2), logits.flatten(1), groups)
        return self._closed(mine, found.unflatten(1, (m, self.heads)).flatten(2))

    def to_rows(self, x: Tensor, sets: Tensor) -> Tensor:
        """Rows ``x [rows, d]`` attend to ``sets [rows, m, d]``. Returns ``[rows, d]``."""
        q, shape = self.query(x), (self.heads, -1)
        key, value = self.key(sets).unflatten(2, shape), self.value(sets).unflatten(2, shape)
        logits = (q.unflatten(1, shape).unsqueeze(1) * key).sum(-1) / math.sqrt(q.shape[-1])
        return self._closed(q, (logits.softmax(1).unsqueeze(-1) * value).sum(1).flatten(1))

    def _closed(self, q: Tensor, found: Tensor) -> Tensor:
        o = q + found
        return o + self.out(o).relu()


class InducedBlock(nn.Module):
    """ISAB within groups: inducing points attend to the rows of a group, the rows attend to them.

    Shapes: ``x [rows, d]``, ``groups`` of groups × rows (each row in one) → ``[rows, d]``. Memory is
    linear in rows × ``inducing`` × d.
    """

    def __init__(self, width: int, heads: int = 4, inducing: int = 4) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.empty(1, inducing, width))
        nn.init.xavier_uniform_(self.points)
        self.gather, self.spread = GroupAttention(width, heads), GroupAttention(width, heads)

    def forward(self, x: Tensor, groups: SparsePattern) -> Tensor:
        summary = self.gather.to_groups(self.points, x, groups)
        return self.spread.to_rows(x, summary[groups.t_index])
