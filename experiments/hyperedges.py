"""Hyperedge prediction: candidates scored by their overlaps, against pooled node embeddings and heuristics.

    python experiments/hyperedges.py house-committees cora-coauthorship congress-bills --seeds 5

For each seed: 80 % of the distinct hyperedges are known, 20 % are to be found (at most ``--candidates``).
Each has a negative of its own size of each kind (uniform, by degree, hard), and ten hard ones for the MRR.
Negatives are no hyperedges at all, known or not. Models learn from the known hyperedges alone and select
their epoch, and one of the learning rates ``--lr``, on a tenth of these (`HyperedgePredictor`); node features
are used where the dataset has its own (Cora).
``--hyperedges`` takes a random part of a dataset with more distinct ones; the setting's name then says so.
Rows go to ``results/hyperedges.json`` and ``.csv``, one seed after another is printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import ehnn
from ehnn import datasets
from ehnn.results import provenance, write_rows
from ehnn.tasks.hyperedges import (
    SAMPLERS,
    answers_of,
    auroc,
    average_precision,
    co_membership,
    common_neighbours,
    concatenate,
    keep_edges,
    mean_reciprocal_rank,
    one_of_each,
    sample_negatives,
    set_numbers,
    split_hyperedges,
)

Score = Callable[[ehnn.Hypergraph], torch.Tensor]
DATASETS = {  # the name here, and the dataset whose hyperedges it has
    "house-committees": "house-1",
    "congress-bills": "congress-bills",
    "cora-coauthorship": "cora-coauthorship",
    "threads-math-sx": "threads-math-sx",
}
HEURISTICS = {"common-neighbours": common_neighbours, "co-membership": co_membership}
MODELS = ("ehnn-mlp", "ehnn-transformer", "all-deep-sets", "all-set-transformer")
RANKED = 10


def load(name: str, data_dir: str | None) -> ehnn.Hypergraph:
    """The hyperedges; node features where they are the dataset's own (House's are made of the labels)."""
    h = datasets.load(DATASETS[name], data_dir)
    return h.replace(y=None, x=h.x if name.startswith("cora") else None)


def part_of(h: ehnn.Hypergraph, hyperedges: int | None, seed: int) -> ehnn.Hypergraph:
    """At most so many distinct hyperedges of at least 2 nodes, at random, with all nodes."""
    number, sets = set_numbers(h)
    if hyperedges is None or len(sets) <= hyperedges:
        return h
    generator = torch.Generator().manual_seed(seed)
    chosen = sets[torch.randperm(len(sets), generator=generator)[:hyperedges]]
    return one_of_each(h, number, chosen).replace(x=h.x)


def scorers(known: ehnn.Hypergraph, models: list[str], seed: int, given: argparse.Namespace) -> Iterator:
    """(name, score of candidates, seconds to fit) of each heuristic and model."""
    for name, heuristic in HEURISTICS.items():
        yield name, partial(heuristic, known), 0.0
    for name in models:
        start = time.monotonic()
        make = partial(
            ehnn.HyperedgePredictor, model=name, random_state=seed, epochs=given.epochs, device=given.device
        )
        tried = [make(lr=lr).fit(known) for lr in given.lr]
        best = max(tried, key=lambda m: m.history_[m.best_epoch_ - 1]["valid"])
        yield name, partial(scored, best), time.monotonic() - start


def scored(model: ehnn.HyperedgePredictor, candidates: ehnn.Hypergraph) -> torch.Tensor:
    """The scores of a fitted model."""
    return torch.from_numpy(model.decision_function(candidates))


def measure(score: Score, test: ehnn.Hypergraph, negatives: dict[str, ehnn.Hypergraph]) -> dict[str, float]:
    """Metrics in percent: AUROC and AP against each kind of negative, MRR among ten hard ones."""
    positive = score(test)
    found = {}
    for kind in SAMPLERS:
        scores, answers = torch.cat([positive, score(negatives[kind])]), answers_of(test, negatives[kind])
        found[f"auroc-{kind}"] = 100 * auroc(scores, answers)
        found[f"ap-{kind}"] = 100 * average_precision(scores, answers)
    ranked = score(negatives["ranked"]).reshape(RANKED, -1).T
    return found | {"mrr-hard": 100 * mean_reciprocal_rank(positive, ranked)}


def run(h: ehnn.Hypergraph, seed: int, given: argparse.Namespace) -> Iterator[tuple[str, dict[str, float]]]:
    """The metrics of every scorer on the split of one seed."""
    split = split_hyperedges(h, (0.8, 0.0, 0.2), seed)
    test = keep_edges(split.test, torch.arange(split.test.num_edges) < given.candidates)
    draw = partial(sample_negatives, split.known, test, avoid=h)
    negatives = {kind: draw(kind, seed=seed) for kind in SAMPLERS}
    ranked = [draw("hard", seed=1000 * (seed + 1) + i) for i in range(RANKED)]
    negatives["ranked"] = ranked[0]
    for more in ranked[1:]:
        negatives["ranked"] = concatenate(negatives["ranked"], more)
    for name, score, seconds in scorers(split.known, given.models, seed, given):
        yield name, measure(score, test, negatives) | {"seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "datasets", nargs="+", choices=list(DATASETS), metavar="dataset", help=", ".join(DATASETS)
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument(
        "--lr", type=float, nargs="+", default=[1e-3, 3e-3], help="learning rates to choose from"
    )
    parser.add_argument("--candidates", type=int, default=500, help="most held-out hyperedges to score")
    parser.add_argument("--hyperedges", type=int, help="most distinct hyperedges to take of a dataset")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data-dir")
    parser.add_argument("--results", default="results", help="folder of the table")
    given = parser.parse_args()
    # A path of this machine says nothing to a reader of the table.
    shown = [a for i, a in enumerate(sys.argv[1:], 1) if "--data-dir" not in (a, sys.argv[i - 1])]
    command = " ".join(["python experiments/hyperedges.py", *shown])
    for dataset in given.datasets:
        whole = load(dataset, given.data_dir)
        found: dict[str, list[dict[str, float]]] = {}
        for seed in range(given.seeds):
            h = part_of(whole, given.hyperedges, seed)
            for name, metrics in run(h, seed, given):
                found.setdefault(name, []).append(metrics)
                text = "  ".join(f"{k} {v:.1f}" for k, v in metrics.items())
                print(f"{dataset}, seed {seed}, {name:<20} {text}", flush=True)
        reduced = len(set_numbers(whole)[1]) > (given.hyperedges or float("inf"))
        setting = f"{dataset}, {given.hyperedges} hyperedges" if reduced else dataset
        write_rows("hyperedges", list(rows(setting, found, command)), given.results)


def rows(setting: str, found: dict[str, list[dict[str, float]]], command: str) -> Iterator[dict]:
    """A row for each model and metric."""
    about = provenance(command)
    for name, runs in found.items():
        for metric in runs[0]:
            values = [r[metric] for r in runs]
            if metric == "seconds" and name in HEURISTICS:
                continue
            trained = name not in HEURISTICS and metric != "seconds"
            yield {
                "setting": setting, "model": name, "selection": "validation" if trained else "none",
                "metric": metric, "mean": statistics.mean(values), "std": statistics.pstdev(values),
                "runs": len(values), "paper": None, **about,
            }  # fmt: skip


if __name__ == "__main__":
    main()
