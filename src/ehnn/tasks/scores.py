"""Loss and accuracy of many runs in one computation."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def cross_entropy(logits: Tensor, y: Tensor | None) -> Tensor:
    """``[runs, n, classes], [n] or [runs, n] → [runs]``; labels below 0 do not count."""
    assert y is not None
    target = y.expand(logits.shape[:2])
    losses = F.cross_entropy(logits.movedim(-1, 1), target, ignore_index=-1, reduction="none")
    return losses.sum(1) / (target >= 0).sum(1).clamp(min=1)


def accuracy(logits: Tensor, y: Tensor | None) -> Tensor:
    """``[runs, n, classes], [n] or [runs, n] → [runs]`` percent; labels below 0 do not count."""
    assert y is not None
    target = y.expand(logits.shape[:2])
    right = (logits.argmax(-1) == target) & (target >= 0)
    return 100 * right.sum(1).double() / (target >= 0).sum(1).clamp(min=1)
