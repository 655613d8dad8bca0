"""What stands between the layers of EHNN in node classification, by validation accuracy alone.

    python paper/experiments/nodes_between.py house-1 house-0.6 --runs 10 --device cuda --tf32

Trains the paper's settings with our arrangement and with that of the released code (`as_released`), on splits
that no reported run has. Half of the validation nodes choose the epoch and the other half is scored,
both ways (`compare`); beside it the best accuracy on all of them. Test nodes are never scored.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn import datasets
from ehnn_paper.nodes.config import Settings, as_released, settings_of
from ehnn_paper.nodes.search import compare

MODELS = ("ehnn-mlp", "ehnn-transformer")


def arrangements(model: str, dataset: str) -> dict[str, Settings]:
    """The settings of the table, arranged in both ways."""
    chosen = settings_of(model, dataset)
    options = {name: value for name, value in chosen.options.items() if name != "feed_forward_dropout"}
    ours = replace(chosen, options=options, stack={})
    return {"ours": ours, "released": as_released(model, ours)}


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
                found = compare(h, model, settings, runs=given.runs, epochs=given.epochs, device=given.device)
                figures = f"held out {found['held_out']:.2f}, best {found['best']:.2f}"
                print(f"{dataset}, {model}, {name}: {figures} ({given.runs} runs)", flush=True)


if __name__ == "__main__":
    main()
