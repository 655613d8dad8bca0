"""Small images, archives and keypoints to be read back."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ehnn_paper.matching.keypoints import Keypoints

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def encoded(size: tuple[int, int] = (256, 256), seed: int = 0, kind: str = "PNG") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def points(n: int, seed: int = 0) -> torch.Tensor:
    return 256 * torch.rand(n, 2, generator=torch.Generator().manual_seed(seed))


def made(names: str, id: str = "a", category: str = "duck", seed: int = 0) -> Keypoints:
    return Keypoints(id, category, points(len(names), seed), tuple(names))


def willow_packed(folder: Path, count: int = 22) -> Path:
    names = [f"Duck/{i:03}" for i in range(count)]
    records: list[Any] = [
        {"id": n, "size": [512, 128], "pts": [[2.0, 512.0, 256.0], [1.0, 64.0, 128.0]]} for n in names
    ]
    write(folder / "vision" / "willow_keypoints.json", json.dumps(records[::-1]))
    write_tar(folder / "vision" / "willow_256.tar", {f"{n}.jpg": encoded() for n in names})
    return folder
