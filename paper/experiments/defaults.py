"""The estimators as they come against simple answers and networks, on every labelled set, five splits each.

    python paper/experiments/defaults.py --data-dir DATA --datasets zoo cora-cocitation
    python paper/experiments/defaults.py --data-dir DATA --jobs 8 --device cuda --seconds 550
    python paper/experiments/defaults.py --data-dir DATA --datasets unseen

Each split has half of the labelled rows for training, a quarter for validation and a quarter for the test.
``default`` is `NodeClassifier()` (or its kin) with nothing set; it gets labels of training and validation.
So does each of the others after a search of three settings on the validation rows: penalties of logistic
regression (``lr-…``), which is then fitted on both; learning rates and dropouts of networks (``hgnn``,
``all-set-transformer``), which choose the epoch on the validation third of the labels they get.

``unseen`` are the sets of `defaults_unseen.py`, which are not in the data folder.

- ``majority``: the commonest class.
- ``lr-features``; ``lr-degrees``: degrees and orders, or sizes of hypergraphs.
- ``vote``: the commonest known label among co-members; of incidences, of the node in other hyperedges.
- ``lr-features-vote``: features, degrees and votes; of ``…-partly`` also labels of the same hyperedge.
- ``search-30``: the best of 30 random points (model, width, dropout, learning rate, weight decay) of what
  ``ehnn tune`` searches; epochs are chosen as those of the networks.

Finished cells are kept in ``--out``, one file each with its commit and machine, and never computed again;
quick cells come first, and at ``--seconds`` the script stops and can be called again. A search goes on after
its last finished trial; its seconds are then those of the last call. The table goes to
``results/defaults.json`` and ``.csv``: accuracy and macro-F1 in percent. Each row of ``default`` has in its
``settings`` the margin to the best of the others on the splits that both have, in points, and whether it
holds: it is at least minus one standard error (the larger one of the two means). The margin to ``search-30``
is beside it.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import defaults_data as sets
import defaults_unseen as unseen
from defaults_models import default, figures, network, search, simple

from ehnn._utils.atomic import atomic_write
from ehnn_paper.results import fuller, origin, provenance, read_rows, write_rows

Array = np.ndarray
MODELS = (
    "default",
    "majority",
    "lr-features",
    "lr-degrees",
    "vote",
    "lr-features-vote",
    "hgnn",
    "all-set-transformer",
    "search-30",
)
EARLIER = "default-earlier"
"""The folder of cells of ``default`` at an earlier commit: they are shown, and never computed."""
OWN = ("default", EARLIER)
NETWORKS = ("hgnn", "all-set-transformer")
SEARCH = "search-30"
"""It has a verdict of its own: the default is to be within a point."""
COSTS = {"default": (20, 4e-4), "hgnn": (2, 6e-4), "all-set-transformer": (4, 2e-3), SEARCH: (60, 2e-2)}
"""Seconds of a cell, roughly: in any case, and for each incidence. The others take (0, 5·10⁻⁵)."""
_CHOSEN = (
    "zoo", "house", "cora-cocitation", "contact-primary-school", "mag-10", "stack-biology", "imdb-wri-form",
    "imdb-wri-genre", "imdb-wri-genre-m", "outsider-cora", "karate", "davis", "iris-near", "iris-bins",
    "breast_cancer-near", "breast_cancer-bins", "wine-few", "tiny", "noise", "huge-class", "structure-idle",
    "miserables", "wine-near", "wine-bins", "digits-few", "features-idle", "iAF692", "iHN637", "iAB_RBC_283",
    "mushroom", "stack-biology-partly", "outsider-cora-partly", "house-1", "twitch",
)  # fmt: skip
"""Sets that were looked at while the portfolio was made; the others confirm it."""


@dataclass(frozen=True)
class Cell:
    """One model on one split."""

    dataset: str
    model: str
    seed: int

    def path(self, out: Path) -> Path:
        return out / self.dataset / self.model / f"split-{self.seed}.json"


# ---------------------------------------------------------------------- cells


def attempt(given: tuple[Cell, str, str, str, int]) -> str:
    """`compute`; a cell that fails is shown, and tried again in the next call."""
    try:
        return compute(*given)
    except Exception as error:
        cell = given[0]
        return f"FAILED {cell.dataset} {cell.model} {cell.seed}: {type(error).__name__}: {error}"


def compute(cell: Cell, data_dir: str, device: str, out: str, threads: int) -> str:
    """Compute a cell and keep its figures; returns a line to show."""
    torch.set_num_threads(threads)
    threadpool_limits(threads)
    data = sets.load(cell.dataset, data_dir)
    train, valid, test = sets.split(data, cell.seed)
    path = cell.path(Path(out))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".npz")
    start, used = time.monotonic(), time.process_time()
    if cell.model == "default":
        scores: Any = default(data, train, valid, cell.seed, device)
    elif cell.model in NETWORKS:
        scores = network(cell.model, data, train, valid, cell.seed, device, part)
    elif cell.model == SEARCH:
        scores = search(data, train, valid, cell.seed, device, part)
    else:
        scores = simple(cell.model, data, train, valid)
    found: dict[str, Any] = {
        "seconds": time.monotonic() - start,
        "processor": time.process_time() - used,
        "rows": len(data.y),
        "incidences": data.size,
        **origin(),
    }
    found |= {} if scores is None else figures(data.y[test], scores[test])
    with atomic_write(path) as file:
        json.dump(found, file)
    accuracy = found.get("accuracy", math.nan)
    return f"{cell.dataset} {cell.model} {cell.seed}: {accuracy:.4f}, {found['seconds']:.0f} s"


def applies(dataset: str, model: str) -> bool:
    """Whether a model is for the task of a set."""
    if dataset in (*sets.ROLES, *sets.PARTLY):
        return model not in (*NETWORKS, SEARCH)  # they give rows of nodes
    return not (dataset in sets.GRAPHS and model in ("vote", "lr-features", "lr-features-vote"))


def wanted(given: argparse.Namespace) -> list[Cell]:
    """Cells that are not finished, those that take little time first."""
    cells = [
        Cell(d, m, s)
        for d in given.datasets
        for m in given.models
        for s in range(given.splits)
        if applies(d, m)
    ]
    size = {d: sets.load(d, given.data_dir).size for d in given.datasets}

    def cost(cell: Cell) -> float:
        first, each = COSTS.get(cell.model, (0, 5e-5))
        return first + each * size[cell.dataset]

    cells.sort(key=cost)
    return [c for c in cells if not c.path(given.out).exists()]


def run(given: argparse.Namespace) -> int:
    """Compute what is missing until the time is over; returns how many cells are left."""
    started = time.monotonic()
    cells = wanted(given)
    todo = [(c, given.data_dir, given.device, str(given.out), given.threads) for c in cells]
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        lines, done = pool.imap_unordered(attempt, todo), 0
        while done < len(todo):
            try:
                print(lines.next(timeout=max(0.1, given.seconds - (time.monotonic() - started))), flush=True)
                done += 1
            except multiprocessing.TimeoutError:
                pool.terminate()
                break
    return len(todo) - done


# ---------------------------------------------------------------------- the table


def kept_cells(given: argparse.Namespace, dataset: str, model: str) -> dict[int, dict[str, Any]]:
    """The finished cells of a model that has figures, by split."""
    paths = {seed: Cell(dataset, model, seed).path(given.out) for seed in range(given.splits)}
    found = {seed: json.loads(path.read_text()) for seed, path in paths.items() if path.exists()}
    return {seed: cell for seed, cell in found.items() if "accuracy" in cell}


def _told(dataset: str, found: dict[str, dict[str, Any]], there: list[str]) -> dict[str, Any]:
    """What the settings of a row have of the margins to other models."""
    searched = found.pop(SEARCH, {})
    kept = {f"search_{k}": v for k, v in searched.items()}
    kept |= {"missing": [m for m in MODELS if m not in (*there, "default") and applies(dataset, m)]}
    if not found:
        return kept
    worst = min(found, key=lambda model: found[model]["margin"])
    told = found[worst]
    holds = told["margin"] >= -told["standard_error"] - 1e-9
    return {"best_other": worst, **told, "holds": holds, **kept}


def judged(given: argparse.Namespace, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of defaults on the asked sets, with their margins to all others on common splits."""
    there = {(r["setting"], r["model"], r["metric"]): r for r in rows if r["setting"] in given.datasets}
    found = []
    for (dataset, model, metric), row in there.items():
        if model not in OWN or metric == "seconds":
            continue
        others = [m for m in MODELS if m not in OWN and (dataset, m, metric) in there]
        ours = kept_cells(given, dataset, model)
        margins = {
            other: _margin(
                (row, ours), (there[dataset, other, metric], kept_cells(given, dataset, other)), metric
            )
            for other in others
        }
        margins = {other: margin for other, margin in margins.items() if margin}
        chosen_on = {"chosen_on": dataset in _CHOSEN}
        values = {k: v for k, v in row["settings"].items() if k == "by_split"}
        found.append(row | {"settings": chosen_on | values | _told(dataset, margins, others)})
    return found


Kept = tuple[dict[str, Any], dict[int, dict[str, Any]]]
"""A row, and those of its cells that are here."""


def _margin(ours: Kept, theirs: Kept, metric: str) -> dict[str, Any]:
    """The mean difference in points, the larger standard error of the two means, and the splits.

    Nothing where cells are missing that a part of the splits of a row needs.
    """
    both = sorted(set(ours[0]["seeds"]) & set(theirs[0]["seeds"]))
    mine, other = (_mean_of(kept, both, metric) if both else None for kept in (ours, theirs))
    if mine is None or other is None:
        return {}
    (mean, error), (other_mean, other_error) = mine, other
    return {"margin": mean - other_mean, "standard_error": max(error, other_error), "splits": len(both)}


def _mean_of(kept: Kept, seeds: list[int], metric: str) -> tuple[float, float] | None:
    """Mean and standard error over these splits, from the row, from cells, or of the whole row."""
    row, cells = kept
    by_split = dict(zip(row["seeds"], row["settings"].get("by_split", ()), strict=False))
    by_split = by_split or {s: 100 * cell[metric] for s, cell in cells.items()}
    if set(seeds) <= by_split.keys():
        values = np.array([by_split[s] for s in seeds])
        return float(values.mean()), _error(values)
    if sorted(row["seeds"]) != seeds:
        return None
    return row["mean"], (row["std"] or 0.0) / math.sqrt(row["runs"])


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def rows_of(given: argparse.Namespace, command: str) -> list[dict[str, Any]]:
    """A row for each set, model and metric, but for those that the table has with more splits."""
    table = []
    there = read_rows("defaults", given.results)
    for dataset in given.datasets:
        every = {model: kept_cells(given, dataset, model) for model in (*MODELS, EARLIER)}
        every = {model: cells for model, cells in every.items() if cells}
        for model, cells in every.items():
            for metric in ("accuracy", "macro_f1", "seconds"):
                values = np.array([(1 if metric == "seconds" else 100) * c[metric] for c in cells.values()])
                settings = {"chosen_on": dataset in _CHOSEN, "by_split": [round(v, 4) for v in values]}
                row = {
                    "setting": dataset, "model": model, "metric": metric, "selection": "validation",
                    "mean": float(values.mean()), "runs": len(values), "paper": None,
                    "std": float(values.std(ddof=1)) if len(values) > 1 else None,
                    **provenance(command, seeds=list(cells), settings=settings, runs=cells.values()),
                }  # fmt: skip
                table += [] if fuller({"experiment": "defaults"} | row, there) else [row]
    return table


def show(table: list[dict[str, Any]]) -> None:
    for row in table:
        told = row["settings"]
        if "margin" in told:
            margin = f"{told['margin']:+6.2f} ± {told['standard_error']:.2f} to {told['best_other']}"
            figure = f"{row['mean']:6.2f} in {row['runs']} splits"
            searched = f"{told['search_margin']:+6.2f} to the search" if "search_margin" in told else ""
            below = "" if told["holds"] else "BELOW"
            print(f"{row['setting']:24} {row['metric']:9} {figure}  {margin:36} {searched:22} {below}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", required=True)
    every = [*sets.names(), *unseen.SETS]
    parser.add_argument("--datasets", nargs="+", default=sets.names(), choices=[*every, "unseen"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of each job")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="stop then, to be called again; 0: only the table"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/defaults"))
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args()
    given.seconds = min(given.seconds, 1e7)
    if given.datasets == ["unseen"]:
        given.datasets = list(unseen.SETS)
    left = run(given) if given.seconds > 0 else len(wanted(given))
    words = [w for w, before in zip(sys.argv[1:], sys.argv, strict=False) if "--seconds" not in (w, before)]
    words = ["DATA" if before == "--data-dir" else w for before, w in zip(["", *words], words, strict=False)]
    table = rows_of(given, " ".join(["python paper/experiments/defaults.py", *words]))
    write_rows("defaults", table, given.results)
    told = judged(given, read_rows("defaults", given.results))
    write_rows("defaults", told, given.results)
    show(told)
    print(f"{left} cells are left" if left else "all cells are done")


if __name__ == "__main__":
    main()
