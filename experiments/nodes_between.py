"""What stands between the layers of EHNN in node classification, by validation accuracy alone.

    python experiments/nodes_between.py house-1 house-0.6 --runs 10 --device cuda --tf32

Trains the paper's settings with our arrangement and with that of the released code (`as_released`), on splits
that no reported run has (seeds from 100). Test nodes are never scored.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from ehnn import datasets
from ehnn.hypergraph import Hypergraph
from ehnn.reproduce.nodes_config import Settings, as_released, make_model, settings_of
from ehnn.reproduce.nodes_runs import make_task
from ehnn.training import fit

MODELS = ("ehnn-mlp", "ehnn-transformer")


def arrangements(model: str, dataset: str) -> dict[str, Settings]:
    """The settings of the table, arranged in both ways."""
    chosen = settings_of(model, dataset)
    options = {name: value for name, value in chosen.options.items() if name != "feed_forward_dropout"}
    ours = replace(chosen, options=options, stack={})
    return {"ours": ours, "released": as_released(model, ours)}


def validation(
    h: Hypergraph, model: str, settings: Settings, *, runs: int, epochs: int, device: str
) -> list[float]:
    """Best validation accuracy in percent of each run."""
    seeds = range(100, 100 + runs)
    task = make_task(h.to(device), model, seeds, settings, score_test=False)
    make = partial(make_model, model, settings, task.num_features, task.num_outputs)
    config = settings.train_config(epochs, model)
    return fit(make, task, seeds, config, device=device, label=model).best_valid


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="+", metavar="dataset")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tf32", action="store_true", help="TF32 products of matrices on a GPU")
    parser.add_argument("--data-dir", default=None)
    given = parser.parse_args()
    if given.tf32:
        torch.set_float32_matmul_precision("high")
    for dataset in given.datasets:
        h = datasets.load(datasets.card(dataset).name, given.data_dir)
        for model in given.models:
            for name, settings in arrangements(model, dataset).items():
                found = validation(
                    h, model, settings, runs=given.runs, epochs=given.epochs, device=given.device
                )
                print(f"{dataset}, {model}, {name}: {statistics.fmean(found):.2f} ({given.runs} runs)")


if __name__ == "__main__":
    main()
