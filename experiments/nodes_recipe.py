"""Which recipe beyond the paper suits which node classification dataset, by validation accuracy alone.

    python experiments/nodes_recipe.py --device cuda                      # Zoo, House and NTU2012
    python experiments/nodes_recipe.py 20news mushroom --device cuda
    python experiments/nodes_recipe.py walmart-1 walmart-0.6 --runs 2 --epochs 150 --device cuda --tf32

Every candidate is trained on splits that no reported run has (seeds from 1,000,000). Half of the validation
nodes choose the epoch and the other half is scored, both ways; test nodes are never scored. Candidates that
are in the file already are not trained again. The winners are the table of
``src/ehnn/reproduce/nodes_recipes.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from ehnn import datasets
from ehnn.io.atomic import atomic_write
from ehnn.reproduce.nodes_recipes import recipe
from ehnn.reproduce.nodes_search import compare
from ehnn.reproduce.nodes_settings import Settings
from ehnn.training import NotFiniteError

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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="*", default=list(SMALL), metavar="dataset")
    parser.add_argument("--models", nargs="+", choices=list(OPTIONS), default=list(OPTIONS))
    parser.add_argument("--only", nargs="+", default=None, metavar="NAME", help="these candidates only")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tf32", action="store_true", help="TF32 products of matrices on a GPU")
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--out", type=Path, default=Path("runs/nodes-recipe.json"))
    given = parser.parse_args()
    if given.tf32:
        torch.set_float32_matmul_precision("high")
    for dataset in given.datasets:
        h = datasets.load(dataset, given.data_dir)
        for model, name, settings in candidates(dataset):
            if model in given.models and (given.only is None or name in given.only):
                try_one(h, dataset, model, name, settings, given)
        show(read(given.out), dataset)


def try_one(h: Any, dataset: str, model: str, name: str, settings: Settings, given: Any) -> None:
    """Train a candidate unless the file has it, and add it to the file."""
    protocol = {"runs": given.runs, "epochs": given.epochs, "tf32": given.tf32}
    key = {"dataset": dataset, "model": model, "name": name, "settings": settings.to_dict()} | protocol
    key = json.loads(json.dumps(key))  # tuples become lists, as in the file
    if key in ({k: row.get(k) for k in key} for row in read(given.out)):
        return
    start = time.monotonic()
    try:
        found = compare(h, model, settings, runs=given.runs, epochs=given.epochs, device=given.device)
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
