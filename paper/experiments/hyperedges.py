"""Hyperedge prediction: candidates scored by their overlaps, against pooled node embeddings and heuristics.

    python paper/experiments/hyperedges.py --datasets house-committees cora-coauthorship
    python paper/experiments/hyperedges.py --device cuda --jobs 8

For each seed: 80 % of the distinct hyperedges are known, 20 % are to be found (at most ``--candidates``).
Each has a negative of its own size of each kind (uniform, by degree, hard: half of the nodes exchanged, and
AHP's motif and clique), and ten hard ones for the MRR.
Negatives are no hyperedges at all, known or not. ``size`` and ``mean-degree`` say what sizes and degrees
alone tell; sizes are at chance by construction. ``--models`` without a name computes what needs no training.

Every trained model reads the same node features (given ones where the dataset has its own, structural ones,
sketches) and the same folds, has the same choice of settings, `choices`, and scores a set by what it pools,
by products of pairs of its nodes and by `ehnn.tasks.hyperedges.affinity`. Epoch and setting are chosen on a
tenth of the known hyperedges (at most 1024), for each seed by itself.
``hyperedge-predictor`` is `ehnn.HyperedgePredictor(model="ehnn-mlp")`, with no choice but of the epoch.

Of threads-math-sx it takes the hyperedges among the 2000 most active nodes (a random part of all would
hardly overlap), of congress-bills a random 10000 of 83105, because a candidate there meets a few thousand
of all hyperedges, 50 million pairs in a training. ``--hyperedges`` takes a random part of any dataset with
more distinct ones, ``--smallest 1`` also hides hyperedges of one node. The name of the setting says so.

One cell is one model, setting of the grid, dataset and seed. Finished cells are kept in ``--out`` and never
computed again; ``--jobs`` cells are computed at once. ``--choices`` takes a part of the settings: 3 is that
of ``hyperedge-predictor``. The table of all asked-for cells goes to
``results/hyperedges.json`` and ``.csv``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import ehnn
from ehnn import datasets
from ehnn._utils.atomic import atomic_write
from ehnn.tasks.hyperedges import (
    CONNECTED,
    SAMPLERS,
    auroc,
    average_precision,
    co_membership,
    common_neighbours,
    mean_reciprocal_rank,
    sample_negatives,
    split_hyperedges,
)
from ehnn.tasks.hyperedges.affinity import RANKS, Affinity
from ehnn.tasks.hyperedges.evidence import EVIDENCE, evidence
from ehnn.tasks.hyperedges.scoring import answers_of, concatenate
from ehnn.tasks.hyperedges.sets import among_most_active, keep_edges
from ehnn.tasks.hyperedges.split import MIN_ORDER, one_of_each, set_numbers
from ehnn_paper.results import origin, provenance, summary, write_rows

DATASETS = {  # the name here, and the dataset whose hyperedges it has; those that take longest first
    "congress-bills": "congress-bills",
    "threads-math-sx": "threads-math-sx",
    "house-committees": "house-1",
    "cora-coauthorship": "cora-coauthorship",
}
GIVEN = ("cora-coauthorship",)  # node features of its own; House's are made of the labels
MOST_ACTIVE = {"threads-math-sx": 2000}
PART = {"congress-bills": 10000}  # distinct hyperedges, at random


def affinity(known: ehnn.Hypergraph, candidates: ehnn.Hypergraph) -> torch.Tensor:
    """How much more often its nodes meet than degrees say, by the 16 strongest patterns."""
    return Affinity.of(known)(candidates)[:, RANKS.index(16)].double()


def mean_degree(known: ehnn.Hypergraph, candidates: ehnn.Hypergraph) -> torch.Tensor:
    """What degrees alone tell: the mean of log(1 + degree) over the nodes of a candidate."""
    return evidence(known, candidates)[:, EVIDENCE.index("mean degree")]


def size(known: ehnn.Hypergraph, candidates: ehnn.Hypergraph) -> torch.Tensor:
    """What sizes alone tell: nothing, where every negative is as large as its real hyperedge."""
    return candidates.orders.double()


HEURISTICS = {
    "size": size,
    "mean-degree": mean_degree,
    "common-neighbours": common_neighbours,
    "co-membership": co_membership,
    "affinity": affinity,
}
TRAINED = ("ehnn-mlp", "ehnn-transformer", "all-deep-sets", "all-set-transformer")
DEFAULT = "hyperedge-predictor"
GRID = [{"lr": lr, "dropout": dropout} for lr, dropout in product((1e-3, 3e-3), (0.0, 0.3))]
WITHOUT_GIVEN = [setting | {"features": "structural"} for setting in GRID]
RANKED = 10
KINDS = (*SAMPLERS, *CONNECTED)


@dataclass(frozen=True)
class Cell:
    """One model with one setting on one split; ``choice`` numbers it among the dataset's `choices`."""

    dataset: str
    hyperedges: int | None
    model: str
    choice: int
    seed: int
    candidates: int
    epochs: int | None
    smallest: int

    def path(self, out: Path) -> Path:
        """Where its figures are kept."""
        part = f"-{self.hyperedges}" if self.hyperedges else ""
        part += f"-from-{self.smallest}" if self.smallest != MIN_ORDER else ""
        tried = f"-{self.choice}" if self.model in TRAINED else ""
        return out / f"{self.dataset}{part}" / f"{self.model}{tried}-seed-{self.seed}.json"


@cache
def load(name: str, data_dir: str | None) -> ehnn.Hypergraph:
    """The hyperedges, and the node features of the dataset's own."""
    h = datasets.load(DATASETS[name], data_dir)
    h = h.replace(y=None, x=h.x if name in GIVEN else None)
    return among_most_active(h, MOST_ACTIVE[name]) if name in MOST_ACTIVE else h


def part_of(h: ehnn.Hypergraph, hyperedges: int | None, seed: int, smallest: int) -> ehnn.Hypergraph:
    """At most so many distinct hyperedges of at least ``smallest`` nodes, at random, with all nodes."""
    number, sets = set_numbers(h, smallest)
    if hyperedges is None or len(sets) <= hyperedges:
        return h
    generator = torch.Generator().manual_seed(seed)
    chosen = sets[torch.randperm(len(sets), generator=generator)[:hyperedges]]
    return one_of_each(h, number, chosen).replace(x=h.x)


@cache
def problem(
    dataset: str, hyperedges: int | None, seed: int, candidates: int, smallest: int, data_dir: str | None
) -> tuple[ehnn.Hypergraph, list[ehnn.Hypergraph]]:
    """What is known, and what is to be scored: true hyperedges, negatives of each kind, ten hard ones."""
    h = part_of(load(dataset, data_dir), hyperedges, seed, smallest)
    split = split_hyperedges(h, (0.8, 0.0, 0.2), seed, smallest)
    test = keep_edges(split.test, torch.arange(split.test.num_edges) < candidates)
    wanted = [(kind, seed) for kind in KINDS] + [("hard", 1000 * (seed + 1) + i) for i in range(RANKED)]
    drawn = [sample_negatives(split.known, test, kind, seed=s, avoid=h) for kind, s in wanted]
    return split.known, [test, *drawn]


def compute(cell: Cell, device: str, data_dir: str | None) -> dict[str, Any]:
    """Metrics in percent on what was held out, the validation metric, and seconds to fit."""
    asked = (cell.dataset, cell.hyperedges, cell.seed, cell.candidates, cell.smallest)
    known, parts = problem(*asked, data_dir)
    everything = parts[0]
    for part in parts[1:]:
        everything = concatenate(everything, part)
    if cell.model in HEURISTICS:
        return measure(HEURISTICS[cell.model](known, everything), parts[0])
    start = time.monotonic()
    given: dict[str, Any] = {"random_state": cell.seed, "device": device}
    given |= {"epochs": cell.epochs} if cell.epochs else {}
    chosen = {} if cell.model == DEFAULT else choices(cell.dataset)[cell.choice]
    given |= {"model": "ehnn-mlp" if cell.model == DEFAULT else cell.model, **chosen}
    model = ehnn.HyperedgePredictor(**given).fit(known)
    shown = {"seconds": time.monotonic() - start, "valid": model.history_[model.best_epoch_ - 1]["valid"]}
    return shown | measure(torch.from_numpy(model.decision_function(everything)), parts[0])


def measure(scores: torch.Tensor, test: ehnn.Hypergraph) -> dict[str, float]:
    """AUROC and AP against each kind of negative, MRR among ten hard ones."""
    positive, *negative = scores.reshape(1 + len(KINDS) + RANKED, -1)
    found = {}
    for kind, wrong in zip(KINDS, negative, strict=False):
        both, answers = torch.cat([positive, wrong]), answers_of(test, test)
        found[f"auroc-{kind}"] = 100 * auroc(both, answers)
        found[f"ap-{kind}"] = 100 * average_precision(both, answers)
    return found | {"mrr-hard": 100 * mean_reciprocal_rank(positive, torch.stack(negative[-RANKED:], 1))}


def choices(dataset: str) -> list[dict[str, Any]]:
    """The settings that each trained model has; features of the dataset's own can be left aside."""
    return GRID + WITHOUT_GIVEN if dataset in GIVEN else GRID


def cells(given: argparse.Namespace, dataset: str) -> Iterator[Cell]:
    """Everything that is asked for of a dataset."""
    for seed, model in product(given.seeds, (*HEURISTICS, *given.models)):
        several = range(len(choices(dataset))) if given.choices is None else given.choices
        for choice in several if model in TRAINED else (0,):
            part = given.hyperedges or PART.get(dataset)
            yield Cell(dataset, part, model, choice, seed, given.candidates, given.epochs, given.smallest)


def finish(cell: Cell, device: str, data_dir: str | None, out: Path) -> str:
    """Compute a cell and keep it; returns a line to show."""
    torch.set_num_threads(1)
    found = compute(cell, device, data_dir)
    path = cell.path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        json.dump(asdict(cell) | {"found": found, "origin": origin()}, file)
    valid = f"valid {found['valid']:.2f}, {found['seconds']:.0f} s" if "valid" in found else "no training"
    return f"{path.relative_to(out)}: {valid}"


def read(cell: Cell, out: Path) -> dict[str, Any] | None:
    """What was kept of a finished cell, its figures as ``found``.

    None where there is nothing, or something of other candidates or epochs.
    """
    try:
        kept = json.loads(cell.path(out).read_text())
    except OSError:
        return None
    found, made = kept.pop("found"), kept.pop("origin", {})
    return {"found": found, "seed": cell.seed, **made} if kept == asdict(cell) else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--models", nargs="*", choices=(DEFAULT, *TRAINED), default=[DEFAULT, *TRAINED[2:]])
    parser.add_argument("--choices", type=int, nargs="+", help="settings to try, by number; all by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[200, 201, 202, 203, 204])
    parser.add_argument("--epochs", type=int, help="in place of the estimator's own number")
    parser.add_argument("--candidates", type=int, default=500, help="most held-out hyperedges to score")
    parser.add_argument("--hyperedges", type=int, help="most distinct hyperedges to take of a dataset")
    parser.add_argument("--smallest", type=int, default=MIN_ORDER, help="nodes of a hyperedge to be found")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--jobs", type=int, default=1, help="cells at once")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("runs/hyperedges"), help="folder of finished cells")
    parser.add_argument("--results", default="results", help="folder of the table; '' writes none")
    given = parser.parse_args()
    todo = [c for d in given.datasets for c in cells(given, d) if read(c, given.out) is None]
    todo.sort(key=lambda cell: (cell.model != DEFAULT, cell.model in HEURISTICS))  # what takes longest first
    context = multiprocessing.get_context("spawn")  # a GPU cannot be shared with a forked process
    with ProcessPoolExecutor(max(1, given.jobs), mp_context=context) as pool:
        waiting = [pool.submit(finish, c, given.device, given.data_dir, given.out) for c in todo]
        for i, done in enumerate(as_completed(waiting), 1):
            print(f"[{i}/{len(todo)}] {done.result()}", flush=True)
    for dataset in given.datasets if given.results else ():
        write_rows("hyperedges", list(rows(given, dataset)), given.results)


def rows(given: argparse.Namespace, dataset: str) -> Iterator[dict[str, Any]]:
    """A row for each model and metric; each seed takes the setting of the grid that is best in validation."""
    # A path of this machine says nothing to a reader of the table.
    hidden = ("--data-dir", "--out", "--results")
    shown = [a for i, a in enumerate(sys.argv[1:], 1) if a not in hidden and sys.argv[i - 1] not in hidden]
    command = " ".join(["python paper/experiments/hyperedges.py", *shown])
    chosen: dict[tuple[str, int], dict[str, Any]] = {}
    for cell in cells(given, dataset):
        kept, best = read(cell, given.out), chosen.get((cell.model, cell.seed))
        assert kept is not None
        if best is None or kept["found"]["valid"] > best["found"]["valid"]:
            chosen[cell.model, cell.seed] = kept
    for model in (*HEURISTICS, *given.models):
        runs = [kept for (name, _), kept in chosen.items() if name == model]
        about = provenance(command, seeds=[run["seed"] for run in runs], runs=runs)
        for metric in runs[0]["found"]:
            values = [run["found"][metric] for run in runs]
            selected = model not in HEURISTICS and metric != "seconds"
            yield {
                "setting": setting(dataset, given), "model": model,
                "selection": "validation" if selected else "none", "metric": metric,
                **summary(values), "paper": None, **about,
            }  # fmt: skip


def setting(dataset: str, given: argparse.Namespace) -> str:
    """The dataset and the part of it that was taken."""
    active = f", {MOST_ACTIVE[dataset]} most active nodes" if dataset in MOST_ACTIVE else ""
    part = given.hyperedges or PART.get(dataset)
    reduced = part and len(set_numbers(load(dataset, given.data_dir), given.smallest)[1]) > part
    sizes = f", sizes from {given.smallest}" if given.smallest != MIN_ORDER else ""
    return dataset + active + (f", {part} hyperedges" if reduced else "") + sizes


if __name__ == "__main__":
    main()
