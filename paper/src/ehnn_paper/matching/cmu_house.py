"""The CMU house sequence: 30 points tracked over 111 frames of a turning toy house."""

from __future__ import annotations

import numpy as np
import torch

from ehnn._utils.untrusted import read_arrays
from ehnn._utils.validation import short

from .files import DataDir, vision_files
from .images import SIZE
from .keypoints import Keypoints, KeypointSet
from .pairs import Pair, make_pair

FILE = "cmu_house_points.npz"
FRAME = (576.0, 384.0)  # width and height of a frame in pixels


def cmu_house(data_dir: DataDir = None) -> KeypointSet:
    """The frames as "test" images of one category "house", in the order of time; points only, no images.

    Read from ``vision/cmu_house_points.npz``: an array ``points [frames, 2, n]`` in pixels of 576 × 384
    frames, scaled to 256 × 256 here as all images are.
    """
    path = vision_files("cmu-house", [FILE], data_dir)[0]
    arrays = read_arrays(path, "points")
    if "points" not in arrays:
        raise ValueError(f"{path} must have an array 'points', it has {short(sorted(arrays), 200)}")
    points = arrays["points"]
    if points.ndim != 3 or points.shape[1] != 2 or points.dtype.kind not in "fiu":
        raise ValueError(f"{path}: points must be numbers of shape [frames, 2, n], got {points.shape}")
    scaled = points.transpose(0, 2, 1) * (SIZE / np.array(FRAME))
    names = tuple(map(str, range(points.shape[2])))
    found = torch.from_numpy(scaled).float()
    if not bool(found.isfinite().all()):
        raise ValueError(f"{path}: points must be finite numbers of float32")
    frames = tuple(Keypoints(f"house/{i}", "house", frame, names) for i, frame in enumerate(found))
    return KeypointSet("cmu-house", {"train": (), "test": frames})


def frame_pairs(frames: KeypointSet, gap: int, seed: int = 0) -> list[Pair]:
    """All pairs of frames ``gap`` apart, the usual measure of difficulty; keypoints are shuffled."""
    items = frames.items("house", "test")
    if not 0 < gap < len(items):
        raise ValueError(f"gap must be from 1 to {len(items) - 1} frames, got {gap}")
    generator = torch.Generator().manual_seed(seed)
    return [make_pair(a, b, generator=generator) for a, b in zip(items[:-gap], items[gap:], strict=True)]
