"""The Sinkhorn channel."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..candidates import Candidates
from ..sinkhorn import sinkhorn


class SinkhornChannel(nn.Module):
    """x and one channel more: the doubly stochastic matrix of a linear map of x.

    It tells every candidate how it stands against those that share one of its keypoints.

    Shapes: ``x [c, width]`` → ``[c, width + 1]``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, 1, bias=False)  # Sinkhorn does not see a constant

    def forward(self, x: Tensor, candidates: Candidates) -> Tensor:
        log_p = sinkhorn(self.score(x).squeeze(1), candidates)
        return torch.cat([x, log_p.exp().unsqueeze(1).to(x.dtype)], 1)
