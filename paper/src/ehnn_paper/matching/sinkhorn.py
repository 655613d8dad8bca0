"""Sinkhorn normalisation: scores of candidates → a doubly stochastic matrix per image pair."""

from __future__ import annotations

import torch
from torch import Tensor

from ehnn.ops.dispatch import backend_of

from .candidates import Candidates

ITERATIONS, TEMPERATURE = 20, 0.05
WIDEST = 64
"""Keypoints of an image up to which its matrix fits into the registers of a program on a GPU."""


def sinkhorn(
    scores: Tensor,
    candidates: Candidates,
    iterations: int = ITERATIONS,
    temperature: float = TEMPERATURE,
) -> Tensor:
    r"""The logarithm of the doubly stochastic matrices of ``scores``, ``[c] → [c]``.

    .. math:: \log P_0 = s / \tau, \qquad \log P_{t+1} = \log P_t - \operatorname{logsumexp}(\log P_t)

    over rows and columns in turn. Rows are the smaller side of a pair. Where sides differ, dummy rows of
    score 0 make the matrix square and take the keypoints that nothing matches, so real rows sum to 1 and
    real columns to at most 1.

    All pairs are one tensor ``[pairs, width, width]``. Outside the square of a pair it holds a
    permutation (0 on the diagonal, −∞ elsewhere) that no iteration changes: a step is one
    ``log_softmax`` kernel, without masks, and its gradient is another. On a GPU all steps are one kernel.
    """
    if scores.shape != (len(candidates),):
        raise ValueError(f"scores must be one per candidate ({len(candidates)}), got {list(scores.shape)}")
    if iterations < 1 or temperature <= 0:
        raise ValueError(f"iterations and temperature must be positive, got {iterations} and {temperature}")
    place, frame = candidates.square
    scores = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    log_p = frame.to(scores.dtype).scatter(0, place, scores / temperature)
    log_p = log_p.reshape(candidates.num_pairs, candidates.width, candidates.width)
    return _normalised(log_p, iterations).flatten().gather(0, place)


def _normalised(log_p: Tensor, iterations: int) -> Tensor:
    """``[pairs, width, width]``: rows and columns in turn."""
    if backend_of(log_p) == "triton" and log_p.shape[1] <= WIDEST:
        from .triton_sinkhorn import triton_sinkhorn

        return triton_sinkhorn(log_p, iterations)
    for step in range(iterations):
        log_p = log_p.log_softmax(2 - step % 2)
    return log_p
