"""Batches made ahead of the model, in processes of their own where there is a GPU to be kept busy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from .association import Association, associate
from .augment import thinned
from .collate import collate
from .filling import filled
from .gallery import Gallery, GalleryIndex
from .packing import Packed, pack, unpack
from .pair_batch import PairBatch, Side
from .pairs import Pair, PairSampler, seeded


@dataclass(frozen=True, eq=False)
class Drawn:
    """A batch without features, where these are in a gallery, and perhaps its association hypergraph."""

    batch: PairBatch
    rows: tuple[Tensor, Tensor]
    images: tuple[Tensor, Tensor]
    association: Association | None = None

    def show(self, gallery: Gallery) -> PairBatch:
        """The batch on the gallery's device, with features or images."""
        device = gallery.device
        (rows_a, rows_b), (images_a, images_b) = (
            (a.to(device, non_blocking=True), b.to(device, non_blocking=True))
            for a, b in (self.rows, self.images)
        )
        batch = self.batch if self.batch.target.device == device else self.batch.to(device)
        return gallery.show(batch, (rows_a, rows_b), (images_a, images_b))


def drawn(pairs: Sequence[Pair], places: GalleryIndex, orders: Collection[int] | None = None) -> Drawn:
    """A batch of pairs, on the CPU; with ``orders`` its association hypergraph too, and all of its views."""
    a, b = [pair.a for pair in pairs], [pair.b for pair in pairs]
    found = collate(pairs)
    batch = replace(found, a=_with_owner(found.a), b=_with_owner(found.b))
    batch = replace(batch, known_sizes=batch.sizes)
    association = None if orders is None else associate(batch, orders).prepare()
    where = (places.rows(a), places.rows(b)), (places.images(a), places.images(b))
    return Drawn(batch, *where, association)


def _with_owner(side: Side) -> Side:
    return replace(side, known_owner=side.owner)


def drawn_in_batches(pairs: Sequence[Pair], places: GalleryIndex, size: int, workers: int = 0) -> list[Drawn]:
    """Pairs in batches of ``size``, in their order."""
    parts = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    return list(map(unpack, _loader(_Lists(parts, places), range(len(parts)), workers)))


class _Lists(Dataset[Packed]):
    def __init__(self, parts: Sequence[Sequence[Pair]], places: GalleryIndex) -> None:
        self.parts, self.places = parts, places

    def __getitem__(self, number: int) -> Packed:
        return pack(drawn(self.parts[number], self.places))


def fill(found: Drawn) -> Drawn | None:
    """The batch filled up, if it can be; made-up keypoints have the features of any other."""
    batch = filled(found.batch)
    if batch is None:
        return None
    rows_a, rows_b = (
        torch.nn.functional.pad(rows, (0, side.points.shape[0] - rows.shape[0]))
        for rows, side in zip(found.rows, (batch.a, batch.b), strict=True)
    )
    return replace(found, batch=batch, rows=(rows_a, rows_b))


class Batches(Dataset[Packed]):
    """Batch number ``step`` of a sampler, packed, with the association hypergraph of ``orders``.

    ``thin`` is the probability of a keypoint to be left out. With ``fills`` a batch is filled up to one of
    few layouts (`filling`), and its association hypergraph is left to be made on the device.
    """

    def __init__(
        self,
        sampler: PairSampler,
        size: int,
        places: GalleryIndex,
        orders: Collection[int] | None = None,
        thin: float = 0.0,
        fills: bool = False,
    ) -> None:
        self.sampler, self.size, self.places, self.orders = sampler, size, places, orders
        self.thin, self.fills = thin, fills

    def __getitem__(self, step: int) -> Packed:
        pairs = self.sampler.batch_of_pairs(step, self.size)
        if self.thin:
            generator = seeded(self.sampler.seed, step, 5)
            pairs = [thinned(pair, self.thin, generator) for pair in pairs]
        if not self.fills:
            return pack(drawn(pairs, self.places, self.orders))
        plain = drawn(pairs, self.places)
        full = fill(plain)
        return pack(plain) if full is None else replace(pack(full), reusable=True)


class Loader:
    """Batches by step for a device, made ahead by ``workers`` processes (0: made when they are asked for)."""

    def __init__(self, batches: Batches, workers: int, device: torch.device | str = "cpu") -> None:
        self._steps = _Steps()
        pinned = torch.device(device).type == "cuda"
        self._loader = _loader(batches, self._steps, workers, pinned)

    def __call__(self, steps: Iterable[int]) -> Iterator[Packed]:
        self._steps.steps = list(steps)
        return iter(self._loader)


def _loader(batches: Dataset[Packed], steps: Any, workers: int, pinned: bool = False) -> DataLoader[Any]:
    more: dict[str, Any] = {"persistent_workers": True, "prefetch_factor": 8} if workers else {}
    return DataLoader(
        batches,
        batch_size=None,
        sampler=steps,
        num_workers=workers,
        pin_memory=pinned,
        collate_fn=_same,
        multiprocessing_context="fork" if workers else None,
        **more,
    )


class _Steps(Sampler[int]):
    def __init__(self) -> None:
        self.steps: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)


def _same(value: Any) -> Any:
    return value
