"""PASCAL VOC with the Berkeley keypoints in the layout of the public archives."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as xml

import torch

from ehnn._utils.untrusted import shortened
from ehnn._utils.validation import short
from ehnn.io._support import read_text

from .images import SIZE, ImageFile
from .keypoints import Keypoints, good_ones

_LEFT_OUT = ("truncated", "occluded", "difficult")
_LISTS = {"train": "ImageSets/Main/train.txt", "test": "ImageSets/Main/val.txt"}


def read_original(annotations: Path, voc: Path, skip_bad: bool = False) -> dict[str, tuple[Keypoints, ...]]:
    """The keypoints in ``annotations/<category>/<image>_<object>.xml``, images in ``voc/JPEGImages``.

    Each object is cut out of its image at its ``visible_bounds``. Objects that ``voc/Annotations`` calls
    truncated, occluded or difficult are left out. The archives do not say which objects the paper tests on:
    here images of VOC's own ``train.txt`` are for training, those of ``val.txt`` for testing. With
    ``skip_bad`` an annotation that cannot be read is left out with a warning.
    """
    lists = {split: _images(voc / path) for split, path in _LISTS.items()}

    def read(path: Path) -> tuple[str, Keypoints] | None:
        image, number = _image_and_object(path)
        split = next((split for split, images in lists.items() if image in images), None)
        if split is None or _left_out(voc / "Annotations" / f"{image}.xml", number):
            return None
        return split, _keypoints(path, voc / "JPEGImages" / f"{image}.jpg")

    found = [one for one in good_ones(sorted(annotations.glob("*/*.xml")), read, skip_bad) if one]
    splits = {split: tuple(k for name, k in found if name == split) for split in lists}
    if not any(splits.values()):
        raise ValueError(f"{annotations} must hold <category>/<image>_<object>.xml of {voc}, found none")
    return splits


def _images(path: Path) -> set[str]:
    return {line.split()[0] for line in read_text(path).splitlines() if line.strip()}


def _image_and_object(path: Path) -> tuple[str, int]:
    image, _, number = path.stem.rpartition("_")
    if not image or not number.isdecimal():
        raise ValueError(f"{path} must be named <image>_<number of the object>.xml")
    return image, int(number)


def _left_out(path: Path, number: int) -> bool:
    objects = _parse(path).findall("object")
    if not 1 <= number <= len(objects):
        raise ValueError(f"{path} has {len(objects)} objects, expected a number {number}")
    return any(objects[number - 1].findtext(flag, "0").strip() == "1" for flag in _LEFT_OUT)


def _keypoints(path: Path, image: Path) -> Keypoints:
    root = _parse(path)
    bounds = root.find("visible_bounds")
    if bounds is None:
        raise ValueError(f"{path} lacks <visible_bounds>")
    left, top, width, height = (_number(path, bounds, key) for key in ("xmin", "ymin", "width", "height"))
    if not (width > 0 and height > 0):
        raise ValueError(f"{path}: <visible_bounds> must have a width and a height, got {width} and {height}")
    found = root.findall("keypoints/keypoint")
    names = tuple(keypoint.get("name", "") for keypoint in found)
    rows = [[_number(path, keypoint, "x"), _number(path, keypoint, "y")] for keypoint in found]
    points = torch.tensor(rows, dtype=torch.float64).reshape(-1, 2)
    points = (points - torch.tensor([left, top])) * (SIZE / torch.tensor([width, height]))
    source = ImageFile(image, box=(left, top, left + width, top + height))
    category = path.parent.name
    try:
        return Keypoints(f"{category}/{path.stem}", category, points.float(), names, source)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _number(path: Path, element: xml.Element, key: str) -> float:
    try:
        return float(element.attrib[key])
    except (KeyError, ValueError):
        raise ValueError(
            f"{path}: <{element.tag}> must have a number {key!r}, got {short(element.get(key))}"
        ) from None


def _parse(path: Path) -> xml.Element:
    text = read_text(path)
    if "<!ENTITY" in text:  # entities of entities can grow without bound
        raise ValueError(f"{path} was refused: it defines entities")
    try:
        return xml.fromstring(text)
    except (xml.ParseError, ValueError) as error:
        raise ValueError(f"{path} is not XML: {shortened(error)}") from error
