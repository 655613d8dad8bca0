"""Which recipe beyond the paper suits which node classification dataset, by validation accuracy alone.

    python paper/experiments/nodes_recipe.py --device cuda                      # Zoo, House and NTU2012
    python paper/experiments/nodes_recipe.py 20news mushroom --device cuda
    python paper/experiments/nodes_recipe.py walmart-1 walmart-0.6 --runs 2 --epochs 150 --device cuda --tf32
    python paper/experiments/nodes_recipe.py ntu2012 --draws 0 40 --runs 10 --epochs 500 --device cuda --tf32

Every candidate is trained on splits that no reported run has (seeds from 1,000,000, or ``--first-seed``).
Half of the validation nodes choose the epoch and the other half is scored, both ways; test nodes are never
scored. Candidates that are in the file already are not trained again. ``--draws A B`` tries, in place of the
list, the settings of the table and some that are drawn at random, number A to B-1 of the same sequence on
every call; another ``--first-seed`` then judges the best of them on splits that did not choose them. The
winners are the table of ``src/ehnn/reproduce/nodes_recipes.py``.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn import datasets
from ehnn._utils.atomic import atomic_write
from ehnn.training import NotFiniteError
from ehnn_paper.nodes.config import settings_of
from ehnn_paper.nodes.recipes import recipe
from ehnn_paper.nodes.search import FIRST_SEED, compare
from ehnn_paper.nodes.settings import Settings

SMALL = ("zoo", "house-1", "house-0.6", "ntu2012")
TWICE = ("nodes", "all", "nodes", "all", "nodes")
OVERLAPS = ("nodes", "all", "all", "nodes")  # its middle layer sees the overlaps of hyperedges
OPTIONS = {"ehnn-mlp+": {}, "ehnn-transformer+": {"heads": 4}}


def candidates(dataset: str) -> Iterator[tuple[str, str, Settings]]:
    """``(model, name, settings)``: a start, and changes of it one at a time."""
    gated = dataset.startswith(("house", "walmart"))
    large = dataset.startswith("walmart")
    inputs = {"gate": 8.0} if gated else {"standardise": True}
    for model, options in OPTIONS.items():
        start = recipe(128, inputs, options=options)
        labels = replace(start, inputs=inputs | {"hidden": 0.5})
        yield model, "start", start
        yield model, "labels", labels
        yield model, "labels, few hidden", replace(start, inputs=inputs | {"hidden": 0.2})
        yield model, "labels, two pairs", replace(labels, path=TWICE)
        if large:
            continue
        yield model, "labels, smoothing", replace(labels, inputs=dict(labels.inputs) | {"smoothing": 0.1})
        yield model, "smoothing", replace(start, inputs=inputs | {"smoothing": 0.1})
        yield model, "narrow", replace(start, width=32)
        yield model, "wide", replace(start, width=256)
        yield model, "decay", replace(start, weight_decay=0.5)
        yield model, "slow", replace(start, lr=1e-3)
        yield model, "more dropout", replace(start, options=dict(start.options) | {"dropout": 0.5})
        if dataset in SMALL:
            yield model, "overlaps of hyperedges", replace(start, path=OVERLAPS)
            told = inputs | {"smoothing": 0.1, "identities": True}
            yield model, "smoothing, hyperedges told apart", replace(start, inputs=told)


def drawn(dataset: str, first: int, stop: int) -> Iterator[tuple[str, str, Settings]]:
    """The table's settings of EHNN-MLP+, and draws part by part; a draw depends on dataset and i alone."""
    noisy = dataset.startswith(("house", "walmart"))
    yield "ehnn-mlp+", "as in the table", settings_of("ehnn-mlp+", dataset)
    for i in range(first, stop):
        pick = random.Random(f"{dataset} {i}").choice
        inputs: dict[str, Any] = (
            {"gate": pick((4.0, 8.0, 12.0, 16.0))} if noisy else {"standardise": pick((True, True, False))}
        )
        more = {"smoothing": pick((0.0, 0.1, 0.2, 0.3)), "hidden": pick((0.0, 0.0, 0.2, 0.5))}
        more |= {"diffused": pick((0, 0, 1, 2))}
        settings = recipe(
            pick((16, 32, 64) if dataset.startswith("house") else (64, 128, 256, 512)),
            inputs | {name: value for name, value in more.items() if value},
            lr=pick((5e-4, 1e-3, 3e-3)),
            weight_decay=pick((0.01, 0.1, 0.5)),
            options={"dropout": pick((0.0, 0.2, 0.4)), "global_interaction": pick((True, False))},
        )
        yield (
            "ehnn-mlp+",
            f"draw {i}",
            replace(
                settings,
                dropout=pick((0.2, 0.5, 0.7)),
                input_dropout=pick((0.0, 0.2, 0.4)),
                stack={"residual": pick((True, False))},
                train=dict(settings.train) | {"ema": pick((0.98, 0.995))},
            ),
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="*", default=list(SMALL), metavar="dataset")
    parser.add_argument("--models", nargs="+", choices=list(OPTIONS), default=list(OPTIONS))
    parser.add_argument("--only", nargs="+", default=None, metavar="NAME", help="these candidates only")
    parser.add_argument("--draws", nargs=2, type=int, default=None, metavar=("A", "B"), help="at random")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="of the splits")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tf32", action="store_true", help="TF32 products of matrices on a GPU")
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--out", type=Path, default=Path("runs/nodes-recipe.json"))
    given = parser.parse_args()
    if given.tf32:
        torch.set_float32_matmul_precision("high")
    for dataset in given.datasets:
        h = datasets.load(dataset, given.data_dir)
        tried = candidates(dataset) if given.draws is None else drawn(dataset, *given.draws)
        for model, name, settings in tried:
            if model in given.models and (given.only is None or name in given.only):
                try_one(h, dataset, model, name, settings, given)
        show(read(given.out), dataset)


def try_one(h: Any, dataset: str, model: str, name: str, settings: Settings, given: Any) -> None:
    """Train a candidate unless the file has it, and add it to the file."""
    protocol = {"runs": given.runs, "epochs": given.epochs, "tf32": given.tf32}
    if given.first_seed != FIRST_SEED:
        protocol["first_seed"] = given.first_seed
    key = {"dataset": dataset, "model": model, "name": name, "settings": settings.to_dict()} | protocol
    key = json.loads(json.dumps(key))  # tuples become lists, as in the file
    if key in ({k: row.get(k) for k in key} for row in read(given.out)):
        return
    start = time.monotonic()
    try:
        found = compare(
            h, model, settings, runs=given.runs, epochs=given.epochs, device=given.device,
            first_seed=given.first_seed,
        )  # fmt: skip
    except (NotFiniteError, torch.OutOfMemoryError) as error:
        print(f"{dataset}, {model}, {name}: {error}", file=sys.stderr)
        return
    row = key | found | {"seconds": time.monotonic() - start}
    print(f"{dataset}, {model}, {name}: {found['held_out']:.2f} in {row['seconds']:.0f} s", flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [*read(given.out), row]
    with atomic_write(given.out) as file:
        json.dump(rows, file, indent=1)


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of the file; none if it is not there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def show(rows: list[dict[str, Any]], dataset: str) -> None:
    """The candidates of a dataset, the best first."""
    mine = sorted((r for r in rows if r["dataset"] == dataset), key=lambda r: -r["held_out"])
    print(f"\n{dataset}: validation accuracy, %, of the half that did not choose the epoch")
    for row in mine:
        print(f"  {row['held_out']:6.2f}  {row['model']:18s} {row['name']} ({row['runs']} runs)")
    print(flush=True)


if __name__ == "__main__":
    main()
