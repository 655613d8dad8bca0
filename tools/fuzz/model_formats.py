"""What the library keeps of its own work: checkpoints, estimators, shards, runs to report about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from ehnn import Hypergraph, estimators
from ehnn._utils import sealed
from ehnn.parallel.files import MANIFEST, read_shard, save_shards
from ehnn.parallel.owners import Partition
from ehnn.parallel.ranks import Ranks
from ehnn.parallel.shards import join
from ehnn.report import data_record, score_record, write_report, write_run
from ehnn.training import NotFiniteError, TrainConfig, fit
from ehnn.training.checkpoint import NAME as CHECKPOINT

from .seeds import Files, Seed, files_in
from .table_formats import example
from .tensors import in_order, split


class _Task:
    """Two numbers for each of three rows."""

    rows = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])

    def batches(self, epoch: int) -> Iterator[Tensor]:
        yield self.rows

    def loss(self, out: Tensor, rows: Tensor) -> Tensor:
        return out.square().mean((1, 2))

    def evaluate(self, predict: Any) -> dict[str, Tensor]:
        return {"valid": -predict(self.rows).square().mean((1, 2))}


class _Model(nn.Linear):
    def forward(self, rows: Tensor, x: None = None) -> Tensor:
        return super().forward(rows)


def _fit(folder: Path, seeds: list[int], config: TrainConfig, seconds: float | None = None) -> None:
    fit(lambda: _Model(2, 2), _Task(), seeds, config, directory=folder, quiet=True, seconds=seconds)


def checkpoint(folder: Path) -> Iterable[Seed]:
    configs = (TrainConfig(epochs=3), TrainConfig(epochs=2, ema=0.9, patience=1))
    for number, (seeds, config) in enumerate(zip(([0], [0, 1]), configs, strict=True)):
        own = folder / str(number)
        _fit(own, seeds, config, 0.0)  # one epoch, so that reading goes on
        # Numbers that are finite and huge are found out by training.
        yield Seed(files_in(own), lambda f, s=seeds, c=config: _fit(f, s, c), _reseal, also=(NotFiniteError,))


def _reseal(files: Files) -> None:
    """Give a checkpoint the sum of what it holds."""
    data = files[CHECKPOINT] or b""
    text, tensors = split(data)[0]["__metadata__"]["state"], load(data)
    about = sealed.sealed_state(tensors, json.loads(text)["value"])
    files[CHECKPOINT] = in_order(save(tensors, metadata=about))


def _resum(files: Files) -> None:
    """Let the record name the weights that are there, and have the right checksum."""
    name = next(name for name in files if name.startswith("weights-"))
    about = json.loads(files["model.json"] or b"")
    about["weights"] = {"file": name, "sha256": hashlib.sha256(files[name] or b"").hexdigest()}
    about.pop("sha256", None)
    about["sha256"] = sealed.json_sum(about)
    files["model.json"] = json.dumps(about).encode()


def unweighted(named: bool = True) -> Hypergraph:
    """An example for what does not read weights: single networks warn, sharding refuses."""
    return example(named).replace(edge_weight=None, incidence_weight=None)


def estimator(folder: Path) -> Iterable[Seed]:
    h = unweighted()
    small = {"model": "ehnn-mlp", "width": 2, "epochs": 1, "validation_fraction": 0.0}
    made = {
        "nodes": estimators.NodeClassifier(**small, residual=True, hypergraph=h).fit(["ann", "bob"], [0, 1]),
        "number": estimators.NodeRegressor(**small, residual=True).fit(h, {"ann": 0.5, "bob": 2.0}),
        "sets": estimators.HyperedgePredictor(**small, sketch=2).fit(h),
        "graphs": estimators.HypergraphClassifier(**small).fit([h, h], ["a", "b"]),
    }
    for name, one in made.items():
        one.save(folder / name)
        yield Seed(files_in(folder / name), lambda f: _use(estimators.load(f)), _resum)


def _use(found: Any) -> None:
    """A model that was read can be used, or says why not."""
    with suppress(ValueError):
        _predict(found, unweighted())


def _predict(found: Any, h: Hypergraph) -> None:
    if isinstance(found, estimators.HyperedgePredictor):
        found.predict_proba([["ann", "bob"]])
    elif isinstance(found, estimators.HypergraphClassifier):
        found.predict([h])
    elif found.hypergraph is None:
        found.predict(h)
    else:
        found.predict(["ann", "bob"])


def shards(folder: Path) -> Iterable[Seed]:
    h = unweighted(named=False)
    save_shards(h, Partition(torch.zeros(4, dtype=torch.int64), torch.zeros(3, dtype=torch.int64), 1), folder)
    yield Seed(files_in(folder), lambda f: join(read_shard(f, 0, 1), Ranks()) and None, _remanifest)


def _remanifest(files: Files) -> None:
    manifest = json.loads(files[MANIFEST] or b"")
    name = next(name for name in files if name.endswith(".safetensors"))
    data = files[name] or b""
    manifest["files"][0] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    files[MANIFEST] = json.dumps(manifest).encode()


def report(folder: Path) -> Iterable[Seed]:
    h = example()
    write_run(
        folder, task="nodes", model="ehnn-mlp", metric="accuracy", parameters={"lr": 0.1, "seeds": [0]},
        data=data_record(h), labels=["a", "b"], history=[{"epoch": 1, "loss": 0.5, "valid": 2}],
        test=score_record(h.y, h.y, ["a", "b"], h), seconds=1.5, command="ehnn train", version="0",
    )  # fmt: skip
    _fit(folder, [0], TrainConfig(epochs=1))
    yield Seed(files_in(folder), lambda f: write_report([f], f / "report.html") and None)


FORMATS = {"checkpoint": checkpoint, "estimator": estimator, "shards": shards, "report": report}
