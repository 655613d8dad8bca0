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
    return torch.cat([_read(F.normalize(m, dim=1), points, owner) for m in maps], 1)


def _read(values: Tensor, points: Tensor, owner: Tensor) -> Tensor:
    h, w = values.shape[2:]
    rows = values.permute(0, 2, 3, 1).reshape(-1, values.shape[1])
    last = torch.tensor([w - 1, h - 1], device=points.device)
    place = torch.minimum((points * ((last + 1) / SIZE) - 0.5).clamp(min=0), last)
    low = torch.minimum(place.floor().long(), (last - 1).clamp(min=0))
    share = (place - low).to(values.dtype)
    high = torch.minimum(low + 1, last)
    found = values.new_zeros(points.shape[0], values.shape[1])
    for x, share_x in ((low[:, 0], 1 - share[:, 0]), (high[:, 0], share[:, 0])):
        for y, share_y in ((low[:, 1], 1 - share[:, 1]), (high[:, 1], share[:, 1])):
            found = found + rows[(owner * h + y) * w + x] * (share_x * share_y)[:, None]
    return found


def see(backbone: nn.Module, images: Tensor, points: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """``[n, channels]`` features at the keypoints and ``[B, channels]`` of whole images, with gradients."""
    *maps, whole = backbone(images)
    return read_at(maps, points, counts), whole
