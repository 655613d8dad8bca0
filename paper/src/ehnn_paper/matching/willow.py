"""WILLOW ObjectClass (Cho, Alahari, Ponce; ICCV 2013): 5 categories, 10 keypoints per image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.schema import vector
from ehnn._utils.untrusted import shortened
from ehnn._utils.validation import short

from .files import DataDir, absent, find_vision_file, find_vision_folder, read_records
from .images import SIZE, ImageFile, tar_images
from .keypoints import Keypoints, KeypointSet, good_ones
from .matlab import read_matrix

PACKED = ("willow_keypoints.json", "willow_256.tar")
FOLDERS = ("WILLOW-ObjectClass", "WILLOW-ObjectClass_dataset/WILLOW-ObjectClass")
TRAINING_IMAGES = 20
_SUFFIXES = (".png", ".jpg", ".jpeg")


def willow(data_dir: DataDir = None, *, skip_bad: bool = False) -> KeypointSet:
    """WILLOW ObjectClass, with the paper's split.

    Read from ``vision/willow_keypoints.json`` and ``vision/willow_256.tar``, or else from the folder
    ``WILLOW-ObjectClass`` of the public archive (an image and a MATLAB file of the same name for each).

    The first 20 images of a category in alphabetical order are for training, the rest for testing. Keypoints
    are named by their place, "0" to "9"; Face/image_0160 has the first 8 of them only. Images are decoded
    when they are asked for; with ``skip_bad`` all are now, and those that fail are left out with a warning.
    """
    keypoints, images = (find_vision_file(name, data_dir) for name in PACKED)
    folder = find_vision_folder(FOLDERS, data_dir)
    if keypoints is not None and images is not None:
        items = _packed(keypoints, images)
        names = [k.id for k in items]
    elif folder is not None:
        names, items = _original(folder, skip_bad)
    else:
        missing = [name for name in PACKED if find_vision_file(name, data_dir) is None]
        also = f" The folder {FOLDERS[0]} of the public archive, unpacked there, will do as well."
        raise absent("willow", missing, data_dir, also)
    found = KeypointSet("willow", _split(items, names))
    return found.readable(skip_bad=True) if skip_bad else found


def _packed(keypoints: Path, images: Path) -> list[Keypoints]:
    index = tar_images(images)
    items = []
    for record in read_records(keypoints, {"id": str, "size": _sides, "pts": list}):
        name = f"{record['id']}.jpg"
        if name not in index:
            raise ValueError(f"{images} lacks {short(name)}, which {keypoints} names")
        items.append(_keypoints(record["id"], record["pts"], record["size"], index[name], keypoints))
    return items


def _sides(value: Any) -> bool:
    """a list of two positive numbers"""
    return vector(2)(value) and min(value) > 0


def _original(folder: Path, skip_bad: bool) -> tuple[list[str], list[Keypoints]]:
    """The names of all, and those that are good."""
    paths = sorted(folder.glob("*/*.mat"))
    if not paths:
        raise ValueError(f"{folder} must hold a folder of .mat files and images per category, found none")
    return list(map(_name, paths)), good_ones(paths, _from_matlab, skip_bad)


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _from_matlab(path: Path) -> Keypoints:
    image = next((path.with_suffix(s) for s in _SUFFIXES if path.with_suffix(s).is_file()), None)
    if image is None:
        raise ValueError(f"{path} has no image beside it (one of {', '.join(_SUFFIXES)})")
    source = ImageFile(image)
    return _keypoints(_name(path), read_matrix(path, "pts_coord"), list(source.header_size()), source, path)


def _keypoints(name: str, points: object, size: list[int], image: ImageFile, path: Path) -> Keypoints:
    """``points`` is ``[2, n]`` in the pixels of an image of this size (width, height)."""
    try:
        found = np.asarray(points, dtype=np.float64)
        scaled = (found[:2] * (SIZE / np.asarray(size, dtype=np.float64)[:, None])).T
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{path}: {short(name)} must have 2 rows of coordinates and a size: {shortened(error)}"
        ) from error
    try:
        return Keypoints(name, name.split("/")[0], _float(scaled), tuple(map(str, range(len(scaled)))), image)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _float(points: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(points)).float()


def _split(items: list[Keypoints], names: list[str]) -> dict[str, tuple[Keypoints, ...]]:
    """By the place of each among the ``names`` of all: one that is left out moves no other."""
    training: set[str] = set()
    for category in {name.split("/")[0] for name in names}:
        training.update(sorted(n for n in names if n.split("/")[0] == category)[:TRAINING_IMAGES])
    ordered = sorted(items, key=lambda k: (k.category, k.id))
    train = tuple(k for k in ordered if k.id in training)
    return {"train": train, "test": tuple(k for k in ordered if k.id not in training)}
