"""What a table of keypoint matching needs before anything is trained."""

from __future__ import annotations

import copy
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .augment import with_copies
from .evaluation import HARDER, TRACKED, evaluation_pairs, first_of_each
from .feature_cache import FeatureStore, weights_hash
from .gallery import Gallery
from .keypoints import Keypoints, KeypointSet
from .pairs import Pair
from .recipes import BACKBONE_FACTOR, Benchmark
from .task import MatchingData
from .vgg import VGG16, load_vgg16

OPTIONS = ("width", "layers", "dropout", "global_dropout")
"""Of networks, which a `Setup` may name in place of the recipes' own."""
BLOCKS = 5
"""Of convolutions in VGG16."""


_COUNTS = (
    "epochs", "iterations", "batch_size", "test_pairs", "valid_pairs", "epoch_pairs", "test_every",
)  # fmt: skip


@dataclass(frozen=True)
class Setup:
    """What was asked for; None leaves a choice to the benchmark.

    Attributes:
        epochs, iterations, lr, lr_steps, weight_decay: of training; the decay is decoupled.
        width, layers, dropout, global_dropout: of the network, dropout of EHNN alone and the last of
            EHNN-Transformer alone.
        checkpoint_every: epochs.
        batch_size: pairs.
        test_pairs, valid_pairs, hard_pairs: per category.
        epoch_pairs: test pairs per category that are judged while training, to be looked at; None for all,
            which gives the best epoch on test pairs. The chosen epoch is judged on all of them in any case.
        test_every: epochs between two such judgements.
        hold_out: training images per category for validation; 0 keeps the last epoch.
        copies: of each training image, all but one turned, scaled and perhaps mirrored.
        thin: probability of a keypoint of a training pair to be left out.
        clip_norm: largest norm of the gradient; None leaves it, as the paper does.
        ema: judge and keep a moving average of the parameters with this decay a batch; None: the last ones.
        finetune: train the backbone too; otherwise its features are computed once and kept.
        backbone_factor: on the learning rate of a backbone that is trained.
        blocks: of a backbone that is trained, the last of its five blocks that learn, from 2 on; what the
            others see is computed once.
        amp: a backbone that is trained works in bfloat16.
        tf32: products and convolutions on a GPU may be rounded to TF32.
        minutes: for training and judging each model and seed; no epoch begins that would end later.
        device, workers: where to train, and how many processes make batches (None: 8 beside a GPU, else 0).
        data_dir, features_dir: folders of the data and of kept features.
    """

    epochs: int | None = None
    iterations: int | None = None
    lr: float | None = None
    lr_steps: tuple[int, ...] | None = None
    weight_decay: float | None = None
    width: int | None = None
    layers: int | None = None
    dropout: float | None = None
    global_dropout: float | None = None
    checkpoint_every: int = 1
    batch_size: int = 8
    test_pairs: int | None = None
    valid_pairs: int | None = None
    hard_pairs: int = 100
    epoch_pairs: int | None = None
    test_every: int = 1
    hold_out: int | None = None
    copies: int | None = None
    thin: float = 0.0
    clip_norm: float | None = None
    ema: float | None = None
    finetune: bool = False
    backbone_factor: float = BACKBONE_FACTOR
    blocks: int = BLOCKS
    amp: bool = False
    tf32: bool = False
    minutes: float | None = None
    device: str = "cpu"
    workers: int | None = None
    data_dir: str | os.PathLike[str] | None = None
    features_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        self._check_counts()
        if self.blocks != BLOCKS and not self.finetune:
            raise ValueError(f"blocks={self.blocks} says which blocks learn, and needs finetune")
        if self.backbone_factor != BACKBONE_FACTOR and not self.finetune:
            raise ValueError(
                f"backbone_factor={self.backbone_factor} is of a trained backbone, and needs finetune"
            )
        if not 0 <= self.thin < 1:
            raise ValueError(f"thin must be a probability below 1, got {self.thin}")

    def _check_counts(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.minutes is not None and not self.minutes > 0:
            raise ValueError(f"minutes must be more than 0, got {self.minutes}")

    @property
    def processes(self) -> int:
        if self.workers is not None:
            return self.workers
        return min(8, os.cpu_count() or 1) if self.on_gpu else 0

    def held_out(self, benchmark: Benchmark) -> int:
        """Training images per category that are kept for validation."""
        return benchmark.valid_images if self.hold_out is None else self.hold_out

    @property
    def options(self) -> dict[str, int | float]:
        """What was asked for of the network."""
        asked = {name: getattr(self, name) for name in OPTIONS}
        return {name: value for name, value in asked.items() if value is not None}

    @property
    def on_gpu(self) -> bool:
        return self.device.startswith("cuda")


def setup_of(benchmark: Benchmark, **given: Any) -> Setup:
    """What was given (None: nothing), and the benchmark's own choices for the rest.

    A benchmark whose models are trained with their backbone does so on a GPU unless told otherwise.
    """
    told = {name: value for name, value in given.items() if value is not None}
    on_gpu = told.get("device", Setup.device).startswith("cuda")
    own = dict(benchmark.defaults)
    if benchmark.finetune and on_gpu and told.get("finetune", True):
        own |= {"finetune": True, **benchmark.trained}
    return Setup(**own | told)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data with the backbone that looks at it.

    Attributes:
        data: images and fixed pairs, for models.
        example: a test pair to draw.
        channels: of the features of keypoints and of whole images.
        backbone: to be copied into each model where it is trained, or None.
        backbone_hash: of the frozen one's weights.
    """

    data: MatchingData
    example: Pair
    channels: tuple[int, int]
    backbone: nn.Module | None
    backbone_hash: str
    digest: str = ""


def _digest(images: KeypointSet) -> str:
    """Of all images, keypoints and names: runs on other data are others."""
    items = ((split, k) for split, found in images.splits.items() for k in found)
    told = sorted(f"{split} {k.id} {k.content} {k.names}" for split, k in items)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]


def prepare(benchmark: Benchmark, setup: Setup) -> Prepared:
    """Read the data, compute what a frozen backbone sees, draw the pairs for evaluation."""
    images = benchmark.load(setup.data_dir)
    if held := setup.held_out(benchmark):
        images = images.with_validation(held)
    images = with_copies(images, benchmark.copies if setup.copies is None else setup.copies)
    test_pairs = setup.test_pairs or benchmark.test_pairs
    pairs = evaluation_pairs(images, setup.valid_pairs or benchmark.valid_pairs, test_pairs, setup.hard_pairs)
    if setup.epoch_pairs is not None and setup.epoch_pairs < test_pairs:
        pairs[TRACKED] = first_of_each(pairs["test"], setup.epoch_pairs)
    backbone = load_vgg16(data_dir=setup.data_dir)
    seen: list[Keypoints] = [*images.items()]
    seen += [k for kind in HARDER for pair in pairs[kind] for k in (pair.a, pair.b)]
    gallery = _looked_at(seen, backbone, setup) if setup.finetune else _frozen(seen, backbone, setup)
    data = MatchingData.of(images, gallery, pairs, 200 if setup.on_gpu else 50, setup.processes)
    example = pairs["test"][len(pairs["test"]) // 3]
    trained = backbone if setup.finetune else None
    return Prepared(data, example, _channels(backbone), trained, weights_hash(backbone), _digest(images))


@torch.no_grad()
def _channels(backbone: nn.Module) -> tuple[int, int]:
    device = next(backbone.parameters()).device
    *maps, whole = backbone(torch.zeros(1, 3, 32, 32, device=device))
    return sum(m.shape[1] for m in maps), whole.shape[1]


def _looked_at(items: list[Keypoints], backbone: VGG16, setup: Setup) -> Gallery:
    """Images, or what the blocks that do not learn make of them."""
    if setup.blocks == BLOCKS:
        return Gallery.of_images(items, setup.device, workers=setup.processes)
    frozen = BLOCKS - setup.blocks
    backbone.freeze_blocks(frozen)
    working = copy.deepcopy(backbone).to(setup.device).eval()

    def begin(images: Tensor) -> Tensor:
        with torch.autocast(images.device.type, torch.bfloat16, enabled=setup.amp):
            return working.first_blocks(images, frozen)

    return Gallery.of_images(items, setup.device, begin, setup.processes)


def _frozen(items: list[Keypoints], backbone: nn.Module, setup: Setup) -> Gallery:
    from ehnn.datasets.locate import cache_dir

    folder = cache_dir() / "features" if setup.features_dir is None else Path(setup.features_dir)
    store = FeatureStore(folder, backbone)
    store.fill(items, setup.device, 64 if setup.on_gpu else 8)
    return Gallery.of_features(items, store, setup.device)
