"""Keypoint matching as a task for `ehnn.training.fit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .association import ORDERS, associate
from .candidates import Candidates
from .evaluation import TRACKED, f1_by_category
from .gallery import Gallery, distinct
from .keypoints import Keypoints, KeypointSet
from .loading import Batches, Drawn, Loader, drawn_in_batches
from .loss import permutation_loss
from .packing import Landed, Packed
from .pair_batch import PairBatch
from .pair_model import Look, Prepared, split_look
from .pairs import Pair, PairSampler

Loss = Callable[[Tensor, PairBatch, Candidates], Tensor]
Predict = Callable[[Any], Tensor]
"""A `Prepared`, or a `Look` of one run → ``[runs, …]``."""


@dataclass(frozen=True, eq=False)
class MatchingData:
    """Images to train on and fixed pairs to be judged by, for any number of models.

    Attributes:
        keypoint_set: with the splits "train", "test" and perhaps "valid" (`KeypointSet.with_validation`).
        gallery: features or images of all of them, where the models are.
        fixed: batches of pairs by name: "test", perhaps "valid", and any more.
        sets: the sets of keypoints that the fixed pairs of a name come from.
    """

    keypoint_set: KeypointSet
    gallery: Gallery
    fixed: Mapping[str, Sequence[Drawn]]
    sets: Mapping[str, Sequence[Keypoints]]

    @classmethod
    def of(
        cls,
        keypoint_set: KeypointSet,
        gallery: Gallery,
        pairs: Mapping[str, Sequence[Pair]],
        size: int = 50,
        workers: int = 0,
    ) -> MatchingData:
        """Put fixed pairs into batches of ``size``, by ``workers`` processes."""
        batches = {k: drawn_in_batches(v, gallery.places, size, workers) for k, v in pairs.items()}
        sets = {name: distinct(k for p in found for k in (p.a, p.b)) for name, found in pairs.items()}
        return cls(keypoint_set, gallery, batches, sets)


class Matching:
    """Random pairs of training images; F1 in percent on fixed pairs of validation and of test images.

    Args:
        data: what there is.
        orders: of the hyperedges that the model reads.
        seed: of the training pairs.
        iterations, batch_size: batches of an epoch, pairs of a batch.
        thin: probability of a keypoint of a training pair to be left out.
        workers: processes that make batches ahead of the model.
        test_every: epochs between two judgements of test pairs; between them there is no ``test``.
        loss: of the logarithm of doubly stochastic matrices; with ``fills`` it must be `permutation_loss`.
        whole_channels: of global features, where the gallery holds images.
        fills: fill batches up to few layouts, so that a step can be recorded on a GPU and replayed
            (`filling`); for models that match each pair by itself.
    """

    def __init__(
        self,
        data: MatchingData,
        orders: Iterable[int] = ORDERS,
        *,
        seed: int = 0,
        iterations: int = 100,
        batch_size: int = 8,
        thin: float = 0.0,
        workers: int = 0,
        test_every: int = 1,
        loss: Loss = permutation_loss,
        whole_channels: int = 512,
        fills: bool = False,
    ) -> None:
        self.data, self.orders, self.whole_channels = data, tuple(orders), whole_channels
        self.iterations, self.test_every, self._loss = iterations, test_every, loss
        self._epoch = 0
        sampler = PairSampler(data.keypoint_set, "train", seed)
        if fills and loss is not permutation_loss:
            raise ValueError(f"only permutation_loss leaves made-up pairs out: fills=True, loss={loss!r}")
        # In this process the association hypergraph is better made when it is needed, and not packed.
        ahead = self.orders if workers else None
        batches = Batches(sampler, batch_size, data.gallery.places, ahead, thin, fills)
        self._loader = Loader(batches, workers, data.gallery.device)

    def batches(self, epoch: int) -> Iterator[Packed]:
        """The training batches of an epoch, still packed; see `open`."""
        self._epoch = epoch
        first = epoch * self.iterations
        return self._loader(range(first, first + self.iterations))

    def open(self, batch: Packed | Landed) -> Prepared:
        """A training batch where the model is, with features or images."""
        if isinstance(batch, Packed):
            batch = batch.to_device(self.data.gallery.device)
        return self.ready(batch.open())

    def ready(self, batch: Drawn, gallery: Gallery | None = None) -> Prepared:
        """A batch where the model is, with its association hypergraph (made there, unless it has one)."""
        shown = batch.show(self.data.gallery if gallery is None else gallery)
        return Prepared(shown, batch.association or associate(shown, self.orders))

    def loss(self, log_p: Tensor, ready: Prepared) -> Tensor:
        """``[runs, c] → [runs]``."""
        return torch.stack([self._loss(run, ready.batch, ready.association.candidates) for run in log_p])

    def f1(self, predict: Predict, which: str = "test") -> dict[str, Tensor]:
        """F1 on the fixed pairs of a name, by category and on average, ``[runs]`` each.

        Where the backbone is trained along (of a single run), it looks at each image once.
        """
        gallery = self.data.gallery.seen(partial(self._look, predict), self.data.sets[which])
        return f1_by_category(predict, self.data.fixed[which], partial(self.ready, gallery=gallery))

    def _look(self, predict: Predict, at: Look) -> tuple[Tensor, Tensor]:
        return split_look(predict(at).squeeze(0), at, self.whole_channels)

    def evaluate(self, predict: Predict) -> dict[str, Tensor]:
        """``valid`` (where images were held out) and ``test``, and both by category, as ``test/duck``.

        ``test`` is judged every ``test_every`` epochs only, on the pairs `TRACKED` if there are such.
        """
        found: dict[str, Tensor] = {}
        judged = {"valid": "valid"} if "valid" in self.data.fixed else {}
        if (self._epoch + 1) % self.test_every == 0:
            judged["test"] = TRACKED if TRACKED in self.data.fixed else "test"
        for split, which in judged.items():
            scores = self.f1(predict, which)
            found[split] = scores.pop("mean")
            found |= {f"{split}/{category.lower()}": score for category, score in scores.items()}
        return found
