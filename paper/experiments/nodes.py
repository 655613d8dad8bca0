"""Table 2 of the paper, node classification, in one readable file.

    python paper/experiments/nodes.py zoo house-1 --runs 5     # data: EHNN_DATA, --data-dir, or downloaded

Needs torch, numpy and scipy. Nothing is kept; ``ehnn reproduce nodes`` trains the same models and
resumes, records and compares.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn import datasets
from ehnn.nn import EHNNMLP, Block, EHNNTransformer, Stack, pairs_path
from ehnn.tasks import NodeClassification
from ehnn.training import TrainConfig, fit
from ehnn_paper.nodes.config import EHNN_MLP, EHNN_TRANSFORMER, PAPER
from ehnn_paper.results import shown, summary

MODELS = {  # a layer, the number of V → V∪E → V pairs, and the paper's hyperparameters for each dataset
    "ehnn-mlp": (EHNNMLP, 1, EHNN_MLP),
    "ehnn-transformer": (EHNNTransformer, 2, EHNN_TRANSFORMER),
}


def accuracies(
    dataset: str, model: str, runs: int, epochs: int, device: str, data_dir: str | None
) -> list[float]:
    """Test accuracy in percent of each run, at the epoch of its best validation accuracy."""
    layer, pairs, table = MODELS[model]
    chosen = table[dataset]
    seeds = range(runs)  # each draws its own 50/25/25 split, initialisation and dropout
    task = NodeClassification(datasets.load(dataset, data_dir).to(device), seeds)

    def make() -> torch.nn.Module:
        between = dict(chosen.stack)  # what stands between the layers
        final_norm = between.pop("final_norm", None)
        between["residual"] = pairs > 1  # attention alone would average a node's own features away
        return Stack(
            task.num_features,
            task.num_outputs,
            Block(partial(layer, **chosen.options), dropout=0.5, **between),  # heads and dropouts
            width=chosen.width,
            path=pairs_path(pairs),  # nodes → nodes and hyperedges → nodes, once or twice
            input_dropout=chosen.input_dropout,
            final_norm=final_norm,
        )

    config = TrainConfig(epochs=epochs, lr=chosen.lr, weight_decay=chosen.weight_decay, clip_norm=5.0)
    result = fit(make, task, seeds, config, device=device, label=f"{model}, {dataset}")  # all runs at once
    return result.selected("validation")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "datasets", nargs="+", choices=list(EHNN_MLP), metavar="dataset", help=", ".join(EHNN_MLP)
    )
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data-dir")
    given = parser.parse_args()
    print(f"{'dataset':<12} {'model':<18} {'here':>15} {'paper':>15}")
    for dataset in given.datasets:
        for model in given.models:
            found = accuracies(dataset, model, given.runs, given.epochs, given.device, given.data_dir)
            here = shown(summary(found), 2)
            paper = "{:.2f} ± {:.2f}".format(*PAPER[model][dataset])
            print(f"{dataset:<12} {model:<18} {here:>15} {paper:>15}", flush=True)


if __name__ == "__main__":
    main()
