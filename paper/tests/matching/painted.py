"""Made-up images whose keypoints have colours of their own, and a backbone that sees colours."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ehnn_paper.matching.keypoints import Keypoints, KeypointSet

COLOURS = torch.tensor(
    [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [0, 255, 255], [255, 0, 255]], dtype=torch.uint8
)
LAYOUT = torch.tensor(
    [[60.0, 60.0], [190.0, 50.0], [120.0, 120.0], [60.0, 200.0], [200.0, 190.0], [120.0, 210.0]]
)


@dataclass(frozen=True)
class Painted:
    """A square in a colour around each point, on grey."""

    name: str
    points: tuple[tuple[float, float], ...]

    def read(self) -> Tensor:
        image = torch.full((3, 256, 256), 128, dtype=torch.uint8)
        for (x, y), colour in zip(self.points, COLOURS, strict=True):
            x, y = int(x), int(y)
            image[:, max(y - 20, 0) : y + 20, max(x - 20, 0) : x + 20] = colour[:, None, None]
        return image

    @property
    def content(self) -> str:
        return f"{self.name} {self.points}"


def painted(name: str, category: str, seed: int) -> Keypoints:
    """Six keypoints near fixed places."""
    points = LAYOUT + 16 * (torch.rand(6, 2, generator=torch.Generator().manual_seed(seed)) - 0.5)
    rows = tuple((float(x), float(y)) for x, y in points.tolist())
    return Keypoints(name, category, points, tuple("abcdef"), Painted(name, rows))


def painted_set(train: int = 6, test: int = 3) -> KeypointSet:
    splits: dict[str, tuple[Keypoints, ...]] = {}
    for number, (split, count) in enumerate((("train", train), ("test", test))):
        splits[split] = tuple(
            painted(f"{category}-{split}-{i}", category, 100 * number + 10 * c + i)
            for c, category in enumerate(("Car", "Duck"))
            for i in range(count)
        )
    return KeypointSet("painted", splits)


class Colours(nn.Module):
    """Two maps of the image's colours through a matrix, and their mean; 6 and 3 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(3))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = images.float() / 255 - 0.5 if images.dtype == torch.uint8 else images
        x = torch.einsum("bchw,cd->bdhw", F.avg_pool2d(x, 8), self.matrix)
        return x, F.avg_pool2d(x, 2), x.mean((2, 3))
