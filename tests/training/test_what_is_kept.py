"""Parameters, buffers and seeds: what stays, what is saved, and what belongs to which run."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ehnn import Hypergraph
from ehnn._utils.folders import FolderInUseError
from ehnn.nn import EHNNMLP, EHNNTransformer, Readout, Stack, baselines
from ehnn.ops import bounded_memory
from ehnn.training import Runs, TrainConfig, fit
from ehnn.training.identity import differences, identity

from .training_helpers import Tiny, make, train


def make_half_frozen() -> nn.Module:
    model = make()
    model.embed.requires_grad_(False)
    return model


@pytest.mark.parametrize("seeds", [(0,), (0, 1)])
@pytest.mark.parametrize("flat", [True, False])
def test_frozen_parameters_stay(seeds: tuple[int, ...], flat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not flat:
        monkeypatch.setattr("ehnn.training.runs._in_a_row", lambda parameters: None)  # as on a GPU
    before = Runs(make_half_frozen, seeds).state()
    after = train(make_half_frozen, seeds=seeds, weight_decay=0.1, optimizer="adamw").runs.parameters
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert moved >= {name for name in before if "layers.0.phi1" in name}
    assert not any(name.startswith("embed.") for name in moved)


@pytest.mark.parametrize("kind", [EHNNMLP, EHNNTransformer])
@pytest.mark.parametrize("width", [8, 16])
def test_bounded_memory_trains_the_same(kind: type, width: int) -> None:
    """Chunks are made again with the parameters and the dropout masks of the forward pass."""
    options = {"heads": 2} if kind is EHNNTransformer else {}
    make_it = partial(Stack, 3, 2, partial(kind, dropout=0.5, **options), width=width)
    plain = train(make_it).history
    with bounded_memory(5):
        chunks = train(make_it).history
    for one, other in zip(plain, chunks, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-5)


def test_another_model_does_not_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    def go(aggregation: str) -> None:
        make_it = partial(Stack, 3, 2, partial(EHNNMLP, aggregation=aggregation), width=8)
        fit(make_it, Tiny(), [0], TrainConfig(epochs=1), directory=tmp_path, quiet=True)

    go("mean")
    go("mean")
    with pytest.raises(ValueError, match="holds a run with other settings"):
        go("sum")


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (baselines.UniGCNII, {"alpha": 0.1}, {"alpha": 0.9}),
        (baselines.UniGCNII, {"lam": 0.1}, {"lam": 0.9}),
        (baselines.HNHN, {"beta": 0.0}, {"beta": -1.0}),
        (baselines.HCHA, {"symmetric": True}, {"symmetric": False}),
        (baselines.HyperGCN, {"mediators": True}, {"mediators": False}),
        (baselines.HyperGCN, {"seed": 1}, {"seed": 2}),
        (baselines.AllDeepSets, {"aggregation": "sum"}, {"aggregation": "mean"}),
        (Readout, {"kind": "sum"}, {"kind": "mean"}),
    ],
)
def test_what_a_model_does_not_show_tells_it_apart(kind, one, other) -> None:
    def told(options):
        return identity(Runs(partial(kind, 3, 2, **options), [0]), TrainConfig(epochs=1))

    assert told(one) == told(one)
    assert differences(told(one), told(other)) == ["model"]


class Normed(nn.Module):
    """Keeps running statistics, in buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.inner = nn.BatchNorm1d(3), make()

    def forward(self, h: Hypergraph, x: torch.Tensor | None = None) -> torch.Tensor:
        return self.inner(h, self.norm(h.x if x is None else x))


def test_running_statistics_are_saved_and_chosen(tmp_path: Path) -> None:
    config = TrainConfig(epochs=7, lr=0.01, checkpoint_every=3)
    whole = fit(Normed, Tiny(), [0], config, quiet=True)
    assert whole.best["norm.running_mean"].abs().sum() > 0
    with pytest.raises(KeyboardInterrupt):
        fit(Normed, Interrupted(4), [0], config, directory=tmp_path, quiet=True)
    again = fit(Normed, Tiny(), [0], config, directory=tmp_path, quiet=True)
    assert again.history == whole.history
    for name, value in whole.best.items():
        assert torch.equal(again.best[name], value)
    with pytest.raises(ValueError, match="with running statistics is trained one seed at a time"):
        Runs(Normed, (0, 1))


class Interrupted(Tiny):
    """Stops in an epoch (from 0)."""

    def __init__(self, epoch: int) -> None:
        super().__init__()
        self.last = epoch

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        if epoch == self.last:
            raise KeyboardInterrupt
        return super().batches(epoch)


def test_buffers_that_are_drawn_are_those_of_each_run() -> None:
    h = Tiny().train[0]
    make_it = partial(baselines.HyperGCN, 3, 2, fast=False)
    together = Runs(make_it, (1, 3))
    for r, seed in enumerate((1, 3)):
        torch.testing.assert_close(together.forward(h)[r], Runs(make_it, (seed,)).forward(h)[0])
        torch.testing.assert_close(together.extract(r).eval()(h), together.forward(h)[r])


def test_seeds_of_numpy_are_saved(tmp_path: Path) -> None:
    config = TrainConfig(epochs=np.int64(1))
    assert fit(make, Tiny(), [np.int64(3)], config, directory=tmp_path, quiet=True).runs.seeds == (3,)


class Sometimes(nn.Module):
    """Has a parameter that only hypergraphs with at least four hyperedges of order 3 or less use."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.more = make(), nn.Parameter(torch.ones(2))

    def forward(self, h: Hypergraph, x: torch.Tensor | None = None) -> torch.Tensor:
        y = self.inner(h, x)
        return y * self.more if int((h.orders <= 3).sum()) > 3 else y


def test_a_parameter_that_some_batches_do_not_use_steps_alike() -> None:
    used = [int((h.orders <= 3).sum()) > 3 for h in Tiny().train]
    assert set(used) == {False, True}
    alone, beside = train(Sometimes), train(Sometimes, seeds=(0, 1))
    torch.testing.assert_close(alone.runs.parameters["more"][0], beside.runs.parameters["more"][0])


class Plain(nn.Module):
    """With PyTorch's own dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.dropout = make(), nn.Dropout(0.5)

    def forward(self, h: Hypergraph, x: torch.Tensor | None = None) -> torch.Tensor:
        return self.dropout(self.inner(h, x))


def test_dropout_of_pytorch_is_for_one_seed() -> None:
    assert len(train(Plain).history) == 5
    with pytest.raises(ValueError, match=r"torch\.nn\.Dropout draws masks of its own"):
        train(Plain, seeds=(0, 1))


class Drawn(nn.Module):
    """With a buffer that is drawn and that no state dict holds."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = make()
        self.register_buffer("r", torch.rand(2), persistent=False)

    def forward(self, h: Hypergraph, x: torch.Tensor | None = None) -> torch.Tensor:
        return self.inner(h, x) * self.r


def test_a_run_is_extracted_with_what_was_drawn_for_it() -> None:
    runs, h = Runs(Drawn, (0, 1)), Tiny().valid
    for run in (0, 1):
        torch.testing.assert_close(runs.extract(run)(h), runs.forward(h)[run])


def test_a_full_disk_names_the_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Path.open

    def full(path: Path, mode: str = "r", **given: Any) -> Any:
        if path.name == "metrics.jsonl" and mode == "a":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return plain(path, mode, **given)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*metrics\.jsonl'"):
        fit(make, Tiny(), [0], TrainConfig(epochs=2), directory=tmp_path, quiet=True)


def test_a_second_training_into_one_folder_is_refused(tmp_path: Path) -> None:
    class Again(Tiny):
        """In the middle of a training another thread begins the same one."""

        refused: FolderInUseError | None = None

        def loss(self, logits: Tensor, h: Hypergraph) -> Tensor:
            if not self.refused:
                thread = threading.Thread(target=self.second)
                thread.start()
                thread.join()
            return super().loss(logits, h)

        def second(self) -> None:
            try:
                fit(make, Tiny(), [0], TrainConfig(epochs=2), directory=tmp_path)
            except FolderInUseError as error:
                self.refused = error

    task = Again()
    fit(make, task, [0], TrainConfig(epochs=2), directory=tmp_path)
    assert task.refused
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
    fit(make, Tiny(), [0], TrainConfig(epochs=2), directory=tmp_path)  # the same again, later
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
