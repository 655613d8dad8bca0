"""A user's own images and keypoints, from a JSON file; docs/matching-data.md describes it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ehnn.hypergraph.validate import short

from .images import SIZE, ImageFile
from .keypoints import Keypoints, KeypointSet, good_ones

FEWEST = 2
_KEYS = ("image", "category", "split", "keypoints")
_SPLITS = ("train", "valid", "test")


def own_images(json_path: str | os.PathLike[str], *, skip_bad: bool = False) -> KeypointSet:
    """Read images and keypoints as the JSON file at ``json_path`` lists them.

    Every image is decoded once, for its size. An entry whose image does not decode, or whose keypoints are
    fewer than two, not finite or outside the image, is an error that names it; with ``skip_bad`` it is a
    warning, and the entry is left out.
    """
    path = Path(json_path)
    entries = image_entries(path)
    splits: dict[str, tuple[Keypoints, ...]] = {}
    for split in _SPLITS:
        chosen = [(i, e) for i, e in enumerate(entries) if _split(path, i, e) == split]
        splits[split] = tuple(good_ones(chosen, lambda ie: _entry(path, *ie), skip_bad))
    return KeypointSet(path.stem, {s: items for s, items in splits.items() if items or s != "valid"})


def image_entries(path: Path) -> list[Any]:
    """The list ``images`` of the JSON file at ``path``, whose entries have ``image`` and ``keypoints``."""
    try:
        told = json.loads(path.read_bytes(), object_pairs_hook=_Object)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON of images and keypoints: {error}") from error
    entries = told.get("images") if isinstance(told, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f'{path} must hold {{"images": [...]}}, got {short(told)}')
    if told.twice is not None:
        raise ValueError(f"{path}: the key {told.twice!r} stands twice beside 'images'")
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not {"image", "keypoints"} <= set(entry):
            raise ValueError(
                f"{path}: entry {number} of images must have 'image' and 'keypoints', got {short(entry)}"
            )
        if not isinstance(entry["image"], str):
            raise ValueError(f"{path}: image of entry {number} must be a text, got {short(entry)}")
    return entries


def own_image(
    image: str | os.PathLike[str],
    keypoints: Mapping[str, Sequence[float] | None] | Sequence[Sequence[float] | None],
    category: str = "object",
    name: str | None = None,
) -> Keypoints:
    """One image with keypoints ``{name: [x, y]}``, or ``[[x, y], …]`` whose names are "0", "1" …

    Coordinates are in pixels of the image as it is displayed (an EXIF orientation is applied), from its upper
    left corner. A keypoint that is None is not on the image.
    """
    name = str(image) if name is None else name
    if isinstance(keypoints, Mapping):
        found = dict(keypoints)
    elif isinstance(keypoints, Sequence) and not isinstance(keypoints, str):
        found = {str(i): point for i, point in enumerate(keypoints)}
    else:
        raise ValueError(f"keypoints of {name!r} must be an object or a list, got {short(keypoints)}")
    rows = {key: _point(name, key, point) for key, point in found.items() if point is not None}
    if len(rows) < FEWEST:
        raise ValueError(f"{name!r} must have at least {FEWEST} keypoints, got {len(rows)}")
    source = ImageFile(Path(image))
    try:
        width, height = source.size()
    except (OSError, ValueError) as error:
        raise ValueError(f"image {name!r}: {error}") from error
    for key, (x, y) in rows.items():
        if not (0 <= x <= width and 0 <= y <= height):  # NaN is not, either
            raise ValueError(
                f"keypoint {key!r} of {name!r} must lie in the image ({width} × {height}), got [{x}, {y}]"
            )
    points = torch.tensor(list(rows.values()), dtype=torch.float64) * SIZE
    points = points / torch.tensor([width, height], dtype=torch.float64)
    return Keypoints(name, category, points.float(), tuple(rows), source)


def _split(path: Path, number: int, entry: dict[str, Any]) -> str:
    unknown = [key for key in entry if key not in _KEYS]
    if unknown:
        raise ValueError(f"{path}: entry {number} of images may have {_KEYS}, got {unknown[0]!r}")
    split = entry.get("split", "train")
    if split not in _SPLITS:
        raise ValueError(f"{path}: entry {number} of images must have a split of {_SPLITS}, got {split!r}")
    return split


def _entry(path: Path, number: int, entry: dict[str, Any]) -> Keypoints:
    for told in (entry, entry["keypoints"]):
        if isinstance(told, _Object) and told.twice is not None:
            where = f"entry {number}, {entry['image']!r}"
            raise ValueError(f"{path}: the key {told.twice!r} stands twice in {where}")
    image, category = entry["image"], entry.get("category", "object")
    if not isinstance(category, str):
        raise ValueError(f"{path}: category of entry {number} must be a text, got {short(entry)}")
    return own_image(path.parent / image, entry["keypoints"], category, image)


def _point(name: str, key: str, point: Any) -> tuple[float, float]:
    try:
        x, y = point
        if isinstance(x, (bool, str)) or isinstance(y, (bool, str)):
            raise TypeError
        return float(x), float(y)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"keypoint {key!r} of {name!r} must be [x, y], got {short(point)}") from None


class _Object(dict[str, Any]):
    """A JSON object that knows a key that stood ``twice`` in it."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.twice = None if len(self) == len(keys) else next(key for key in keys if keys.count(key) > 1)
