"""Permutation loss, and how good a matching is."""

from __future__ import annotations

import torch
from torch import Tensor

from .candidates import Candidates
from .hungarian import hungarian
from .pair_batch import NOT_COUNTED, PairBatch

SMALLEST = 1e-7
"""1 − p is not taken below this: a wrong match that is certain costs at most −log of it."""


def truth(batch: PairBatch, candidates: Candidates) -> Tensor:
    """``[c]`` bool: the entries of the true permutation matrices."""
    return batch.target[candidates.a] == candidates.b


def permutation_loss(log_p: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
    r"""Binary cross entropy between doubly stochastic and true permutation matrices, per true match.

    .. math:: -\frac{1}{\sum X} \sum_{ij} X_{ij} \log P_{ij} + (1 - X_{ij}) \log (1 - P_{ij})

    over all candidates of the batch but those of keypoints that are `NOT_COUNTED`. ``log_p [c]`` is what
    `sinkhorn` returns; because it is a logarithm, a true match of vanishing probability still has a gradient.
    """
    target = batch.target[candidates.a]
    true = target == candidates.b
    likelihood = torch.where(target == NOT_COUNTED, 0, _log_likelihood(log_p, true))
    return -likelihood.sum() / true.sum().clamp(min=1)


def _log_likelihood(log_p: Tensor, true: Tensor) -> Tensor:
    """``[c]``: log p of true candidates, log (1 − p) of the others."""
    return torch.where(true, log_p, (-torch.expm1(log_p)).clamp(min=SMALLEST).log())


def matching_metrics(matched: Tensor, batch: PairBatch) -> dict[str, Tensor]:
    """Precision, recall (the accuracy of true matches) and F1 of each pair, ``[pairs]`` in [0, 1].

    Args:
        matched: ``[a.n]`` the row of b for each keypoint of a, −1 for none, as `hungarian` gives it.
        batch: with the true ``target``.

    A pair with nothing to match and nothing matched counts as 1.
    """
    target, owner = batch.target.cpu(), batch.a.owner.cpu()
    matched = matched.cpu()
    if matched.shape != target.shape:
        raise ValueError(f"matched must be one per keypoint of a ({len(target)}), got {list(matched.shape)}")

    def per_pair(mask: Tensor) -> Tensor:
        return torch.zeros(batch.num_pairs, dtype=torch.float64).index_add_(0, owner, mask.double())

    right = per_pair((matched == target) & (target >= 0))
    found, true = per_pair(matched >= 0), per_pair(target >= 0)
    return {
        "precision": _share(right, found),
        "recall": _share(right, true),
        "f1": _share(2 * right, found + true),
    }


def _share(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / whole.clamp(min=1), torch.ones_like(part))


def hungarian_attention_loss(log_p: Tensor, batch: PairBatch, candidates: Candidates) -> Tensor:
    """`permutation_loss` over the true matches and those that `hungarian` takes (Yu et al., ICLR 2020).

    The rest of the matrix, on which the discrete matching does not depend, is left alone. Solves the matching
    on the CPU, so on a GPU it waits for the device.
    """
    matched = hungarian(log_p, candidates).to(log_p.device)
    true = truth(batch, candidates)
    seen = true | (matched[candidates.a] == candidates.b)
    return -torch.where(seen, _log_likelihood(log_p, true), 0).sum() / true.sum().clamp(min=1)
