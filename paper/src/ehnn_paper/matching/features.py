"""Reading a backbone's maps at keypoints."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .images import SIZE


def read_at(maps: Sequence[Tensor], points: Tensor, counts: Tensor) -> Tensor:
    """The maps' vectors at keypoints, one map's channels after the other's: ``[n, Σ channels]``.

    Every vector of a map is first scaled to length 1, then maps are read bilinearly. Cell i of a map with w
    columns covers the pixels from 256·i/w to 256·(i + 1)/w and holds its value in their middle, so pixel x
    is read at x·w/256 − ½; a point beyond the outermost middles is read at the nearest one.

    Args:
        maps: each ``[B, channels, h, w]``.
        points: ``[n, 2]``, x and y in pixels of 256 × 256 images, image after image.
        counts: ``[B]``, points of each image; they sum to n.
    """
    wrong_sum = (
        counts.device.type == "cpu" and int(counts.sum()) != points.shape[0]
    )  # a GPU would have to wait
    if counts.shape != maps[0].shape[:1] or wrong_sum:
        raise ValueError(
            f"counts must give the points of each of {maps[0].shape[0]} images and sum to {points.shape[0]}, "
            f"got {counts.tolist()}"
        )
    images = torch.arange(counts.shape[0], device=points.device)
    owner = images.repeat_interleave(counts, output_size=points.shape[0])
    return torch.cat([_read(m, points, owner) for m in maps], 1)


def _read(values: Tensor, points: Tensor, owner: Tensor) -> Tensor:
    """Only the four cells around each point are scaled, not the map."""
    h, w = values.shape[2:]
    rows = values.permute(0, 2, 3, 1).reshape(-1, values.shape[1])
    x, share_x = _cells(points[:, 0], w)
    y, share_y = _cells(points[:, 1], h)
    place = (owner.unsqueeze(1) * h + y).unsqueeze(2) * w + x.unsqueeze(1)  # [n, two of y, two of x]
    share = (share_y.unsqueeze(2) * share_x.unsqueeze(1)).reshape(-1, 4, 1)
    found = rows.index_select(0, place.flatten()).reshape(-1, 4, rows.shape[1])
    found = found.float() if found.dtype in (torch.float16, torch.bfloat16) else found
    return (F.normalize(found, dim=2) * share.to(found.dtype)).sum(1)


def _cells(position: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """``[n] → [n, 2]``: the two cells beside each pixel position on an axis of ``size``, and their shares."""
    place = (position * (size / SIZE) - 0.5).clamp(0, size - 1)
    low = place.floor().clamp(max=max(size - 2, 0))
    part = place - low
    low = low.long()
    return torch.stack([low, (low + 1).clamp(max=size - 1)], 1), torch.stack([1 - part, part], 1)


def see(backbone: nn.Module, images: Tensor, points: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """``[n, channels]`` features at the keypoints and ``[B, channels]`` of whole images, with gradients."""
    *maps, whole = backbone(images)
    return read_at(maps, points, counts), whole
