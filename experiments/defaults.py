"""The default `ehnn.NodeClassifier` against the tuned recipes of the paper, on the same splits.

    python experiments/defaults.py --datasets zoo house-1 --runs 5
    python experiments/defaults.py --choose --datasets zoo house-1

Each run has its own 50/25/25 split of the labelled nodes (seeds 0, 1, …, as in Table 2). The tuned models,
``ehnn-mlp`` and ``ehnn-transformer`` with the paper's hyperparameters for the dataset, train on the first
half and choose the epoch on the next quarter. ``node-classifier`` is `NodeClassifier()` as it comes, except
that it is told to hold out a third of the labels it gets (of training and validation nodes), so that equally
many nodes train it. All are scored on the test nodes, once.

``--choose`` compares the `CANDIDATES` for the defaults on other splits (seeds from 1000): fitted on the
training nodes, scored on the validation nodes; test nodes are not scored. Finished runs are kept in ``--out``
and never trained again. Rows go to ``results/defaults.json`` and ``.csv``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import ehnn
from ehnn import datasets
from ehnn.datasets import random_split
from ehnn.io.atomic import atomic_write
from ehnn.reproduce import nodes
from ehnn.reproduce.nodes_config import PAPER
from ehnn.results import provenance, write_rows

DATASETS = ("zoo", "20news", "mushroom", "ntu2012", "house-1", "house-0.6", "walmart-1", "walmart-0.6")
DEFAULT, TUNED = "node-classifier", ("ehnn-mlp", "ehnn-transformer")
CANDIDATES: dict[str, dict[str, Any]] = {
    f"{model}, width {width}": {"model": model, "width": width}
    for model, width in (("ehnn-mlp", 64), ("ehnn-mlp", 128), ("ehnn-transformer", 64))
}
FIRST_SEED = 1000


def scored(h: ehnn.Hypergraph, seed: int, model: ehnn.NodeClassifier, choose: bool) -> dict[str, float]:
    """Accuracy in percent on the validation nodes (``choose``) or the test nodes of a split."""
    assert h.y is not None
    train, valid, test = random_split(h.y, seed=seed)
    known, asked = (train, valid) if choose else (torch.cat([train, valid]), test)
    y = torch.full_like(h.y, -1)
    y[known] = h.y[known]
    start = time.monotonic()
    model.fit(h, y)
    seconds = time.monotonic() - start
    right = torch.from_numpy(model.predict(h))[asked] == h.y[asked]
    return {"accuracy": 100 * right.double().mean().item(), "seconds": seconds, "epoch": model.best_epoch_}


def kept(path: Path, h: ehnn.Hypergraph, seed: int, model: ehnn.NodeClassifier, choose: bool) -> dict:
    """What `scored` says, from ``path`` where it was computed before with the same parameters."""
    params = {k: v for k, v in model.get_params().items() if k not in ("device", "quiet")}
    if path.exists() and (old := json.loads(path.read_text()))["params"] == params:
        return old
    found = {"params": params} | scored(h, seed, model, choose)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        json.dump(found, file)
    return found


def default_rows(dataset: str, given: argparse.Namespace, about: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Rows of the default, or of each candidate for it."""
    h = datasets.load(dataset, given.data_dir)
    first, metric = (FIRST_SEED, "valid-accuracy") if given.choose else (0, "accuracy")
    for name, chosen in (CANDIDATES if given.choose else {DEFAULT: {}}).items():
        folder = given.out / dataset / name.replace(", ", "-").replace(" ", "-")
        runs = []
        for seed in range(first, first + given.runs):
            model = ehnn.NodeClassifier(
                random_state=seed, device=given.device, validation_fraction=1 / 3, **chosen
            )
            runs.append(kept(folder / f"seed-{seed}.json", h, seed, model, given.choose))
        yield row(dataset, name, metric, [r["accuracy"] for r in runs], None) | about
        yield row(dataset, name, "seconds", [r["seconds"] for r in runs], None) | about


def tuned_row(dataset: str, model: str, given: argparse.Namespace) -> dict[str, Any]:
    """Test accuracy of a recipe of the paper."""
    outcome = nodes.run(
        dataset, model, runs=given.runs, device=given.device, directory=given.out / "tuned",
        data_dir=given.data_dir, checkpoints=False, quiet=True,
    )  # fmt: skip
    return row(dataset, model, "accuracy", outcome.values("test"), PAPER[model][dataset][0])


def row(dataset: str, model: str, metric: str, values: list[float], paper: float | None) -> dict[str, Any]:
    """A row of the table, without its provenance."""
    mean, std = statistics.mean(values), statistics.pstdev(values)
    theirs = "" if paper is None else f"  (paper {paper})"
    print(f"{dataset:<12} {model:<28} {metric:<15} {mean:8.2f} ± {std:.2f}{theirs}", flush=True)
    return {
        "setting": dataset, "model": model, "selection": "none" if metric == "seconds" else "validation",
        "metric": metric, "mean": mean, "std": std, "runs": len(values), "paper": paper,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--models", nargs="+", choices=(DEFAULT, *TUNED), default=[DEFAULT, *TUNED])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--choose", action="store_true", help="compare candidates on validation nodes")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/defaults"), help="folder of finished runs")
    parser.add_argument("--results", default="results", help="folder of the table")
    given = parser.parse_args()
    # A path of this machine says nothing to a reader of the table.
    hidden = ("--data-dir", "--out", "--results")
    shown = [a for i, a in enumerate(sys.argv[1:], 1) if a not in hidden and sys.argv[i - 1] not in hidden]
    about = provenance(" ".join(["python experiments/defaults.py", *shown]))
    for dataset in given.datasets:
        if given.choose or DEFAULT in given.models:
            write_rows("defaults", list(default_rows(dataset, given, about)), given.results)
        for model in () if given.choose else [m for m in given.models if m in TUNED]:
            write_rows("defaults", [tuned_row(dataset, model, given) | about], given.results)


if __name__ == "__main__":
    main()
