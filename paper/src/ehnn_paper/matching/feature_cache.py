"""What a frozen backbone sees at keypoints, kept on disk."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from ehnn._utils.atomic import atomic_write
from ehnn._utils.untrusted import read_tensors, shortened

from .features import see
from .keypoints import Keypoints

_VERSION = 1  # of what is stored: to be raised when `read_at` gives other numbers
_CHUNK = 64  # images per file


class FeatureStore:
    """Features of keypoints and of their images, by content.

    A row of features is found by a hash of the image's bytes, of the points and of the backbone's weights, so
    a changed image, keypoint or weight is never taken for the old one. Files hold 64 images each and appear
    whole or not at all: `fill` may be stopped at any moment and goes on from there, and several processes may
    fill and read one folder.

    Args:
        folder: made if it is not there.
        backbone: such as `load_vgg16`; it is put into evaluation mode.
        dtype: on disk; `lookup` gives float32.
    """

    def __init__(
        self, folder: str | os.PathLike[str], backbone: nn.Module, dtype: torch.dtype = torch.float16
    ) -> None:
        if dtype not in (torch.float16, torch.float32):
            raise ValueError(f"dtype must be torch.float16 or torch.float32, got {dtype}")
        self.backbone, self.dtype = backbone.eval(), dtype
        name = f"{weights_hash(backbone)[:16]}-{str(dtype).removeprefix('torch.')}-{_VERSION}"
        self.folder = Path(folder).expanduser() / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, Path] = {}
        self._loaded: dict[str, tuple[Tensor, Tensor]] = {}
        self._look()

    def __len__(self) -> int:
        """How many sets of keypoints are stored."""
        return len(self._files)

    def __contains__(self, keypoints: Keypoints) -> bool:
        return _all(keypoints).content in self._files

    def lookup(self, keypoints: Keypoints) -> tuple[Tensor, Tensor]:
        """Features at the keypoints, ``[n, channels]``, and of the whole image, ``[channels]``; float32."""
        key = _all(keypoints).content
        if key not in self._loaded:
            if key not in self._files:
                raise ValueError(
                    f"features of {keypoints.id!r} are not stored in {self.folder}; fill() them first"
                )
            self._loaded.update(_read(self._files[key]))
        features, whole = self._loaded[key]
        if len(features) != len(_all(keypoints)):
            raise _damaged(self._files[key], f"{len(features)} rows for {len(_all(keypoints))} keypoints")
        rows = features if keypoints.rows is None else features[keypoints.rows]
        return rows.float(), whole.float()

    def fill(
        self,
        items: Iterable[Keypoints],
        device: torch.device | str = "cpu",
        batch_size: int = 8,
        progress: bool | None = None,
    ) -> int:
        """Compute and store what is missing of ``items``; returns how many images were looked at.

        An image is decoded and seen once, however many sets of keypoints it has. An image that does not
        decode is an error that names it; what was stored before it stays. ``progress`` None shows a bar on a
        terminal.
        """
        self._look()
        images = _by_image(k for k in map(_all, items) if k.content not in self._files)
        self.backbone.to(device)
        with _bar(len(images), progress) as advance, ThreadPoolExecutor() as pool:
            for start in range(0, len(images), _CHUNK):
                chunk = images[start : start + _CHUNK]
                found: dict[str, tuple[Tensor, Tensor]] = {}
                for first in range(0, len(chunk), batch_size):
                    part = chunk[first : first + batch_size]
                    pixels = torch.stack(list(pool.map(_pixels, part)))  # decoding frees Python's lock
                    found |= self._see(part, pixels.to(device))
                    advance(len(part))
                self._write(found)
        return len(images)

    @torch.no_grad()
    def _see(self, images: Sequence[list[Keypoints]], pixels: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        points = torch.cat([k.points for sets in images for k in sets]).to(pixels.device)
        counts = torch.tensor([sum(map(len, sets)) for sets in images], device=pixels.device)
        features, whole = see(self.backbone, pixels, points, counts)
        sets = [(k, i) for i, group in enumerate(images) for k in group]
        rows = features.to("cpu", self.dtype).split([len(k) for k, _ in sets])
        whole = whole.to("cpu", self.dtype)
        return {k.content: (r.clone(), whole[i].clone()) for (k, i), r in zip(sets, rows, strict=True)}

    def _write(self, found: dict[str, tuple[Tensor, Tensor]]) -> None:
        from safetensors.torch import save

        path = self.folder / f"{hashlib.sha256(' '.join(found).encode()).hexdigest()[:32]}.safetensors"
        tensors = {f"{key}.features": features for key, (features, _) in found.items()}
        tensors |= {f"{key}.whole": whole for key, (_, whole) in found.items()}
        with atomic_write(path, "wb") as file:
            file.write(save(tensors))
        self._files |= dict.fromkeys(found, path)
        self._loaded |= found

    def _look(self) -> None:
        """Note what the files hold; others may have written some."""
        known = set(self._files.values())
        for path in sorted(set(self.folder.glob("[!.]*.safetensors")) - known):
            self._files |= dict.fromkeys(_keys(path), path)


def weights_hash(model: nn.Module) -> str:
    """A hash of all parameters and buffers, 64 hexadecimal digits; the device does not matter."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def _pixels(sets: Sequence[Keypoints]) -> Tensor:
    return sets[0].read_image()


def _all(keypoints: Keypoints) -> Keypoints:
    return keypoints.whole or keypoints


def _by_image(items: Iterable[Keypoints]) -> list[list[Keypoints]]:
    """Distinct sets of keypoints, those of the same image together."""
    groups: dict[str, dict[str, Keypoints]] = {}
    for k in items:
        assert k.image is not None
        groups.setdefault(k.image.content, {})[k.content] = k
    return [list(group.values()) for group in groups.values()]


def _keys(path: Path) -> list[str]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return _names(file.keys())
    except (SafetensorError, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _read(path: Path) -> dict[str, tuple[Tensor, Tensor]]:
    try:
        tensors, _ = read_tensors(path, "a file of features")
        return {name: _features(tensors, name) for name in _names(tensors)}
    except (ValueError, OSError) as error:
        raise _damaged(path, error) from error


def _names(tensors: Iterable[str]) -> list[str]:
    return [name.removesuffix(".whole") for name in tensors if name.endswith(".whole")]


def _features(tensors: dict[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
    """Those at the keypoints, ``[n, channels]``, and of the whole image, ``[channels]``."""
    features, whole = tensors.get(f"{name}.features"), tensors[f"{name}.whole"]
    if features is None or (features.dim(), whole.dim()) != (2, 1) or not features.is_floating_point():
        raise ValueError(f"features of {shortened(name, 40)} are missing or have another shape")
    return features, whole


def _damaged(path: Path, error: Exception | str) -> ValueError:
    return ValueError(
        f"{path} is damaged ({shortened(error)}); delete it and its features are computed again"
    )


@contextmanager
def _bar(total: int, progress: bool | None) -> Iterator[Callable[[int], None]]:
    if not (sys.stderr.isatty() if progress is None else progress) or not total:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("images seen", total=total)
        yield lambda count: bar.advance(task, count)
