"""Batches made ahead of the model, in processes of their own where there is a GPU to be kept busy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from .collate import collate
from .gallery import Gallery, Places
from .pair_batch import PairBatch, Side, Sizes
from .pairs import Pair, PairSampler


@dataclass(frozen=True)
class Drawn:
    """A batch without features, and where these are in a gallery."""

    batch: PairBatch
    rows: tuple[Tensor, Tensor]
    images: tuple[Tensor, Tensor]

    def show(self, gallery: Gallery) -> PairBatch:
        """The batch on the gallery's device, with features or images."""
        device = gallery.device
        (rows_a, rows_b), (images_a, images_b) = (
            (a.to(device, non_blocking=True), b.to(device, non_blocking=True))
            for a, b in (self.rows, self.images)
        )
        return gallery.show(self.batch.to(device), (rows_a, rows_b), (images_a, images_b))


def drawn(pairs: Sequence[Pair], places: Places) -> Drawn:
    """A batch of pairs, on the CPU."""
    a, b = [pair.a for pair in pairs], [pair.b for pair in pairs]
    batch = collate(pairs).to("cpu")  # which notes its sizes
    return Drawn(batch, (places.rows(a), places.rows(b)), (places.images(a), places.images(b)))


def drawn_in_batches(pairs: Sequence[Pair], places: Places, size: int, workers: int = 0) -> list[Drawn]:
    """Pairs in batches of ``size``, in their order."""
    parts = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    lists = _Lists(parts, places)
    loader: DataLoader[Any] = DataLoader(
        lists,
        batch_size=None,
        num_workers=workers,
        collate_fn=_same,
        multiprocessing_context="fork" if workers else None,
    )
    return list(map(from_arrays, loader))


class _Lists(Dataset[Any]):
    def __init__(self, parts: Sequence[Sequence[Pair]], places: Places) -> None:
        self.parts, self.places = parts, places

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: int) -> Any:
        return to_arrays(drawn(self.parts[number], self.places))


class Batches(Dataset[Any]):
    """Batch number ``step`` of a sampler, as arrays: these cross from process to process fastest."""

    def __init__(self, sampler: PairSampler, size: int, places: Places) -> None:
        self.sampler, self.size, self.places = sampler, size, places

    def __getitem__(self, step: int) -> Any:
        return to_arrays(drawn(self.sampler.batch_of_pairs(step, self.size), self.places))


class Loader:
    """Batches by step, made ahead by ``workers`` processes (0: made when they are asked for)."""

    def __init__(self, batches: Batches, workers: int) -> None:
        self._steps = _Steps()
        more: dict[str, Any] = {"persistent_workers": True, "prefetch_factor": 8} if workers else {}
        self._loader: DataLoader[Any] = DataLoader(
            batches,
            batch_size=None,
            sampler=self._steps,
            num_workers=workers,
            collate_fn=_same,
            multiprocessing_context="fork" if workers else None,
            **more,
        )

    def __call__(self, steps: Iterable[int]) -> Iterator[Drawn]:
        self._steps.steps = list(steps)
        return map(from_arrays, self._loader)


class _Steps(Sampler[int]):
    def __init__(self) -> None:
        self.steps: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)


def _same(value: Any) -> Any:
    return value


_SIDE = ("points", "counts", "edges", "triangles")


def to_arrays(drawn: Drawn) -> tuple[list[np.ndarray], tuple[str, ...], tuple[int, ...]]:
    """Arrays, categories and sizes."""
    batch, sizes = drawn.batch, drawn.batch.sizes
    tensors = [getattr(side, name) for side in (batch.a, batch.b) for name in _SIDE]
    tensors += [batch.target, *drawn.rows, *drawn.images]
    numbers = tuple(getattr(sizes, f.name) for f in fields(sizes))
    return [t.numpy() for t in tensors], batch.categories, numbers


def from_arrays(told: tuple[list[np.ndarray], tuple[str, ...], tuple[int, ...]]) -> Drawn:
    """Inverse of `to_arrays`."""
    arrays, categories, sizes = told
    tensors = [torch.from_numpy(array) for array in arrays]
    a, b = Side(*tensors[:4]), Side(*tensors[4:8])
    target, rows_a, rows_b, images_a, images_b = tensors[8:]
    batch = PairBatch(a, b, target, categories, Sizes(*sizes))
    return Drawn(batch, (rows_a, rows_b), (images_a, images_b))
