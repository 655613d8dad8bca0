"""Of the paper's package: images with keypoints, trained matchers, tables of results."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .seeds import Seed, files_in

_SUFFIXES = {"PNG": "png", "JPEG": "jpg", "GIF": "gif", "TIFF": "tiff", "WEBP": "webp", "BMP": "bmp"}


def encoded(kind: str = "PNG", size: tuple[int, int] = (24, 16), mode: str = "RGB") -> bytes:
    """A small image."""
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, kind)
    return file.getvalue()


def images(folder: Path) -> Iterable[Seed]:
    from ehnn_paper.matching.images import ImageFile

    def read(path: Path) -> None:
        ImageFile(path).read()
        ImageFile(path, box=(1, 2, 9, 8)).read()
        ImageFile(path).header_size()

    for kind, suffix in _SUFFIXES.items():
        name = f"a.{suffix}"
        yield Seed({name: encoded(kind)}, lambda f, name=name: read(f / name))
    for mode in ("P", "RGBA", "L", "1", "LA"):
        yield Seed({"a.png": encoded("PNG", mode=mode)}, lambda f: read(f / "a.png"))


def own_images(folder: Path) -> Iterable[Seed]:
    from ehnn_paper.matching.own_images import own_images

    entries: list[Any] = [
        {
            "image": "a.png",
            "category": "duck",
            "keypoints": {"nose": [1, 2.5], "tail": [20, 10], "eye": None},
        },
        {"image": "a.png", "split": "test", "keypoints": [[0, 0], [24, 16], [3, 4]]},
    ]
    files = {"k.json": json.dumps({"images": entries}).encode(), "a.png": encoded()}
    yield Seed(files, lambda f: own_images(f / "k.json"))
    yield Seed(files, lambda f: own_images(f / "k.json"), fixed=("a.png",))


def _tar(files: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def willow(folder: Path) -> Iterable[Seed]:
    from scipy.io import savemat

    from ehnn_paper.matching.willow import willow

    records = [{"id": f"Duck/{i}", "size": [512, 128], "pts": [[2.0, 512.0], [1.0, 64.0]]} for i in range(2)]
    packed = {
        "vision/willow_keypoints.json": json.dumps(records).encode(),
        "vision/willow_256.tar": _tar({f"Duck/{i}.jpg": encoded("JPEG") for i in range(2)}),
    }

    def read(place: Path) -> None:
        for item in willow(place).items():
            item.read_image()

    yield Seed(packed, read)
    points = {"pts_coord": np.array([[2.0, 512.0], [1.0, 64.0]]), "other": "text"}
    for compressed in (False, True):
        matlab = io.BytesIO()
        savemat(matlab, points, do_compression=compressed)
        undated = b" " * 116 + matlab.getvalue()[116:]
        original = {"Car/1.mat": undated, "Car/1.png": encoded()}
        below = {f"vision/WILLOW-ObjectClass/{name}": data for name, data in original.items()}
        yield Seed(below, read)


def voc(folder: Path) -> Iterable[Seed]:
    from ehnn_paper.matching.voc import voc

    entry: dict[str, Any] = {"image": "cat/1_1.jpg", "category": "cat", "split": "test", "part": "one.tar"}
    entry["keypoints"] = [["Nose", 1.5, 300.0], ["Tail", 0.0, 4.0]]
    packed = {
        "vision/voc_keypoints.json": json.dumps([entry]).encode(),
        "vision/one.tar": _tar({"cat/1_1.jpg": encoded("JPEG")}),
    }
    about = b"<annotation><object><name>cow</name><truncated>0</truncated></object></annotation>"
    points = (
        b'<annotation><image>2008_1</image><visible_bounds xmin="1" ymin="2" width="16" height="8"/>'
        b'<keypoints><keypoint name="Nose" x="4" y="3" z="0" visible="1"/>'
        b'<keypoint name="Tail" x="10" y="5" z="0" visible="1"/></keypoints></annotation>'
    )
    original = {
        "vision/annotations/cow/2008_1_1.xml": points,
        "vision/VOC2011/Annotations/2008_1.xml": about,
        "vision/VOC2011/JPEGImages/2008_1.jpg": encoded("JPEG"),
        "vision/VOC2011/ImageSets/Main/train.txt": b"2008_1\n",
        "vision/VOC2011/ImageSets/Main/val.txt": b"2008_2\n",
    }

    def read(place: Path) -> None:
        for item in voc(place).items():
            item.read_image()

    yield Seed(packed, read)
    yield Seed(original, read)


def cmu_house(folder: Path) -> Iterable[Seed]:
    from ehnn_paper.matching.cmu_house import cmu_house

    file = io.BytesIO()
    np.savez_compressed(file, points=np.arange(24.0).reshape(3, 2, 4))
    yield Seed({"vision/cmu_house_points.npz": file.getvalue()}, lambda f: cmu_house(f).items())


class _Backbone(nn.Module):
    """What a matcher is read with in place of VGG16."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(3))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = torch.einsum("bchw,cd->bdhw", images.float() / 255, self.matrix)
        return x, x, x.mean((2, 3))


def matcher(folder: Path) -> Iterable[Seed]:
    from ehnn_paper.matching.feature_cache import weights_hash
    from ehnn_paper.matching.pair_model import PairModel
    from ehnn_paper.matching.positional import make_model
    from ehnn_paper.matching.storage import load_matcher, save_matcher

    for name in ("ehnn-mlp+", "ehnn-transformer"):
        options = {"refine": 0, "width": 4}
        model = PairModel(make_model(name, 6, 3, **options))
        about = {"model": name, "dataset": "own", "options": options, "channels": 6, "whole_channels": 3}
        save_matcher(folder, model.state_dict(), {**about, "backbone": weights_hash(_Backbone())})
        yield Seed(files_in(folder), lambda f: load_matcher(f, _Backbone))


def features(folder: Path) -> Iterable[Seed]:
    from ehnn_paper.matching.feature_cache import FeatureStore
    from ehnn_paper.matching.images import ImageFile
    from ehnn_paper.matching.keypoints import Keypoints

    (folder / "a.png").write_bytes(encoded())

    def seen(place: Path) -> Keypoints:
        image = ImageFile(place / "a.png")
        return Keypoints("a", "duck", torch.tensor([[10.0, 20.0], [200.0, 30.0]]), ("x", "y"), image)

    FeatureStore(folder / "store", _Backbone()).fill([seen(folder)], progress=False)

    def read(place: Path) -> None:
        store, one = FeatureStore(place / "store", _Backbone()), seen(place)
        if one in store:
            store.lookup(one)

    yield Seed(files_in(folder), read, fixed=("a.png",))


def results(folder: Path) -> Iterable[Seed]:
    from ehnn_paper.results import KEYS, read_rows, write_rows

    row = dict.fromkeys(KEYS, "a") | {
        "mean": 1.5,
        "std": None,
        "runs": 3,
        "paper": 2,
        "selection": "validation",
        "seeds": [0, 1, 2],
        "settings": {"lr": 0.1},
    }
    rows = [row | {"experiment": "speed", "setting": s, "command": "x --epochs 3"} for s in ("a", "b")]
    write_rows("speed", rows, folder)

    def read(place: Path) -> None:
        found = read_rows("speed", place)
        if found:
            write_rows("speed", found[:1], place)

    yield Seed({"speed.json": files_in(folder)["speed.json"]}, read)


FORMATS = {
    "images": images, "own-images": own_images, "willow": willow, "voc": voc, "cmu-house": cmu_house,
    "matcher": matcher, "features": features, "results": results,
}  # fmt: skip
