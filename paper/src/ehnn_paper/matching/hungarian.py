"""The best matching for given scores."""

from __future__ import annotations

import torch
from torch import Tensor

from .candidates import Candidates


def hungarian(scores: Tensor, candidates: Candidates) -> Tensor:
    """``[c] → [a.n]``: the row of b matched with each keypoint of a, −1 for none, on the CPU.

    Maximises the sum of scores over one-to-one matchings of each image pair (SciPy). The smaller image is
    matched completely.
    """
    from scipy.optimize import linear_sum_assignment

    if scores.shape != (len(candidates),):
        raise ValueError(f"scores must be one per candidate ({len(candidates)}), got {list(scores.shape)}")
    if not bool(torch.isfinite(scores).all()):
        raise ValueError("scores must be finite, got NaN or infinity")
    flat = scores.detach().double().cpu()
    counts = torch.stack([candidates.counts_a, candidates.counts_b]).cpu()
    matched = torch.full((int(counts[0].sum()),), -1, dtype=torch.int64)
    start_a = start_b = 0
    blocks = flat.split((counts[0] * counts[1]).tolist())
    for block, (rows, columns) in zip(blocks, counts.T.tolist(), strict=True):
        row, column = linear_sum_assignment(block.reshape(rows, columns).numpy(), maximize=True)
        matched[start_a + torch.from_numpy(row)] = start_b + torch.from_numpy(column)
        start_a, start_b = start_a + rows, start_b + columns
    return matched
