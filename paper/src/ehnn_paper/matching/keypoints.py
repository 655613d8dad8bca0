"""Images with named keypoints, and sets of them."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor

from ehnn._utils.validation import short

from .images import SIZE, ImageSource

Entry = TypeVar("Entry")
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Keypoints:
    """The keypoints of one image.

    Attributes:
        id: name of the image within its set.
        category: of the object on it.
        points: ``[n, 2]`` float32, x and y in pixels of the 256 × 256 image; (0, 0) is its upper left corner
            and (256, 256) its lower right one. Points outside are possible.
        names: ``[n]``, distinct; which keypoint each one is. Equal names in two images match.
        image: where the image is; None if there is none.
        whole, rows: if this is a choice from the keypoints of an image (`select`): all of them, and the row
            of each chosen one, ``[n]``. What a backbone saw is kept for ``whole``.
    """

    id: str
    category: str
    points: Tensor
    names: tuple[str, ...]
    image: ImageSource | None = None
    whole: Keypoints | None = None
    rows: Tensor | None = None

    def __post_init__(self) -> None:
        if self.points.shape != (len(self.names), 2) or self.points.dtype != torch.float32:
            raise ValueError(
                f"points of {short(self.id)} must be float32 of shape [{len(self.names)}, 2] "
                f"(one row per name), got {self.points.dtype} of shape {list(self.points.shape)}"
            )
        if len(set(self.names)) < len(self.names):
            twice = next(n for n in self.names if self.names.count(n) > 1)
            raise ValueError(f"names of {short(self.id)} must be distinct, got {short(twice)} twice")
        bad = ~torch.isfinite(self.points).all(1)
        if bool(bad.any()):
            row = int(bad.nonzero()[0])
            raise ValueError(
                f"keypoint {short(self.names[row])} of {short(self.id)} must be finite, "
                f"got {self.points[row].tolist()}"
            )

    def __len__(self) -> int:
        return len(self.names)

    def select(self, rows: Tensor) -> Keypoints:
        """Some of the keypoints, in the order of ``rows [k]``."""
        names = tuple(self.names[i] for i in rows.tolist())
        origin = rows if self.rows is None else self.rows[rows]
        return replace(self, points=self.points[rows], names=names, whole=self.whole or self, rows=origin)

    def read_image(self) -> Tensor:
        """``[3, 256, 256]`` uint8; a ValueError names an image that is missing or does not decode."""
        if self.image is None:
            raise ValueError(f"{self.id!r} has keypoints only, no image")
        try:
            return self.image.read()
        except (ValueError, OSError) as error:
            raise ValueError(f"image {short(self.id)}: {error}") from error

    @cached_property
    def image_content(self) -> str:
        """A hash of the image, 64 hexadecimal digits. The file is read once."""
        if self.image is None:
            raise ValueError(f"{self.id!r} has keypoints only, no image")
        return self.image.content

    @cached_property
    def content(self) -> str:
        """A hash of image and points, 64 hexadecimal digits."""
        digest = hashlib.sha256(self.image_content.encode())
        digest.update(self.points.contiguous().numpy().tobytes())
        return digest.hexdigest()

    def outside(self) -> Tensor:
        """``[n]`` bool: which keypoints lie outside the image."""
        return ((self.points < 0) | (self.points > SIZE)).any(1)


@dataclass(frozen=True, eq=False)
class KeypointSet:
    """Keypoints by split (``"train"``, ``"test"`` and perhaps ``"valid"``)."""

    name: str
    splits: Mapping[str, tuple[Keypoints, ...]]

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """In alphabetical order."""
        return tuple(sorted({k.category for items in self.splits.values() for k in items}))

    def items(self, category: str | None = None, split: str | None = None) -> tuple[Keypoints, ...]:
        """The images of a category (None: of all) in a split (None: in all)."""
        if category is not None and category not in self.categories:
            raise ValueError(f"category must be one of {self.categories}, got {category!r}")
        if split is not None and split not in self.splits:
            raise ValueError(f"split must be one of {tuple(self.splits)}, got {split!r}")
        found = [k for name in ([split] if split else self.splits) for k in self.splits[name]]
        return tuple(k for k in found if category in (None, k.category))

    def with_validation(self, count: int, seed: int = 0) -> KeypointSet:
        """The same with ``count`` training images per category, drawn by ``seed``, as a split "valid"."""
        generator = torch.Generator().manual_seed(seed)
        train: list[Keypoints] = []
        valid: list[Keypoints] = []
        for category in self.categories:
            items = self.items(category, "train")
            if items and not 0 < count < len(items):
                raise ValueError(
                    f"count must be from 1 to {len(items) - 1}, so that a training image of {category!r} is "
                    f"left, got {count}"
                )
            held = set(torch.randperm(len(items), generator=generator)[:count].tolist())
            train += [k for i, k in enumerate(items) if i not in held]
            valid += [k for i, k in enumerate(items) if i in held]
        return replace(self, splits={**self.splits, "train": tuple(train), "valid": tuple(valid)})

    def readable(self, skip_bad: bool = False) -> KeypointSet:
        """Decode every image once. A bad one is an error that names it, or with ``skip_bad`` a warning."""
        return replace(
            self, splits={s: tuple(good_ones(k, _readable, skip_bad)) for s, k in self.splits.items()}
        )


def good_ones(entries: Iterable[Entry], make: Callable[[Entry], Made], skip_bad: bool) -> list[Made]:
    """``make`` of each entry; where that is a ValueError and ``skip_bad``, a warning and no item."""
    found = []
    for entry in entries:
        try:
            found.append(make(entry))
        except ValueError as error:
            if not skip_bad:
                raise
            warnings.warn(f"skipped: {error}", stacklevel=3)
    return found


def _readable(keypoints: Keypoints) -> Keypoints:
    keypoints.read_image()
    return keypoints
