"""Images where they lie: in a file, in a tar file or turned; read when they are needed, 256 × 256 pixels."""

from __future__ import annotations

import hashlib
import io
import math
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ehnn._utils.optional import require
from ehnn._utils.untrusted import shortened

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE = 256
MAX_PIXELS = 89_000_000  # more is taken for a decompression bomb; Pillow draws the line near here too
SMALL, PIXELS_PER_BYTE = 4_000_000, 100
"""An image may have so many pixels, and so many for each byte that encodes it."""
_MEAN_COLOUR = (124, 116, 104)  # of ImageNet: what a backbone finds least surprising outside a turned image
Box = tuple[float, float, float, float]


class ImageSource(Protocol):
    """Anything that can be read as a 256 × 256 image."""

    def read(self) -> Tensor:
        """``[3, 256, 256]`` uint8."""

    @property
    def content(self) -> str:
        """A hash of the encoded bytes and of what is done to them: equal content, equal pixels."""


@dataclass(frozen=True)
class ImageFile:
    """An encoded image (JPEG, PNG …): a whole file, or ``length`` bytes of one from ``offset`` on.

    The file is opened for each reading, so that any process or thread may read. ``box`` is what to cut out
    before resizing, as left, top, right and bottom in pixels; pixels outside the image are black.
    """

    path: Path
    offset: int = 0
    length: int = -1
    box: Box | None = None

    def read(self) -> Tensor:
        return _pixels(self._decode(self.box, SIZE))

    @property
    def content(self) -> str:
        return hashlib.sha256(self._bytes() + repr(self.box).encode()).hexdigest()

    def size(self) -> tuple[int, int]:
        """Width and height as displayed; decodes the whole image, so a broken one is found here."""
        return self._decode(None, None).size

    def picture(self, longest: int = 800) -> Tensor:
        """``[3, h, w]`` uint8 in its own proportions, no side beyond ``longest``: for people to look at."""
        image = self._decode(None, None)
        image.thumbnail((longest, longest))
        return _pixels(image)

    def header_size(self) -> tuple[int, int]:
        """Width and height as stored, from the file's first bytes alone."""
        with _reading(self.path), _pillow().open(self.path) as image:
            return image.size

    def _bytes(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return file.read(self.length)

    def _decode(self, box: Box | None, size: int | None) -> Image:
        with _reading(self.path):
            data = self._bytes()
            with _pillow().open(io.BytesIO(data)) as image:
                _check_size(image.size, len(data))
                _reduce(image, box, size)
                image = _coloured(_upright(image))
                if size is None or (box is None and image.size == (size, size)):
                    return image
                return _cut(image, box, size)


@dataclass(frozen=True)
class Turned:
    """An image turned about its middle by ``angle`` degrees (y points down) and magnified ``scale`` times."""

    source: ImageSource
    angle: float
    scale: float

    def read(self) -> Tensor:
        pil = _pillow()
        image = pil.fromarray(self.source.read().permute(1, 2, 0).numpy())
        turn = rotation(self.angle, self.scale).inverse()  # Pillow asks where each pixel comes from
        middle = torch.full((2,), SIZE / 2, dtype=torch.float64)
        shift = middle - turn @ middle
        rows = torch.cat([turn, shift[:, None]], 1).reshape(-1).tolist()
        image = image.transform(
            (SIZE, SIZE), pil.Transform.AFFINE, rows, pil.Resampling.BILINEAR, fillcolor=_MEAN_COLOUR
        )
        return _pixels(image)

    @property
    def content(self) -> str:
        told = f"{self.source.content} turned {self.angle!r} {self.scale!r}"
        return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True)
class Mirrored:
    """An image with left and right exchanged."""

    source: ImageSource

    def read(self) -> Tensor:
        return self.source.read().flip(2)

    @property
    def content(self) -> str:
        return hashlib.sha256(f"{self.source.content} mirrored".encode()).hexdigest()


def rotation(angle: float, scale: float) -> Tensor:
    """``[2, 2]`` float64: turn by ``angle`` degrees and magnify."""
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64) * scale


def tar_images(path: str | os.PathLike[str]) -> dict[str, ImageFile]:
    """The files in an uncompressed tar file by name; nothing is unpacked, only where they begin is noted."""
    path = Path(path)
    return _tar_index(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _tar_index(path: Path, _: int) -> dict[str, ImageFile]:
    try:
        with tarfile.open(path, "r:") as tar:
            members = [m for m in tar.getmembers() if m.isreg() and not m.issparse()]
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is not a whole, uncompressed tar file: {shortened(error)}") from error
    size = path.stat().st_size
    if any(m.size < 0 or m.offset_data + m.size > size for m in members):
        raise ValueError(f"{path} is not a whole, uncompressed tar file: it ends within a file")
    return {m.name: ImageFile(path, m.offset_data, m.size) for m in members}


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Decoders raise whatever they stumble over in a damaged image."""
    try:
        yield
    except Exception as error:
        raise ValueError(f"cannot read the image in {path}: {shortened(error)}") from error


def _check_size(size: tuple[int, int], length: int) -> None:
    """Refuse what a header claims beyond all proportion to the ``length`` of the encoded image."""
    most = min(MAX_PIXELS, max(SMALL, PIXELS_PER_BYTE * length))
    if math.prod(size) > most:
        raise ValueError(f"{size} pixels are too many: of {length:,} bytes at most {most:,} are read")


def _reduce(image: Any, box: Box | None, size: int | None) -> None:
    """Let the JPEG decoder halve a far larger image for free."""
    if box is None and size is not None:
        image.draft("RGB", (4 * size, 4 * size))


def _coloured(image: Image) -> Image:
    """In RGB: 16 bits are scaled to 8 (Pillow would cut them off), what is transparent is white."""
    if image.mode == "F":
        raise ValueError("pixels are floating-point numbers, whose range is not known; 8 or 16 bits are read")
    if image.mode.startswith("I"):
        pixels = np.asarray(image).astype(np.int64)
        if pixels.size and not 0 <= pixels.min() <= pixels.max() < 2**16:
            raise ValueError(f"pixels must be of 8 or 16 bits, got {pixels.min()} to {pixels.max()}")
        image = _pillow().fromarray((pixels // 257).astype(np.uint8))
    if "A" in image.mode or "transparency" in image.info:
        clear = image.convert("RGBA")
        image = _pillow().alpha_composite(_pillow().new("RGBA", clear.size, "white"), clear)
    return image.convert("RGB")


def _upright(image: Any) -> Any:
    from PIL import ImageOps

    return ImageOps.exif_transpose(image)


def _cut(image: Any, box: Box | None, size: int) -> Any:
    if box is not None:
        left, top, right, bottom = map(round, box)
        if (right - left) * (bottom - top) > max(SMALL, 16 * math.prod(image.size)):
            raise ValueError(f"the box {box} is far larger than the image of {image.size} pixels")
        image = image.crop((left, top, right, bottom))
    return image.resize((size, size), _pillow().Resampling.BICUBIC)


def _pixels(image: Any) -> Tensor:
    return torch.from_numpy(np.array(image, dtype=np.uint8)).permute(2, 0, 1).contiguous()


def _pillow() -> Any:
    return require("PIL.Image", "vision", "./paper")
