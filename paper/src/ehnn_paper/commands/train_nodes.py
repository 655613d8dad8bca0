"""``ehnn train nodes``: node classification in one process, or on the ranks of a partition."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
import typer
from torch import nn

from ehnn.cli.errors import FAILED, INTERRUPTED, choose, fail, readable_errors
from ehnn.datasets.loading import digest
from ehnn.hypergraph import Hypergraph
from ehnn.training import Result, TrainConfig, fit
from ehnn_paper.nodes.config import MODELS, Settings, find_model, make_model, settings_of

from .trained import claim, keep_best

PARALLEL = ("none", "partition")
DTYPES = {"float32": torch.float32, "float64": torch.float64}
SYNTHETIC = "synthetic"
CHECKPOINT_EVERY = 10
"""Epochs; what a killed run repeats at most."""
LOST = 75
"""The exit status of a rank that lost another one: all are started again."""


def train_nodes(
    *,
    dataset: str,
    model: str,
    width: int | None = None,
    epochs: int = 500,
    lr: float | None = None,
    weight_decay: float | None = None,
    dropout: float | None = None,
    seed: int = 0,
    parallel: str = "none",
    ranks: int | None = None,
    device: str = "cpu",
    directory: Path | None = None,
    data_dir: Path | None = None,
    dtype: str = "float32",
) -> None:
    """Train ``model`` on the nodes of ``dataset`` and keep the parameters that are best on validation.

    ``width``, ``lr``, ``weight_decay`` and ``dropout`` are the model's own on this dataset (`settings_of`)
    where they are None. ``dropout`` acts between layers; inside φ it is always the model's own, but 0 turns
    both off.
    With ``parallel="partition"`` the hypergraph is spread over ``ranks`` processes, which are started here
    unless torchrun did. The run is the same on any number of them, and goes on from the checkpoint in
    ``directory`` on any other number.
    """
    choose("dtype", dtype, DTYPES)
    run = Run(dataset, model, width, epochs, lr, weight_decay, dropout, seed, dtype, data_dir)
    size = os.environ.get("WORLD_SIZE") if "RANK" in os.environ else None
    if choose("way to go parallel", parallel, PARALLEL) == "none":
        if ranks is not None:
            fail("--ranks goes with --parallel partition")
        if size not in (None, "1"):
            fail(f"torchrun started {size} ranks, and each would train on everything: --parallel partition")
        folder = directory or run.folder()
        with claim(folder, run.identity()):
            keep_best(run.alone(folder, device), folder)
        return
    if not find_model(model).stacked or run.settings().inputs:
        able = [name for name, m in MODELS.items() if m.stacked and not name.endswith("+")]
        fail(f"{model} cannot be spread over ranks; these can: {', '.join(able)}")
    if size is not None and ranks not in (None, int(size)):
        fail(f"--ranks {ranks}, but torchrun started {size}")
    if size is not None:
        run.on_this_rank(directory or run.folder(), device)
    elif ranks is not None:
        _start_ranks(run, directory or run.folder(), ranks, device)
    else:
        fail("--parallel partition needs --ranks, or torchrun --nproc-per-node N -m ehnn train nodes …")


@dataclass(frozen=True)
class Run:
    """One training run. The number of ranks is no part of it."""

    dataset: str
    model: str
    width: int | None
    epochs: int
    lr: float | None
    weight_decay: float | None
    dropout: float | None
    seed: int
    dtype: str
    data_dir: Path | None = None

    def options(self) -> dict[str, object]:
        """All but where the data are."""
        return {name: value for name, value in asdict(self).items() if name != "data_dir"}

    def identity(self) -> dict[str, object]:
        """What tells runs apart: options, and what is in the files of the dataset."""
        return self.options() | {"digest": self._digest()}

    def _digest(self) -> str:
        return "" if self.dataset == SYNTHETIC else digest(self.dataset, self.data_dir)

    def folder(self) -> Path:
        """A folder of its own for each set of options."""
        told = json.dumps([self.identity(), self.settings().to_dict()])
        code = hashlib.sha256(told.encode()).hexdigest()[:8]
        return Path("runs") / "train" / "nodes" / self.dataset / f"{self.model}-seed-{self.seed}-{code}"

    def settings(self) -> Settings:
        """The recipe of the model on the dataset, with the options of this run."""
        known = settings_of(self.model, self.dataset)
        options = dict(known.options)
        if self.dropout == 0:
            options |= {name: 0.0 for name in options if name.endswith("dropout")}
        asked = {name: getattr(self, name) for name in ("width", "lr", "weight_decay", "dropout")}
        return replace(known, options=options, **{k: v for k, v in asked.items() if v is not None})

    def config(self) -> TrainConfig:
        return replace(
            self.settings().train_config(self.epochs, self.model), checkpoint_every=CHECKPOINT_EVERY
        )

    def make(self, d_in: int, d_out: int) -> Callable[[], nn.Module]:
        """Makes a model."""
        return lambda: make_model(self.model, self.settings(), d_in, d_out).to(DTYPES[self.dtype])

    def load(self) -> Hypergraph:
        """The whole hypergraph."""
        from ehnn.datasets import load
        from ehnn.parallel.synthetic import synthetic

        h = synthetic() if self.dataset == SYNTHETIC else load(self.dataset, self.data_dir)
        if h.x is None:
            raise ValueError(f"{self.dataset} has no node features to train on")
        return h.replace(x=h.x.to(DTYPES[self.dtype]))

    def alone(self, folder: Path, device: str) -> Result:
        """Train in one process."""
        from ehnn_paper.nodes.run import make_task

        h = self.load()
        h = find_model(self.model).prepare(h).to(device)
        task = make_task(h, self.model, [self.seed], self.settings())
        make = self.make(task.num_features, task.num_outputs)
        label = f"{self.model}, {self.dataset}"
        return fit(make, task, [self.seed], self.config(), directory=folder, device=device, label=label)

    def prepare(self, folder: Path, ranks: int) -> None:
        """Make the shards, unless they are there."""
        from ehnn.parallel.prepare import prepare_shards, with_parts

        source = {name: getattr(self, name) for name in ("dataset", "seed", "dtype")}
        source["digest"] = self._digest()
        prepare_shards(folder, ranks, source, lambda: with_parts(self.load(), self.seed))

    def on_this_rank(self, folder: Path, device: str) -> None:
        """Train on a rank of torchrun; rank 0 claims the folder, writes there and tells the result."""
        from ehnn import parallel
        from ehnn.parallel.prepare import shard_folder

        cpu = device == "cpu"
        ranks = parallel.start(backend="gloo" if cpu else None)
        try:
            with parallel.losing_ranks(ranks), ExitStack() as claims:
                ranks.first(lambda: claims.enter_context(claim(folder, self.identity())))
                ranks.first(lambda: self.prepare(folder, ranks.size))
                h = parallel.load_shard(shard_folder(folder, ranks.size), ranks)
                task = parallel.ShardNodes(h if cpu else h.to(f"cuda:{os.environ['LOCAL_RANK']}"))
                make = self.make(task.num_features, task.num_outputs())
                label = f"{self.model}, {self.dataset}, {ranks.size} ranks"
                result = parallel.fit_shard(
                    make, task, self.seed, self.config(), directory=folder, label=label
                )
                if ranks.rank == 0:
                    keep_best(result, folder)
        except parallel.LostRankError as error:
            fail(str(error), LOST)
        parallel.stop()


def _start_ranks(run: Run, folder: Path, ranks: int, device: str) -> None:
    """Partition here, once and before any rank holds memory; then be torchrun."""
    from ehnn.parallel.launch import launch

    with claim(folder, run.identity()):
        run.prepare(folder, ranks)
    data_dir = None if run.data_dir is None else str(run.data_dir)
    more = {"data_dir": data_dir, "directory": str(folder), "device": device, "parallel": "partition"}
    try:
        launch("ehnn_paper.commands.train_nodes", [json.dumps(run.options() | more)], ranks)
    except RuntimeError as error:
        fail(str(error), FAILED)


def _worker(arguments: str) -> None:
    """A rank that `_start_ranks` started: options as JSON, for no shell has to read them.

    An error that a person must mend would come again, so it ends all ranks for good.
    """
    given = json.loads(arguments)
    paths = {name: Path(given[name]) for name in ("directory", "data_dir") if given[name] is not None}
    try:
        with readable_errors():
            train_nodes(**given | paths)
    except typer.Exit as leave:
        if leave.exit_code in (LOST, INTERRUPTED):
            sys.exit(leave.exit_code)
        from ehnn.parallel.launch import refuse

        refuse()


if __name__ == "__main__":
    _worker(sys.argv[1])
