"""A small fit of the default while other processes use some of the cores.

``python paper/benchmarks/crowded.py``: `NodeClassifier(budget="fast")` on 60 nodes on a free machine, and
beside a busy process for each second core, with and without `ehnn._utils.threads`. The three take turns.
Seconds of the wall, medians. A fit that was stopped by its clock has lost members: their number is
``members_lost``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

import ehnn
from ehnn._utils import threads
from ehnn_paper.results import provenance, write_rows

CASES = (("free", False, True), ("crowded, all threads", True, False), ("crowded", True, True))
"""Name, whether other processes are busy, and whether the fit looks for them."""


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many busy processes."""
    workers = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for worker in workers:
        worker.start()
    try:
        time.sleep(0.5)
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def timed_fit(seed: int, looks: bool) -> tuple[float, int]:
    """Seconds of a fit, and how many members its clock stopped."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, 60)
    edges = [generator.choice(np.flatnonzero(y == c), 4, replace=False) for c in (0, 1) for _ in range(20)]
    h = ehnn.Hypergraph.from_edges([e.tolist() for e in edges], num_nodes=60)
    known = [int(v) if i < 40 else None for i, v in enumerate(y)]
    found, threads.crowded = threads.crowded, threads.crowded if looks else lambda: False
    threads._last.until = 0.0
    start = time.perf_counter()
    try:
        model = ehnn.NodeClassifier(budget="fast", width=8, random_state=seed).fit(h, known)
    finally:
        threads.crowded = found
    return time.perf_counter() - start, sum(why == "time" for why in model.left_out_.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", default="results")
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    torch.set_num_threads(cores)
    timed_fit(0, True)
    found: dict[str, list[tuple[float, int]]] = {name: [] for name, _, _ in CASES}
    for seed in range(given.repeats):
        for name, crowd, looks in CASES:
            with busy(cores // 2 if crowd else 0):
                found[name].append(timed_fit(seed, looks))
    about = provenance(
        f"python paper/benchmarks/crowded.py --repeats {given.repeats}", seeds=list(range(given.repeats))
    )
    setting = f"{cores} threads, {cores // 2} busy processes"
    rows = []
    for name, cells in found.items():
        for metric, values in zip(("seconds", "members_lost"), zip(*cells, strict=True), strict=True):
            print(f"{name:24} {metric:14} {statistics.median(values):.1f}")
            rows.append({
                "setting": setting, "model": name, "selection": "none",
                "metric": metric, "mean": float(statistics.median(values)), "std": None,
                "runs": len(values), "paper": None, **about,
            })  # fmt: skip
    write_rows("crowded", rows, given.out)


if __name__ == "__main__":
    main()
