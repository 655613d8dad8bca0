"""Training on ranks, for ``test_parallel_training.py``: jobs of ``workers.py``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import nn

from ehnn import Hypergraph, parallel
from ehnn.nn import EHNNMLP, Block, EHNNTransformer, Stack
from ehnn.nn.baselines import AllDeepSets, AllSetTransformer
from ehnn.parallel import Ranks, ShardNodes, fit_shard
from ehnn.parallel.prepare import prepare_shards, shard_folder, with_parts
from ehnn.parallel.synthetic import synthetic
from ehnn.tasks import NodeClassification
from ehnn.training import Result, TrainConfig, fit

SEED, EPOCHS = 3, 12
MODELS = {
    "mlp": partial(EHNNMLP, dropout=0.2),
    "transformer": partial(EHNNTransformer, dropout=0.2, local_dropout=0.1, global_dropout=0.1),
    "deep-sets": partial(AllDeepSets, dropout=0.2),
    "set-transformer": partial(AllSetTransformer, dropout=0.2),
}


def hypergraph() -> Hypergraph:
    """With isolated nodes and empty hyperedges, so that groups and targets are numbered apart."""
    h = synthetic(60, 50, 3, seed=1)
    assert h.x is not None
    h = Hypergraph.from_incidence(h.index, 64, 54, x=torch.cat([h.x, h.x[:4]]), y=torch.cat([h.y, h.y[:4]]))
    return h.permute_nodes(torch.randperm(64, generator=torch.Generator().manual_seed(0))).permute_edges(
        torch.randperm(54, generator=torch.Generator().manual_seed(1))
    ).replace(x=h.x.double())  # fmt: skip


def make(name: str) -> nn.Module:
    residual = name == "transformer"
    block = Block(MODELS[name], dropout=0.3, residual=residual)
    return Stack(16, 3, block, width=8, input_dropout=0.2, classifier=(8,)).double()


def config(epochs: int) -> TrainConfig:
    return TrainConfig(epochs=epochs, lr=0.01, weight_decay=1e-3, checkpoint_every=3)


def alone(name: str, epochs: int, directory: Path | None = None) -> Result:
    """What one process gets."""
    task = NodeClassification(hypergraph(), [SEED])
    return fit(partial(make, name), task, [SEED], config(epochs), directory=directory, quiet=True)


def shard_of(ranks: Ranks, directory: Path | str) -> parallel.Shard:
    h = partial(lambda: with_parts(hypergraph(), SEED))
    ranks.first(lambda: prepare_shards(directory, ranks.size, {"seed": SEED}, h, "contiguous"))
    return parallel.load_shard(shard_folder(directory, ranks.size), ranks)


def on_ranks(
    ranks: Ranks, name: str, epochs: int, directory: str | Path, stop_at: int | None = None,
    before: Callable[[int], None] | None = None,
) -> Result | None:  # fmt: skip
    """Train, from the last checkpoint if there is one; None if it stopped like a killed run does."""
    task = _Stopping(shard_of(ranks, directory))
    task.at, task.before = stop_at, before
    try:
        return fit_shard(partial(make, name), task, SEED, config(epochs), directory=directory, quiet=True)
    except _Stopped:
        return None


class _Stopped(Exception):
    pass


class _Stopping(ShardNodes):
    at: int | None
    before: Callable[[int], None] | None

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def batches(self, epoch: int) -> Iterator[Hypergraph]:
        if epoch == self.at:
            raise _Stopped
        if self.before is not None:
            self.before(epoch)
        yield from super().batches(epoch)


def difference(a: Result, b: Result) -> float:
    """The largest difference of any parameter, of its best values and of any recorded metric."""
    assert a.best_epoch == b.best_epoch
    assert [row["epoch"] for row in a.history] == [row["epoch"] for row in b.history]
    values = [
        abs(x[k][0] - y[k][0]) for x, y in zip(a.history, b.history, strict=True) for k in ("loss", "valid")
    ]
    for mine, theirs in ((a.runs.state(), b.runs.state()), (a.best, b.best)):
        values += [float((mine[k] - theirs[k]).abs().max()) for k in mine]
    return max(values)


def equal_to_one_process(ranks: Ranks, directory: str, names: list[str]) -> None:
    """With dropout everywhere: a mask does not know how many ranks there are."""
    for name in names:
        result = on_ranks(ranks, name, 4, Path(directory) / name)
        assert result is not None
        worst = difference(result, alone(name, 4))
        assert worst < 1e-10, f"{name} differs by {worst}"


def interrupted(ranks: Ranks, directory: str, stop_at: int) -> None:
    assert on_ranks(ranks, "mlp", EPOCHS, directory, stop_at) is None


def slow(ranks: Ranks, directory: str) -> None:
    """Steps that last, for a test that kills or halts a rank in one; the others say what happened."""

    def wait(epoch: int) -> None:
        Path(directory, f"epoch-{ranks.rank}").write_text(str(epoch))
        time.sleep(0.02)

    try:
        with parallel.losing_ranks(ranks):
            on_ranks(ranks, "mlp", 3000, directory, before=wait)
    except parallel.LostRankError as error:
        print(error, flush=True)
        os._exit(7)
