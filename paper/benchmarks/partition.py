"""Cuts of partitions: label propagation, Mt-KaHyPar and the built-in method, beside the best known cuts.

On the ISPD98 circuits: halves with unit weights, an imbalance of 2 %. On debian-packages: 2, 4 and 8 ranks by
the work of a rank, 5 %. The figure is the connectivity Σ (λ − 1); rows go to ``results/partition.json``::

    python paper/benchmarks/partition.py --data DATA
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.parallel.growing import ghosts, grow, work
from ehnn.parallel.kahypar import kahypar
from ehnn.sharding.in_memory import propagated
from ehnn.sharding.propagation import Settings
from ehnn_paper.results import provenance, write_rows

CIRCUITS = ("ibm01", "ibm05", "ibm10", "ibm14")
BEST = "best known"


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder that has netlists/ and scale/")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--names", nargs="+", default=[*CIRCUITS, "debian-packages"])
    parser.add_argument("--out", default="results")
    given = parser.parse_args(arguments)
    command = shlex.join(["python", "paper/benchmarks/partition.py", *(arguments or sys.argv[1:])])
    for name in given.names:
        for setting, found in cuts(given.data, name, range(given.seeds)).items():
            rows = []
            for method, (values, seconds) in found.items():
                spread = statistics.stdev(values) if len(values) > 1 else None
                row = {"setting": setting, "model": method, "selection": "none", "metric": "connectivity"}
                row |= {"mean": statistics.mean(values), "std": spread, "runs": len(values), "paper": None}
                seeds = list(range(len(values))) if method != BEST else None
                rows.append(row | provenance(command, seeds=seeds, settings={"seconds": round(seconds, 2)}))
                print(f"{setting}: {method}: {values}, {seconds:.1f} s", flush=True)
            write_rows("partition", rows, given.out)


def cuts(data: Path, name: str, seeds: range) -> dict[str, dict[str, Any]]:
    """Connectivity for each seed and mean seconds, by setting and method."""
    d = np.load(data / ("netlists" if name in CIRCUITS else "scale") / f"{name}.npz")
    pairs = torch.from_numpy(np.stack([d["node"], d["edge"]]).astype(np.int64))
    h = Hypergraph.from_incidence(pairs, int(d["num_nodes"]), int(d["num_edges"]))
    if name in CIRCUITS:
        best = int(d["best_cut"][list(d["epsilon"]).index(2)])
        found = {BEST: ([best], 0.0)} | measured(
            h, 2, 0.02, torch.ones(h.num_nodes, dtype=torch.int64), seeds
        )
        return {f"{name}, 2 ranks": found}
    return {f"{name}, {ranks} ranks": measured(h, ranks, 0.05, work(h), seeds) for ranks in (2, 4, 8)}


def measured(h: Hypergraph, ranks: int, imbalance: float, weight: Tensor, seeds: range) -> dict[str, Any]:
    """Every method; a partition that is too uneven is an error."""

    def spread(solver: str, seed: int) -> Tensor:
        return propagated(h, Settings(ranks, imbalance, seed, solver=solver), weight)

    methods: dict[str, tuple[Callable[[int], Tensor], range]] = {
        "Mt-KaHyPar": (lambda seed: kahypar(h, ranks, imbalance, seed, weight), seeds),
        "label propagation, Mt-KaHyPar on clusters": (partial(spread, "mtkahypar"), seeds),
        "label propagation, built-in on clusters": (partial(spread, "growing"), seeds),
        "built-in": (lambda seed: grow(h, ranks, imbalance, 8, weight), range(1)),
    }
    found = {}
    for name, (method, tried) in methods.items():
        values, start = [], time.perf_counter()
        for seed in tried:
            part = method(seed)
            load = torch.bincount(part, weights=weight.double(), minlength=ranks)
            allowed = (1 + imbalance) * float(load.mean()) + float(weight.max())
            if float(load.max()) > allowed:
                print(
                    f"{name}: the largest rank has {float(load.max() / load.mean()):.3f} of the mean",
                    flush=True,
                )
            values.append(ghosts(h.incidence, part, ranks))
        found[name] = (values, (time.perf_counter() - start) / len(tried))
    return found


if __name__ == "__main__":
    main()
