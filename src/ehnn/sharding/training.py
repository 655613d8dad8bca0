"""Train on a folder of shards, on the ranks that torchrun started, and write predictions."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ehnn import parallel
from ehnn._utils.atomic import atomic_write
from ehnn._utils.folders import run_folder, write_json
from ehnn._utils.sealed import save_tensors
from ehnn.datasets.splits import PARTS
from ehnn.nn.named import NAMED
from ehnn.parallel.files import read_manifest
from ehnn.parallel.known import KnownLabels
from ehnn.parallel.streamed import StreamedFeatures, WithStreamed
from ehnn.training import Result, TrainConfig

from .job import names_file

MODELS = tuple(name for name, named in NAMED.items() if named.stacked)
DTYPES = {"float32": torch.float32, "float64": torch.float64}
BEST, RECORD = "best.safetensors", "run.json"
_VALUABLE = (RECORD, BEST, "metrics.jsonl", "checkpoint.safetensors")


@dataclass(frozen=True)
class ShardRun:
    """Training on shards; the number of ranks is no part of it.

    Args:
        shards: folder that `make_shards` wrote, with labels.
        model: a name of `ehnn.nn.named.NAMED` whose layers are stacked.
        known_labels: give the labels of other training nodes as inputs; see `ehnn.parallel.KnownLabels`.
        hidden: the part of them that is hidden, and predicted, in an epoch.
        width, dropout: of the model.
        epochs, lr, weight_decay, patience: of `ehnn.training.TrainConfig`.
        dtype: ``float32`` or ``float64``.
        stream_features: leave the features in the files of the shards and read them in chunks in every step,
            for features that do not fit in memory; see `ehnn.parallel.WithStreamed`.
        seed: of parameters, dropout and hidden labels.

    >>> ShardRun("shards", epochs=10).model
    'ehnn-mlp+'
    """

    shards: str | Path
    model: str = "ehnn-mlp+"
    known_labels: bool = True
    hidden: float = 0.3
    width: int = 64
    dropout: float = 0.0
    epochs: int = 200
    lr: float = 0.01
    weight_decay: float = 0.0
    patience: int | None = None
    dtype: str = "float32"
    stream_features: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, known in (("model", MODELS), ("dtype", DTYPES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {tuple(known)}, got {getattr(self, name)!r}")

    def identity(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """The settings and data by which a run is recognised."""
        settings = {k: v for k, v in asdict(self).items() if k != "shards"}
        source = {k: v for k, v in (manifest.get("source") or {}).items() if k != "ranks"}
        return settings | {"digest": [manifest["totals"], source]}

    def config(self) -> TrainConfig:
        return TrainConfig(
            epochs=self.epochs, lr=self.lr, weight_decay=self.weight_decay, patience=self.patience,
            checkpoint_every=10, cuda_graph=False,
        )  # fmt: skip

    def task(self, h: parallel.Shard) -> parallel.ShardNodes:
        """The task of one rank. A collective."""
        dtype = DTYPES[self.dtype]
        x = torch.ones(h.num_nodes, 1, device=h.device) if self.stream_features else h.features("nodes")
        h = h.replace(x=x.to(dtype))
        return KnownLabels(h, self.hidden, self.seed) if self.known_labels else parallel.ShardNodes(h)

    def make(self, task: parallel.ShardNodes, outputs: int, ranks: parallel.Ranks) -> nn.Module:
        """The model of one rank."""
        named, size = NAMED[self.model], dict[str, Any](width=self.width, dropout=self.dropout)
        if not self.stream_features:
            return named.make(task.num_features, outputs, **size).to(DTYPES[self.dtype])
        inner, features = named.make(self.width, outputs, **size), StreamedFeatures(self.shards, ranks)
        return WithStreamed(inner, features, task.num_features, self.width).to(DTYPES[self.dtype])


def train_shards(run: ShardRun, out: str | Path, *, device: str = "cpu", quiet: bool = False) -> Result:
    """Train on this rank's shard and write what it predicts; all ranks call it together.

    ``out``, which all hosts must see, gets ``run.json``, ``best.safetensors``, checkpoints and a Parquet file
    of predictions from every rank: ``node``, ``predicted``, ``probability``, ``label``, ``part``. The same
    call continues a run that was stopped. ``device`` is ``cpu`` or ``cuda``; ``quiet`` shows no progress.

    >>> import pandas
    >>> from ehnn.sharding import Columns, Job, make_shards
    >>> members = pandas.DataFrame({"node": list("abcdefgh") * 2, "edge": [i // 4 for i in range(16)]})
    >>> members.to_parquet("members.parquet")
    >>> parts = ["train", "train", "valid", "test"] * 2
    >>> table = pandas.DataFrame({"node": list("abcdefgh"), "y": list("xxxxyyyy"), "part": parts})
    >>> table.to_parquet("nodes.parquet")
    >>> columns = Columns("node", "y", "part")
    >>> job = Job("members.parquet", "shards", 1, nodes="nodes.parquet", columns=columns, workers=0)
    >>> _ = make_shards(job)
    >>> _ = train_shards(ShardRun("shards", epochs=2, known_labels=False), "run", quiet=True)
    >>> sorted(pandas.read_parquet("run/predictions-00000-of-00001.parquet").columns)
    ['label', 'node', 'part', 'predicted', 'probability']
    """
    folder, ranks = Path(out), parallel.start(backend="gloo" if device == "cpu" else None)
    with parallel.losing_ranks(ranks), ExitStack() as claims:
        manifest = read_manifest(run.shards)

        def claim() -> None:
            owned = (*_VALUABLE, "predictions-*", "tensorboard")
            found = claims.enter_context(
                run_folder(
                    folder,
                    run.identity(manifest),
                    owned=owned,
                    valuable=_VALUABLE,
                    hint="choose another --out",
                )
            )
            if not found.going_on:
                found.begin()

        ranks.first(claim)
        h = parallel.load_shard(run.shards, ranks, features=not run.stream_features)
        task = run.task(h if device == "cpu" else h.to(f"cuda:{os.environ.get('LOCAL_RANK', 0)}"))
        outputs = max(task.num_outputs(), 2)
        result = parallel.fit_shard(
            lambda: run.make(task, outputs, ranks), task, run.seed, run.config(), directory=folder,
            quiet=quiet, label=f"{run.model}, {ranks.size} ranks",
        )  # fmt: skip
        _write_predictions(run, folder, manifest, task, result)
        if ranks.rank == 0:
            save_tensors(folder / BEST, {name: value[0] for name, value in result.best.items()})
            write_json(folder / RECORD, record(run, manifest, result, ranks))
    return result


def record(run: ShardRun, manifest: dict[str, Any], result: Result, ranks: parallel.Ranks) -> dict[str, Any]:
    """The contents of ``run.json``."""
    best = {"valid": result.best_valid[0], "epoch": result.best_epoch[0], "test": result.selected()[0]}
    settings = {k: v for k, v in asdict(run).items() if k != "shards"}
    return {
        "task": "nodes", "settings": settings, "ranks": ranks.size, "wire": str(ranks.wire or "exact"),
        "totals": manifest["totals"], "classes": manifest.get("classes", []), "best": best,
    }  # fmt: skip


def _write_predictions(
    run: ShardRun, folder: Path, manifest: dict[str, Any], task: parallel.ShardNodes, result: Result
) -> None:
    """This rank's file: a row per own node, in the order of the shard."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ranks = task.h.ranks
    result.runs.load(result.best)
    with torch.no_grad():
        logits = result.runs.forward(task.shown if isinstance(task, KnownLabels) else task.h)[0]
    probability, found = logits.float().softmax(-1).max(-1)
    names = pq.read_table(Path(run.shards) / names_file(ranks.rank, ranks.size))["id"]
    classes = [str(c) for c in manifest.get("classes") or range(logits.shape[-1])]
    part, label = _part_and_label(task.labels)
    table = pa.table({
        "node": names, "predicted": _named(found, classes), "probability": probability.cpu().numpy(),
        "label": _named(label, classes), "part": _named(part, PARTS),
    })  # fmt: skip
    target = folder / f"predictions-{ranks.rank:05d}-of-{ranks.size:05d}.parquet"
    with atomic_write(target, "wb") as file:
        pq.write_table(table, file)


def _part_and_label(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Part and label of each node; −1 if there is none."""
    has = labels >= 0
    return torch.where(has.any(1), has.int().argmax(1), -1), labels.amax(1)


def _named(numbers: Tensor, names: Any) -> Any:
    """Arrow text; null for −1."""
    import pyarrow as pa

    numbers = numbers.cpu().int()
    indices = pa.array(numbers.clamp(min=0).numpy(), mask=(numbers < 0).numpy())
    return pa.DictionaryArray.from_arrays(indices, pa.array([str(n) for n in names]))
