"""A user's own images and keypoints, from a JSON file; docs/matching-data.md describes it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ehnn._utils.schema import check
from ehnn._utils.untrusted import read_json
from ehnn._utils.validation import short

from .images import SIZE, ImageFile
from .keypoints import Keypoints, KeypointSet, good_ones

FEWEST = 2
LONGEST = 500  # characters of the path of an image
_SPLITS = ("train", "valid", "test")
ENTRY = {"image": str, "keypoints": object, "category?": str, "split?": frozenset(_SPLITS)}


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
        chosen = [(i, e) for i, e in enumerate(entries) if e.get("split", "train") == split]
        splits[split] = tuple(good_ones(chosen, lambda ie: _named_entry(path, *ie), skip_bad))
    return KeypointSet(path.stem, {s: items for s, items in splits.items() if items or s != "valid"})


def image_entries(path: Path) -> list[Any]:
    """The list ``images`` of the JSON file at ``path``, whose entries have ``image`` and ``keypoints``."""
    whole = read_json(path, "images and keypoints", _Object)
    if not isinstance(whole, _Object) or not isinstance(whole.get("images"), list):
        raise ValueError(f'{path} must hold {{"images": [...]}}, got {short(whole)}')
    if whole.twice is not None:
        raise ValueError(f"{path}: the key {short(whole.twice)} stands twice beside 'images'")
    check(whole["images"], [ENTRY], f"{path}: images")
    return whole["images"]


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
        raise ValueError(f"keypoints of {short(name)} must be an object or a list, got {short(keypoints)}")
    rows = {key: _point(name, key, point) for key, point in found.items() if point is not None}
    if len(rows) < FEWEST:
        raise ValueError(f"{short(name)} must have at least {FEWEST} keypoints, got {len(rows)}")
    source = ImageFile(Path(image))
    try:
        width, height = source.size()
    except (OSError, ValueError) as error:
        raise ValueError(f"image {short(name)}: {error}") from error
    for key, (x, y) in rows.items():
        if not (0 <= x <= width and 0 <= y <= height):  # NaN is not, either
            raise ValueError(
                f"keypoint {short(key)} of {short(name)} must lie in the image ({width} × {height}), "
                f"got [{x}, {y}]"
            )
    points = torch.tensor(list(rows.values()), dtype=torch.float64) * SIZE
    points = points / torch.tensor([width, height], dtype=torch.float64)
    return Keypoints(name, category, points.float(), tuple(rows), source)


def _named_entry(path: Path, number: int, entry: dict[str, Any]) -> Keypoints:
    try:
        return _entry(path, entry)
    except ValueError as error:
        raise ValueError(f"{path}: images[{number}]: {error}") from error


def _entry(path: Path, entry: dict[str, Any]) -> Keypoints:
    for told in (entry, entry["keypoints"]):
        if isinstance(told, _Object) and told.twice is not None:
            raise ValueError(f"the key {short(told.twice)} stands twice in {short(entry['image'])}")
    image, category = entry["image"], entry.get("category", "object")
    if "\0" in image or len(image) > LONGEST:
        raise ValueError(f"image must be the path of a file, got {short(image)}")
    return own_image(path.parent / image, entry["keypoints"], category, image)


def _point(name: str, key: str, point: Any) -> tuple[float, float]:
    try:
        x, y = point
        if isinstance(x, (bool, str)) or isinstance(y, (bool, str)):
            raise TypeError
        return float(x), float(y)
    except (TypeError, ValueError, OverflowError):
        what = f"keypoint {short(key)} of {short(name)}"
        raise ValueError(f"{what} must be [x, y], got {short(point)}") from None


class _Object(dict[str, Any]):
    """A JSON object that knows a key that stood ``twice`` in it."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.twice = None if len(self) == len(keys) else next(key for key in keys if keys.count(key) > 1)
