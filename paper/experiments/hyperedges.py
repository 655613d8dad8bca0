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
``hyperedge-predictor-auto`` is `ehnn.HyperedgePredictor()` as it comes, ``hyperedge-predictor`` its network
alone (``model="ehnn-mlp"``). Neither has a choice among settings.

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
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from ehnn._utils.atomic import atomic_write
from ehnn.tasks.hyperedges.split import MIN_ORDER, set_numbers
from ehnn_paper.hyperedges.data import DATASETS, MOST_ACTIVE, PART, digest_of, load
from ehnn_paper.hyperedges.models import ESTIMATORS, HEURISTICS, TRAINED, Cell, choices, compute
from ehnn_paper.results import origin, provenance, summary, write_rows


def cells(given: argparse.Namespace, dataset: str) -> Iterator[Cell]:
    """Everything that is asked for of a dataset."""
    for seed, model in product(given.seeds, (*HEURISTICS, *given.models)):
        several = range(len(choices(dataset))) if given.choices is None else given.choices
        for choice in several if model in TRAINED else (0,):
            part = given.hyperedges or PART.get(dataset)
            yield Cell(
                dataset, part, model, choice, seed, given.candidates, given.epochs, given.smallest,
                digest_of(dataset, given.data_dir),
            )  # fmt: skip


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

    None where there is nothing, or something of other candidates, epochs or data.
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
    parser.add_argument(
        "--models", nargs="*", choices=(*ESTIMATORS, *TRAINED), default=[*ESTIMATORS, *TRAINED[2:]]
    )
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
    todo.sort(key=lambda cell: (cell.model not in ESTIMATORS, cell.model in HEURISTICS))  # the longest first
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
