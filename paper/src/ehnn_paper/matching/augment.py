"""More training data from the same images: turned, scaled, mirrored, and with fewer keypoints."""

from __future__ import annotations

from dataclasses import replace

import torch

from .images import SIZE, Mirrored
from .keypoints import Keypoints, KeypointSet
from .pairs import FEWEST, Pair, seeded
from .transforms import rotate_image

ANGLE = 15.0
SCALES = (0.75, 1.05)
_SIDES = {"L": "R", "R": "L", "Left": "Right", "Right": "Left"}


def with_copies(keypoint_set: KeypointSet, copies: int, seed: int = 0) -> KeypointSet:
    """The same with ``copies`` of each training image, the first as it is.

    The others are turned by up to 15 degrees and scaled by 0.75 to 1.05; half of them are mirrored before
    that, if a keypoint's name tells its side (see `mirror`).
    """
    if copies < 1:
        raise ValueError(f"copies must be at least 1, got {copies}")
    items, generator = keypoint_set.items(split="train"), seeded(seed, 4)
    drawn = torch.rand(copies - 1, len(items), 3, generator=generator, dtype=torch.float64).tolist()
    more = [
        _changed(k, number, *numbers)
        for number, of_copy in enumerate(drawn, 2)
        for k, numbers in zip(items, of_copy, strict=True)
    ]
    return replace(keypoint_set, splits={**keypoint_set.splits, "train": (*items, *more)})


def _changed(keypoints: Keypoints, number: int, angle: float, scale: float, mirrored: float) -> Keypoints:
    low, high = SCALES
    named = replace(keypoints, id=f"{keypoints.id}, copy {number}")
    if mirrored < 0.5 and any(_other_side(name) != name for name in named.names):
        named = mirror(named)
    return rotate_image(named, ANGLE * (2 * angle - 1), low + (high - low) * scale)


def mirror(keypoints: Keypoints) -> Keypoints:
    """The image mirrored. Its left ear is then a right ear: names with a word L, R, Left or Right change.

    >>> a = Keypoints("a", "cat", torch.tensor([[56.0, 10.0]]), ("L_EarBase",), image=Mirrored(None))
    >>> mirror(a).names, mirror(a).points.tolist()
    (('R_EarBase',), [[200.0, 10.0]])
    """
    if keypoints.image is None:
        raise ValueError(f"{keypoints.id!r} has keypoints only, no image")
    points = keypoints.points.clone()
    points[:, 0] = SIZE - points[:, 0]
    names = tuple(map(_other_side, keypoints.names))
    image = Mirrored(keypoints.image)
    return replace(keypoints, points=points, names=names, image=image, whole=None, rows=None)


def _other_side(name: str) -> str:
    return "_".join(_SIDES.get(word, word) for word in name.split("_"))


def thinned(pair: Pair, p: float, generator: torch.Generator) -> Pair:
    """The pair without some of its keypoints.

    Each one goes with probability ``p``, together with its partner, as long as three are left. A pair with
    outliers stays as it is.
    """
    n = len(pair.a)
    order = torch.rand(n, generator=generator)
    keep = order >= p
    keep[order.argsort(descending=True)[:FEWEST]] = True
    if bool(keep.all()) or bool((pair.target < 0).any()) or len(pair.b) > n:
        return pair
    rows_a, partners = keep.nonzero().flatten(), torch.zeros(len(pair.b), dtype=torch.bool)
    partners[pair.target[rows_a]] = True
    rows_b = partners.nonzero().flatten()
    place = torch.zeros(len(pair.b), dtype=torch.int64)
    place[rows_b] = torch.arange(len(rows_b))
    return Pair(pair.a.select(rows_a), pair.b.select(rows_b), place[pair.target[rows_a]])
