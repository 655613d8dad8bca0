"""How long ``ehnn train`` takes by default, from CSV files to a saved model.

    python paper/experiments/default_times.py
    taskset -c 0,1 python paper/experiments/default_times.py

Made data: nodes of six classes with ten noisy features, and as many hyperedges of two to eight nodes, half of
them within a class (``5000``, ``30000``); ``million``: 200,000 hyperedges on 150,000 nodes, 10⁶ incidences.
Each command is a process of its own with ``--threads``, on the CPU. ``results/default-times.json`` has the
seconds on the wall, from the start of the command to its end; those of the processor; the largest memory
in GB; and the accuracy on the fifth of the labels that the command holds out, in percent.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ehnn_paper.results import provenance, write_rows

Array = np.ndarray
SIZES = {"5000": (5000, 5000), "30000": (30_000, 30_000), "million": (150_000, 200_000)}
"""Nodes and hyperedges."""
LIMITS = {"5000": 30, "30000": 90, "million": 360}
"""Seconds that are allowed on two cores."""
CLASSES, FEATURES = 6, 10


def write_tables(folder: Path, nodes: int, edges: int) -> None:
    """``members.csv`` (node, edge) and ``nodes.csv`` (node, class, features)."""
    random = np.random.default_rng(0)
    y = random.integers(0, CLASSES, nodes)
    order = random.integers(2, 9, edges)
    edge = np.repeat(np.arange(edges), order)
    member = random.integers(0, nodes, len(edge))
    of_class = np.argsort(y, kind="stable")
    start = np.searchsorted(y[of_class], np.arange(CLASSES + 1))
    own = random.integers(0, CLASSES, edges)[edge]
    within = of_class[start[own] + random.integers(0, 2**40, len(edge)) % np.diff(start)[own]]
    member = np.where((random.random(edges) < 0.5)[edge], within, member)
    pairs = np.unique(np.stack([edge, member], 1), axis=0)
    np.savetxt(folder / "members.csv", pairs, "e%d,v%d", header="edge,node", comments="")
    x = random.standard_normal((nodes, FEATURES)) + 0.5 * random.standard_normal((CLASSES, FEATURES))[y]
    rows = np.concatenate([np.stack([np.arange(nodes), y], 1), x], 1)
    names = ",".join(["node", "kind", *(f"x{i}" for i in range(FEATURES))])
    np.savetxt(
        folder / "nodes.csv", rows, ",".join(["v%d", "k%d", *["%.4f"] * FEATURES]), header=names, comments=""
    )


def measure(folder: Path, threads: int) -> dict[str, float]:
    """Seconds, memory and accuracy of one ``ehnn train`` on the tables in ``folder``."""
    words = ["train", "--data", "members.csv", "--nodes", "nodes.csv", "--label-column", "kind"]
    words += ["--device", "cpu", "--out", "run"]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-m", "ehnn", *words], cwd=folder, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    record: dict[str, Any] = json.loads((folder / "run" / "run.json").read_text())
    return {
        "seconds": time.monotonic() - start, "processor-seconds": used, "memory-gb": after.ru_maxrss / 2**20,
        "accuracy": 100 * record["test"]["accuracy"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the table")
    given = parser.parse_args()
    for name in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_tables(Path(folder), *SIZES[name])
            found = measure(Path(folder), given.threads)
        settings = {"threads": given.threads, "limit_seconds": LIMITS[name], "nodes": SIZES[name][0]}
        command = f"python paper/experiments/default_times.py --sizes {name} --threads {given.threads}"
        told = provenance(command, seeds=[0], settings=settings)
        rows = [
            {
                "setting": name, "model": "default", "metric": metric, "selection": "validation",
                "mean": value, "std": None, "runs": 1, "paper": None, **told,
            }
            for metric, value in found.items()
        ]  # fmt: skip
        write_rows("default-times", rows, given.results)
        print(name, {metric: round(value, 1) for metric, value in found.items()}, flush=True)


if __name__ == "__main__":
    main()
