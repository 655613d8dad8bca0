"""Node classification: all runs of one model on one dataset."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ehnn.datasets import card, load
from ehnn.hypergraph import Hypergraph
from ehnn.tasks import NodeClassification
from ehnn.training import TrainConfig, fit
from ehnn.training.checkpoint import load_checkpoint
from ehnn_paper.results import origin

from .config import Settings, find_model, make_model, settings_of
from .inputs import PreparedNodes
from .memory import Memory, default_group
from .sampled import SampledNodeClassification
from .store import Store


@dataclass(frozen=True)
class Outcome:
    """All runs of one model on one dataset.

    ``records`` has one entry per run: ``seed``, ``valid`` and ``test`` (percent, at the epoch of the best
    validation accuracy), ``epoch``, ``seconds`` (None if it was not trained in one go), ``peak_mb``, and
    ``commit``, ``hardware`` and ``date`` of its training. ``settings`` are the hyperparameters.
    """

    dataset: str
    model: str
    records: tuple[dict[str, Any], ...]
    settings: dict[str, Any] | None = None

    def values(self, key: str) -> list[float]:
        """One number per run that has it."""
        return [r[key] for r in self.records if r[key] is not None]


def run(
    dataset: str,
    model: str,
    *,
    runs: int = 20,
    epochs: int = 500,
    device: str = "cpu",
    directory: Path | str | None = None,
    data_dir: Path | str | None = None,
    group: int | None = None,
    settings: Settings | None = None,
    h: Hypergraph | None = None,
    checkpoints: bool = True,
    amp: bool = False,
    tf32: bool = False,
    quiet: bool = False,
) -> Outcome:
    """Train ``runs`` runs of one model, side by side, and select each on validation.

    With a ``directory`` finished runs are kept there, for these settings and number of epochs, and never
    trained again: asking for more runs trains the missing ones. Interrupted runs go on from their last
    checkpoint (unless ``checkpoints`` is False), in the groups they were begun in.

    Args:
        group: largest number of runs side by side; by default what fits into memory. When memory runs
            out all the same, it is halved.
        settings: in place of the committed ones.
        h: in place of the dataset's hypergraph.
        amp: bfloat16 in the forward pass; such runs are kept apart from others.
        tf32: on a GPU, products of float32 matrices with 10 bits of mantissa; kept apart too.
    """
    settings = settings or settings_of(model, dataset)
    h = load(card(dataset).name, data_dir) if h is None else h
    rounded = {name: True for name, on in (("amp", amp), ("tf32", tf32)) if on}
    identity = {"settings": settings.to_dict(), "epochs": epochs, "data": digest_of(h)} | rounded
    store = Store.open(directory, dataset, model, identity)
    h = find_model(model).prepare(h).to(device)
    config = replace(settings.train_config(epochs, model), amp=amp)
    todo = [seed for seed in range(runs) if seed not in store.records]
    size = group or default_group(h, model, settings, device)
    train_group = partial(
        train, h, dataset, model, settings, config, store if checkpoints else None, device, quiet
    )
    begun = store.begun(todo) if checkpoints else []
    while todo:
        size = math.ceil(len(todo) / math.ceil(len(todo) / size))  # groups of even size
        seeds = begun.pop() if begun else todo[:size]
        try:
            with _float32_products(tf32):
                store.add(train_group(seeds))
            todo = [seed for seed in todo if seed not in seeds]
        except torch.OutOfMemoryError:
            if len(seeds) == 1:
                raise
            size = (len(seeds) + 1) // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return Outcome(dataset, model, tuple(store.records[seed] for seed in range(runs)), settings.to_dict())


def digest_of(h: Hypergraph) -> str:
    """Of structure, features and labels: runs on other data are others."""
    found = hashlib.sha256()
    for tensor in (h.index, h.x, h.y):
        if tensor is not None:
            found.update(repr((tuple(tensor.shape), tensor.dtype)).encode())
            found.update(tensor.cpu().contiguous().numpy().tobytes())
    return found.hexdigest()[:16]


def train(
    h: Hypergraph,
    dataset: str,
    model: str,
    settings: Settings,
    config: TrainConfig,
    store: Store | None,
    device: str,
    quiet: bool,
    seeds: list[int],
) -> list[dict[str, Any]]:
    """The records of one group of runs; ``store`` says where its checkpoint goes."""
    task = make_task(h, model, seeds, settings)
    make = partial(make_model, model, settings, task.num_features, task.num_outputs)
    directory = None if store is None else store.group(seeds)
    found = None if directory is None else load_checkpoint(directory)
    before = 0 if found is None else found[1]["epoch"]
    memory, start = Memory(device), time.monotonic()
    result = fit(
        make, task, seeds, config, directory=directory, device=device,
        label=f"{model}, {dataset}, runs {seeds[0]} to {seeds[-1]}", quiet=quiet,
    )  # fmt: skip
    seconds = time.monotonic() - start
    shared = {
        "seconds": seconds / len(seeds) if before == 0 else None,
        "peak_mb": memory.peak_mb() / len(seeds) if before < config.epochs else None,
        **origin(),
    }
    tests = result.selected("validation")
    return [
        {"seed": s, "valid": v, "test": t, "epoch": e, **shared}
        for s, v, t, e in zip(seeds, result.best_valid, tests, result.best_epoch, strict=True)
    ]


def make_task(
    h: Hypergraph, model: str, seeds: Sequence[int], settings: Settings, *, score_test: bool = True
) -> NodeClassification:
    """The task of a model: full batch, or minibatches for a model that samples (at most 16 an epoch)."""
    if not find_model(model).sampled:
        kind = PreparedNodes if settings.inputs else NodeClassification
        return kind(h, seeds, score_test=score_test, **settings.inputs)
    size = max(512, math.ceil(h.num_nodes / 16))
    options = {name: settings.options[name] for name in ("metapaths", "layers") if name in settings.options}
    return SampledNodeClassification(h, seeds, score_test=score_test, batch_size=size, **options)


@contextmanager
def _float32_products(tf32: bool) -> Iterator[None]:
    """TF32 inside, if asked for; what was set before comes back."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
