"""What a backbone saw of all images of an experiment, or the images themselves, on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ehnn.hypergraph.pairs import starts

from .feature_cache import FeatureStore
from .images import SIZE
from .keypoints import Keypoints
from .pair_batch import PairBatch, Side
from .pair_model import Look, lengthened

_CHUNK = 64  # sets of keypoints that are looked at together


@dataclass(frozen=True, eq=False)
class GalleryIndex:
    """Where images and keypoints are in a `Gallery`: numbers alone, for processes without a device.

    Attributes:
        number: of an image, by its content: ids may be shared by copies that are turned differently.
        first: the row of the first keypoint of a set of keypoints, by its content.
        total: number of rows.
    """

    number: Mapping[str, int]
    first: Mapping[str, int]
    total: int

    @classmethod
    def of(cls, items: Iterable[Keypoints]) -> GalleryIndex:
        """Images and sets of keypoints in the order in which they first occur."""
        sets = distinct(items)
        lengths = torch.tensor([len(k) for k in sets], dtype=torch.int64)
        begin = starts(lengths).tolist()
        number: dict[str, int] = {}
        for k in sets:
            number.setdefault(k.image_content, len(number))
        first = {k.content: start for k, start in zip(sets, begin, strict=True)}
        return cls(number, first, int(lengths.sum()))

    def images(self, items: Iterable[Keypoints]) -> Tensor:
        """``[images]``."""
        return torch.tensor([self.number[(k.whole or k).image_content] for k in items])

    def rows(self, items: Iterable[Keypoints]) -> Tensor:
        """``[n]``, image after image."""
        return torch.cat([self._rows(k) for k in items])

    def _rows(self, keypoints: Keypoints) -> Tensor:
        rows = torch.arange(len(keypoints)) if keypoints.rows is None else keypoints.rows
        return self.first[(keypoints.whole or keypoints).content] + rows


def distinct(items: Iterable[Keypoints]) -> list[Keypoints]:
    """The sets of keypoints that items are, or were chosen from, each once."""
    return list({k.content: k for k in (k.whole or k for k in items)}.values())


@dataclass(frozen=True, eq=False)
class Gallery:
    """Features of keypoints and images where the model is, so that a batch brings numbers only.

    Attributes:
        places: where everything is.
        features: ``[rows, channels]`` and ``whole [images, channels]`` of a frozen backbone, or None.
        images: ``[images, 3, 256, 256]`` uint8 for a backbone that is trained along, or what the frozen part
            of it makes of them; or None.
    """

    places: GalleryIndex
    features: Tensor | None = None
    whole: Tensor | None = None
    images: Tensor | None = None

    @classmethod
    def of_features(
        cls, items: Iterable[Keypoints], store: FeatureStore, device: torch.device | str = "cpu"
    ) -> Gallery:
        """What ``store`` holds of ``items``; see `FeatureStore.fill`."""
        sets = distinct(items)
        places = GalleryIndex.of(sets)
        found = [store.lookup(k) for k in sets]
        whole = {k.image_content: of_image for k, (_, of_image) in zip(sets, found, strict=True)}
        rows = torch.cat([of_points for of_points, _ in found])
        return cls(places, rows.to(device), torch.stack([whole[name] for name in places.number]).to(device))

    @classmethod
    def of_images(
        cls,
        items: Iterable[Keypoints],
        device: torch.device | str = "cpu",
        begin: Callable[[Tensor], Tensor] | None = None,
        workers: int = 0,
    ) -> Gallery:
        """The images, 196 kB each, or what ``begin``, the frozen part of a backbone, makes of them; decoded
        by ``workers`` processes (0: by this one)."""
        sets = distinct(items)
        places = GalleryIndex.of(sets)
        by_image = {k.image_content: k for k in sets}
        images = torch.empty(len(by_image), 3, SIZE, SIZE, dtype=torch.uint8, device=device)
        decoded = DataLoader(
            _Decoded([by_image[name] for name in places.number]),
            batch_size=None,
            num_workers=workers,
            multiprocessing_context="fork" if workers else None,
        )
        for i, pixels in enumerate(decoded):
            images[i * _CHUNK : i * _CHUNK + len(pixels)] = pixels
        return cls(places, images=images if begin is None else _by_chunks(begin, images))

    @property
    def device(self) -> torch.device:
        held = self.features if self.features is not None else self.images
        assert held is not None
        return held.device

    def seen(self, look: Callable[[Look], tuple[Tensor, Tensor]], sets: Sequence[Keypoints]) -> Gallery:
        """What a backbone sees now of some sets of keypoints; rows of others are zero.

        ``look`` gives features of keypoints and of images, see `Look`.
        """
        if self.images is None:
            return self
        features, whole = self.features, self.whole
        for start in range(0, len(sets), _CHUNK):
            chunk = sets[start : start + _CHUNK]
            number = self.places.images(chunk).to(self.device)
            points = torch.cat([k.points for k in chunk]).to(self.device)
            counts = torch.tensor([len(k) for k in chunk], device=self.device)
            of_points, of_images = look(Look(self.images[number], points, counts))
            if features is None or whole is None:
                features = of_points.new_zeros(self.places.total, of_points.shape[1])
                whole = of_images.new_zeros(len(self.images), of_images.shape[1])
            features[self.places.rows(chunk).to(self.device)] = of_points
            whole[number] = of_images
        return Gallery(self.places, features, whole)

    def show(self, batch: PairBatch, rows: tuple[Tensor, Tensor], images: tuple[Tensor, Tensor]) -> PairBatch:
        """The batch with features, or with images; everything is on the device of the gallery."""
        sides = zip((batch.a, batch.b), rows, images, strict=True)
        a, b = (self._side(side, at, which) for side, at, which in sides)
        return replace(batch, a=a, b=b)

    def _side(self, side: Side, rows: Tensor, images: Tensor) -> Side:
        if self.features is None or self.whole is None:
            assert self.images is not None
            return replace(side, images=self.images.index_select(0, images))
        features, whole = self.features.index_select(0, rows), self.whole.index_select(0, images)
        return replace(side, features=features, whole=lengthened(whole, side.counts.shape[0]))


class _Decoded(Dataset[Tensor]):
    """``[up to 64, 3, 256, 256]``: chunks of images."""

    def __init__(self, items: Sequence[Keypoints]) -> None:
        self.items = items

    def __len__(self) -> int:
        return -(-len(self.items) // _CHUNK)

    def __getitem__(self, number: int) -> Tensor:
        chunk = self.items[number * _CHUNK : (number + 1) * _CHUNK]
        return torch.stack([k.read_image() for k in chunk])


def _by_chunks(begin: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
    """``begin`` of all images, with memory for one copy of the outcome."""
    first = begin(images[:_CHUNK])
    found = first.new_empty(len(images), *first.shape[1:])
    for start in range(0, len(images), _CHUNK):
        found[start : start + _CHUNK] = begin(images[start : start + _CHUNK])
    return found
