"""Training by samples against full batch: how much accuracy the approximation costs.

    python paper/experiments/sampling.py --dataset walmart-1 --epochs 20 --full-epochs 20 150 --seeds 2

Every row has the same model, learning rate, splits and number of seeds; the test accuracy is that of the best
of 20 evaluated epochs on validation, and both are always measured on the whole hypergraph, exactly.

- ``full``: one step an epoch, on everything, for each number of ``--full-epochs``.
- ``sampled``: mini-batches of ``--batch-size`` training nodes with ``--fan-out`` (hyperedges of a node, nodes
  of a hyperedge), global terms by `ehnn.parallel.running.RunningPools`. With as many epochs as full batch,
  every training node is used equally often, in more and smaller steps.
- ``sampled, batch pool``: the same with the global terms of each mini-batch alone.

Rows go to ``results/sampling.json`` and ``.csv``. At full length: ``--width 256 --dropout 0.5 --lr 0.001
--epochs 100 --full-epochs 500 --seeds 5 --device cuda``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn import Hypergraph
from ehnn.datasets import load
from ehnn.nn import EHNNMLP, EHNNTransformer, Stack
from ehnn.parallel.running import RunningPools
from ehnn.parallel.sampled_task import SampledNodes
from ehnn.parallel.synthetic import synthetic
from ehnn.tasks import NodeClassification
from ehnn.training import Result, TrainConfig, fit
from ehnn_paper.results import provenance, summary, write_rows

LAYERS = {"ehnn-mlp": EHNNMLP, "ehnn-transformer": EHNNTransformer}
VARIANTS = ("full", "sampled", "batch-pool")


def main(arguments: list[str] | None = None) -> None:
    given = options().parse_args(arguments)
    h = synthetic() if given.dataset == "synthetic" else load(given.dataset, given.data_dir)
    command = shlex.join(["python", "paper/experiments/sampling.py", *(arguments or sys.argv[1:])])
    rows = []
    for name, run in variants(h.to(given.device), given).items():
        began = time.perf_counter()
        results = [run(seed) for seed in range(given.seeds)]
        seconds = (time.perf_counter() - began) / given.seeds
        rows.append(row(given, name, tests(results), command))
        print(
            f"{name}: test {rows[-1]['mean']:.2f} %, {given.seeds} seeds, {seconds:.0f} s a run", flush=True
        )
    write_rows("sampling", rows, given.out)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="walmart-1", help="a name of `ehnn data list`, or synthetic")
    parser.add_argument("--data-dir")
    parser.add_argument("--model", choices=LAYERS, default="ehnn-mlp")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.0, help="between layers")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=20, help="of training by samples")
    parser.add_argument(
        "--full-epochs", type=int, nargs="+", default=[20], help="of full batch; one row each"
    )
    parser.add_argument("--batch-size", type=int, default=2048)
    parser.add_argument("--fan-out", type=int, nargs=2, default=(5, 5))
    parser.add_argument("--decay", type=float, default=0.9, help="of the running estimates")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("results"))
    return parser


def variants(h: Hypergraph, given: argparse.Namespace) -> dict[str, Callable[[int], Result]]:
    """What is compared, by name: functions of the seed."""
    base = f"{given.model}, width {given.width}"
    runs = {f"{base}, full, {e} epochs": partial(full, h, given, e) for e in given.full_epochs}
    batch, (edges, nodes) = given.batch_size, given.fan_out
    some = f"{base}, sampled {batch} × ({edges}, {nodes}), {given.epochs} epochs"
    runs[some] = partial(sampled, h, given, lambda model: RunningPools(model, given.decay))
    runs[f"{some}, batch pool"] = partial(sampled, h, given, lambda model: model)
    kinds = ["full"] * len(given.full_epochs) + ["sampled", "batch-pool"]
    return {
        name: run for (name, run), kind in zip(runs.items(), kinds, strict=True) if kind in given.variants
    }


def full(h: Hypergraph, given: argparse.Namespace, epochs: int, seed: int) -> Result:
    task = NodeClassification(h, [seed])
    every = max(1, epochs // 20)
    config = TrainConfig(epochs=epochs, lr=given.lr, evaluate_every=every)
    return fit(make(task, given), task, [seed], config, device=given.device, label=f"full, seed {seed}")


def sampled(
    h: Hypergraph, given: argparse.Namespace, wrap: Callable[[nn.Module], nn.Module], seed: int
) -> Result:
    task = SampledNodes(
        h,
        [seed],
        batch_size=given.batch_size,
        fan_out=[tuple(given.fan_out)] * pairs(given),
        sample_seed=seed,
    )
    every = max(1, given.epochs // 20)
    config = TrainConfig(epochs=given.epochs, lr=given.lr, evaluate_every=every, cuda_graph=False)
    model = make(task, given)
    return fit(
        lambda: wrap(model()), task, [seed], config, device=given.device, label=f"sampled, seed {seed}"
    )


def pairs(given: argparse.Namespace) -> int:
    """nodes → all → nodes, once; the paper's EHNN-Transformer has two."""
    return 2 if given.model == "ehnn-transformer" else 1


def make(task: NodeClassification, given: argparse.Namespace) -> Callable[[], nn.Module]:
    path = ("nodes", *("all", "nodes") * pairs(given))
    return partial(
        Stack, task.num_features, task.num_outputs, LAYERS[given.model], width=given.width, path=path,
        dropout=given.dropout, residual=given.model == "ehnn-transformer",
    )  # fmt: skip


def tests(results: list[Result]) -> list[float]:
    return [r.selected("validation")[0] for r in results]


def row(given: argparse.Namespace, name: str, values: list[float], command: str) -> dict[str, object]:
    return {
        "setting": given.dataset, "model": name, "selection": "validation", "metric": "accuracy",
        **summary(values), "paper": None, **provenance(command, seeds=range(given.seeds)),
    }  # fmt: skip


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
