"""PASCAL VOC 2011 (Everingham et al.) with the keypoints of Bourdev and Malik: 20 categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ehnn._utils.validation import short

from .files import DataDir, absent, find_vision_file, find_vision_folder, read_records, vision_files
from .images import ImageFile, tar_images
from .keypoints import Keypoints, KeypointSet
from .voc_original import read_original

KEYPOINTS = "voc_keypoints.json"
ANNOTATIONS = ("annotations", "voc2011_keypoints_Feb2012", "PascalVOC/annotations")
IMAGES = ("VOC2011", "VOCdevkit/VOC2011", "TrainVal/VOCdevkit/VOC2011", "PascalVOC/VOC2011")
_RECORD = {
    "image": str, "category": str, "split": frozenset(("train", "test")), "part": str, "keypoints": list,
}  # fmt: skip


def voc(data_dir: DataDir = None, *, skip_bad: bool = False) -> KeypointSet:
    """PASCAL VOC keypoints, one 256 × 256 crop per object, without truncated, occluded or difficult ones.

    Read from ``vision/voc_keypoints.json`` and the tar files that it names, or else from the folders
    ``annotations`` and ``VOC2011`` of the public archives (see `read_original`).

    Keypoints may lie outside the crop, as in the annotations (in about 7 % of the images), and some images
    have fewer than three; sampling leaves those out. ``skip_bad`` is that of `willow`.
    """
    keypoints = find_vision_file(KEYPOINTS, data_dir)
    folders = find_vision_folder(ANNOTATIONS, data_dir), find_vision_folder(IMAGES, data_dir)
    if keypoints is not None:
        found = _packed(keypoints, data_dir)
    elif folders[0] is not None and folders[1] is not None:
        found = KeypointSet("voc", read_original(folders[0], folders[1], skip_bad))
    else:
        also = f" The folders {ANNOTATIONS[0]} and {IMAGES[0]} of the public archives will do as well."
        raise absent("voc", [KEYPOINTS], data_dir, also)
    return found.readable(skip_bad=True) if skip_bad else found


def _packed(path: Path, data_dir: DataDir) -> KeypointSet:
    records = read_records(path, _RECORD)
    parts = list(dict.fromkeys(record["part"] for record in records))
    tars = vision_files("voc", parts, data_dir)
    index = {part: tar_images(tar) for part, tar in zip(parts, tars, strict=True)}
    splits: dict[str, list[Keypoints]] = {"train": [], "test": []}
    for record in records:
        image = index[record["part"]].get(record["image"])
        if image is None:
            raise ValueError(f"{short(record['part'])} lacks {short(record['image'])}, which {path} names")
        splits[record["split"]].append(_keypoints(record, image, path))
    return KeypointSet("voc", {split: tuple(items) for split, items in splits.items()})


def _keypoints(record: dict[str, Any], image: ImageFile, path: Path) -> Keypoints:
    name = record["image"].rsplit(".", 1)[0]
    try:
        names = tuple(str(key) for key, _, _ in record["keypoints"])
        points = torch.tensor([[float(x), float(y)] for _, x, y in record["keypoints"]]).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{path}: keypoints of {short(name)} must be [name, x, y] each, got {short(record['keypoints'])}"
        ) from error
    try:
        return Keypoints(name, record["category"], points.float(), names, image)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
