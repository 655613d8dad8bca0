"""Matching one pair of images with a trained matcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .association import associate
from .collate import collate
from .hungarian import hungarian
from .keypoints import Keypoints
from .pair_model import PairModel, Prepared
from .pairs import Pair, make_pair


@dataclass(frozen=True, eq=False)
class Found:
    """The matches of a pair.

    Attributes:
        pair: its keypoints.
        matched: ``[len(a)]`` the keypoint of b for each of a, −1 for none.
        probability: ``[len(a)]`` the entry of the doubly stochastic matrix; 0 where there is no match.
    """

    pair: Pair
    matched: Tensor
    probability: Tensor


@torch.no_grad()
def match_images(model: PairModel, a: Keypoints, b: Keypoints) -> Found:
    """Match all keypoints of two images; the image with fewer is matched completely."""
    pair = make_pair(a, b, "all")
    batch = collate([pair], images=True)
    middle: Any = getattr(model.matcher, "middle", None)
    association = associate(batch, getattr(middle, "orders", ()))
    log_p = model.eval()(Prepared(batch, association))
    matched = hungarian(log_p, association.candidates)
    table = log_p.exp().reshape(len(a), len(b))
    rows = torch.arange(len(a))
    probability = torch.where(matched >= 0, table[rows, matched.clamp(min=0)], 0)
    return Found(pair, matched, probability)
