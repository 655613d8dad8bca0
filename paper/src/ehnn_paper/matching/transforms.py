"""Making pairs harder: turned and scaled keypoints or images, and keypoints that match nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from .images import SIZE, Turned, rotation
from .keypoints import Keypoints
from .pairs import Pair


def rotate(keypoints: Keypoints, angle: float, scale: float = 1.0) -> Keypoints:
    """Turn the points alone about the image's middle, by ``angle`` degrees (y points down), times ``scale``.

    The image and what a backbone sees at the keypoints stay as they are: this asks whether the geometry is
    used in a way that does not depend on the pose.
    """
    rows = torch.arange(len(keypoints)) if keypoints.rows is None else keypoints.rows
    turned = _turned(keypoints.points, angle, scale)
    return replace(keypoints, points=turned, whole=keypoints.whole or keypoints, rows=rows)


def rotate_image(keypoints: Keypoints, angle: float, scale: float = 1.0) -> Keypoints:
    """Turn image and points together, as if the photograph were taken so; features have to be read anew.

    What comes into view from outside the image has ImageNet's mean colour. Points may leave the image.
    """
    if keypoints.image is None:
        raise ValueError(f"{keypoints.id!r} has keypoints only, no image")
    return replace(
        keypoints,
        points=_turned(keypoints.points, angle, scale),
        image=Turned(keypoints.image, float(angle), float(scale)),
        whole=None,
        rows=None,
    )


def turn_second(
    pairs: Sequence[Pair],
    generator: torch.Generator,
    angle: float = 180.0,
    scales: tuple[float, float] = (1.0, 1.0),
    image: bool = False,
) -> list[Pair]:
    """Turn the second image of each pair by a random angle in [−angle, angle], scaled log-uniformly."""
    low, high = scales
    if not 0 < low <= high:
        raise ValueError(f"scales must be positive and ascending, got {scales}")
    drawn = torch.rand(len(pairs), 2, generator=generator, dtype=torch.float64)
    angles = (2 * drawn[:, 0] - 1) * angle
    factors = low * (high / low) ** drawn[:, 1]
    turn = rotate_image if image else rotate
    turns = zip(pairs, angles.tolist(), factors.tolist(), strict=True)
    return [replace(pair, b=turn(pair.b, by, times)) for pair, by, times in turns]


def with_outliers(pair: Pair, count: int, generator: torch.Generator) -> Pair:
    """Add ``count`` keypoints, uniform over the image, to both sides; they match nothing (target −1).

    All keypoints are shuffled anew. Features of the new points have to be read from the images.
    """
    if count < 0:
        raise ValueError(f"count must not be negative, got {count}")
    order_a, order_b = (torch.randperm(len(k) + count, generator=generator) for k in (pair.a, pair.b))
    a, b = _extended(pair.a, count, order_a, generator), _extended(pair.b, count, order_b, generator)
    place = torch.empty_like(order_b)
    place[order_b] = torch.arange(len(order_b))
    target = torch.cat([pair.target, pair.target.new_full((count,), -1)])
    target = torch.where(target >= 0, place[target], -1)
    return Pair(a, b, target[order_a])


def _extended(keypoints: Keypoints, count: int, order: Tensor, generator: torch.Generator) -> Keypoints:
    added = SIZE * torch.rand(count, 2, generator=generator)
    names = (*keypoints.names, *(f"outlier {i}" for i in range(count)))
    return replace(
        keypoints,
        points=torch.cat([keypoints.points, added])[order],
        names=tuple(names[i] for i in order.tolist()),
        whole=None,
        rows=None,
    )


def _turned(points: Tensor, angle: float, scale: float) -> Tensor:
    if not scale > 0:
        raise ValueError(f"scale must be positive, got {scale}")
    middle = SIZE / 2
    return ((points.double() - middle) @ rotation(angle, scale).T + middle).float()
